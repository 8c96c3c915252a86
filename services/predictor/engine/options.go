package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// tuning is how a session runs: what the configuration says, completed by what
// suits the machine.
type tuning struct {
	instances int // batches at once
	intra     int // threads of one operator
	inter     int // operators at once, in parallel mode
	parallel  bool
	spin      bool
	arena     bool
	pattern   bool
	level     ort.GraphOptimizationLevel
	provider  map[string]string // options of the GPU's provider
	ignored   []string          // parameters that Triton knows and that have no effect here
}

// providerKeys are the parameters that Triton hands to the CUDA provider.
var providerKeys = []string{
	"arena_extend_strategy", "cudnn_conv_algo_search", "cudnn_conv_use_max_workspace", "do_copy_in_default_stream", "enable_cuda_graph", "gpu_mem_limit",
}

// ignoredKeys are Triton's parameters that the Go binding can't set.
var ignoredKeys = []string{
	"memory.enable_memory_arena_shrinkage", "session.use_device_allocator_for_initializers",
}

// tune reads the parameters of a configuration.
func tune(cfg *inference.ModelConfig, p placement, defaultThreads int) (tuning, error) {
	params := modelconfig.NewParameters(cfg)
	t := tuning{
		intra:    int(params.Int("intra_op_thread_count", int64(defaultThreads), 0, 1024)),
		inter:    int(params.Int("inter_op_thread_count", 1, 0, 1024)),
		parallel: params.Word("execution_mode", "0", "1") == "1",
		arena:    params.Bool("enable_mem_arena", true),
		pattern:  params.Bool("enable_mem_pattern", !varies(cfg)),
		spin:     params.Bool("intra_op_allow_spinning", false),
		level:    optimization(cfg),
		provider: map[string]string{},
	}
	for _, key := range providerKeys {
		if v := params.Text(key, ""); v != "" {
			t.provider[key] = v
		}
	}
	params.Word("warmup_sizes", warmupSizes...) // read when the session warms up
	for _, key := range ignoredKeys {
		if params.Text(key, "") != "" {
			t.ignored = append(t.ignored, key)
		}
	}
	if cfg.GetDynamicBatching().GetPriorityLevels() > 0 {
		t.ignored = append(t.ignored, "dynamic_batching.priority_levels")
	}
	t.instances, t.intra = share(Cores(), p, t.intra)
	t.inter = max(t.inter, 1)
	return t, params.Err()
}

// cpuInstances is how many batches a CPU runs at once by default, where it has
// the cores. It is Triton's default for ONNX models too.
const cpuInstances = 2

// share divides the cores among the batches that run at once, so that there are
// no more busy threads than cores.
//
// Measured with the sample models on 2 cores, in images a second (float32,
// INT8): two runs of one thread 238, 419; one run of two threads 162, 273, or
// 200, 418 in batches of 8; two runs of two threads 201, 336. A request that is
// alone takes 8.1 ms on one thread and 6.2 ms on two. So two batches run at once
// and have half of the cores each: threads of different batches never wait for
// each other. On a GPU one batch fills the device.
func share(cores int, p placement, intra int) (instances, threads int) {
	instances = p.count
	switch {
	case p.device.GPU():
		return max(instances, 1), max(intra, 1)
	case instances == 0:
		instances = min(cpuInstances, max(cores/max(intra, 1), 1))
	}
	if intra > 0 {
		return instances, intra
	}
	return instances, max(cores/instances, 1)
}

// varies tells whether the shapes of a model change from run to run. The
// runtime keeps a memory plan for each, so plans are for models that have one.
func varies(cfg *inference.ModelConfig) bool {
	if cfg.GetMaxBatchSize() > 1 {
		return true
	}
	for _, in := range cfg.GetInput() {
		if slices.Contains(in.GetDims(), -1) {
			return true
		}
	}
	return false
}

// optimization has Triton's numbers.
func optimization(cfg *inference.ModelConfig) ort.GraphOptimizationLevel {
	switch cfg.GetOptimization().GetGraph().GetLevel() {
	case -1:
		return ort.GraphOptimizationLevelEnableBasic
	case 1:
		return ort.GraphOptimizationLevelEnableExtended
	case 2:
		return ort.GraphOptimizationLevelDisableAll
	default:
		return ort.GraphOptimizationLevelEnableAll
	}
}

// sessionOptions are the runtime's options for a device. The caller destroys
// them.
func (t tuning) sessionOptions(cfg *inference.ModelConfig, d Device) (*ort.SessionOptions, error) {
	options, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	mode := ort.ExecutionModeSequential
	if t.parallel {
		mode = ort.ExecutionModeParallel
	}
	err = first(
		options.SetExecutionMode(ort.ExecutionMode(mode)),
		options.SetGraphOptimizationLevel(t.level),
		options.SetIntraOpNumThreads(t.intra),
		options.SetInterOpNumThreads(t.inter),
		options.SetCpuMemArena(t.arena),
		options.SetMemPattern(t.pattern),
		options.AddSessionConfigEntry("session.intra_op.allow_spinning", flag(t.spin)),
		options.AddSessionConfigEntry("session.inter_op.allow_spinning", flag(t.spin)),
	)
	if err == nil {
		err = t.appendProvider(options, cfg, d)
	}
	if err != nil {
		discard(options)
		return nil, err
	}
	return options, nil
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// appendProvider asks for the device. The CPU is always there.
func (t tuning) appendProvider(options *ort.SessionOptions, cfg *inference.ModelConfig, d Device) error {
	var err error
	switch d.Kind {
	case TensorRT:
		// Nodes that TensorRT can't run go to CUDA, so both are asked for.
		if err = appendTensorRT(options, cfg, d); err == nil {
			err = appendCUDA(options, t.provider, d)
		}
	case CUDA:
		err = appendCUDA(options, t.provider, d)
	}
	if err != nil {
		return failure.New(failure.Invalid, "--device %s: the runtime can't use it: %s", d, plain(err))
	}
	return nil
}

func appendCUDA(options *ort.SessionOptions, extra map[string]string, d Device) error {
	cuda, err := ort.NewCUDAProviderOptions()
	if err != nil {
		return err
	}
	defer discard(cuda)
	settings := map[string]string{"device_id": strconv.Itoa(d.ID)}
	maps.Copy(settings, extra)
	if err := cuda.Update(settings); err != nil {
		return err
	}
	return options.AppendExecutionProviderCUDA(cuda)
}

func appendTensorRT(options *ort.SessionOptions, cfg *inference.ModelConfig, d Device) error {
	trt, err := ort.NewTensorRTProviderOptions()
	if err != nil {
		return err
	}
	defer discard(trt)
	if err := trt.Update(tensorRTSettings(cfg, d)); err != nil {
		return err
	}
	return options.AppendExecutionProviderTensorRT(trt)
}

// tensorRTSettings translates the accelerator block of a configuration.
func tensorRTSettings(cfg *inference.ModelConfig, d Device) map[string]string {
	settings := map[string]string{"device_id": strconv.Itoa(d.ID)}
	for _, accelerator := range cfg.GetOptimization().GetExecutionAccelerators().GetGpuExecutionAccelerator() {
		if accelerator.GetName() != TensorRT {
			continue
		}
		for key, value := range accelerator.GetParameters() {
			switch {
			case key == "precision_mode" && value == "FP16":
				settings["trt_fp16_enable"] = "1"
			case key == "precision_mode" && value == "BF16":
				settings["trt_bf16_enable"] = "1"
			case key == "precision_mode" && value == "INT8":
				settings["trt_int8_enable"] = "1"
			case key == "max_workspace_size_bytes":
				settings["trt_max_workspace_size"] = value
			case strings.HasPrefix(key, "trt_"):
				settings[key] = value
			}
		}
	}
	return settings
}
