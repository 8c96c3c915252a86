package threshold_test

import (
	"strings"
	"testing"
	"time"

	"triptych/loadtest/measure"
	"triptych/loadtest/threshold"
	"triptych/shared/failure"
)

func facts() threshold.Facts {
	return threshold.Facts{
		Result: measure.Result{
			Elapsed: 10 * time.Second, Answered: 990, Errors: 10, Items: 1980,
			Faults:  []measure.FaultCount{{Kind: measure.WrongAnswer, Count: 1}, {Kind: measure.Timeout, Count: 2}, {Kind: "HTTP 429 BUSY", Count: 3}, {Kind: "gRPC RESOURCE_EXHAUSTED", Count: 4}},
			Latency: measure.Spread{Min: time.Millisecond, Mean: 20 * time.Millisecond, Max: time.Second},
		},
		Percentile: func(p float64) time.Duration { return time.Duration(p * float64(time.Millisecond)) },
	}
}

func TestJudge(t *testing.T) {
	for text, want := range map[string]struct {
		met      bool
		measured string
	}{
		"p99 < 200ms":           {true, "99ms"},
		"p99<99ms":              {false, "99ms"},
		"p99 <= 99ms":           {true, "99ms"},
		"p99.9 < 99.95ms":       {true, "99.9ms"},
		"p42 == 42ms":           {true, "42ms"},
		"min > 0.5ms":           {true, "1ms"},
		"mean < 10ms":           {false, "20ms"},
		"max <= 1s":             {true, "1s"},
		"errors < 1%":           {false, "1%"},
		"errors <= 1 %":         {true, "1%"},
		"errors == 10":          {true, "10"},
		"errors != 10":          {false, "10"},
		"wrong == 0":            {false, "1"},
		"timeouts <= 2":         {true, "2"},
		"overruns == 0":         {true, "0"},
		"refused < 1%":          {true, "0.7%"},
		"throughput > 100":      {false, "99.0/s"},
		"throughput >= 98.5/s":  {true, "99.0/s"},
		"items > 190/s":         {true, "198.0/s"},
		"requests >= 1000":      {true, "1000"},
		"answered > 99%":        {false, "99%"},
		"  answered   >   1e2 ": {true, "990"},
	} {
		t.Run(text, func(t *testing.T) {
			c, err := threshold.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Judge(facts()); got.Met != want.met || got.Measured != want.measured || got.Text != strings.Join(strings.Fields(text), " ") {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// Without answers no latency and no rate is good enough, or bad enough; of no
// requests there is no part.
func TestJudgeNothing(t *testing.T) {
	failed := measure.Result{Elapsed: time.Second, Errors: 10}
	for name, tt := range map[string]struct {
		result   measure.Result
		text     string
		met      bool
		measured string
	}{
		"latency":              {measure.Result{}, "p99 < 200ms", false, "no answers"},
		"mean":                 {measure.Result{}, "mean < 1s", false, "no answers"},
		"throughput":           {measure.Result{}, "throughput > 0", false, "no answers"},
		"low throughput":       {failed, "throughput < 10", false, "no answers"},
		"no items":             {failed, "items == 0", false, "no answers"},
		"part of no requests":  {measure.Result{}, "errors < 1%", false, "no requests"},
		"part of all that is":  {failed, "errors <= 100%", true, "100%"},
		"too great a part":     {failed, "errors < 100%", false, "100%"},
		"count of no requests": {measure.Result{}, "errors == 0", true, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := threshold.Parse(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			got := c.Judge(threshold.Facts{Result: tt.result, Percentile: func(float64) time.Duration { return 0 }})
			if got.Met != tt.met || got.Measured != tt.measured {
				t.Errorf("%s: %+v, want %t, %s", tt.text, got, tt.met, tt.measured)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "must be like p99 < 200ms",
		"p99":                "must be like p99 < 200ms",
		"p100 < 1s":          `there is no metric "p100"`,
		"px < 1s":            `there is no metric "px"`,
		"latency < 1s":       `there is no metric "latency"`,
		"p99 < 200":          "p99 is a time",
		"p99 < -1s":          "p99 is a time",
		"errors < x":         `"x" is no number`,
		"errors < NaN":       `"NaN" is no number`,
		"errors < -1":        `"-1" is no number`,
		"throughput > 5%":    "throughput is no part of the requests",
		"requests > 5%":      "requests is no part of the requests",
		"errors < 5/s":       "errors is no rate",
		"p99 < 200ms < 3s":   "p99 is a time",
		"errors =< 1":        `there is no metric "errors ="`,
		"throughput >> 5":    `"> 5" is no number`,
		"errors in total: 1": "must be like",
	} {
		if _, err := threshold.Parse(text); failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), want) {
			t.Errorf("%q: error = %v, want %q", text, err, want)
		}
	}
}

func TestAbout(t *testing.T) {
	for text, want := range map[string]struct{ errors, latency bool }{
		"errors < 1%": {true, false}, "wrong == 0": {false, false}, "p99 < 1s": {false, true}, "p99 > 1s": {false, false}, "max <= 1s": {false, true},
	} {
		c, err := threshold.Parse(text)
		if err != nil || c.AboutErrors() != want.errors || c.AboutLatency() != want.latency {
			t.Errorf("%s: about errors %v, about latency %v, error %v", text, c.AboutErrors(), c.AboutLatency(), err)
		}
	}
	c, _ := threshold.Parse("p99.5 < 1s")
	if p, bound, ok := c.LatencyBound(); p != 99.5 || bound != time.Second || !ok {
		t.Errorf("bound %v %v %v", p, bound, ok)
	}
}
