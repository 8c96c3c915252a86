package engine

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"triptych/shared/failure"
)

// remedy ends every message about the library.
const remedy = `run "make setup", or set TRIPTYCH_ONNXRUNTIME (--onnxruntime) to the path of libonnxruntime.so`

// cacheVariable names the folder that replaces .cache, if it is set.
const cacheVariable = "TRIPTYCH_CACHE"

// Find gives the path of the ONNX Runtime library: the explicit one if there is
// one, else the one that tools/onnxruntime.sh has put into the cache folder,
// else the system's. The cache folder is $TRIPTYCH_CACHE when that is set and
// has the library, else the .cache above the working directory or above the
// executable.
func Find(explicit string) (string, error) {
	if explicit != "" {
		if info, err := os.Stat(explicit); err != nil || info.IsDir() {
			return "", failure.New(failure.Invalid, "--onnxruntime: there is no file %s: %s", explicit, remedy)
		}
		return explicit, nil
	}
	if cache := os.Getenv(cacheVariable); cache != "" {
		if file := inCache(cache); file != "" {
			return file, nil
		}
	}
	for _, folder := range searchFrom() {
		if file := inCacheAbove(folder); file != "" {
			return file, nil
		}
	}
	for _, folder := range []string{"/usr/lib", "/usr/local/lib"} {
		if file := newest(filepath.Join(folder, "libonnxruntime.so*")); file != "" {
			return file, nil
		}
	}
	return "", failure.New(failure.Invalid, "the ONNX Runtime library is not there (looked into $TRIPTYCH_CACHE/onnxruntime, .cache/onnxruntime, /usr/lib and /usr/local/lib): %s", remedy)
}

// searchFrom are the folders below which a cache may lie.
func searchFrom() []string {
	var folders []string
	if dir, err := os.Getwd(); err == nil {
		folders = append(folders, dir)
	}
	if executable, err := os.Executable(); err == nil {
		folders = append(folders, filepath.Dir(executable))
	}
	return folders
}

// inCache looks for the newest library in a cache folder.
func inCache(cache string) string {
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	platform := runtime.GOOS + "-" + cmp.Or(arch, runtime.GOARCH)
	return newest(filepath.Join(cache, "onnxruntime", "*", platform, "libonnxruntime.so"))
}

// inCacheAbove looks into the caches of a folder and of those above it.
func inCacheAbove(folder string) string {
	for {
		if file := inCache(filepath.Join(folder, ".cache")); file != "" {
			return file
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return ""
		}
		folder = parent
	}
}

// newest is the match of a pattern with the highest version in its path.
func newest(pattern string) string {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		return ""
	}
	return slices.MaxFunc(files, func(a, b string) int { return slices.Compare(numbers(a), numbers(b)) })
}

// numbers are the numbers in a path, so that 1.9 comes before 1.24.
func numbers(path string) []int {
	var found []int
	for _, word := range strings.FieldsFunc(path, func(r rune) bool { return r < '0' || r > '9' }) {
		if n, err := strconv.Atoi(word); err == nil {
			found = append(found, n)
		}
	}
	return found
}
