package cli_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triptych/cli/chaos/spots"
	"triptych/cli/cluster"
	"triptych/cli/cluster/clustertest"
	"triptych/shared/testkit"
)

// pictures is a folder of pictures that the models of spots read, one of them broken.
func pictures(t *testing.T) string {
	t.Helper()
	root := folder(t, "bad.jpg")
	for i, name := range []string{"a/1.png", "b/1.png", "b/2.png"} {
		data, err := spots.Picture(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// hook is a receiver of callbacks.
func hook(t *testing.T) (url string, told chan string) {
	t.Helper()
	told = make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !strings.HasPrefix(r.Header.Get("webhook-signature"), "v1,") {
			t.Errorf("%v, %v", err, r.Header)
		}
		told <- r.Header.Get("webhook-id") + " " + string(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, told
}

// The commands do with the real services what they do with the fake.
func TestJobsForReal(t *testing.T) {
	up := clustertest.Up(t, spots.Repository(t), 12, func(c *cluster.Config) {
		c.Common.Worker.Attempts = 2
		c.Gateway.Jobs.Webhook.Secrets, c.Gateway.Jobs.Webhook.AllowPrivate = []string{strings.Repeat("s", 24)}, true
	})
	callback, told := hook(t)
	f := &fakeJobs{t: t, url: "http://" + up.HTTP}
	files, results := pictures(t), filepath.Join(t.TempDir(), "results")

	submit := []string{"jobs", "submit", files, "--model", spots.Model, "--name", "real", "--priority", "low", "--deadline", "10m", "--top-k", "1", "--callback-url", callback, "--idempotency-key", "k"}
	status, out, errs := f.run("", append(submit, "--results", results)...)
	if status != 1 || !strings.Contains(out, "is done after ") || !strings.HasSuffix(out, ": 3 of 4 succeeded, 1 failed\n") || !strings.Contains(errs, "triptych: 1 of 4 items did not succeed (1 failed); see why with: triptych jobs results ") {
		t.Fatalf("status %d, %q, %q", status, out, errs)
	}
	id := strings.Fields(out)[1]
	for _, name := range []string{"pictures/a/1.png", "pictures/b/1.png", "pictures/b/2.png", "pictures/bad.jpg"} {
		if !strings.Contains(content(t, results), `"name":"`+name+`"`) {
			t.Errorf("%s is not among the results", name)
		}
	}
	if status, out, _ := f.run("", append(submit, "--quiet")...); status != 0 || out != id+"\n" {
		t.Errorf("the same key is job %q, want %q", out, id)
	}
	if body := <-told; !strings.HasPrefix(body, id+"-") || !strings.Contains(body, `"state":"done"`) {
		t.Errorf("the callback got %s", body)
	}
	before := content(t, results)
	if status, _, errs := f.run("", "jobs", "results", id, "--file", results, "--resume"); status != 0 || errs != "0 results written to "+results+"\n" || content(t, results) != before {
		t.Errorf("status %d, %q", status, errs)
	}
	if status, out, _ := f.run("", "jobs", "results", id, "--outcome", "failed"); status != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "(at spot_preprocess)") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, out, _ := f.run("", "jobs", "watch", id); status != 1 || !strings.Contains(out, "3 of 4 succeeded") {
		t.Errorf("status %d, %q", status, out)
	}
	if status, out, _ := f.run("", "jobs", "get", id); status != 0 || !strings.Contains(out, "items     4, 3 succeeded, 1 failed\n") || !strings.Contains(out, "priority  3\n") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, out, _ := f.run("", "jobs", "list", "--name", "real", "--state", "done"); status != 0 || !strings.Contains(out, id+"  real  spot   done") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, _, errs := f.run("", "jobs", "cancel", id); status != 1 || !strings.HasSuffix(errs, "has ended (409 Conflict)\n") {
		t.Errorf("status %d, %q", status, errs)
	}
	if status, _, errs := f.run("", "jobs", "submit", "--keys", "absent.jpg", "--model", spots.Model); status != 1 || !strings.Contains(errs, `there is no object "absent.jpg"`) {
		t.Errorf("status %d, %q", status, errs)
	}
	if status, _, errs := f.run("", "jobs", "submit", files, "--model", spots.Model, "--callback-url", "ftp://x"); status != 1 || errs != "triptych: callback_url must begin with https:// or http:// (400 Bad Request)\n" {
		t.Errorf("status %d, %q", status, errs)
	}
	t.Run("cancel", func(t *testing.T) { cancelForReal(t, f, files) })
	t.Run("dead letters", func(t *testing.T) { deadForReal(t, f, files) })
}

func cancelForReal(t *testing.T, f *fakeJobs, files string) {
	status, out, errs := f.run("", "jobs", "submit", files, "--model", spots.Slow, "--quiet")
	if status != 0 {
		t.Fatal(errs)
	}
	id := strings.TrimSpace(out)
	if status, out, errs := f.run("", "jobs", "cancel", id); status != 0 || !strings.HasPrefix(out, "job "+id+" is cancel") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

func deadForReal(t *testing.T, f *fakeJobs, files string) {
	picture := filepath.Join(files, "a", "1.png")
	status, out, errs := f.run("", "jobs", "submit", picture, "--model", spots.Broken, "--wait", "--output", "json")
	var job struct{ ID string }
	if err := json.Unmarshal([]byte(out), &job); err != nil || status != 1 || !strings.Contains(errs, "1 of 1 items did not succeed (1 dead)") {
		t.Fatalf("status %d, %q, %q", status, out, errs)
	}
	if status, out, _ := f.run("", "dlq", "list", "--job", job.ID); status != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "spot_broken_model") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, out, _ := f.run("", "dlq", "show", job.ID, "0"); status != 0 || !strings.Contains(out, "name      1.png\n") || !strings.Contains(out, "code      INTERNAL\n") {
		t.Errorf("status %d\n%s", status, out)
	}
	if status, out, errs := f.run("", "dlq", "requeue", "--model", spots.Broken); status != 0 || out != "1 dead letter requeued\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	// It dies again, for the model is what it was.
	testkit.Eventually(t, 2*wanted, "the letter is back", func() bool {
		_, out, _ := f.run("", "dlq", "list")
		return strings.Contains(out, job.ID)
	})
	if status, out, errs := f.run("", "dlq", "purge", "--all", "--yes"); status != 0 || out != "1 dead letter purged\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}
