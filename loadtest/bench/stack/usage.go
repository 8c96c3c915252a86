package stack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"triptych/loadtest/bench/server"
)

// askTime bounds one look at a service.
const askTime = 5 * time.Second

// NewClient is what Scrape asks with, again and again. Close its idle connections.
func NewClient() *http.Client { return &http.Client{Transport: &http.Transport{}, Timeout: askTime} }

// Memory is the resident memory of all processes together, in bytes.
func (s *Stack) Memory() (int64, error) { return sum(s, (*server.Server).Memory) }

// CPU is the processor time of all processes together.
func (s *Stack) CPU() (time.Duration, error) { return sum(s, (*server.Server).CPU) }

// sum adds up what all processes have used.
func sum[T ~int64](s *Stack, used func(*server.Server) (T, error)) (T, error) {
	var all T
	for _, service := range s.Services {
		own, err := used(service.Server())
		if err != nil {
			return 0, fmt.Errorf("%s: %w", service.Name, err)
		}
		all += own
	}
	return all, nil
}

// Scrape reads the metrics as Prometheus does, and gives the sum of those of a name
// over all labels; 0 where there are none.
func (s *Service) Scrape(ctx context.Context, client *http.Client, name string) (float64, error) {
	resp, err := s.ask(ctx, client, "metrics")
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or the connection is lost anyway
	return sumOf(resp.Body, name)
}

// ask is a good answer on the operators' port. Close its body.
func (s *Service) ask(ctx context.Context, client *http.Client, what string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/"+what, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask %s for %s: %w", s.Name, what, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("ask %s for %s: status %d", s.Name, what, resp.StatusCode), resp.Body.Close())
	}
	return resp, nil
}

// ready waits until the service says that it can serve what it was promised to.
func (s *Service) ready(ctx context.Context) error {
	client := NewClient()
	defer client.CloseIdleConnections()
	err := s.Server().Await(ctx, "be ready", func(ctx context.Context) bool {
		resp, err := s.ask(ctx, client, "readyz")
		return err == nil && resp.Body.Close() == nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	return nil
}

// sumOf adds up the samples of a metric in Prometheus' text form.
func sumOf(r io.Reader, name string) (float64, error) {
	var sum float64
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		v, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read %s: %w", name, err)
		}
		sum += v
	}
	return sum, lines.Err()
}
