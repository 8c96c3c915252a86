package ledger

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Status is a job as a gateway tells it.
type Status struct {
	ID     string            `json:"id"`
	State  string            `json:"state"`
	Items  int               `json:"items"`
	Counts map[string]uint32 `json:"counts"`
}

// Prediction is one answer of a model.
type Prediction struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
	Class int32   `json:"class"`
}

// Result is one line of a job's results.
type Result struct {
	Item        uint32       `json:"item"`
	Name        string       `json:"name"`
	State       string       `json:"state"`
	Predictions []Prediction `json:"predictions"`
	Error       *struct {
		Code string `json:"code"`
	} `json:"error"`
	End string `json:"end"`
}

// Takes tells whether a gateway takes jobs now.
func (l *Ledger) Takes(ctx context.Context) bool {
	_, err := l.get(ctx, "/v1/jobs?limit=1")
	return err == nil
}

// Status asks for a job.
func (l *Ledger) Status(ctx context.Context, id string) (Status, error) {
	var s Status
	data, err := l.get(ctx, "/v1/jobs/"+id)
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(data, &s)
}

// Results asks for the results of a job that there are.
func (l *Ledger) Results(ctx context.Context, id string) ([]Result, error) {
	data, err := l.get(ctx, "/v1/jobs/"+id+"/results?follow=false")
	if err != nil {
		return nil, err
	}
	var results []Result
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("results of %s: %w: %s", id, err, lines.Text())
		}
		if r.End == "" {
			results = append(results, r)
		}
	}
	return results, lines.Err()
}

// letter is a dead letter as a gateway lists it.
type letter struct {
	Job  string `json:"job"`
	Item uint32 `json:"item"`
}

// letters asks for all dead letters, page by page.
func (l *Ledger) letters(ctx context.Context) ([]letter, error) {
	var all []letter
	for cursor := ""; ; {
		data, err := l.get(ctx, "/v1/dead-letters?limit=100&cursor="+url.QueryEscape(cursor))
		if err != nil {
			return nil, err
		}
		var page struct {
			Letters []letter `json:"dead_letters"`
			Next    string   `json:"next"`
		}
		if err := json.Unmarshal(data, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Letters...)
		if page.Next == "" {
			return all, nil
		}
		cursor = page.Next
	}
}

// Requeue puts a dead item back.
func (l *Ledger) Requeue(ctx context.Context, id string, item uint32) error {
	_, err := l.call(ctx, http.MethodPost, fmt.Sprintf("/v1/dead-letters/%s/%d/requeue", id, item))
	if err == nil {
		l.mu.Lock()
		l.requeued++
		l.mu.Unlock()
	}
	return err
}

func (l *Ledger) get(ctx context.Context, path string) ([]byte, error) {
	return l.call(ctx, http.MethodGet, path)
}

// call asks one gateway after the other: some may be those that are killed.
func (l *Ledger) call(ctx context.Context, method, path string) (data []byte, err error) {
	for _, gateway := range l.gateways {
		if data, err = l.ask(ctx, method, "http://"+gateway+path); err == nil {
			return data, nil
		}
	}
	return nil, err
}

func (l *Ledger) ask(ctx context.Context, method, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s is answered %d: %s", method, url, resp.StatusCode, data)
	}
	return data, err
}
