package webhook_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"triptych/gateway/jobs/webhook"
	pb "triptych/proto/jobs"
	"triptych/shared/failure"
	"triptych/shared/telemetry"
)

// receiver is a server that keeps what it got.
func receiver(t *testing.T, answer http.HandlerFunc) (url string, got chan *http.Request) {
	t.Helper()
	got = make(chan *http.Request, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		kept := r.Clone(context.Background())
		kept.Body = io.NopCloser(strings.NewReader(string(body)))
		got <- kept
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// signed checks a request as a receiver does that knows a secret.
func signed(t *testing.T, r *http.Request, secret, body string) bool {
	t.Helper()
	seconds, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age < -time.Minute || age > time.Minute {
		t.Errorf("timestamp %q", r.Header.Get("webhook-timestamp"))
	}
	want, err := webhook.Sign(r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), []byte(body), secret)
	if err != nil {
		t.Fatal(err)
	}
	for signature := range strings.SplitSeq(r.Header.Get("webhook-signature"), " ") {
		if signature == want {
			return true
		}
	}
	return false
}

func TestCallDelivers(t *testing.T) {
	t.Parallel()
	other := "whsec_" + strings.Repeat("QUJD", 8)
	c, tel := caller(t, func(c *webhook.Config) { c.AllowPrivate = true; c.Secrets = append(c.Secrets, other) })
	url, got := receiver(t, status(http.StatusNoContent))
	jobs := webhook.Jobs{Caller: c, Document: func(job *pb.Job) ([]byte, error) { return []byte(`{"id":"` + job.GetId() + `"}`), nil }}
	job := &pb.Job{Id: "j1", EndedMs: 1700000000123, CallbackUrl: url + "/hook?token=x"}
	if err := jobs.Call(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	r := <-got
	body, _ := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || r.URL.String() != "/hook?token=x" || string(body) != `{"id":"j1"}` || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %s %v", r.Method, r.URL, body, r.Header)
	}
	if !signed(t, r, specSecret, string(body)) || !signed(t, r, other, string(body)) || signed(t, r, specSecret, "other") {
		t.Errorf("signature %q", r.Header.Get("webhook-signature"))
	}
	if id := r.Header.Get("webhook-id"); id != "j1-1700000000123" || strings.Contains(id, ".") {
		t.Errorf("id %q", id)
	}
	want := "# HELP triptych_webhook_calls_total Tries of callbacks, by what came of them: delivered, later (may be tried again), refused, cancelled.\n# TYPE triptych_webhook_calls_total counter\n" +
		"triptych_webhook_calls_total{result=\"cancelled\"} 0\ntriptych_webhook_calls_total{result=\"delivered\"} 1\ntriptych_webhook_calls_total{result=\"later\"} 0\ntriptych_webhook_calls_total{result=\"refused\"} 0\n"
	if err := testutil.GatherAndCompare(tel.Registry, strings.NewReader(want), "triptych_webhook_calls_total"); err != nil {
		t.Error(err)
	}
}

func TestCallJudges(t *testing.T) {
	t.Parallel()
	after := func(hint string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", hint)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		kind   failure.Kind
		says   string
		after  time.Duration
	}{
		"gone":            {status(http.StatusGone), failure.NotFound, "the callback answered 410: it wants no more", 0},
		"not found":       {status(http.StatusNotFound), failure.Unavailable, "the callback answered 404", time.Second},
		"broken":          {status(http.StatusInternalServerError), failure.Unavailable, "the callback answered 500", time.Second},
		"busy":            {after("7"), failure.Unavailable, "the callback answered 503", 7 * time.Second},
		"busy for years":  {after("999999999"), failure.Unavailable, "the callback answered 503", 24 * time.Hour},
		"busy until then": {after("Fri, 31 Dec 9999 23:59:59 GMT"), failure.Unavailable, "the callback answered 503", 24 * time.Hour},
		"a hint in words": {after("soon"), failure.Unavailable, "the callback answered 503", time.Second},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/else", http.StatusTemporaryRedirect)
		}, failure.Unavailable, "the callback answered 307", time.Second},
		"too many headers": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<17)) }, failure.Unavailable, "the callback can't be reached", time.Second},
		"it hangs up":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, failure.Unavailable, "the callback can't be reached", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := caller(t, allowPrivate)
			url, got := receiver(t, tt.answer)
			err := c.Call(t.Context(), "j1-1", url, []byte("{}"))
			check(t, err, tt.says, tt.kind)
			if failure.RetryAfter(err) != tt.after {
				t.Errorf("again after %s, want %s", failure.RetryAfter(err), tt.after)
			}
			if <-got; len(got) != 0 {
				t.Errorf("%d more requests than one", len(got))
			}
		})
	}
}

// A receiver that answers for ever is left alone.
func TestCallBoundsTheAnswer(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	c, _ := caller(t, allowPrivate)
	url, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	if err := c.Call(t.Context(), "j1-1", url, nil); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestCallTakesNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	c, _ := caller(t, func(c *webhook.Config) { c.AllowPrivate = true; c.Timeout = 50 * time.Millisecond })
	url, got := receiver(t, hang)
	check(t, c.Call(t.Context(), "j1-1", url, nil), "the callback did not answer in time", failure.Unavailable)
	<-got

	patient, _ := caller(t, allowPrivate)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-got; cancel() }()
	check(t, patient.Call(ctx, "j1-1", url, nil), "the caller has gone", failure.Cancelled)
}

func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secrets")
	write := func(secret string) {
		if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	old, fresh := strings.Repeat("o", 24), strings.Repeat("f", 24)
	write(old)
	c, _ := caller(t, func(c *webhook.Config) { c.AllowPrivate = true; c.Secrets = nil; c.SecretFile = file })
	url, got := receiver(t, status(http.StatusOK))
	for _, secret := range []string{old, fresh} {
		write(secret)
		if err := c.Call(t.Context(), "j1-1", url, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if !signed(t, <-got, secret, "x") {
			t.Errorf("not signed with %q", secret)
		}
	}
	write("short")
	check(t, c.Call(t.Context(), "j1-1", url, nil), "the secrets of webhooks can't be read", failure.Unavailable)
}

func TestNewTwice(t *testing.T) {
	t.Parallel()
	tel := telemetry.Discard()
	if _, err := webhook.New(webhook.DefaultConfig(), tel); err != nil {
		t.Fatal(err)
	}
	if _, err := webhook.New(webhook.DefaultConfig(), tel); err == nil {
		t.Error("metrics were registered twice")
	}
}
