package modelconfig

// serverParameters are read by the model server, whatever the backend: no
// backend has to know them.
var serverParameters = []string{
	"gate", "gate_samples", "gate_timeout_seconds", "gate_min_top1_agreement", "gate_max_abs_drift", "gate_max_rel_drift",
}
