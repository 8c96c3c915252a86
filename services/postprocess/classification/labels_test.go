package classification_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/services/postprocess/classification"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

func TestParseLabels(t *testing.T) {
	tests := []struct {
		name string
		file string
		want []string
		err  string
	}{
		{"ends in a newline", "a\nb\n", []string{"a", "b"}, ""},
		{"ends without a newline", "a\nb", []string{"a", "b"}, ""},
		{"REP-09 ends in blank lines", "a\nb\n\n  \n", []string{"a", "b"}, ""},
		{"REP-09 CRLF", "a\r\nb\r\n", []string{"a", "b"}, ""},
		{"REP-09 CRLF and a blank last line", "a\r\nb\r\n\r\n", []string{"a", "b"}, ""},
		{"REP-09 byte order mark", "\ufeffa\nb\n", []string{"a", "b"}, ""},
		{"REP-09 colon, comma, blanks", "great white shark, Carcharodon\n1:2:3\n x \n", []string{"great white shark, Carcharodon", "1:2:3", " x "}, ""},
		{"REP-09 not ASCII", "Bärenklau\n猫\n", []string{"Bärenklau", "猫"}, ""},
		{"blank in between is a label", "a\n\nc\n", []string{"a", "", "c"}, ""},
		{"empty", "", []string{}, ""},
		{"Latin-1", "a\nB\xe4r\n", nil, "line 2 is not UTF-8 text"},
		{"UTF-16", "\xff\xfea\x00\n\x00", nil, "line 1 is not UTF-8 text"},
		{"binary", "a\x00b\n", nil, "line 1 is not UTF-8 text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := classification.ParseLabels([]byte(tt.file))
			if tt.err != "" {
				if err == nil || failure.Message(err) != tt.err || failure.KindOf(err) != failure.Invalid {
					t.Fatalf("error = %v, want %q", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("error %v, labels (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadLabelsOfTheDefaultModel(t *testing.T) {
	labels, err := classification.ReadLabels(testkit.Path(t, "models", "imagenet_postprocess"), "labels.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(labels) != 1000 || labels[0] != "tench" || labels[999] != "toilet tissue" {
		t.Errorf("%d labels from %q to %q", len(labels), labels[0], labels[len(labels)-1])
	}
}

func TestReadLabelsRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "latin1.txt"), []byte("\xe4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "huge.txt"), make([]byte, 32<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, file, want string }{
		{"pipe", "pipe", "not a regular file"},
		{"absent", "labels.txt", "can't be opened"},
		{"folder", "folder", "not a regular file"},
		{"outside", "../labels.txt", "inside the model's directory"},
		{"absolute", "/etc/hostname", "inside the model's directory"},
		{"empty name", "", "inside the model's directory"},
		{"not UTF-8", "latin1.txt", "line 1 is not UTF-8 text"},
		{"too large", "huge.txt", "more than 33554432 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := classification.ReadLabels(dir, tt.file)
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), tt.want) || !strings.Contains(failure.Message(err), "label_filename") {
				t.Errorf("error = %v, want label_filename and %q", err, tt.want)
			}
		})
	}
}
