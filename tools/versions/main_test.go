package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	tests := []struct {
		name    string
		modules map[string]string
		status  int
		output  string
	}{
		{
			name: "agree",
			modules: map[string]string{
				"a": "module a\ngo 1.26.0\nrequire example.org/x v1.0.0\n",
				"b": "module b\ngo 1.26.0\nrequire example.org/x v1.0.0 // indirect\n",
			},
			output: "2 modules agree on 2 dependencies",
		},
		{
			name: "different version of a dependency",
			modules: map[string]string{
				"a": "module a\ngo 1.26.0\nrequire example.org/x v1.0.0\n",
				"b": "module b\ngo 1.26.0\nrequire example.org/x v1.1.0 // indirect\n",
			},
			status: 1,
			output: "example.org/x: v1.0.0 in ",
		},
		{
			name: "different Go release",
			modules: map[string]string{
				"a": "module a\ngo 1.26.0\n",
				"b": "module b\ngo 1.25.0\n",
			},
			status: 1,
			output: "go: 1.25.0 in ",
		},
		{
			name:    "not a go.mod",
			modules: map[string]string{"a": "modul a\n"},
			status:  2,
			output:  "unknown directive: modul",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var output bytes.Buffer
			if status := run(write(t, test.modules), &output, &output); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			if !strings.Contains(output.String(), test.output) {
				t.Errorf("output %q has no %q", &output, test.output)
			}
		})
	}
}

func write(t *testing.T, modules map[string]string) []string {
	t.Helper()
	var folders []string
	for name, content := range modules {
		folder := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "go.mod"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		folders = append(folders, folder)
	}
	return folders
}
