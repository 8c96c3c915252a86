package engine

import (
	"maps"
	"slices"
	"strings"

	ort "github.com/yalue/onnxruntime_go"

	"triptych/proto/inference"
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
	spinSaid  bool   // by the model
	wide      string // whether there is a session for runs that are alone: of wideSessions
	arena     bool
	pattern   memoryPattern
	level     ort.GraphOptimizationLevel
	entries   map[string]string // of the session's configuration, as given
	shrink    string            // devices whose arenas every run shrinks, as given
	fallback  string            // what becomes of a GPU that does not work
	cuda      map[string]string // options of the provider
	tensorRT  map[string]string
	ignored   []string // settings that Triton knows and that have no effect here
}

// oneThread tells whether a run stays on the thread that it was called on.
func (t tuning) oneThread(d Device) bool { return !d.GPU() && t.intra == 1 && !t.parallel }

// cudaKeys are the parameters that Triton hands to the CUDA provider.
var cudaKeys = []string{
	"arena_extend_strategy", "cudnn_conv_algo_search", "cudnn_conv_use_max_workspace", "do_copy_in_default_stream", "enable_cuda_graph", "gpu_mem_limit",
}

// entryPrefixes begin the runtime's names for entries of a session's
// configuration, which are handed on.
var entryPrefixes = []string{"session.", "optimization.", "mlas.", "ep."}

// shrinkKey is Triton's and the runtime's name for a list such as "cpu:0;gpu:0".
const shrinkKey = "memory.enable_memory_arena_shrinkage"

// tune reads the parameters of a configuration.
func tune(cfg *inference.ModelConfig, settings Settings) (tuning, error) {
	params := modelconfig.NewParameters(cfg)
	t := tuning{
		intra:    int(params.Int("intra_op_thread_count", int64(settings.IntraOpThreads), 0, 1024)),
		inter:    max(int(params.Int("inter_op_thread_count", 1, 0, 1024)), 1),
		parallel: params.Word("execution_mode", "0", "1") == "1",
		arena:    params.Bool("enable_mem_arena", true),
		pattern:  patternOf(cfg, params),
		spin:     params.Bool("intra_op_allow_spinning", false),
		spinSaid: params.Text("intra_op_allow_spinning", "") != "",
		wide:     params.Word("wide_session", wideSessions...),
		fallback: params.Word("device_fallback", fallbacks(settings.Fallback)...),
		level:    optimization(cfg),
		entries:  map[string]string{},
		ignored:  ignored(cfg),
	}
	params.Word("warmup_sizes", warmupSizes...)
	t.readEntries(cfg, params)
	t.readShrink(params)
	return t, first(t.readProviders(cfg, params), params.Err())
}

// fallbacks are the words for what becomes of a GPU that does not work.
func fallbacks(preferred string) []string {
	if preferred == FallbackCPU {
		return []string{FallbackCPU, FallbackError}
	}
	return []string{FallbackError, FallbackCPU}
}

func (t *tuning) readEntries(cfg *inference.ModelConfig, params *modelconfig.Parameters) {
	for key := range cfg.GetParameters() {
		if slices.ContainsFunc(entryPrefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) }) {
			t.entries[key] = params.Text(key, "")
		}
	}
}

// readShrink checks the list of devices. Without an arena there is nothing to
// shrink, and the runtime would fail every run that asked for it.
func (t *tuning) readShrink(params *modelconfig.Parameters) {
	t.shrink = params.Text(shrinkKey, "")
	if t.shrink == "" {
		return
	}
	for _, device := range strings.Split(t.shrink, ";") {
		kind, number, _ := strings.Cut(device, ":")
		if kind != "cpu" && kind != "gpu" || strings.Trim(number, "0123456789") != "" || number == "" {
			params.Fail(shrinkKey, `is %q, must be a list such as "cpu:0;gpu:0"`, t.shrink)
		}
	}
	if !t.arena {
		t.shrink, t.ignored = "", append(t.ignored, shrinkKey)
	}
}

func (t *tuning) readProviders(cfg *inference.ModelConfig, params *modelconfig.Parameters) error {
	given := map[string]string{}
	for _, key := range cudaKeys {
		if v := params.Text(key, ""); v != "" {
			given[key] = v
		}
	}
	var err error
	if t.cuda, err = cudaSettings(cfg, given); err != nil {
		return err
	}
	t.tensorRT, err = tensorRTSettings(cfg)
	return err
}

// ignored names what has no effect here and does no harm.
func ignored(cfg *inference.ModelConfig) []string {
	list := ignoredInGroups(cfg)
	for name, set := range map[string]bool{
		"optimization.priority":       cfg.GetOptimization().GetPriority() != inference.ModelOptimizationPolicy_PRIORITY_DEFAULT,
		"optimization.cuda":           cfg.GetOptimization().GetCuda() != nil,
		"optimization.eager_batching": cfg.GetOptimization().GetEagerBatching(),
	} {
		if set {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
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

// at is the tuning for a device.
func (t tuning) at(cores int, p placement) tuning {
	t.instances, t.intra = share(cores, p, t.intra)
	return t
}

// options are what the runtime is told for a session on a device.
func (t tuning) options(d Device) options {
	o := options{
		device: d, parallel: t.parallel, level: t.level, intra: t.intra, inter: t.inter, arena: t.arena, pattern: t.pattern.on(d),
		entries: map[string]string{
			"session.intra_op.allow_spinning": flag(t.spin),
			"session.inter_op.allow_spinning": flag(t.spin),
		},
		providers: providersOf(d, t.cuda, t.tensorRT),
	}
	maps.Copy(o.entries, t.entries)
	return o
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
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
