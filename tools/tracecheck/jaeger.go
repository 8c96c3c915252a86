package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// span is what the check needs of one.
type span struct {
	ID, Parent    string
	Links         []string // spans of the same trace
	Service, Name string
	Start, Micros int64
}

// answer is the part of Jaeger's /api/traces/{id} that is read.
type answer struct {
	Data []struct {
		Spans []struct {
			SpanID        string
			OperationName string
			ProcessID     string
			StartTime     int64
			Duration      int64
			References    []struct{ RefType, TraceID, SpanID string }
		}
		Processes map[string]struct{ ServiceName string }
	}
}

// fetch reads a trace as Jaeger has it now.
func fetch(ctx context.Context, server, id string) ([]span, error) {
	address, err := url.JoinPath(server, "api", "traces", id)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := new(http.Client).Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET %s: %s", address, response.Status)
	}
	return parse(io.LimitReader(response.Body, 16<<20), id)
}

func parse(body io.Reader, id string) ([]span, error) {
	var got answer
	if err := json.NewDecoder(body).Decode(&got); err != nil {
		return nil, fmt.Errorf("read trace: %w", err)
	}
	if len(got.Data) != 1 {
		return nil, fmt.Errorf("%d traces answer to %s", len(got.Data), id)
	}
	var spans []span
	for _, s := range got.Data[0].Spans {
		one := span{
			ID: s.SpanID, Name: s.OperationName, Start: s.StartTime, Micros: s.Duration,
			Service: got.Data[0].Processes[s.ProcessID].ServiceName,
		}
		for _, reference := range s.References {
			if reference.TraceID != id {
				continue // a link, as between a batch and its members
			}
			if reference.RefType == "CHILD_OF" {
				one.Parent = reference.SpanID
			} else {
				one.Links = append(one.Links, reference.SpanID)
			}
		}
		spans = append(spans, one)
	}
	return spans, nil
}
