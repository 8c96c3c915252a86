package page_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"triptych/loadtest/measure"
	"triptych/loadtest/page"
)

// A run of the page's name has no second heading, and long paths break at slashes.
func TestHeadings(t *testing.T) {
	d := written(t, &page.Report{Title: "Day", Facts: []page.Fact{{Name: "file", Value: "http://a/long/<b>"}}, Runs: []page.Run{{Name: "Day"}}})
	if n := len(d.all("h2")); n != 0 {
		t.Errorf("%d headings", n)
	}
	if want := "<dd>http://a/<wbr>long/<wbr>&lt;b&gt;</dd>"; !strings.Contains(d.text, want) {
		t.Errorf("no %s", want)
	}
	if d = written(t, &page.Report{Title: "Day", Runs: []page.Run{{Name: "Day"}, {Name: "Night"}}}); len(d.all("h2")) != 3 {
		t.Errorf("%d headings", len(d.all("h2")))
	}
}

// Stages with loads of their own are never averaged in the figures that stand out.
func TestTilesOfStages(t *testing.T) {
	stages := func(n int) []page.Stage {
		all := []page.Stage{{Name: "warm-up", Warmup: true, Result: result(10, time.Second, 5)}}
		for i := range n {
			all = append(all, page.Stage{Name: fmt.Sprint("stage ", i+1), Load: fmt.Sprint("rate ", i+1), Result: result(int64(i+1)*1000, time.Second, 5)})
		}
		return all
	}
	tests := map[string]struct {
		stages     int
		rates      []string
		rows, tops []string
	}{
		"none":  {0, []string{"9000/s"}, []string{"good answers"}, nil},
		"one":   {1, []string{"9000/s"}, []string{"good answers"}, nil},
		"three": {3, []string{"1000/s", "2000/s", "3000/s"}, []string{"stage 1", "stage 2", "stage 3"}, []string{"stage 1", "stage 2", "stage 3"}},
		"many":  {5, nil, []string{"stage 1", "stage 5"}, []string{"Stages"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run := page.Run{Name: "r", Result: result(9000, time.Second, 5), Stages: stages(test.stages), Percentiles: percentiles(9000, 5)}
			d := written(t, &page.Report{Title: "t", Runs: []page.Run{run}})
			var rates, tops []string
			for _, n := range d.all("ul") {
				if attribute(n, "class") == "tiles" {
					rates = append(rates, strings.Fields(words(n))[1])
				}
			}
			for _, n := range d.all("h3") {
				if words(n) == "Percentiles" {
					break
				}
				tops = append(tops, words(n))
			}
			if diff := cmp.Diff(test.rates, rates); diff != "" {
				t.Errorf("rates (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.tops, tops); diff != "" {
				t.Errorf("headings before the first chart (-want +got):\n%s", diff)
			}
			for _, n := range d.all("div") {
				for _, row := range test.rows {
					if attribute(n, "aria-label") == "Latency, ms" && !strings.Contains(words(n), row) {
						t.Errorf("no row of %s in %s", row, words(n))
					}
				}
			}
			if mixed := strings.Contains(d.text, "of all stages together"); mixed != (test.stages > 1) {
				t.Errorf("percentiles of all stages together: %v", mixed)
			}
		})
	}
}

// A percentile with no answer behind it is not told, on no part of the page.
func TestFewAnswers(t *testing.T) {
	r := result(107, time.Second, 5)
	r.Latency.Count, r.Lateness.Count, r.Faults[0].Latency.Count = 107, 107, 1
	run := page.Run{Name: "few", Result: r, Stages: []page.Stage{{Name: "s", Result: r}}}
	d := written(t, &page.Report{Runs: []page.Run{run, run}})
	if got := words(d.all("ul")[0]); !strings.Contains(got, "p99 12.0 ms 1 of 100 was slower p99.9 – told from 1,000 answers on") {
		t.Errorf("tiles %q", got)
	}
	for table, want := range map[string]string{
		"Latency, ms": "good answers 2.00 5.50 5.00 8.00 9.50 12.0 – 30.0",
		"Errors":      "HTTP 429 BUSY 27 18.9 % – – the queue",
	} {
		if !slices.ContainsFunc(d.all("div"), func(n *html.Node) bool {
			return attribute(n, "aria-label") == table && strings.Contains(words(n), want)
		}) {
			t.Errorf("no %q in %s", want, table)
		}
	}
}

// What the client measured and the asked model does not know of is told.
func TestWhereTheTimeGoes(t *testing.T) {
	chain := page.Step{Model: "chain", Ensemble: true, Requests: 9, Total: 148 * msec}
	waited := chain
	waited.Admitted, waited.Waited = 9, 100*msec
	step := page.Step{Model: "step", Requests: 9, Compute: 90 * msec, Total: 100 * msec}
	tests := map[string]struct {
		steps []page.Step
		mean  time.Duration
		want  string
		key   bool
	}{
		"known":        {[]page.Step{waited, step}, 251 * msec, "The client measured a mean of 251 ms: 100 ms waiting at the gateway, 148 ms in chain, and 3.00 ms for the network, encoding and sending.", true},
		"not known":    {[]page.Step{chain, step}, 251 * msec, "The client measured a mean of 251 ms: 148 ms in chain, and 103 ms for what no model sees: waiting at a gateway's admission (told with --metrics of its admin port), the network, encoding and sending.", false},
		"one model":    {[]page.Step{step}, 251 * msec, "251 ms: 100 ms in step, and 151 ms", false},
		"others' time": {[]page.Step{chain, step}, 90 * msec, "", false},
		"no answers":   {[]page.Step{chain, step}, 0, "", false},
		"two models":   {[]page.Step{step, {Model: "other", Requests: 9, Total: 100 * msec}}, 251 * msec, "", false},
		"no wait":      {[]page.Step{{Model: "one", Total: 250 * msec, Admitted: 9}}, 251 * msec, "251 ms: 0 ms waiting at the gateway, 250 ms in one, and 1.00 ms", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			run := page.Run{Name: "r", Steps: test.steps, Result: measure.Result{Answered: 9, Elapsed: time.Second, Latency: measure.Spread{Mean: test.mean}}}
			d := written(t, &page.Report{Runs: []page.Run{run}})
			caption := words(d.all("figcaption")[0])
			if !strings.Contains(caption, test.want) || test.want == "" && strings.Contains(caption, "The client measured") {
				t.Errorf("caption %q", caption)
			}
			if got := strings.Contains(caption, "waited at the gateway"); got != test.key {
				t.Errorf("caption %q: a key of the wait is %v", caption, got)
			}
		})
	}
}
