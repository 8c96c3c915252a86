// Package engine runs ONNX models through ONNX Runtime: the library of the
// process, one session for each version of a model, and the checks that hold a
// model file against its configuration. It forms no batches.
//
// Of the devices, cpu is what the tests run. cuda and tensorrt are written
// against the documented interface of the runtime and have not run on a GPU
// yet.
package engine
