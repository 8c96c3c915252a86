package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// maxLine bounds one result.
const maxLine = 4 << 20

// Result is what became of one item.
type Result struct {
	// Item is its place in the job, from 0.
	Item int
	// State is succeeded, failed, dead, cancelled or expired.
	State string
	// Error says why there is no answer.
	Error struct{ Code, Message string }
	// Predictions are a classifier's answer, the best first.
	Predictions []struct{ Label string }
}

// Labels are those of the predictions.
func (r Result) Labels() []string {
	labels := make([]string, len(r.Predictions))
	for i, p := range r.Predictions {
		labels[i] = p.Label
	}
	return labels
}

// Results reads the results of a job from the first on, and follows it to its end.
// It says how many there were.
func (c *Client) Results(ctx context.Context, id string) (items int, err error) {
	err = c.Follow(ctx, id, func(Result) { items++ })
	return items, err
}

// Follow gives each result of a job as it comes, from the first on, until the job's
// end.
func (c *Client) Follow(ctx context.Context, id string, each func(Result)) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/jobs/"+id+"/results", nil)
	if err != nil {
		return fmt.Errorf("ask for results: %w", err)
	}
	resp, err := c.do(req, http.StatusOK)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	items := 0
	for lines.Scan() {
		var line struct {
			Result
			End string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return fmt.Errorf("result %d is not JSON: %w", items, err)
		}
		if line.End != "" {
			return nil
		}
		each(line.Result)
		items++
	}
	return errors.Join(fmt.Errorf("the results end after %d items without a last line", items), lines.Err())
}
