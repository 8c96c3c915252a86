package engine

import (
	"errors"
	"testing"
)

// What the runtime and the libraries below it say, word for word.
func TestWordsOfWantingMemory(t *testing.T) {
	for text, want := range map[string]bool{
		"Non-zero status code returned while running Conv node. Name:'c' Status Message: bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer of size 17179869184": true,
		"bfc_arena.cc:359 Extend Available memory of 1048576 is smaller than requested bytes of 2097152":                                                                                                                                     true,
		"std::bad_alloc": true,
		"CUDA failure 2: out of memory ; GPU=0 ; hostname=h ; file=cuda_allocator.cc ; line=50 ; expr=cudaMalloc((void**)&p, size);": true,
		"CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED ; GPU=0":                                                                       true,
		"CUDNN failure 2: CUDNN_STATUS_ALLOC_FAILED":                                                                                 true,
		"TensorRT: Requested amount of GPU memory could not be allocated: OutOfMemory":                                               true,
		"indices element out of data bounds, idx=10":                                                                                 false,
		"CUDA failure 700: an illegal memory access was encountered":                                                                 false,
		"Exiting due to terminate flag being set to true.":                                                                           false,
	} {
		if got := wantsMemory(errors.New(text)); got != want {
			t.Errorf("%v for %q", got, text)
		}
	}
}

// ORT-09: what a GPU's libraries say is never taken for a matter of shapes.
func TestErrorsOfTheDevice(t *testing.T) {
	for text, want := range map[string]bool{
		"CUDNN failure 1: CUDNN_STATUS_NOT_INITIALIZED ; GPU=0":         true,
		"CUDA failure 35: CUDA driver version is insufficient":          true,
		"CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED":                  true,
		"TensorRT EP could not deserialize engine":                      true,
		"Non-zero status code returned while running Reshape node":      false,
		"Got invalid dimensions for input: x for the following indices": false,
	} {
		if got := ofDevice(errors.New(text)); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
