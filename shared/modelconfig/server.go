package modelconfig

// serverParameters are read by the model server, or by the batcher that several
// backends have, whatever the backend: none has to know them.
var serverParameters = []string{
	"batch_policy", "batch_split", LabelsParameter,
	"gate", "gate_samples", "gate_timeout_seconds", "gate_min_top1_agreement", "gate_max_abs_drift", "gate_max_rel_drift",
}
