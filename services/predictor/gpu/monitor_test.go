package gpu_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"triptych/services/predictor/gpu"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// card is a GPU that used 5 J before the test began.
func card(uuid string) *mock.Device {
	energy := uint64(5000)
	return &mock.Device{
		GetUUIDFunc:             func() (string, nvml.Return) { return uuid, nvml.SUCCESS },
		GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 37}, nvml.SUCCESS },
		GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) {
			return nvml.Memory{Total: 1 << 30, Used: 300 << 20}, nvml.SUCCESS
		},
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Total: 1 << 30, Used: 256 << 20}, nvml.SUCCESS
		},
		GetPowerUsageFunc:           func() (uint32, nvml.Return) { return 71500, nvml.SUCCESS },
		GetPowerManagementLimitFunc: func() (uint32, nvml.Return) { return 300000, nvml.SUCCESS },
		GetTotalEnergyConsumptionFunc: func() (uint64, nvml.Return) {
			defer func() { energy += 2500 }()
			return energy, nvml.SUCCESS
		},
	}
}

// machine is one with cards.
func machine(cards ...*mock.Device) *mock.Interface {
	return &mock.Interface{
		InitFunc:           func() nvml.Return { return nvml.SUCCESS },
		ShutdownFunc:       func() nvml.Return { return nvml.SUCCESS },
		DeviceGetCountFunc: func() (int, nvml.Return) { return len(cards), nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			return cards[i], nvml.SUCCESS
		},
	}
}

func watch(t *testing.T, library nvml.Interface) (*gpu.Monitor, *prometheus.Registry) {
	t.Helper()
	m := gpu.Watch(library, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		for range 2 {
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	registry := prometheus.NewPedanticRegistry()
	if err := m.Register(registry); err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// The metrics have Triton's names, label and units.
func TestMetrics(t *testing.T) {
	_, registry := watch(t, machine(card("GPU-a")))
	want := `# HELP nv_energy_consumption GPU energy consumption in joules since the server started
# TYPE nv_energy_consumption counter
nv_energy_consumption{gpu_uuid="GPU-a"} 2.5
# HELP nv_gpu_memory_total_bytes GPU total memory, in bytes
# TYPE nv_gpu_memory_total_bytes gauge
nv_gpu_memory_total_bytes{gpu_uuid="GPU-a"} 1.073741824e+09
# HELP nv_gpu_memory_used_bytes GPU used memory, in bytes
# TYPE nv_gpu_memory_used_bytes gauge
nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 2.68435456e+08
# HELP nv_gpu_power_limit GPU power management limit in watts
# TYPE nv_gpu_power_limit gauge
nv_gpu_power_limit{gpu_uuid="GPU-a"} 300
# HELP nv_gpu_power_usage GPU power usage in watts
# TYPE nv_gpu_power_usage gauge
nv_gpu_power_usage{gpu_uuid="GPU-a"} 71.5
# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0]
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-a"} 0.37
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

// A GPU tells what it can: the rest is left out, not zero.
func TestWhatAGPUDoesNotTell(t *testing.T) {
	old := card("GPU-old")
	old.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
	old.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	_, registry := watch(t, machine(card("GPU-a"), old))
	want := `# HELP nv_gpu_memory_used_bytes GPU used memory, in bytes
# TYPE nv_gpu_memory_used_bytes gauge
nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 2.68435456e+08
nv_gpu_memory_used_bytes{gpu_uuid="GPU-old"} 3.145728e+08
# HELP nv_gpu_power_usage GPU power usage in watts
# TYPE nv_gpu_power_usage gauge
nv_gpu_power_usage{gpu_uuid="GPU-a"} 71.5
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "nv_gpu_memory_used_bytes", "nv_gpu_power_usage"); err != nil {
		t.Error(err)
	}
}

func TestNothingIsAskedOnceClosed(t *testing.T) {
	m, registry := watch(t, machine(card("GPU-a")))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 0 {
		t.Errorf("%d metrics, error %v", n, err)
	}
}

func TestCount(t *testing.T) {
	cases := map[string]struct {
		visible string
		want    int
	}{
		"all":              {"0,1,2", 3},
		"some":             {"2, 0", 2},
		"by name":          {"GPU-b", 1},
		"none":             {"", 0},
		"none by a number": {"-1", 0},
		"up to a wrong":    {"1,-1,0", 1},
		"more than exist":  {"0,1,2,3,4", 3},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CUDA_VISIBLE_DEVICES", c.visible)
			m, _ := watch(t, machine(card("GPU-a"), card("GPU-b"), card("GPU-c")))
			if got := m.Count(); got != c.want {
				t.Errorf("%d GPUs, want %d", got, c.want)
			}
		})
	}
}

// The library of this machine, or none: no metrics then, and one line that says
// so to those who look for it.
func TestWithoutTheLibrary(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	m := gpu.Watch(nvml.New(nvml.WithLibraryPath("/nowhere/libnvidia-ml.so.1")), logger)
	if err := m.Register(prometheus.NewRegistry()); err != nil {
		t.Error(err)
	}
	if m.Count() != 0 {
		t.Errorf("%d GPUs", m.Count())
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if got := strings.Count(log.String(), "\n"); got != 1 || !strings.Contains(log.String(), "level=DEBUG") {
		t.Errorf("log:\n%s", log.String())
	}
	if err := gpu.Open(slog.New(slog.DiscardHandler)).Close(); err != nil {
		t.Error(err)
	}
}

// Counting that fails is told and harmless.
func TestCardsThatCannotBeWatched(t *testing.T) {
	broken := machine(card("GPU-a"), card("GPU-b"))
	handle := broken.DeviceGetHandleByIndexFunc
	broken.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 0 {
			return nil, nvml.ERROR_GPU_IS_LOST
		}
		return handle(i)
	}
	_, registry := watch(t, broken)
	if n, err := testutil.GatherAndCount(registry, "nv_gpu_utilization"); err != nil || n != 1 {
		t.Errorf("%d GPUs watched, error %v", n, err)
	}
	broken.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_UNKNOWN }
	if m, _ := watch(t, broken); m.Count() != 0 {
		t.Errorf("%d GPUs", m.Count())
	}
}
