package page_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"triptych/loadtest/page"
)

// A shell reads the words that were quoted.
func TestCommandLine(t *testing.T) {
	for name, words := range map[string][]string{
		"plain":  {"loadtest", "search", "--rate=12.5", "http://127.0.0.1:8000", "grpc:UINT8:224,224,3"},
		"spaces": {"--keep", "p99 < 200ms", "--keep", "errors == 0"},
		"quotes": {"it's", `"`, "''", `\`, "'"},
		"signs":  {"$HOME", "`id`", "*", "~", "a&b", "#", "!", "(", "{a,b}", "", "x\ny", "é", "a b$c"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\000' `+page.CommandLine(words)).Output()
			got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
			if err != nil || !slices.Equal(got, words) {
				t.Errorf("%s is read as %q, error %v", page.CommandLine(words), got, err)
			}
		})
	}
	if got, want := page.CommandLine([]string{"loadtest", "--keep", "p99 < 200ms", "a/b.yaml"}), "loadtest --keep 'p99 < 200ms' a/b.yaml"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
