package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// openVINO is the one accelerator for CPUs that Triton has.
const openVINO = "openvino"

// accelerated is the provider that the configuration's accelerators choose for
// GPUs, "" when they choose none. TensorRT goes before CUDA, which takes what
// TensorRT can't run.
func accelerated(cfg *inference.ModelConfig) (string, error) {
	accelerators := cfg.GetOptimization().GetExecutionAccelerators()
	if cpu := accelerators.GetCpuExecutionAccelerator(); len(cpu) > 0 {
		if cpu[0].GetName() == openVINO {
			return "", failure.New(failure.Unsupported, "model %q: the CPU accelerator %q is not supported", cfg.GetName(), openVINO)
		}
		return "", unknownAccelerator(cfg, "CPU", cpu[0].GetName())
	}
	chosen := ""
	for _, a := range accelerators.GetGpuExecutionAccelerator() {
		switch a.GetName() {
		case TensorRT:
			chosen = TensorRT
		case CUDA:
			if chosen == "" {
				chosen = CUDA
			}
		default:
			return "", unknownAccelerator(cfg, "GPU", a.GetName())
		}
	}
	return chosen, nil
}

func unknownAccelerator(cfg *inference.ModelConfig, where, name string) error {
	return failure.New(failure.Invalid, "model %q: unknown %s accelerator %q, did you mean %q?", cfg.GetName(), where, name, likeliest(name))
}

// likeliest is the accelerator that a name is most likely meant to be.
func likeliest(name string) string {
	name = strings.ToLower(name)
	switch {
	case strings.Contains(name, "vino"):
		return openVINO
	case strings.Contains(name, "cu"):
		return CUDA
	default:
		return TensorRT
	}
}

// accelerator is the block of a configuration with the name of a provider.
func accelerator(cfg *inference.ModelConfig, name string) map[string]string {
	merged := map[string]string{}
	for _, a := range cfg.GetOptimization().GetExecutionAccelerators().GetGpuExecutionAccelerator() {
		if a.GetName() == name {
			maps.Copy(merged, a.GetParameters())
		}
	}
	return merged
}

// provider is one of the runtime's ways to run operators, with its options.
type provider struct {
	kind     string // CUDA or TensorRT
	settings map[string]string
}

// providersOf are the providers for a device, the preferred one first. The CPU
// is always there, so that none is needed for it.
func providersOf(d Device, cuda, tensorRT map[string]string) []provider {
	on := func(kind string, settings map[string]string) provider {
		all := map[string]string{"device_id": strconv.Itoa(d.ID)}
		maps.Copy(all, settings)
		return provider{kind: kind, settings: all}
	}
	switch d.Kind {
	case TensorRT:
		// Nodes that TensorRT can't run go to CUDA, so both are asked for.
		return []provider{on(TensorRT, tensorRT), on(CUDA, cuda)}
	case CUDA:
		return []provider{on(CUDA, cuda)}
	default:
		return nil
	}
}

// cudaWords are Triton's numbers for what the runtime has words for.
var cudaWords = map[string][]string{
	"arena_extend_strategy":  {"kNextPowerOfTwo", "kSameAsRequested"},
	"cudnn_conv_algo_search": {"EXHAUSTIVE", "HEURISTIC", "DEFAULT"},
}

// cudaSettings are the CUDA provider's options: the configuration's parameters,
// and over them those of its accelerator.
func cudaSettings(cfg *inference.ModelConfig, parameters map[string]string) (map[string]string, error) {
	settings := maps.Clone(parameters)
	maps.Copy(settings, accelerator(cfg, CUDA))
	delete(settings, "device_id") // instance groups say where
	for key, words := range cudaWords {
		value, ok := settings[key]
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(value); err == nil && n >= 0 && n < len(words) {
			settings[key] = words[n]
		} else if !slices.Contains(words, value) {
			return nil, failure.New(failure.Invalid, "model %q: %s is %q, must be one of %s, or its number from 0", cfg.GetName(), key, value, strings.Join(words, ", "))
		}
	}
	return settings, nil
}

// tensorRTNames are Triton's names for options that the runtime calls otherwise.
var tensorRTNames = map[string]string{
	"max_workspace_size_bytes":          "trt_max_workspace_size",
	"int8_calibration_table_name":       "trt_int8_calibration_table_name",
	"int8_use_native_calibration_table": "trt_int8_use_native_calibration_table",
}

// tensorRTSettings translates the accelerator block of a configuration.
func tensorRTSettings(cfg *inference.ModelConfig) (map[string]string, error) {
	settings := map[string]string{}
	for key, value := range accelerator(cfg, TensorRT) {
		switch {
		case key == "precision_mode":
			option, ok := map[string]string{"FP32": "", "FP16": "trt_fp16_enable", "BF16": "trt_bf16_enable", "INT8": "trt_int8_enable"}[value]
			if !ok {
				return nil, failure.New(failure.Invalid, "model %q: tensorrt: precision_mode is %q, must be one of FP32, FP16, BF16, INT8", cfg.GetName(), value)
			}
			if option != "" {
				settings[option] = "1"
			}
		case tensorRTNames[key] != "":
			settings[tensorRTNames[key]] = value
		case strings.HasPrefix(key, "trt_"):
			settings[key] = value
		default:
			return nil, failure.New(failure.Invalid, "model %q: tensorrt: unknown parameter %q: use precision_mode, max_workspace_size_bytes or an option of the runtime, trt_...", cfg.GetName(), key)
		}
	}
	return settings, nil
}
