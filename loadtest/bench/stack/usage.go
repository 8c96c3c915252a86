package stack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// scrapeTime bounds one look at a service's metrics.
const scrapeTime = 5 * time.Second

// Memory is the resident memory of all processes together, in bytes.
func (s *Stack) Memory() (int64, error) {
	var sum int64
	for _, service := range s.Services {
		memory, err := service.Server().Memory()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", service.Name, err)
		}
		sum += memory
	}
	return sum, nil
}

// CPU is the processor time of all processes together.
func (s *Stack) CPU() (time.Duration, error) {
	var sum time.Duration
	for _, service := range s.Services {
		cpu, err := service.Server().CPU()
		if err != nil {
			return 0, fmt.Errorf("%s: %w", service.Name, err)
		}
		sum += cpu
	}
	return sum, nil
}

// Scrape reads the metrics as Prometheus does, and gives the sum of those of a name
// over all labels; 0 where there are none.
func (s *Service) Scrape(ctx context.Context, client *http.Client, name string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", s.Name, err)
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or the connection is lost anyway
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics of %s: status %d", s.Name, resp.StatusCode)
	}
	return sumOf(resp.Body, name)
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
