package gpu

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/prometheus/client_golang/prometheus"
)

var _ prometheus.Collector = (*collector)(nil)

// collector asks the GPUs whenever somebody reads the metrics.
type collector struct {
	monitor *Monitor
	metrics []metric
}

// metric is one value of a GPU, in Triton's units. False: the GPU does not tell.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(d device) (float64, bool)
}

// Register adds the metrics of the GPUs, if there are any.
func (m *Monitor) Register(registry prometheus.Registerer) error {
	if len(m.devices) == 0 {
		return nil
	}
	return registry.Register(newCollector(m))
}

func newCollector(m *Monitor) *collector {
	c := &collector{monitor: m}
	add := func(name, help string, kind prometheus.ValueType, read func(device) (float64, bool)) {
		c.metrics = append(c.metrics, metric{prometheus.NewDesc(name, help, []string{"gpu_uuid"}, nil), kind, read})
	}
	add("nv_gpu_utilization", "GPU utilization rate [0.0 - 1.0]", prometheus.GaugeValue, utilization)
	add("nv_gpu_memory_total_bytes", "GPU total memory, in bytes", prometheus.GaugeValue, memoryTotal)
	add("nv_gpu_memory_used_bytes", "GPU used memory, in bytes", prometheus.GaugeValue, memoryUsed)
	add("nv_gpu_power_usage", "GPU power usage in watts", prometheus.GaugeValue, powerUsage)
	add("nv_gpu_power_limit", "GPU power management limit in watts", prometheus.GaugeValue, powerLimit)
	add("nv_energy_consumption", "GPU energy consumption in joules since the server started", prometheus.CounterValue, energy)
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range c.metrics {
		descs <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(values chan<- prometheus.Metric) {
	c.monitor.mu.Lock()
	defer c.monitor.mu.Unlock()
	if c.monitor.closed {
		return
	}
	for _, d := range c.monitor.devices {
		for _, m := range c.metrics {
			if value, ok := m.read(d); ok {
				values <- prometheus.MustNewConstMetric(m.desc, m.kind, value, d.uuid)
			}
		}
	}
}

func utilization(d device) (float64, bool) {
	rates, code := d.GetUtilizationRates()
	return float64(rates.Gpu) / 100, code == nvml.SUCCESS
}

func memoryTotal(d device) (float64, bool) {
	memory, code := d.GetMemoryInfo()
	return float64(memory.Total), code == nvml.SUCCESS
}

// memoryUsed leaves out what the driver keeps for itself, where that is told
// apart.
func memoryUsed(d device) (float64, bool) {
	if memory, code := d.GetMemoryInfo_v2(); code == nvml.SUCCESS {
		return float64(memory.Used), true
	}
	memory, code := d.GetMemoryInfo()
	return float64(memory.Used), code == nvml.SUCCESS
}

func powerUsage(d device) (float64, bool) {
	milliwatts, code := d.GetPowerUsage()
	return float64(milliwatts) / 1000, code == nvml.SUCCESS
}

func powerLimit(d device) (float64, bool) {
	milliwatts, code := d.GetPowerManagementLimit()
	return float64(milliwatts) / 1000, code == nvml.SUCCESS
}

func energy(d device) (float64, bool) {
	millijoules, code := d.GetTotalEnergyConsumption()
	return float64(millijoules-d.energy) / 1000, code == nvml.SUCCESS
}
