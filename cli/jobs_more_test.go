package cli_test

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triptych/shared/testkit"
)

// wanted is how long something may take that happens on another goroutine.
const wanted = 10 * time.Second

// archive makes one by its name, with files in it.
func archive(t *testing.T, name string, files ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var w io.WriteCloser = f
	if strings.HasSuffix(name, "gz") {
		w = gzip.NewWriter(f)
		defer w.Close()
	}
	if strings.HasSuffix(name, ".zip") {
		z := zip.NewWriter(f)
		defer z.Close()
		for _, file := range files {
			if _, err := z.Create(file); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	a := tar.NewWriter(w)
	defer a.Close()
	for _, file := range files {
		if err := a.WriteHeader(&tar.Header{Name: file, Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func content(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// submitted is a fake that has a job of files.
func submitted(t *testing.T, names ...string) *fakeJobs {
	t.Helper()
	f := newFakeJobs(t)
	if status, _, errs := f.run("", "jobs", "submit", "--name", "n1", folder(t, names...)); status != 0 {
		t.Fatal(errs)
	}
	return f
}

func TestResults(t *testing.T) {
	f := submitted(t, "a.jpg", "bad\x1b[31m.jpg", "poison.jpg")
	for name, tt := range map[string]struct {
		args []string
		out  string
	}{
		"a table": {nil, "" +
			"ITEM  NAME                   STATE      LABEL  SCORE   CLASS  MS    ERROR\n" +
			"0     pictures/a.jpg         succeeded  tabby  0.5000  281    12.3\n" +
			"1     pictures/bad\uFFFD[31m.jpg  failed                           12.3  the image is cut (at imagenet_preprocess)\n" +
			"2     pictures/poison.jpg    dead                             12.3  it was dead\n"},
		"two labels, behind a cursor, of one outcome": {
			[]string{"--top", "2", "--cursor", "0", "--outcome", "succeeded", "--follow=false"},
			"ITEM  NAME            STATE      LABEL  SCORE   CLASS  MS    ERROR\n" +
				"0     pictures/a.jpg  succeeded  tabby  0.5000  281    12.3\n" +
				"                                 lynx   0.2500  287\n",
		},
		"nothing": {[]string{"--cursor", "3"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := f.run("", append([]string{"jobs", "results", "job1"}, tt.args...)...)
			if status != 0 || out != tt.out || errs != "" {
				t.Errorf("status %d\n%s\n%s\n%q", status, out, tt.out, errs)
			}
		})
	}
	status, out, _ := f.run("", "jobs", "results", "job1", "--output", "json", "--cursor", "1")
	if status != 0 {
		t.Errorf("status %d", status)
	}
	wantLines(t, out, f.jobs[0], 1)
}

func TestResultsToAFile(t *testing.T) {
	f := submitted(t, "a.jpg", "b.jpg", "c.jpg")
	line := func(i int) string {
		text, err := json.Marshal(f.jobs[0].line(i))
		if err != nil {
			t.Fatal(err)
		}
		return string(text) + "\n"
	}
	whole := line(0) + line(1) + line(2) + `{"cursor":"3","end":"done"}` + "\n"
	for name, tt := range map[string]struct {
		before string
		args   []string
		n      int
		fails  string
	}{
		"a new file":     {args: []string{"--resume"}, n: 3},
		"half a file":    {before: line(0), args: []string{"--resume"}, n: 2},
		"half a line":    {before: line(0) + line(1)[:20], args: []string{"--resume"}, n: 2},
		"the whole":      {before: whole, args: []string{"--resume"}, n: 0},
		"overwritten":    {before: "old", args: []string{"--overwrite"}, n: 3},
		"an empty file":  {n: 3},
		"without resume": {before: "old", fails: "FILE is there already: say --resume to go on with it, or --overwrite"},
		"one too much":   {before: "old", args: []string{"--resume", "--overwrite"}, fails: "say one of --resume and --overwrite"},
		"not of results": {before: "old\n", args: []string{"--resume"}, fails: "FILE is not a file of results"},
		"with a cursor":  {args: []string{"--resume", "--cursor", "1"}, fails: "--resume has its cursor from the file: leave --cursor out"},
	} {
		t.Run(name, func(t *testing.T) {
			path := file(t, "results", tt.before)
			status, out, errs := f.run("", append([]string{"jobs", "results", "job1", "--file", path}, tt.args...)...)
			if tt.fails != "" {
				if want := "triptych: " + strings.ReplaceAll(tt.fails, "FILE", path) + "\n"; status != 1 || errs != want || content(t, path) != tt.before {
					t.Errorf("status %d, %q", status, errs)
				}
				return
			}
			if want := fmt.Sprintf("%d results written to %s\n", tt.n, path); status != 0 || out != "" || errs != want {
				t.Errorf("status %d, %q, %q, want %q", status, out, errs, want)
			}
			if content(t, path) != whole {
				t.Error(content(t, path))
			}
		})
	}
	status, _, errs := f.run("", "jobs", "results", "job1", "--resume")
	if status != 1 || errs != "triptych: --resume goes only with --file\n" {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestGet(t *testing.T) {
	t.Setenv("TZ", "UTC")
	f := submitted(t, "a.jpg", "bad.jpg")
	status, out, errs := f.run("", "jobs", "get", "job1")
	want := "job       job1\nname      n1\nmodel     classify\nstate     done\nitems     2, 1 succeeded, 1 failed\npriority  2\n" +
		"created   2026-01-02 03:04:05\ndeadline  2026-01-03 03:04:05\nended     2026-01-02 03:04:07\nrequest   r1\ntrace     t1\n"
	if status != 0 || out != want || errs != "" {
		t.Errorf("status %d\n%s\n%s%q", status, out, want, errs)
	}
	if status, out, _ = f.run("", "jobs", "get", "job1", "--output", "json"); status != 0 || !strings.HasPrefix(out, `{"counts":`) {
		t.Errorf("status %d, %q", status, out)
	}
	if status, _, errs = f.run("", "jobs", "get", "no"); status != 1 || errs != "triptych: there is no job \"no\" (404 Not Found)\n" {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestList(t *testing.T) {
	t.Setenv("TZ", "UTC")
	f := submitted(t, "a.jpg", "bad.jpg")
	for range 2 {
		f.run("", "jobs", "submit", folder(t, "a.jpg"))
	}
	const head = "JOB   NAME  MODEL     STATE  ITEMS  DONE  NOT SUCCEEDED  CREATED\n"
	for name, tt := range map[string]struct {
		args      []string
		out, errs string
	}{
		"all":       {[]string{"--limit", "0"}, head + "job3        classify  done   1      1     0              2026-01-02 03:04:05\njob2        classify  done   1      1     0              2026-01-02 03:04:05\njob1  n1    classify  done   2      2     1              2026-01-02 03:04:05\n", ""},
		"some":      {[]string{"--limit", "1"}, "JOB   NAME  MODEL     STATE  ITEMS  DONE  NOT SUCCEEDED  CREATED\njob3        classify  done   1      1     0              2026-01-02 03:04:05\n", "there are more: --cursor 1\n"},
		"filtered":  {[]string{"--name", "n1", "--state", "done", "--model", "classify"}, head + "job1  n1    classify  done   2      2     1              2026-01-02 03:04:05\n", ""},
		"none":      {[]string{"--state", "running"}, "no jobs\n", ""},
		"none JSON": {[]string{"--state", "running", "--output", "json"}, "{\"jobs\":[]}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, out, errs := f.run("", append([]string{"jobs", "list"}, tt.args...)...)
			if status != 0 || out != tt.out || errs != tt.errs {
				t.Errorf("status %d\n%s\n%s%q", status, out, tt.out, errs)
			}
		})
	}
	_, out, _ := f.run("", "jobs", "list", "--limit", "2", "--output", "json")
	var page struct {
		Jobs []struct{ ID string }
		Next string
	}
	if err := json.Unmarshal([]byte(out), &page); err != nil || len(page.Jobs) != 2 || page.Jobs[1].ID != "job2" || page.Next != "2" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestCancel(t *testing.T) {
	f := newFakeJobs(t)
	f.hold = true
	f.run("", "jobs", "submit", folder(t, "a.jpg", "b.jpg"))
	f.release(1)
	if status, out, errs := f.run("", "jobs", "cancel", "job1"); status != 0 || out != "job job1 is cancelling\n" || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		testkit.Eventually(t, wanted, "the job is watched", func() bool { return f.count("GET /v1/jobs/job1/events") > 0 })
		f.release(1)
	}()
	if status, out, errs := f.run("", "jobs", "cancel", "job1", "--wait"); status != 0 || out != "job job1 is cancelled\n" || errs != "" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	<-ended
	if status, _, errs := f.run("", "jobs", "watch", "job1"); status != 1 || errs != "triptych: job job1 was cancelled: 1 of 2 items succeeded\n" {
		t.Errorf("status %d, %q", status, errs)
	}
	f.jobs[0].state = "done"
	if status, _, errs := f.run("", "jobs", "cancel", "job1"); status != 1 || errs != "triptych: the job has ended (409 Conflict)\n" {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestDeadLetters(t *testing.T) {
	t.Setenv("TZ", "UTC")
	f := submitted(t, "a.jpg", "poison1.jpg", "poison2.jpg")
	const head = "JOB   ITEM  NAME                  MODEL     STEP                ATTEMPTS  TIME                 REASON\n"
	for name, tt := range map[string]struct {
		args   []string
		status int
		out    string
		errs   string
		asked  string
	}{
		"list": {
			[]string{"list"}, 0, head +
				"job1  1     pictures/poison1.jpg  classify  efficientnet_lite0  3         2026-01-02 03:04:06  the model broke\n" +
				"job1  2     pictures/poison2.jpg  classify  efficientnet_lite0  3         2026-01-02 03:04:06  the model broke\n", "", "GET /v1/dead-letters?limit=20",
		},
		"list of none":       {[]string{"list", "--job", "other", "--model", "m", "--limit", "5"}, 0, "no dead letters\n", "", "GET /v1/dead-letters?job=other&limit=5&model=m"},
		"list JSON":          {[]string{"list", "--job", "other", "--output", "json"}, 0, "{\"dead_letters\":[]}\n", "", "GET /v1/dead-letters?job=other&limit=20"},
		"show":               {[]string{"show", "job1", "2"}, 0, "job       job1\nitem      2\nname      pictures/poison2.jpg\nmodel     classify\nstep      efficientnet_lite0\nreason    the model broke\ncode      INTERNAL\nattempts  3\ntime      2026-01-02 03:04:06\ntrace     t1\n", "", "GET /v1/dead-letters/job1/2"},
		"show of none":       {[]string{"show", "job1", "0"}, 1, "", "triptych: there is no dead letter of this item (404 Not Found)\n", "GET /v1/dead-letters/job1/0"},
		"not a number":       {[]string{"show", "job1", "-x"}, 2, "", "triptych: unknown shorthand flag: 'x' in -x\n", ""},
		"not an item":        {[]string{"purge", "job1", "x"}, 1, "", "triptych: \"x\" is not the number of an item\n", ""},
		"requeue one":        {[]string{"requeue", "job1", "2"}, 0, "2 dead letters requeued\n", "", "POST /v1/dead-letters/job1/2/requeue"},
		"requeue of a job":   {[]string{"requeue", "--job", "job1"}, 0, "2 dead letters requeued\n", "", "POST /v1/dead-letters/requeue?job=job1"},
		"requeue of a model": {[]string{"requeue", "--model", "m"}, 0, "2 dead letters requeued\n", "", "POST /v1/dead-letters/requeue?model=m"},
		"requeue all":        {[]string{"requeue", "--all", "--output", "json"}, 0, "{\"requeued\":2}\n", "", "POST /v1/dead-letters/requeue?all=true"},
		"requeue nothing":    {[]string{"requeue"}, 1, "", "triptych: say which: JOB ITEM, --job, --model, or --all\n", ""},
		"half an item":       {[]string{"requeue", "job1"}, 1, "", "triptych: an item is named by JOB ITEM; all of a job are --job job1\n", ""},
		"too much said":      {[]string{"purge", "job1", "2", "--job", "job1"}, 1, "", "triptych: say one of: JOB ITEM, --job or --model, --all\n", ""},
		"all and a filter":   {[]string{"purge", "--all", "--yes", "--job", "job1"}, 1, "", "triptych: say one of: JOB ITEM, --job or --model, --all\n", ""},
		"purge one":          {[]string{"purge", "job1", "2"}, 0, "2 dead letters purged\n", "", "DELETE /v1/dead-letters/job1/2"},
		"purge of a job":     {[]string{"purge", "--job", "job1"}, 0, "2 dead letters purged\n", "", "DELETE /v1/dead-letters?job=job1"},
		"purge all":          {[]string{"purge", "--all"}, 1, "", "triptych: --all deletes every dead letter for good: say --yes too\n", ""},
		"purge all, sure":    {[]string{"purge", "--all", "--yes"}, 0, "2 dead letters purged\n", "", "DELETE /v1/dead-letters?all=true"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(f.seen)
			status, out, errs := f.run("", append([]string{"dlq"}, tt.args...)...)
			asked := strings.Join(f.seen[before:], " ")
			if status != tt.status || out != tt.out || errs != tt.errs || asked != tt.asked {
				t.Errorf("status %d, %q, asked %q\n%s\n%s", status, errs, asked, out, tt.out)
			}
		})
	}
}

func TestJobsAlone(t *testing.T) {
	for _, args := range [][]string{{"jobs"}, {"dlq"}} {
		if status, out, _ := run(t, nil, args...); status != 0 || !strings.Contains(out, "Available Commands") {
			t.Errorf("%v: status %d, %q", args, status, out)
		}
	}
}
