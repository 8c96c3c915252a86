package modelconfig

// serverParameters are read by the model server, or by the batcher that several
// backends have, whatever the backend: none has to know them.
var serverParameters = []string{
	"batch_policy", "batch_split", LabelsParameter,
	"gate", "gate_samples", "gate_timeout_seconds", "gate_min_top1_agreement", "gate_max_abs_drift", "gate_max_rel_drift",
}

// checkServer refuses wrong values of those that several backends share. The gate
// and the labels check their own.
func (d *Document) checkServer() error {
	p := NewParameters(d.Config)
	p.Word("batch_policy", "adaptive", "triton")
	p.Bool(SplitParameter, false)
	return d.Point(p.Fault())
}
