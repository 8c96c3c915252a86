package table_test

import (
	"strings"
	"testing"

	"triptych/cli/style"
	"triptych/cli/table"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	tb := table.New(style.Style{}, "MODEL", "STATE", "REASON")
	tb.Row(table.Text("tämä"), table.Cell{Text: "READY", Color: style.Green}, table.Text(""))
	tb.Row(table.Text("a"), table.Text("UNAVAILABLE"), table.Text("why"))
	var b strings.Builder
	if err := tb.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "MODEL  STATE        REASON\ntämä   READY\na      UNAVAILABLE  why\n"
	if b.String() != want {
		t.Errorf("table is\n%q, want\n%q", b.String(), want)
	}
}
