package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"triptych/loadtest/target/targettest"
)

// Every command says at once that nobody is there, and which side it is.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	server := targettest.Start(t, echo)
	nobody := "http://" + targettest.Nobody(t)
	dir := targettest.Pictures(t, "a")
	file := scenarioFile(t, "requests: {images: "+dir+"}\nstages:\n- {concurrency: 8, duration: 1h}\n")
	says := "nothing answers at " + nobody + ": connection refused. Is the server running?\n"
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"closed":     {[]string{dir, "--url", nobody, "--duration", "1h"}, says},
		"open":       {[]string{dir, "--url", nobody, "--rate", "100", "--duration", "1h"}, says},
		"run":        {[]string{"run", file, "--url", nobody}, says},
		"search":     {[]string{"search", dir, "--url", nobody, "--keep", "p99 < 200ms"}, says},
		"capacity":   {[]string{"search", dir, "--url", nobody, "--capacity"}, says},
		"compare, A": {[]string{"compare", nobody, server.URL, dir}, "A: " + says},
		"compare, B": {[]string{"compare", server.URL, nobody, dir}, "B: " + says},
		"for good":   {[]string{dir, "--url", server.URL, "--model", "x"}, server.URL + " refuses requests for model x: HTTP 404 NOT_FOUND: unknown model\n"},
		"for good, B": {
			[]string{"compare", server.URL, server.URL, dir, "--model-b", "x"}, "B: " + server.URL + " refuses requests for model x: HTTP 404 NOT_FOUND: unknown model\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := command(t, "r.json", tt.args...)
			if c.status != statusNotRun || c.stderr != "loadtest: "+tt.want || c.stdout != "" {
				t.Errorf("status %d\n%s%s", c.status, c.stdout, c.stderr)
			}
		})
	}
}

// Who allows errors may measure refusals.
func TestRefusalsThatAreAllowed(t *testing.T) {
	server := targettest.Start(t, echo)
	c := command(t, "r.json", targettest.Pictures(t, "a"), "--url", server.URL, "--model", "x", "--requests", "5", "--allow-errors")
	if c.status != statusGood {
		t.Errorf("status %d\n%s%s", c.status, c.stdout, c.stderr)
	}
	contains(t, c.stdout, "5  HTTP 404 NOT_FOUND: unknown model")
}

// A server that ends in the middle of a test is no reason to be busy.
func TestServerThatEnds(t *testing.T) {
	var requests atomic.Int64
	var ending sync.WaitGroup
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if requests.Add(1) == 50 {
			ending.Go(server.Close)
		}
		_, _ = w.Write([]byte(`{"results":[{"predictions":[{"label":"cat"}]}]}`))
	}))
	defer ending.Wait()
	o := runWith(t, t.Context(), nil, targettest.Pictures(t, "a"), "--url", server.URL, "--duration", "1s")
	if o.status != statusErrors || o.report.Answered < 49 || o.report.Failed == 0 || o.report.Failed > 200 {
		t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// A search says how long it may take, but not to those who want no progress.
func TestSearchSaysHowLong(t *testing.T) {
	server := targettest.Start(t, echo)
	args := []string{"search", targettest.Pictures(t, "a"), "--url", server.URL, "--capacity", "--most", "2", "--duration", "50ms", "--warmup", "950ms"}
	c := command(t, "r.json", args...)
	contains(t, c.stderr, "this takes at most about 2s, mostly far less\n")
	if c = command(t, "r.json", append(args, "--quiet")...); strings.Contains(c.stderr, "this takes") {
		t.Errorf("said all the same: %s", c.stderr)
	}
}
