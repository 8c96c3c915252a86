package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/cli"
	"triptych/shared/testkit"
)

// folder makes files, each with its own name as its content.
func folder(t *testing.T, names ...string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "pictures")
	for _, name := range names {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// jobs runs a command of triptych jobs against a fake.
func (f *fakeJobs) run(stdin string, args ...string) (status int, out, errs string) {
	var o, e strings.Builder
	args = append(args, "--server", f.url)
	status = cli.Execute(f.t.Context(), args, nil, cli.Streams{Out: &o, Err: &e, In: strings.NewReader(stdin)})
	return status, o.String(), strings.ReplaceAll(e.String(), " --server "+f.url, "")
}

func TestSubmit(t *testing.T) {
	files := folder(t, "b.jpg", "a/1.PNG", "a/.hidden.jpg", "notes.txt")
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		items []string
		kind  string
	}{
		"files, whatever they are": {args: []string{filepath.Join(files, "b.jpg"), filepath.Join(files, "notes.txt")}, items: []string{"b.jpg", "notes.txt"}, kind: "multipart/form-data; boundary=triptych-"},
		"a folder":                 {args: []string{files}, items: []string{"pictures/a/1.PNG", "pictures/b.jpg"}, kind: "multipart/form-data; boundary=triptych-"},
		"keys":                     {args: []string{"--keys", "x/1.jpg", "y"}, items: []string{"x/1.jpg", "y"}, kind: "application/json"},
		"keys on standard input":   {args: []string{"--keys", "-"}, stdin: "x/1.jpg\n\ny \n", items: []string{"x/1.jpg", "y"}, kind: "application/json"},
		"a zip":                    {args: []string{archive(t, "z.zip", "in.jpg")}, items: []string{"in.jpg"}, kind: "application/zip"},
		"a tar":                    {args: []string{archive(t, "z.tar", "in.jpg")}, items: []string{"in.jpg"}, kind: "application/x-tar"},
		"a tar.gz":                 {args: []string{archive(t, "z.tar.gz", "in.jpg")}, items: []string{"in.jpg"}, kind: "application/gzip"},
		"a tar on standard input":  {args: []string{"-"}, stdin: content(t, archive(t, "z.tar", "in.jpg")), items: []string{"in.jpg"}, kind: "application/x-tar"},
		"a tgz on standard input":  {args: []string{"-"}, stdin: content(t, archive(t, "z.tgz", "in.jpg")), items: []string{"in.jpg"}, kind: "application/gzip"},
		"a zip on standard input":  {args: []string{"-"}, stdin: content(t, archive(t, "z.zip", "in.jpg")), items: []string{"in.jpg"}, kind: "application/zip"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeJobs(t)
			status, out, errs := f.run(tt.stdin, append([]string{"jobs", "submit", "--priority", "high", "--top-k", "3"}, tt.args...)...)
			things := "1 item"
			if n := len(tt.items); n > 1 {
				things = fmt.Sprintf("%d items", n)
			}
			note := "stored " + things + " for classify; see them with: triptych jobs watch job1\n"
			if status != 0 || out != "job1\n" || errs != note {
				t.Fatalf("status %d, %q, %q", status, out, errs)
			}
			if diff := cmp.Diff(tt.items, f.jobs[0].items); diff != "" {
				t.Error(diff)
			}
			if !strings.HasPrefix(f.types[0], tt.kind) || len(f.jobs[0].key) < 16 || f.jobs[0].query != "model=classify&priority=high&top_k=3" {
				t.Errorf("%q, key %q, %q", f.types[0], f.jobs[0].key, f.jobs[0].query)
			}
		})
	}
}

func TestSubmitSettings(t *testing.T) {
	f := newFakeJobs(t)
	args := []string{"--model", "other", "--model-version", "2", "--name", "nightly run", "--deadline", "90m", "--callback-url", "https://example.com/?a=b", "--idempotency-key", "mine", "--output", "json", "--quiet"}
	status, out, errs := f.run("", append([]string{"jobs", "submit", folder(t, "a.jpg")}, args...)...)
	var doc map[string]any
	if err := json.Unmarshal([]byte(out), &doc); err != nil || status != 0 || errs != "" || doc["id"] != "job1" {
		t.Errorf("status %d, %q, %q, %v", status, out, errs, err)
	}
	if want := "callback_url=https%3A%2F%2Fexample.com%2F%3Fa%3Db&deadline=90m&model=other&name=nightly+run&version=2"; f.jobs[0].query != want || f.jobs[0].key != "mine" {
		t.Errorf("key %q, %q", f.jobs[0].key, f.jobs[0].query)
	}
}

func TestSubmitRefuses(t *testing.T) {
	empty := folder(t, "notes.txt")
	zip := archive(t, "z.zip", "in.jpg")
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no images":        {[]string{empty}, "there are no image files (.bmp .gif .jfif .jpe .jpeg .jpg .png .tif .tiff .webp) in " + empty},
		"no such file":     {[]string{"absent.jpg"}, "absent.jpg can't be read: no such file or directory"},
		"no such archive":  {[]string{"absent.zip"}, "absent.zip can't be read: no such file or directory"},
		"not a file":       {[]string{"/dev/null"}, "/dev/null is not a file"},
		"two archives":     {[]string{zip, zip}, zip + " is an archive, which is a job alone"},
		"input and more":   {[]string{"-", "a.jpg"}, "- is standard input, which is a job alone"},
		"nothing came":     {[]string{"-"}, "nothing came on standard input, where a tar, tar.gz or zip should"},
		"no keys came":     {[]string{"--keys", "-"}, "there are no keys on standard input"},
		"a broken archive": {[]string{file(t, "x.zip", "no zip")}, "the body can't be read: zip: not a valid zip file (400 Bad Request)"},
		"a wrong form":     {[]string{"--output", "xml", zip}, `--output is "xml", must be text or json`},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeJobs(t)
			status, out, errs := f.run("", append([]string{"jobs", "submit"}, tt.args...)...)
			if status != 1 || out != "" || errs != "triptych: "+tt.want+"\n" || len(f.jobs) != 0 {
				t.Errorf("status %d, %q, %q", status, out, errs)
			}
		})
	}
}

// Whatever breaks, there is one job, and the same bytes are sent each time.
func TestSubmitTriesAgain(t *testing.T) {
	t.Parallel()
	const hello = "stored 1 item for classify; see them with: triptych jobs watch job1\n"
	for name, tt := range map[string]struct {
		faults []fault
		args   []string
		notes  string
	}{
		"away":            {[]fault{refusal(http.StatusServiceUnavailable, "1", "NATS is away")}, nil, "NATS is away (503 Service Unavailable); trying again in "},
		"full":            {[]fault{refusal(http.StatusTooManyRequests, "1", "the backlog is full")}, nil, "the backlog is full (429 Too Many Requests); trying again in "},
		"lost answer":     {[]fault{lost}, nil, "the connection to URL broke off; trying again in "},
		"half an answer":  {[]fault{cutAfter(30)}, nil, "the connection to URL broke off; trying again in "},
		"a proxy's error": {[]fault{refusal(http.StatusBadGateway, "", "upstream")}, nil, "upstream (502 Bad Gateway); trying again in "},
	} {
		for source, args := range map[string][]string{"files": {folder(t, "a.jpg")}, "standard input": {"-"}} {
			t.Run(name+", "+source, func(t *testing.T) {
				t.Parallel()
				f := newFakeJobs(t)
				f.fail("POST /v1/jobs", tt.faults...)
				status, out, errs := f.run(content(t, archive(t, "z.tar", "a.jpg")), append([]string{"jobs", "submit"}, args...)...)
				want := strings.ReplaceAll(tt.notes, "URL", f.url)
				if status != 0 || out != "job1\n" || !strings.HasPrefix(errs, want) || !strings.HasSuffix(errs, hello) {
					t.Errorf("status %d, %q, %q", status, out, errs)
				}
				if len(f.jobs) != 1 || f.count("POST") != 2 {
					t.Errorf("%d jobs by %d requests", len(f.jobs), f.count("POST"))
				}
			})
		}
	}
}

func TestSubmitGivesUp(t *testing.T) {
	for name, tt := range map[string]struct {
		fault fault
		args  []string
		want  string
	}{
		"without patience": {refusal(http.StatusServiceUnavailable, "1", "away"), []string{"--retry", "0"}, "away (503 Service Unavailable)"},
		"too long a wait":  {refusal(http.StatusTooManyRequests, "3600", "full"), nil, "full (429 Too Many Requests)"},
		"its own fault":    {refusal(http.StatusBadRequest, "", "priority is wrong"), nil, "priority is wrong (400 Bad Request)"},
		"another's key":    {refusal(http.StatusConflict, "", "taken"), nil, "taken (409 Conflict)"},
		"no jobs here":     {refusal(http.StatusNotImplemented, "", "this gateway has no jobs"), nil, "this gateway has no jobs (501 Not Implemented)"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeJobs(t)
			f.fail("POST /v1/jobs", tt.fault)
			status, out, errs := f.run("", append([]string{"jobs", "submit", folder(t, "a.jpg")}, tt.args...)...)
			if status != 1 || out != "" || errs != "triptych: "+tt.want+"\n" || f.count("POST") != 1 {
				t.Errorf("status %d, %q, %q, %d requests", status, out, errs, f.count("POST"))
			}
		})
	}
	status, _, errs := run(t, nil, "jobs", "submit", folder(t, "a.jpg"), "--server", "http://127.0.0.1:1", "--retry", "0")
	if want := "triptych: no gateway answers at http://127.0.0.1:1 (start one with: triptych up)\n"; status != 1 || errs != want {
		t.Errorf("status %d, %q", status, errs)
	}
}

func TestSubmitWaits(t *testing.T) {
	for name, tt := range map[string]struct {
		files  []string
		args   []string
		status int
		out    string
		errs   string
	}{
		"all good": {[]string{"a.jpg", "b.jpg"}, nil, 0, "job job1 is done after 2.5s: 2 of 2 succeeded\n", "job job1: 2 items for classify\n"},
		"some not": {
			[]string{"a.jpg", "bad.jpg", "poison.jpg"},
			nil, 1, "job job1 is done after 2.5s: 1 of 3 succeeded, 1 failed, 1 dead\n",
			"job job1: 3 items for classify\ntriptych: 2 of 3 items did not succeed (1 failed, 1 dead); see why with: triptych jobs results job1\n",
		},
		"quiet": {[]string{"a.jpg"}, []string{"--quiet"}, 0, "job job1 is done after 2.5s: 1 of 1 succeeded\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFakeJobs(t)
			status, out, errs := f.run("", append([]string{"jobs", "submit", "--wait", folder(t, tt.files...)}, tt.args...)...)
			if status != tt.status || out != tt.out || errs != tt.errs {
				t.Errorf("status %d, %q, %q", status, out, errs)
			}
		})
	}
	f := newFakeJobs(t)
	status, out, _ := f.run("", "jobs", "submit", "--wait", "--output", "json", folder(t, "a.jpg"))
	var doc map[string]any
	if err := json.Unmarshal([]byte(out), &doc); err != nil || status != 0 || doc["state"] != "done" {
		t.Errorf("status %d, %q, %v", status, out, err)
	}
}

// Results that break off, in the middle of a line too, are whole in the end.
func TestSubmitWritesResults(t *testing.T) {
	t.Parallel()
	names := make([]string, 20)
	for i := range names {
		names[i] = fmt.Sprintf("%02d.jpg", i)
	}
	for name, faults := range map[string][]fault{
		"nothing breaks": nil,
		"it breaks":      {cutAfter(300), cutAfter(555), cutAfter(1)},
		"it breaks at 0": {lost},
		"it is away":     {refusal(http.StatusServiceUnavailable, "0", "away")},
	} {
		for _, target := range []string{"-", filepath.Join(t.TempDir(), "results")} {
			t.Run(name+" "+filepath.Base(target), func(t *testing.T) {
				t.Parallel()
				f := newFakeJobs(t)
				f.fail("GET /v1/jobs/{id}/results", faults...)
				status, out, errs := f.run("", "jobs", "submit", "--quiet", "--results", target, folder(t, names...))
				summary := "job job1 is done after 2.5s: 20 of 20 succeeded\n"
				lines, said := out, errs
				if target != "-" {
					lines, said = content(t, target), out
				}
				if status != 0 || said != summary {
					t.Fatalf("status %d, %q, %q", status, out, errs)
				}
				wantLines(t, lines, f.jobs[0], 0)
				if got := f.count("GET /v1/jobs/job1/results"); got != 1+len(faults) {
					t.Errorf("%d requests for results", got)
				}
			})
		}
	}
}

// wantLines wants the lines of all of a job's items behind a cursor, and its end.
func wantLines(t *testing.T, lines string, j *fakeJob, from int) {
	t.Helper()
	var want bytes.Buffer
	encoder := json.NewEncoder(&want)
	for i := from; i < len(j.items); i++ {
		_ = encoder.Encode(j.line(i))
	}
	_ = encoder.Encode(map[string]any{"cursor": fmt.Sprint(len(j.items)), "end": j.state})
	if diff := cmp.Diff(want.String(), lines); diff != "" {
		t.Error(diff)
	}
}

func TestSubmitResultsNowhere(t *testing.T) {
	f := newFakeJobs(t)
	f.hold = true
	status, out, errs := f.run("", "jobs", "submit", "--quiet", "--results", "/nowhere/x", folder(t, "a.jpg"))
	if status != 1 || out != "" || errs != "triptych: /nowhere/x can't be written: no such file or directory\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		faults []fault
		polls  int
	}{
		"by events":           {nil, 0},
		"events break":        {[]fault{cutAfter(500)}, 1},
		"there are no events": {[]fault{refusal(http.StatusNotFound, "", "no such route")}, 1},
		"events are odd":      {[]fault{func(w http.ResponseWriter, _ *http.Request, _ http.HandlerFunc) { say(w, http.StatusOK, "hi") }}, 1},
		"events are away":     {[]fault{refusal(http.StatusServiceUnavailable, "0", "away")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeJobs(t)
			f.hold = true
			f.run("", "jobs", "submit", folder(t, "a.jpg", "b.jpg"))
			f.fail("GET /v1/jobs/{id}/events", tt.faults...)
			var ending sync.WaitGroup
			ending.Go(func() {
				testkit.Eventually(t, wanted, "the job is watched", func() bool { return f.count("GET /v1/jobs/job1/events") > 0 })
				f.release(1)
				f.release(1)
			})
			status, out, errs := f.run("", "jobs", "watch", "job1")
			ending.Wait()
			if status != 0 || out != "job job1 is done after 2.5s: 2 of 2 succeeded\n" || errs != "" {
				t.Errorf("status %d, %q, %q", status, out, errs)
			}
			if polls := f.count("GET /v1/jobs/job1") - f.count("GET /v1/jobs/job1/events"); polls < tt.polls || (tt.polls == 0) != (polls == 0) {
				t.Errorf("asked for the status %d times, want %d", polls, tt.polls)
			}
		})
	}
}

func TestWatchOfNothing(t *testing.T) {
	f := newFakeJobs(t)
	status, out, errs := f.run("", "jobs", "watch", "nope")
	if status != 1 || out != "" || errs != "triptych: there is no job \"nope\" (404 Not Found)\n" {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
}

// To end the command is not to end the job.
func TestWatchIsInterrupted(t *testing.T) {
	f := newFakeJobs(t)
	f.hold = true
	f.run("", "jobs", "submit", folder(t, "a.jpg"))
	for name, args := range map[string][]string{
		"watch":              {"jobs", "watch", "job1"},
		"watch with results": {"jobs", "watch", "job1", "--results", filepath.Join(t.TempDir(), "results")},
		"results":            {"jobs", "results", "job1"},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(f.seen)
			ctx, cancel := context.WithCancel(t.Context())
			var ending sync.WaitGroup
			ending.Go(func() {
				testkit.Eventually(t, wanted, "the job is watched", func() bool { return f.count("GET") > before-1 })
				cancel()
			})
			var out, errs strings.Builder
			status := cli.Execute(ctx, append(args, "--server", f.url), nil, cli.Streams{Out: &out, Err: &errs})
			ending.Wait()
			want := "triptych: job job1 goes on; see it with: triptych jobs watch job1 --server " + f.url + "\n"
			if status != 1 || errs.String() != want || out.String() != "" {
				t.Errorf("status %d, %q, %q", status, out.String(), errs.String())
			}
		})
	}
}

func TestSubmitIsInterrupted(t *testing.T) {
	f := newFakeJobs(t)
	ctx, cancel := context.WithCancel(t.Context())
	f.fail("POST /v1/jobs", func(_ http.ResponseWriter, r *http.Request, _ http.HandlerFunc) {
		_, _ = bufio.NewReader(r.Body).Discard(1 << 20)
		cancel()
		<-r.Context().Done()
	})
	var out, errs strings.Builder
	status := cli.Execute(ctx, []string{"jobs", "submit", "--idempotency-key", "k1", folder(t, "a.jpg"), "--server", f.url}, nil, cli.Streams{Out: &out, Err: &errs})
	want := "triptych: the gateway had not answered yet; to be sure of the job, submit it again with --idempotency-key k1\n"
	if status != 1 || errs.String() != want || out.String() != "" {
		t.Errorf("status %d, %q, %q", status, out.String(), errs.String())
	}
}
