package sheet_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/bench/figure"
	"triptych/loadtest/bench/sheet"
	"triptych/loadtest/page"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestPage(t *testing.T) {
	half := 0.5
	report := figure.Report{
		Machine: map[string]string{"system": "linux", "cores": "2"},
		Notes:   []string{"A note."},
		Figures: []figure.Figure{
			{Row: 1, Name: "it", Unit: "/s", Ours: 1, Rival: &half, Against: "the rival", Bar: figure.AtLeast(1.5)},
			{Row: 1, Name: "it", Unit: "ms", Ours: 1, Rival: &half, Against: "the rival", Bar: figure.AtMost(0.7)},
			{Row: 2, Name: "that", Ours: 3},
		},
	}
	got := sheet.Page("A title", "a command", report, []page.Run{{Name: "a run"}})
	want := &page.Report{
		Title: "A title", Command: "a command", Notes: report.Notes,
		Facts: []page.Fact{{Name: "cores", Value: "2"}, {Name: "system", Value: "linux"}},
		Tables: []page.Table{{Title: "Figures", Header: figure.Columns(), Bars: true, Rows: []page.Row{
			{Cells: []string{"1", "it", "1 /s", "0.50", "the rival", "2.000", ">= 1.5"}, Verdict: page.Good},
			{Cells: []string{"1", "it", "1 ms", "0.50", "the rival", "2.000", "<= 0.7"}, Verdict: page.Bad},
			{Cells: []string{"2", "that", "3", "-", "", "-", "-"}},
		}}},
		Runs: []page.Run{{Name: "a run"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "folder", "it.html")
	if err := sheet.Write(file, "A title", "", figure.Report{}, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Error(err)
	}
	for _, file := range []string{"/dev/null/folder/it.html", t.TempDir()} {
		if err := sheet.Write(file, "A title", "", figure.Report{}, nil); err == nil {
			t.Errorf("wrote %s", file)
		}
	}
}
