package cli_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"triptych/shared/testkit"
)

// What is sent is not held: neither large files nor many small ones take memory.
func TestSubmitTakesLittleMemory(t *testing.T) {
	root := t.TempDir()
	for i := range 2000 {
		if err := os.WriteFile(filepath.Join(root, strconv.Itoa(i)+".jpg"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const large = 256 << 20
	if err := os.WriteFile(filepath.Join(root, "large.png"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(root, "large.png"), large); err != nil {
		t.Fatal(err)
	}
	f := newFakeJobs(t)
	f.fail("POST /v1/jobs", func(w http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		if n, err := io.Copy(io.Discard, r.Body); err != nil || n < large {
			t.Errorf("%d bytes came, %v", n, err)
		}
		say(w, http.StatusAccepted, map[string]any{"id": "job1"})
	})
	testkit.ResetPeak(t)
	before := testkit.Resident(t)
	status, out, errs := f.run("", "jobs", "submit", root)
	if took := testkit.Peak(t) - before; status != 0 || out != "job1\n" || took > 48<<20 {
		t.Errorf("status %d, %q, %q, %d bytes of memory", status, out, errs, took)
	}
}
