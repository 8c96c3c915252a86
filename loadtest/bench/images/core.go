package images

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// lastCore is the last of those that this process may use: the first ones have
// more to do for the system.
func lastCore() (string, error) {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", fmt.Errorf("find a core: %w", err)
	}
	return lastOf(string(data))
}

func lastOf(status string) (string, error) {
	for line := range strings.Lines(status) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			list = strings.TrimSpace(list)
			return list[strings.LastIndexAny(list, ",-")+1:], nil
		}
	}
	return "", errors.New("find a core: /proc/self/status does not name them")
}
