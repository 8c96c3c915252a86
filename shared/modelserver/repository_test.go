package modelserver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/shared/failure"
	"triptych/shared/modelserver"
	"triptych/shared/testkit/servertest"
)

func TestNewRepository(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"file": "x"})
	tests := map[string]struct {
		folders []string
		want    string
	}{
		"none":               {nil, "no model repository is given (--model-repository)"},
		"missing":            {[]string{folder, filepath.Join(folder, "missing")}, "can't be read"},
		"file, not a folder": {[]string{filepath.Join(folder, "file")}, "is not a folder"},
		"good":               {[]string{folder}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := modelserver.NewRepository(test.folders...)
			if test.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), test.want) {
				t.Errorf("got %v, want Invalid with %q", err, test.want)
			}
		})
	}
}

func TestScan(t *testing.T) {
	t.Parallel()
	one := servertest.Repository(t, map[string]string{
		".git/config":             "",
		"..data/config.pbtxt":     doubleConfig,
		"lost+found/":             "",
		"README.md":               "not a model",
		"good/config.pbtxt":       doubleConfig,
		"good/1/":                 "",
		"both/config.pbtxt":       doubleConfig,
		"typo/config.pbtxt":       "backend: \"double\"\nmax_batchsize: 8\n",
		"weights/blob.bin":        "",
		"misnamed/config.pbtxt":   `name: "other" backend: "double"`,
		"linked_to/config.pbtxt":  doubleConfig,
		".hidden_file":            "",
		"misspelt/config.pbtxt":   `backend: "dubble"`,
		"no_rights_needed/1/x.md": "",
	})
	two := servertest.Repository(t, map[string]string{"both/config.pbtxt": doubleConfig, "second/config.pbtxt": doubleConfig})
	if err := os.Symlink(filepath.Join(one, "linked_to"), filepath.Join(two, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(one, "nowhere"), filepath.Join(two, "dangling")); err != nil {
		t.Fatal(err)
	}
	r, err := modelserver.NewRepository(one, two)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.Scan()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		got[e.Name] = "good"
		if e.Err != nil {
			got[e.Name] = failure.KindOf(e.Err).String() + ": " + failure.Message(e.Err)
		}
		if (e.Err == nil) == (e.Document == nil) {
			t.Errorf("%s has the document %v and the error %v", e.Name, e.Document, e.Err)
		}
		found, err := r.Find(e.Name)
		if err != nil || failure.Message(found.Err) != failure.Message(e.Err) || found.Directory != e.Directory {
			t.Errorf("Find(%q) gives %+v, %v; Scan %+v", e.Name, found, err, e)
		}
	}
	want := map[string]string{
		"good": "good", "second": "good", "linked_to": "good", "link": "good", "misspelt": "good",
		"both":             `CONFLICT: model "both" is in more than one repository`,
		"typo":             `INVALID: typo/config.pbtxt:2:1: unknown field: max_batchsize, did you mean "max_batch_size"?`,
		"weights":          `INVALID: weights/config.pbtxt: neither a backend nor a platform is given, and no model file tells which`,
		"no_rights_needed": `INVALID: no_rights_needed/config.pbtxt: neither a backend nor a platform is given, and no model file tells which`,
		"misnamed":         `INVALID: misnamed/config.pbtxt:1:1: the model is called "other", but its directory "misnamed"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A folder whose name no message could carry is shown, and the others stay.
func TestScanNamesThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	r, err := modelserver.NewRepository(servertest.Repository(t, map[string]string{"b\xffd/config.pbtxt": doubleConfig, "good/config.pbtxt": doubleConfig}))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := r.Scan()
	if err != nil || len(entries) != 2 || entries[1].Name != "good" || entries[1].Err != nil {
		t.Fatalf("Scan gives %+v, %v", entries, err)
	}
	if e := entries[0]; e.Name != "b\uFFFDd" || failure.KindOf(e.Err) != failure.Invalid || failure.Message(e.Err) != `the name of the folder "b\xffd" is not UTF-8` {
		t.Errorf("got %q, %v", e.Name, e.Err)
	}
}

func TestFindNames(t *testing.T) {
	t.Parallel()
	folder := servertest.Repository(t, map[string]string{"good/config.pbtxt": doubleConfig, ".git/config.pbtxt": doubleConfig, "b\xffd/config.pbtxt": doubleConfig, "file": ""})
	r, err := modelserver.NewRepository(filepath.Join(folder, "good"), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "/", "good/", "../good", "a/../good", ".git", "file", "goo", "good\x00", "b\xffd", strings.Repeat("x", 10_000)} {
		if e, err := r.Find(name); failure.KindOf(err) != failure.NotFound {
			t.Errorf("Find(%.20q) gives %+v, %v", name, e, err)
		} else if len(failure.Message(err)) > 300 {
			t.Errorf("the message has %d bytes", len(failure.Message(err)))
		}
	}
	if _, err := r.Find("good"); err != nil {
		t.Error(err)
	}
}

func TestRepositoryGoes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "models")
	servertest.Write(t, folder, map[string]string{"good/config.pbtxt": doubleConfig})
	r, err := modelserver.NewRepository(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Scan(); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("Scan gives %v", err)
	}
	if _, err := r.Find("good"); failure.KindOf(err) != failure.Unavailable {
		t.Errorf("Find gives %v", err)
	}
}
