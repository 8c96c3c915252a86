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

// Results reads the results of a job from the first on, and follows it to its end.
// It says how many there were.
func (c *Client) Results(ctx context.Context, id string) (items int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/v1/jobs/"+id+"/results", nil)
	if err != nil {
		return 0, fmt.Errorf("ask for results: %w", err)
	}
	resp, err := c.do(req, http.StatusOK)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var line struct{ End, State string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return items, fmt.Errorf("result %d is not JSON: %w", items, err)
		}
		if line.End != "" {
			return items, nil
		}
		items++
	}
	return items, errors.Join(fmt.Errorf("the results end after %d items without a last line", items), lines.Err())
}
