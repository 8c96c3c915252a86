// Command versions checks that the modules of the workspace agree: whatever two of them require,
// directly or not, they require in the same version, and all name the same Go release. It reads
// go.mod files only; `make fix-versions` does the raising.
//
//	versions MODULE...
package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run checks the modules in the given folders and returns the exit status.
func run(folders []string, stdout, stderr io.Writer) int {
	required, err := collect(folders)
	if err != nil {
		fmt.Fprintln(stderr, "versions:", err)
		return 2
	}
	lines := disagreements(required)
	for _, line := range lines {
		fmt.Fprintln(stderr, line)
	}
	if len(lines) > 0 {
		return 1
	}
	fmt.Fprintf(stdout, "versions: %d modules agree on %d dependencies\n", len(folders), len(required))
	return 0
}

// requirements maps a dependency to its version and that to the modules that ask for it.
type requirements map[string]map[string][]string

func (r requirements) add(dependency, version, module string) {
	if r[dependency] == nil {
		r[dependency] = map[string][]string{}
	}
	r[dependency][version] = append(r[dependency][version], module)
}

func collect(folders []string) (requirements, error) {
	all := requirements{}
	for _, folder := range folders {
		path := filepath.Join(folder, "go.mod")
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		file, err := modfile.Parse(path, content, nil)
		if err != nil {
			return nil, err
		}
		if file.Go != nil {
			all.add("go", file.Go.Version, folder)
		}
		for _, require := range file.Require {
			all.add(require.Mod.Path, require.Mod.Version, folder)
		}
	}
	return all, nil
}

// disagreements has one line for each dependency that is required in more than one version.
func disagreements(all requirements) []string {
	var lines []string
	for _, dependency := range slices.Sorted(maps.Keys(all)) {
		versions := all[dependency]
		if len(versions) < 2 {
			continue
		}
		var parts []string
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			parts = append(parts, fmt.Sprintf("%s in %s", version, strings.Join(versions[version], ", ")))
		}
		lines = append(lines, dependency+": "+strings.Join(parts, "; "))
	}
	return lines
}
