// Package engine runs ONNX models through ONNX Runtime: the library of the
// process, one session for each device of a version of a model, and the checks
// that hold a model file against its configuration. It forms no batches.
//
// A configuration becomes a plan (placement.go: on which devices) and a tuning
// (tuning.go: how), which become options (options.go), the only things that the
// runtime is told. A replica is the runtime's session on one device; a Session
// gives each run to the replica that has the least to do. A tide gives a
// replica's memory back when a peak is over.
//
// Of the devices, cpu is what the tests run. cuda and tensorrt are written
// against the documented interface of the runtime and have not run on a GPU
// yet: tests hold what the runtime would be told.
package engine
