package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Letter is a dead letter: an item that was given up.
type Letter struct {
	Job      string `json:"job"`
	Item     int    `json:"item"`
	Name     string `json:"name"`
	Model    string `json:"model"`
	Step     string `json:"step"`
	Reason   Reason `json:"reason"`
	Attempts int    `json:"attempts"`
	TraceID  string `json:"trace_id"`
	Time     string `json:"time"`

	// Raw is the whole document as it came.
	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON implements json.Unmarshaler: it keeps the document.
func (l *Letter) UnmarshalJSON(data []byte) error {
	type plain Letter // has no methods
	if err := json.Unmarshal(data, (*plain)(l)); err != nil {
		return err
	}
	l.Raw = append(json.RawMessage(nil), data...)
	return nil
}

// LetterPage is a part of the list of dead letters.
type LetterPage struct {
	Letters []Letter `json:"dead_letters"`
	Next    string   `json:"next"`
}

const deadPath = "/v1/dead-letters"

// letterPath is the path of one item's letter.
func letterPath(job string, item int) string {
	return deadPath + "/" + url.PathEscape(job) + "/" + strconv.Itoa(item)
}

// DeadLetters lists dead letters.
func (c *Client) DeadLetters(ctx context.Context, f Filter) (LetterPage, error) {
	var page LetterPage
	err := c.get(ctx, deadPath+f.query(), &page)
	return page, err
}

// DeadLetter asks for that of one item.
func (c *Client) DeadLetter(ctx context.Context, job string, item int) (Letter, error) {
	var l Letter
	err := c.get(ctx, letterPath(job, item), &l)
	return l, err
}

// Requeue puts one dead item back, and tells how many that were.
func (c *Client) Requeue(ctx context.Context, job string, item int) (int, error) {
	return c.change(ctx, http.MethodPost, letterPath(job, item)+"/requeue")
}

// Purge deletes the letter of one item, and tells how many that were.
func (c *Client) Purge(ctx context.Context, job string, item int) (int, error) {
	return c.change(ctx, http.MethodDelete, letterPath(job, item))
}

// RequeueMany puts all dead items back that a filter matches, and tells how many;
// the empty filter is all.
func (c *Client) RequeueMany(ctx context.Context, f Filter) (int, error) {
	return c.change(ctx, http.MethodPost, deadPath+"/requeue"+f.orAll())
}

// PurgeMany deletes all letters that a filter matches, and tells how many; the empty
// filter is all.
func (c *Client) PurgeMany(ctx context.Context, f Filter) (int, error) {
	return c.change(ctx, http.MethodDelete, deadPath+f.orAll())
}

// orAll is the query of a filter, which says so when it is for all.
func (f Filter) orAll() string {
	if f == (Filter{}) {
		return "?all=true"
	}
	return f.query()
}

func (c *Client) change(ctx context.Context, method, path string) (int, error) {
	data, _, err := c.call(ctx, method, path, http.Header{}, nil, maxAnswer)
	if err != nil {
		return 0, err
	}
	var said struct{ Requeued, Purged int }
	if err := c.read(data, &said); err != nil {
		return 0, err
	}
	return said.Requeued + said.Purged, nil
}
