package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"triptych/loadtest/measure"
	"triptych/loadtest/page"
	"triptych/loadtest/page/chart"
)

var update = flag.Bool("update", false, "rewrite the golden outline")

// document is a page that was written and read again. It is kept as an artifact,
// to be looked at.
type document struct {
	text string
	root *html.Node
}

func written(t *testing.T, r *page.Report) document {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(t.ArtifactDir(), "page.html"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return document{b.String(), root}
}

// all are the elements with a name.
func (d document) all(name string) []*html.Node {
	var found []*html.Node
	for n := range d.root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			found = append(found, n)
		}
	}
	return found
}

// words are a node's text, on one line. Where a line may break it goes on.
func words(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
			if next := c.NextSibling; next == nil || next.Data != "wbr" {
				b.WriteByte(' ')
			}
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// outline is what a page holds, without the insides of its charts.
func (d document) outline() string {
	var b strings.Builder
	rows := func(n *html.Node) (total int) {
		for c := range n.Descendants() {
			if c.Data == "tr" {
				total++
			}
		}
		return total - 1
	}
	for n := range d.root.Descendants() {
		switch n.Data {
		case "h1", "h2", "h3", "summary":
			fmt.Fprintf(&b, "%s %s\n", n.Data, words(n))
		case "p", "li", "pre", "dt", "dd", "a":
			fmt.Fprintf(&b, "  %s: %s\n", n.Data, words(n))
		case "svg":
			fmt.Fprintf(&b, "  svg %s\n", attribute(n, "class"))
		case "table":
			fmt.Fprintf(&b, "  table of %d rows\n", rows(n))
		case "thead":
			fmt.Fprintf(&b, "    %s\n", words(n))
		}
	}
	return b.String()
}

func TestOutline(t *testing.T) {
	got := written(t, full()).outline()
	golden := filepath.Join("testdata", "outline.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("outline (-want +got), rewrite it with -update:\n%s", diff)
	}
}

// hostile is a text that would run, close, turn around or break what holds it.
const hostile = "\u202e</title></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{.}}<!--]]>&lt;\x00\x1b[31m" +
	" a-very-long-name-without-any-place-where-it-could-be-broken-so-that-a-table-must-be-able-to-hold-it"

// hostileReport has the text everywhere.
func hostileReport() *page.Report {
	r := full()
	r.Title, r.Command, r.Notes = hostile, hostile, []string{hostile}
	r.Facts = []page.Fact{{Name: hostile, Value: hostile}}
	r.Tables = []page.Table{{Title: hostile, Note: hostile, Header: []string{hostile}, Rows: []page.Row{{Cells: []string{hostile, hostile}}}}}
	r.Thresholds = []page.Threshold{{Where: hostile, Condition: hostile, Measured: hostile}}
	r.Comparisons = []page.Comparison{{Measure: hostile, A: hostile, B: hostile, ValueA: hostile, ValueB: hostile, Ratio: 2, Verdict: hostile}}
	run := &r.Runs[0]
	run.Name, run.Target, run.Load, run.Notes = hostile, hostile, hostile, []string{hostile}
	run.Stages[1].Name, run.Stages[1].Load = hostile, hostile
	run.Steps[0].Model, run.Steps[0].Version = hostile, hostile
	run.Batches[0].Model, run.Services[0].Name = hostile, hostile
	run.Result.Faults = []measure.FaultCount{{Kind: hostile, Example: hostile, Count: 1}}
	run.Timeline[0].Errors = []measure.KindCount{{Kind: hostile, Count: 1}}
	return r
}

func TestNothingRuns(t *testing.T) {
	for name, r := range map[string]*page.Report{"full": full(), "hostile": hostileReport()} {
		t.Run(name, func(t *testing.T) {
			d := written(t, r)
			known := strings.Fields("html head meta title style body header main section footer nav h1 h2 h3 p span wbr dl div dt dd pre code ul li a " +
				"table thead tbody tr th td figure figcaption details summary svg desc path text rect circle")
			for n := range d.root.Descendants() {
				if n.Type == html.CommentNode || n.Type == html.ElementNode && !slices.Contains(known, n.Data) {
					t.Errorf("%s on the page", n.Data)
				}
				for _, a := range n.Attr {
					if strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#run") {
						t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
					}
				}
			}
		})
	}
	d := written(t, hostileReport())
	text := strings.NewReplacer("\x00", "\ufffd").Replace(strings.Join(strings.Fields(hostile), " "))
	for _, name := range []string{"h1", "h2", "h3", "title", "td", "dt", "dd", "code", "p", "text"} {
		if !slices.ContainsFunc(d.all(name), func(n *html.Node) bool { return strings.Contains(words(n), text[:40]) }) {
			t.Errorf("no %s tells the text as it is", name)
		}
	}
}

func TestPolicy(t *testing.T) {
	d := written(t, full())
	style := d.all("style")
	if len(style) != 1 {
		t.Fatalf("%d style sheets", len(style))
	}
	sum := sha256.Sum256([]byte(style[0].FirstChild.Data))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
	if got := attribute(d.all("meta")[1], "content"); got != want {
		t.Errorf("policy %s\nwant   %s", got, want)
	}
}

// Every chart can be told by an assistive device, and every colour has a meaning.
func TestCharts(t *testing.T) {
	d := written(t, full())
	css := d.all("style")[0].FirstChild.Data
	ids := map[string]int{}
	for n := range d.root.Descendants() {
		if id := attribute(n, "id"); id != "" {
			ids[id]++
		}
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("id %s is there %d times", id, n)
		}
	}
	charts := 0
	for _, n := range d.all("svg") {
		if attribute(n, "class") == "key" {
			continue
		}
		charts++
		for _, id := range strings.Fields(attribute(n, "aria-labelledby")) {
			if ids[id] != 1 {
				t.Errorf("a chart is labelled by %s, which is not there", id)
			}
		}
	}
	if charts != 2*10 {
		t.Errorf("%d charts in both shapes", charts)
	}
	for _, match := range regexp.MustCompile(`class="([sf]-[^"]*)"`).FindAllStringSubmatch(d.text, -1) {
		if !strings.Contains(css, "."+match[1]+" {") {
			t.Errorf("the style sheet has no rule for %s", match[1])
		}
	}
	for _, ink := range chart.Inks() {
		if !strings.Contains(css, ".s-"+string(ink)+" {") || !strings.Contains(css, ".f-"+string(ink)+" {") {
			t.Errorf("the style sheet has no rules for %s", ink)
		}
	}
}

// Every colour is defined for light, dark and paper.
func TestColours(t *testing.T) {
	css := written(t, &page.Report{}).all("style")[0].FirstChild.Data
	for _, match := range regexp.MustCompile(`var\((--[a-z0-9-]+)\)`).FindAllStringSubmatch(css, -1) {
		if n := strings.Count(css, match[1]+":"); n != 3 {
			t.Errorf("%s is defined %d times", match[1], n)
		}
	}
}

func TestShapesOfRuns(t *testing.T) {
	many := make([]page.Run, 9)
	for i := range many {
		many[i] = page.Run{Name: fmt.Sprint("run ", i), Result: result(10, time.Second, 5), Percentiles: percentiles(10, 5)}
	}
	tests := map[string]struct {
		runs    []page.Run
		charts  int // in both shapes
		has     []string
		hasNone []string
	}{
		"no runs":   {nil, 0, nil, []string{"<h2>", "<table>", "<nav"}},
		"empty run": {[]page.Run{{Name: "empty"}}, 0, []string{"0/s", "–"}, []string{"NaN", "<table>"}},
		"one second": {
			[]page.Run{{Name: "short", Result: measure.Result{Elapsed: time.Second, Answered: 1}, Timeline: timeline(1, time.Second, 1), Percentiles: percentiles(1, 5)}},
			6,
			[]string{"by second."},
			[]string{"NaN", "<nav"},
		},
		"less than a second": {
			[]page.Run{{Name: "short", Result: measure.Result{Elapsed: 300 * msec, Answered: 1}, Timeline: timeline(1, 300*msec, 10), Percentiles: percentiles(1, 5)}},
			6,
			[]string{"by second."},
			[]string{"NaN"},
		},
		"thirty minutes": {
			[]page.Run{{Name: "long", Result: measure.Result{Elapsed: 30 * time.Minute, Answered: 300_000}, Timeline: timeline(225, 8*time.Second, 170), Percentiles: percentiles(300_000, 5)}},
			6,
			[]string{"by intervals of 8 s.", "99.99 %", ">30:00<"},
			[]string{"NaN"},
		},
		"errors alone": {[]page.Run{{
			Name: "down", Result: measure.Result{Elapsed: time.Second, Errors: 5, Faults: []measure.FaultCount{{Kind: "connection", Count: 5}}},
			Timeline: []measure.Interval{{Width: time.Second, Sent: 5, Errors: []measure.KindCount{{Kind: "connection", Count: 5}}}},
		}}, 4, []string{"100 %", "connection"}, []string{"NaN"}},
		"many": {many, 18, []string{"<details><summary><h2>run 8</h2>", `href="#run9"`}, []string{"Percentiles of all runs"}},
		"two":  {many[:2], 6, []string{"Percentiles of all runs", "<h2>run 1</h2>"}, []string{"<summary><h2>"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := written(t, &page.Report{Title: name, Runs: test.runs})
			if n := strings.Count(d.text, `<svg class="chart`); n != test.charts {
				t.Errorf("%d charts, want %d", n, test.charts)
			}
			for _, want := range test.has {
				if !strings.Contains(d.text, want) {
					t.Errorf("no %q", want)
				}
			}
			for _, no := range test.hasNone {
				if strings.Contains(d.text, no) {
					t.Errorf("has %q", no)
				}
			}
		})
	}
}

func TestOutcome(t *testing.T) {
	met, missed := page.Threshold{Met: true}, page.Threshold{}
	rows := []page.Row{{Verdict: page.Good}, {Verdict: page.Bad}, {Verdict: page.Unsure}, {}}
	tests := map[string]struct {
		report page.Report
		want   string
	}{
		"no bars":           {page.Report{Tables: []page.Table{{Rows: rows}}}, ""},
		"one met":           {page.Report{Thresholds: []page.Threshold{met}}, "✓ The bar was met"},
		"of a run":          {page.Report{Thresholds: []page.Threshold{met}, Runs: []page.Run{{Thresholds: []page.Threshold{met}}}}, "✓ All 2 bars met"},
		"missed":            {page.Report{Thresholds: []page.Threshold{met, missed}}, "✗ 1 of 2 bars missed"},
		"rows":              {page.Report{Tables: []page.Table{{Bars: true, Rows: rows}}}, "✗ 1 of 2 bars missed"},
		"more is better":    {page.Report{Comparisons: []page.Comparison{{Ratio: 1.5, Bar: 1.5}}}, "✓ The bar was met"},
		"less is better":    {page.Report{Comparisons: []page.Comparison{{Ratio: 0.8, Bar: 0.7, LessIsBetter: true}}}, "✗ The bar was missed"},
		"its own":           {page.Report{Outcome: &page.Outcome{Verdict: page.Good, Text: "found"}, Thresholds: []page.Threshold{missed}}, "✓ found"},
		"no verdict":        {page.Report{Outcome: &page.Outcome{Text: "A is faster"}}, "A is faster"},
		"comparison to see": {page.Report{Comparisons: []page.Comparison{{Ratio: 0.8}}}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, p := range written(t, &test.report).all("p") {
				if strings.HasPrefix(attribute(p, "class"), "outcome") {
					got = words(p)
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Ratios are judged by whose side they are on, and by their interval.
func TestComparisons(t *testing.T) {
	tests := map[string]struct {
		comparison page.Comparison
		ink        string
		cells      string
	}{
		"better":        {page.Comparison{Measure: "m", Ratio: 1.5, Low: 1.4, High: 1.6}, "good", "1.50× 1.40 to 1.60"},
		"worse":         {page.Comparison{Measure: "m", Ratio: 1.5, Low: 1.4, High: 1.6, LessIsBetter: true}, "bad", "1.50×"},
		"no difference": {page.Comparison{Measure: "m", Ratio: 1.5, Low: 0.9, High: 1.6}, "neutral", "0.900 to 1.60"},
		"no interval":   {page.Comparison{Measure: "m", Ratio: 0.5, LessIsBetter: true, Bar: 0.75}, "good", "0.500× – ≤ 0.75×"},
		"names differ":  {page.Comparison{Measure: "m", A: "x", B: "y", ValueA: "1", ValueB: "2", Ratio: 0.5}, "bad", "x: 1 y: 2"},
		"no ratio":      {page.Comparison{Measure: "m", Ratio: math.NaN()}, "", "–×"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			d := written(t, &page.Report{Comparisons: []page.Comparison{test.comparison, {Measure: "other", A: "p", B: "q", Ratio: 1}}})
			_, drawn, _ := strings.Cut(d.text, `<svg class="chart wide"`)
			drawn, _, _ = strings.Cut(drawn, "</svg>")
			if test.ink != "" && !strings.Contains(drawn, `"f-`+test.ink+`"`) {
				t.Errorf("no %s dot", test.ink)
			}
			if got := words(d.all("tbody")[0]); !strings.Contains(got, test.cells) {
				t.Errorf("no %q in %q", test.cells, got)
			}
		})
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriterFails(t *testing.T) {
	if err := page.Write(broken{}, full()); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}
