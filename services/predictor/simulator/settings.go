package simulator

import (
	"slices"
	"time"

	"triptych/proto/inference"
	"triptych/shared/failure"
	"triptych/shared/modelconfig"
)

// The ways to fail.
const (
	failError       = "error"
	failHang        = "hang"
	failOutOfMemory = "out_of_memory"
)

// The bounds of what a configuration can ask for.
const (
	maxTime      = time.Hour // of one batch
	maxBytes     = 1 << 50
	maxInstances = 1024
)

// settings are what the configuration of a model says.
type settings struct {
	model     string
	batching  bool // tensors have a batch dimension
	inputs    []*inference.ModelInput
	outputs   []*inference.ModelOutput
	instances int

	fixed, perItem             time.Duration
	memoryLimit, memoryPerItem int64 // no limit: 0
	failEvery                  int64 // never: 0
	failWith                   string
	hang                       time.Duration // as long as somebody waits: 0
	poison                     int           // a byte; none: -1
	echo                       bool
}

// readSettings reads and checks them. An error names the key.
func readSettings(cfg *inference.ModelConfig) (settings, error) {
	s := settings{
		model: cfg.GetName(), batching: cfg.GetMaxBatchSize() > 0, inputs: cfg.GetInput(), outputs: cfg.GetOutput(), instances: instances(cfg),
	}
	if len(s.inputs) == 0 || len(s.outputs) == 0 {
		return s, failure.New(failure.Invalid, "model %q: the configuration must name at least one input and one output, there is no file to read them from", s.model)
	}
	if s.instances < 1 || s.instances > maxInstances {
		return s, failure.New(failure.Invalid, "model %q: instance_group asks for %d instances that run, must be from 1 to %d", s.model, s.instances, maxInstances)
	}
	p := modelconfig.NewParameters(cfg)
	s.readTime(p, int64(cfg.GetMaxBatchSize()))
	s.readMemory(p)
	s.readFaults(p)
	s.readEcho(p)
	return s, p.Err()
}

func (s *settings) readTime(p *modelconfig.Parameters, maxBatch int64) {
	fixed := p.Int("fixed_us", 5000, 0, maxTime.Microseconds())
	perItem := p.Int("per_item_us", 150, 0, maxTime.Microseconds())
	if fixed+perItem*max(maxBatch, 1) > maxTime.Microseconds() {
		p.Fail("per_item_us", "is %d, with which a full batch takes longer than %s", perItem, maxTime)
	}
	s.fixed, s.perItem = microseconds(fixed), microseconds(perItem)
}

func (s *settings) readMemory(p *modelconfig.Parameters) {
	s.memoryLimit = p.Int("memory_limit_bytes", 0, 1, maxBytes)
	s.memoryPerItem = p.Int("memory_per_item_bytes", 0, 1, maxBytes)
	switch {
	case s.memoryLimit > 0 && s.memoryPerItem == 0:
		p.Fail("memory_limit_bytes", "needs memory_per_item_bytes")
	case s.memoryLimit == 0 && s.memoryPerItem > 0:
		p.Fail("memory_per_item_bytes", "needs memory_limit_bytes")
	case s.memoryPerItem > s.memoryLimit:
		p.Fail("memory_limit_bytes", "is %d, less than memory_per_item_bytes, which is %d", s.memoryLimit, s.memoryPerItem)
	}
}

func (s *settings) readFaults(p *modelconfig.Parameters) {
	s.failEvery = p.Int("fail_every", 0, 1, 1<<32)
	s.poison = int(p.Int("poison", -1, 0, 255))
	s.failWith = p.Word("fail_with", failError, failHang, failOutOfMemory)
	hang := p.Int("hang_us", 0, 0, maxTime.Microseconds())
	s.hang = microseconds(hang)
	if s.failWith != failError && s.failEvery == 0 && s.poison < 0 {
		p.Fail("fail_with", "is %q, but neither fail_every nor poison says when", s.failWith)
	}
	if hang > 0 && s.failWith != failHang {
		p.Fail("hang_us", "is given, but fail_with is %q", s.failWith)
	}
}

// readEcho makes sure that each output can be what the input in its place is.
func (s *settings) readEcho(p *modelconfig.Parameters) {
	if s.echo = p.Bool("echo", false); !s.echo {
		return
	}
	for i, out := range s.outputs {
		if i >= len(s.inputs) {
			p.Fail("echo", "output %q has no input in its place", out.GetName())
			return
		}
		in := s.inputs[i]
		if in.GetOptional() || in.GetDataType() != out.GetDataType() || !slices.Equal(in.GetDims(), out.GetDims()) {
			p.Fail("echo", "output %q must have the data_type and the dims of input %q, which must not be optional", out.GetName(), in.GetName())
		}
	}
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// instances is how many batches run at once: those of all groups, on each of
// their devices. A passive instance runs nothing.
func instances(cfg *inference.ModelConfig) int {
	if len(cfg.GetInstanceGroup()) == 0 {
		return 1
	}
	n := 0
	for _, g := range cfg.GetInstanceGroup() {
		if !g.GetPassive() {
			n += max(int(g.GetCount()), 1) * max(len(g.GetGpus()), 1)
		}
	}
	return n
}
