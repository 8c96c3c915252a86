package page

import (
	"slices"

	"triptych/loadtest/page/chart"
	"triptych/loadtest/page/svg"
)

// comparisons are a chart of the ratios and their table; nil without any.
func (f *figures) comparisons(all []Comparison, note string) (*section, error) {
	if len(all) == 0 {
		return nil, nil
	}
	s := &section{Table: comparisonTable(all)}
	s.Table.Note = note
	var ratios []chart.Ratio
	for _, c := range all {
		if r := c.ratio(); r.Drawable() {
			ratios = append(ratios, r)
		}
	}
	if len(ratios) == 0 {
		return s, nil
	}
	caption := "The ratio of both sides with the interval that holds it. At 1× they are equal; an interval across that line shows no difference."
	var err error
	s.Figure, err = f.figure("Ratios", caption, "A dot for each ratio with its interval. Its numbers are in the table below.", Table{}, func(l svg.Label) (chart.Picture, error) {
		return chart.Ratios(l, ratios)
	})
	if s.Figure != nil {
		better, worse := "better", "worse"
		if a, b, same := sides(all); same {
			better, worse = b+" is better", a+" is better"
		}
		s.Figure.Keys = append([]chart.Key{
			{Ink: chart.Good, Name: better, Look: chart.Dot}, {Ink: chart.Bad, Name: worse, Look: chart.Dot}, {Ink: chart.Neutral, Name: "no difference seen", Look: chart.Dot},
		}, s.Figure.Keys...)
	}
	return s, err
}

func (c Comparison) ratio() chart.Ratio {
	ink := chart.Neutral
	switch c.verdict() {
	case Good:
		ink = chart.Good
	case Bad:
		ink = chart.Bad
	}
	return chart.Ratio{Name: c.Measure, Value: c.Ratio, Low: c.Low, High: c.High, Bar: c.Bar, Ink: ink}
}

// verdict is Good when B is better, Bad when A is, and Unsure when the interval
// holds 1.
func (c Comparison) verdict() Verdict {
	low, high := c.Low, c.High
	if low == 0 && high == 0 {
		low, high = c.Ratio, c.Ratio
	}
	switch {
	case low <= 1 && high >= 1:
		return Unsure
	case (low > 1) == c.LessIsBetter:
		return Bad
	default:
		return Good
	}
}

func comparisonTable(all []Comparison) Table {
	t := Table{Title: "Comparison", Header: []string{"Measure", "A", "B", "Ratio", "Interval", "Verdict"}}
	a, b, same := sides(all)
	if same {
		t.Title, t.Header[1], t.Header[2], t.Header[3] = b+" against "+a, a, b, b+"/"+a
	}
	bars := slices.ContainsFunc(all, func(c Comparison) bool { return c.Bar != 0 })
	if bars {
		t.Header = slices.Insert(t.Header, barColumn, "Bar")
	}
	for _, c := range all {
		t.Rows = append(t.Rows, c.row(same, bars))
	}
	return t
}

// barColumn is where the bar stands, if any comparison has one.
const barColumn = 5

// row has the sides' names where they are not in the header, and the bar where
// there is a column for it.
func (c Comparison) row(same, bars bool) Row {
	if !same {
		c.ValueA, c.ValueB = c.A+": "+c.ValueA, c.B+": "+c.ValueB
	}
	interval, bar := none, none
	if c.Low != 0 || c.High != 0 {
		interval = digits(c.Low) + " to " + digits(c.High)
	}
	r := row(c.Measure, c.ValueA, c.ValueB, digits(c.Ratio)+"×", interval, c.Verdict)
	if c.Bar != 0 {
		bar, r.Verdict = c.barText(), verdictOf(c.barMet())
	}
	if bars {
		r.Cells = slices.Insert(r.Cells, barColumn, bar)
	}
	return r
}

// sides are the names of both, if all comparisons have the same.
func sides(all []Comparison) (a, b string, same bool) {
	a, b = all[0].A, all[0].B
	for _, c := range all {
		if c.A != a || c.B != b {
			return "", "", false
		}
	}
	return a, b, a != "" && b != ""
}

func (c Comparison) barText() string {
	if c.LessIsBetter {
		return "≤ " + plain(c.Bar) + "×"
	}
	return "≥ " + plain(c.Bar) + "×"
}

func (c Comparison) barMet() bool {
	if c.LessIsBetter {
		return c.Ratio <= c.Bar
	}
	return c.Ratio >= c.Bar
}
