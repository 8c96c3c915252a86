// Package gpu tells how many NVIDIA GPUs there are and how they do: Triton's
// nv_gpu_* metrics, by NVIDIA's management library, which is loaded when the
// process starts. A machine without the library has no GPUs and no such metrics.
//
// The tests run against go-nvml's own stand-ins and against a machine that has no
// library; it has not run beside a GPU yet.
package gpu
