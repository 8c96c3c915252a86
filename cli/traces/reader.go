package traces

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"triptych/shared/failure"
)

// maxAnswer bounds what is read of a trace.
const maxAnswer = 16 << 20

// pause and quiet say when a trace counts as whole: spans come from several
// services, each sending when it sees fit.
const (
	pause = 100 * time.Millisecond
	quiet = 900 * time.Millisecond
)

// Wait reads a trace from Jaeger's query API at base, again and again until its
// root is there and no more spans have come for a while. When ctx ends first, it
// gives what has come. NotFound when nothing has.
func Wait(ctx context.Context, base, traceID string) (Trace, error) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	var last Trace
	changed := time.Now()
	for {
		t, err := read(ctx, client, base, traceID)
		if err == nil && len(t.Spans) != len(last.Spans) {
			last, changed = t, time.Now()
		}
		if failure.KindOf(err) == failure.Unavailable && ctx.Err() == nil {
			return last, err
		}
		if len(last.Spans) > 0 && time.Since(changed) >= quiet {
			return last, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			if len(last.Spans) == 0 {
				return last, failure.New(failure.NotFound, "%s has no trace %s", base, traceID)
			}
			return last, nil
		}
	}
}

func read(ctx context.Context, client *http.Client, base, traceID string) (Trace, error) {
	address := strings.TrimRight(base, "/") + "/api/traces/" + url.PathEscape(traceID)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return Trace{}, failure.Wrap(err, failure.Invalid, "%q is not a URL", base)
	}
	resp, err := client.Do(req)
	if err != nil {
		return Trace{}, failure.Wrap(err, failure.Unavailable, "no traces can be read at %s", base)
	}
	defer resp.Body.Close()
	var answer Answer
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		// Not even a "no such trace": something else lives there.
		return Trace{}, failure.Wrap(err, failure.Unavailable, "no traces can be read at %s", base)
	}
	if len(answer.Data) == 0 {
		return Trace{}, failure.New(failure.NotFound, "%s has no trace %s", base, traceID)
	}
	return answer.Data[0], nil
}
