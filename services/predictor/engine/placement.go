package engine

import (
	"slices"
	"strings"

	"triptych/proto/inference"
	"triptych/shared/failure"
)

// placement is a device that runs instances of a model: one session, which they
// share with its weights.
type placement struct {
	device Device
	count  int // 0: as many as suit the device
	// wish: nobody asked for this GPU, so that it is left out without a word when
	// it does not work.
	wish bool
	// denied is why the device must not be used, if so.
	denied error
}

// plan is where a configuration's instance groups want a model to run.
type plan struct {
	placements []placement
	asked      string // the device in the words of those who asked
	count      int    // of all groups: what the CPU gets when no GPU works
}

// place reconciles the instance groups of a configuration with the device that
// the service was told to use, by Triton's rules: a group for GPUs that lists
// none is for all of them, and its count is for each.
func place(cfg *inference.ModelConfig, flag Device, gpus int) (plan, error) {
	groups, err := scheduled(cfg)
	if err != nil {
		return plan{}, err
	}
	accelerator, err := accelerated(cfg)
	if err != nil {
		return plan{}, err
	}
	var p plan
	var asked []string
	for _, group := range groups {
		device := deviceOf(group, flag, accelerator)
		p.count += int(group.GetCount())
		kind := group.GetKind()
		wish := flag.Kind == Auto && (kind == inference.ModelInstanceGroup_KIND_AUTO || kind == inference.ModelInstanceGroup_KIND_MODEL)
		if wish {
			asked = append(asked, Auto)
		} else {
			asked = append(asked, device.String())
		}
		for _, id := range identities(group, device, gpus) {
			p.add(placement{device: Device{Kind: device.Kind, ID: id}, count: int(group.GetCount()), wish: wish, denied: denied(cfg, device, flag)})
		}
	}
	p.asked = strings.Join(unique(asked), ",")
	return p, nil
}

// scheduled are the groups whose instances run. A passive one is loaded by
// Triton and never given work; instances here share a session, so that there is
// nothing to load for it.
func scheduled(cfg *inference.ModelConfig) ([]*inference.ModelInstanceGroup, error) {
	var groups []*inference.ModelInstanceGroup
	for _, group := range cfg.GetInstanceGroup() {
		if !group.GetPassive() {
			groups = append(groups, group)
		}
	}
	if len(groups) > 0 {
		return groups, nil
	}
	if len(cfg.GetInstanceGroup()) > 0 {
		return nil, failure.New(failure.Invalid, "model %q: every instance_group is passive, so that none would run a request", cfg.GetName())
	}
	return []*inference.ModelInstanceGroup{{}}, nil
}

// ignoredInGroups names hints that have no effect here.
func ignoredInGroups(cfg *inference.ModelConfig) []string {
	var ignored []string
	for _, group := range cfg.GetInstanceGroup() {
		if group.GetHostPolicy() != "" {
			ignored = append(ignored, "instance_group.host_policy")
		}
		if group.GetRateLimiter() != nil {
			ignored = append(ignored, "instance_group.rate_limiter.priority")
		}
	}
	return unique(ignored)
}

// deviceOf is the kind of device for a group; its number is that of the flag.
func deviceOf(group *inference.ModelInstanceGroup, flag Device, accelerator string) Device {
	kind := group.GetKind()
	if kind == inference.ModelInstanceGroup_KIND_CPU || flag.Kind == CPU && kind != inference.ModelInstanceGroup_KIND_GPU {
		return Device{Kind: CPU}
	}
	device := Device{Kind: CUDA, ID: flag.ID}
	switch {
	case accelerator != "":
		device.Kind = accelerator
	case flag.GPU():
		device.Kind = flag.Kind
	}
	if !flag.GPU() {
		device.ID = Every
	}
	return device
}

// denied is the error of a group that wants a GPU of a service without.
func denied(cfg *inference.ModelConfig, device, flag Device) error {
	if device.GPU() && flag.Kind == CPU {
		return failure.New(failure.Invalid, "model %q: instance_group asks for a GPU (KIND_GPU), but --device is cpu", cfg.GetName())
	}
	return nil
}

// identities are the numbers of the devices for a group. Where nobody can count
// the GPUs, the first one has to do.
func identities(group *inference.ModelInstanceGroup, device Device, gpus int) []int {
	switch {
	case !device.GPU():
		return []int{0}
	case len(group.GetGpus()) > 0:
		ids := make([]int, 0, len(group.GetGpus()))
		for _, id := range group.GetGpus() {
			ids = append(ids, int(id))
		}
		return ids
	case device.ID != Every:
		return []int{device.ID}
	}
	ids := make([]int, max(gpus, 1))
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// add gives a device more instances.
func (p *plan) add(more placement) {
	for i := range p.placements {
		if have := &p.placements[i]; have.device == more.device {
			have.count += more.count
			have.wish = have.wish && more.wish
			return
		}
	}
	p.placements = append(p.placements, more)
}

// unique keeps the first of equal words.
func unique(words []string) []string {
	var kept []string
	for _, word := range words {
		if !slices.Contains(kept, word) {
			kept = append(kept, word)
		}
	}
	return kept
}
