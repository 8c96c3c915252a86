package client

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"triptych/shared/failure"
)

func good(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode < 300 }

func unreachable(base string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return failure.Wrap(err, failure.Unavailable, "no gateway answers at %s (start one with: triptych up)", base)
}

// refused is the gateway's own word on why it did not answer, or that of somebody
// between.
func refused(resp *http.Response, body []byte) error {
	var said struct {
		Error string `json:"error"`
	}
	f := failure.New(kindOf(resp.StatusCode), "the gateway answered %s", resp.Status)
	if err := json.Unmarshal(body, &said); err == nil && said.Error != "" {
		f.Message = said.Error + " (" + resp.Status + ")"
	}
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 31); err == nil {
		f.RetryAfter = time.Duration(seconds) * time.Second //nolint:gosec // 31 bits of seconds fit
	}
	return f
}

// kindOf is what a status means to a command: whether to try again, and whether a
// thing is not there.
func kindOf(status int) failure.Kind {
	switch status {
	case http.StatusTooManyRequests:
		return failure.Busy
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return failure.Unavailable
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return failure.NotFound
	case http.StatusConflict:
		return failure.Conflict
	default:
		return failure.Invalid
	}
}
