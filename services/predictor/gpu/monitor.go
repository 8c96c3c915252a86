package gpu

import (
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"triptych/shared/failure"
)

// visibleVariable limits the GPUs that CUDA gives a process.
const visibleVariable = "CUDA_VISIBLE_DEVICES"

// Monitor watches the GPUs of the machine. Safe for concurrent use.
type Monitor struct {
	library nvml.Interface // nil without one
	devices []device
	visible int

	mu     sync.Mutex // no GPU is asked once the library is shut down
	closed bool
}

// device is one GPU.
type device struct {
	nvml.Device
	uuid   string
	energy uint64 // millijoules when the process began
}

// Open looks for GPUs. That there are none is no error.
func Open(logger *slog.Logger) *Monitor { return Watch(nvml.New(), logger) }

// Watch looks for GPUs through a library of one's own.
func Watch(library nvml.Interface, logger *slog.Logger) *Monitor {
	m := &Monitor{}
	if code := library.Init(); code != nvml.SUCCESS {
		logger.Debug("no GPU metrics: NVIDIA's management library is not there", "reason", code.Error())
		return m
	}
	m.library = library
	count, code := library.DeviceGetCount()
	if code != nvml.SUCCESS {
		logger.Warn("GPUs can't be counted", "reason", code.Error())
		return m
	}
	for i := range count {
		if d, ok := find(library, i); ok {
			m.devices = append(m.devices, d)
			continue
		}
		logger.Warn("GPU can't be watched", "gpu", i)
	}
	m.visible = visible(count, os.LookupEnv)
	return m
}

func find(library nvml.Interface, index int) (device, bool) {
	handle, code := library.DeviceGetHandleByIndex(index)
	if code != nvml.SUCCESS {
		return device{}, false
	}
	uuid, code := handle.GetUUID()
	if code != nvml.SUCCESS {
		return device{}, false
	}
	d := device{Device: handle, uuid: uuid}
	d.energy, _ = handle.GetTotalEnergyConsumption() // 0 where it is not measured
	return d, true
}

// visible is how many of the GPUs CUDA will give this process.
func visible(count int, lookup func(string) (string, bool)) int {
	list, limited := lookup(visibleVariable)
	if !limited {
		return count
	}
	n := 0
	for entry := range strings.SplitSeq(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "" || strings.HasPrefix(entry, "-") {
			break // CUDA stops at the first that is none
		}
		n++
	}
	return min(n, count)
}

// Count is how many GPUs a model may run on.
func (m *Monitor) Count() int { return m.visible }

// Close lets go of the library. It may be called more than once.
func (m *Monitor) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.library == nil {
		return nil
	}
	m.closed = true
	if code := m.library.Shutdown(); code != nvml.SUCCESS {
		return failure.New(failure.Internal, "NVIDIA's management library can't be shut down: %s", code.Error())
	}
	return nil
}
