package engine

import (
	"errors"
	"slices"
	"strings"
)

// errOutOfMemory marks a run that failed for want of memory.
var errOutOfMemory = errors.New("out of memory")

// OutOfMemory tells whether a run failed because the device's memory did not
// suffice: a smaller batch may fit.
func OutOfMemory(err error) bool { return errors.Is(err, errOutOfMemory) }

// memoryWords are what the runtime, its arenas and the libraries below it say
// when they get no memory. It has no code for that.
var memoryWords = []string{
	"failed to allocate memory", // the arena
	"available memory of",       // the arena, at its limit
	"bad_alloc", "bad allocation", "cannot allocate memory",
	"out of memory", // CUDA
	"cudaerrormemoryallocation", "cublas_status_alloc_failed", "cudnn_status_alloc_failed", "cusolver_status_alloc_failed", "cufft_alloc_failed",
	"outofmemory", // TensorRT
}

// wantsMemory tells whether an error of the runtime is for want of memory.
func wantsMemory(err error) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(memoryWords, func(word string) bool { return strings.Contains(text, word) })
}

// memoryError keeps the runtime's words.
type memoryError struct{ cause error }

func (e memoryError) Error() string { return e.cause.Error() }

func (e memoryError) Unwrap() []error { return []error{errOutOfMemory, e.cause} }

// deviceWords are what the libraries of a GPU say when it does not do what it is
// told, whatever the model is.
var deviceWords = []string{"cuda", "cudnn", "cublas", "cufft", "curand", "tensorrt", "nvrm"}

// ofDevice tells whether an error of the runtime is the GPU's and not the model's.
func ofDevice(err error) bool {
	text := strings.ToLower(err.Error())
	return slices.ContainsFunc(deviceWords, func(word string) bool { return strings.Contains(text, word) })
}
