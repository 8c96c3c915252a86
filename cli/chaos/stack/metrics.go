package stack

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"time"

	"triptych/shared/testkit"
)

// settle bounds how long a service may take to give back what faults made it take.
const settle = 30 * time.Second

// moreGoroutines and moreBytes are what a service may have above what it had before
// the first job: connections that are kept, and memory that Go has not given back.
const (
	moreGoroutines = 60
	moreBytes      = 256 << 20
)

// usage is what a process uses.
type usage struct{ goroutines, bytes float64 }

// Metric is the sum of a metric over its labels, as the service's metrics page has
// it; those that have none of the labels given as name="value" are left out.
func (s *Service) Metric(name string, labels ...string) float64 {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.Admin + "/metrics") //nolint:noctx // bounded by the client
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	sum := 0.0
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		rest, found := strings.CutPrefix(lines.Text(), name)
		if !found || rest == "" || rest[0] != ' ' && rest[0] != '{' || !has(rest, labels) {
			continue
		}
		var value float64
		if _, err := fmt.Sscan(rest[strings.LastIndexByte(rest, ' ')+1:], &value); err == nil {
			sum += value
		}
	}
	return sum
}

func has(text string, labels []string) bool {
	for _, label := range labels {
		if !strings.Contains(text, label) {
			return false
		}
	}
	return true
}

func (s *Service) usage() usage {
	return usage{s.Metric("go_goroutines"), s.Metric("process_resident_memory_bytes")}
}

// Settled waits until no service uses more than it did when the stack was ready.
func (s *Stack) Settled() {
	s.tb.Helper()
	for _, service := range s.All() {
		before := s.before[service]
		testkit.Eventually(s.tb, settle, fmt.Sprintf("%s uses no more than before, %+v", service.Name, before), func() bool {
			now := service.usage()
			return now.goroutines > 0 && now.goroutines <= before.goroutines+moreGoroutines && now.bytes <= before.bytes+moreBytes
		})
	}
}
