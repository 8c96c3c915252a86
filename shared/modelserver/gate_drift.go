package modelserver

import (
	"fmt"

	"triptych/shared/drift"
	"triptych/shared/failure"
	"triptych/shared/oip"
)

// outputDrift adds up, over all samples, how one output differs.
type outputDrift struct {
	name     string
	place    int // among the configured outputs
	batching bool

	abs, rel     float64
	absAt, relAt string // where, in words
	rows, agreed int
	changed      string // the first row whose largest element is another
}

// add compares the output of one sample.
func (o *outputDrift) add(sample string, was, is oip.Tensor) *mismatch {
	d, err := drift.Compare(was, is, o.batching)
	if err != nil {
		return &mismatch{refusedFailed, fmt.Sprintf("sample %q: output %q: %s", sample, o.name, failure.Message(err)), err}
	}
	if d.NotFinite > 0 {
		return &mismatch{reason: refusedNotFinite, message: fmt.Sprintf("sample %q: output %q has %d of %d elements that are NaN or infinite and were numbers, the first is element %d",
			sample, o.name, d.NotFinite, d.Elements, d.FirstNotFinite)}
	}
	where := fmt.Sprintf("sample %q, element %d: %.4g before, %.4g now", sample, d.At, d.Before, d.Now)
	if d.Abs > o.abs {
		o.abs, o.absAt = d.Abs, where
	}
	if rel := d.Relative(); rel > o.rel {
		o.rel, o.relAt = rel, where
	}
	if o.rows == o.agreed && d.Rows > d.Agreed {
		o.changed = fmt.Sprintf("sample %q, row %d: %d before, %d now", sample, d.Row, d.TopBefore, d.TopNow)
	}
	o.rows, o.agreed = o.rows+d.Rows, o.agreed+d.Agreed
	return nil
}

// agreement is the share of rows whose largest element is the same one.
func (o *outputDrift) agreement() float64 {
	if o.rows == 0 {
		return 1
	}
	return float64(o.agreed) / float64(o.rows)
}

// beyond holds what was added up against the bounds.
func (o *outputDrift) beyond(s gateSettings) *mismatch {
	if share := o.agreement(); share < s.top1 {
		return &mismatch{reason: refusedTop1, message: fmt.Sprintf("output %q: the top-1 agreement is %.4g (%d of %d rows), gate_min_top1_agreement is %g; first, %s",
			o.name, share, o.agreed, o.rows, s.top1, o.changed)}
	}
	if o.place < len(s.abs) && o.abs > s.abs[o.place] {
		return &mismatch{reason: refusedDrift, message: fmt.Sprintf("output %q drifts by %.4g, gate_max_abs_drift is %g; %s", o.name, o.abs, s.abs[o.place], o.absAt)}
	}
	if o.place < len(s.rel) && o.rel > s.rel[o.place] {
		return &mismatch{reason: refusedDrift, message: fmt.Sprintf("output %q drifts by %.4g of its largest magnitude, gate_max_rel_drift is %g; %s", o.name, o.rel, s.rel[o.place], o.relAt)}
	}
	return nil
}
