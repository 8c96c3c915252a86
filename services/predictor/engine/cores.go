package engine

import (
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
)

// Cores is how many cores the process may keep busy without being throttled:
// GOMAXPROCS, as it is while nobody yields, or less when the quota of the container has a fraction or is
// below 2, for GOMAXPROCS rounds such a quota up. ONNX Runtime by itself would
// take all cores of the host.
func Cores() int {
	return min(allProcessors(), quota(os.DirFS("/"), runtime.NumCPU()))
}

// quota is the smallest quota of the process's control group (version 2) and
// those above it, rounded down, at least 1; unlimited when there is none.
func quota(system fs.FS, unlimited int) int {
	own, err := fs.ReadFile(system, "proc/self/cgroup")
	if err != nil {
		return unlimited
	}
	least := unlimited
	for line := range strings.Lines(string(own)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::/")
		for ; ok; group = path.Dir(group) {
			if limit, err := fs.ReadFile(system, path.Join("sys/fs/cgroup", group, "cpu.max")); err == nil {
				least = min(least, wholeCores(string(limit), unlimited))
			}
			ok = group != "" && group != "."
		}
	}
	return least
}

// wholeCores reads "150000 100000" (microseconds of each period) or "max 100000".
func wholeCores(limit string, unlimited int) int {
	share, period, _ := strings.Cut(strings.TrimSpace(limit), " ")
	of, err := strconv.Atoi(period)
	if err != nil || of < 1 {
		return unlimited
	}
	allowed, err := strconv.Atoi(share)
	if err != nil {
		return unlimited
	}
	return max(allowed/of, 1)
}
