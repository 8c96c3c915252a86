package modelconfig

// serverParameters are read by the model server, whatever the backend: no
// backend has to know them.
var serverParameters = []string{
	LabelsParameter,
}
