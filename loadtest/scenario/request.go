package scenario

import (
	"cmp"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"triptych/loadtest/target"
	"triptych/loadtest/workload"
)

// request reads one sort of request.
func (r *reader) request(node *yaml.Node) workload.Spec {
	o := r.source.object(node, "a request")
	s := workload.Default()
	s.Target = r.targetOf(o)
	o.text("name", &s.Name)
	o.number("weight", &s.Weight, 0, math.MaxInt32)
	for _, path := range o.texts("images") {
		s.Images = append(s.Images, r.path(path))
	}
	o.text("tensor", &s.Tensor)
	whole(o, "batch", &s.Batch, 0, math.MaxInt32)
	whole(o, "contents", &s.Contents, 1, workload.MaxContents)
	o.text("model", &s.Target.Model)
	o.text("version", &s.Target.Version)
	o.text("input", &s.Target.Input)
	o.text("output", &s.Target.Output)
	whole(o, "priority", &s.Target.Priority, 0, math.MaxInt32)
	o.duration("deadline", &s.Deadline)
	o.tenant("tenant", &s.Target.Tenant)
	s.Target.Headers = merged(s.Target.Headers, o.pairs("headers"))
	whole(o, "jobs", &s.JobItems, 1, workload.MaxJobItems)
	o.text("expected", &s.Expected)
	if s.Expected != "" {
		s.Expected = r.path(s.Expected)
	}
	s.ExpectedVersion = cmp.Or(s.Target.Version, s.ExpectedVersion)
	o.text("expected_version", &s.ExpectedVersion)
	o.boolean("consistent", &s.Consistent)
	o.done()
	r.checkRequest(o, s)
	return s
}

// checkRequest says what does not go together.
func (r *reader) checkRequest(o *object, s workload.Spec) {
	switch {
	case len(s.Images) == 0 && s.Tensor == "":
		r.say(o.at, "a request needs images or a tensor")
	case len(s.Images) > 0 && s.Tensor != "":
		r.say(o.place("tensor"), "images and a tensor can't both be sent by one request")
	case s.Tensor != "" && s.Target.Protocol != target.GRPC:
		r.say(o.place("tensor"), "a tensor needs a target with protocol: grpc")
	case s.Tensor != "" && s.JobItems > 0:
		r.say(o.place("jobs"), "jobs are of images, not of tensors")
	case s.Tensor != "" && (s.Expected != "" || s.Consistent):
		r.say(o.place("tensor"), "a tensor has no labels that could be checked")
	case s.JobItems > 0 && s.Target.Protocol == target.GRPC:
		r.say(o.place("jobs"), "jobs are sent over HTTP: the target's protocol must be classify or rest")
	case s.Target.Version != "" && s.Target.Protocol == target.Classify && s.JobItems == 0:
		r.say(o.place("version"), "POST /v1/classify has no choice of a version: the target's protocol must be rest or grpc")
	case s.Target.Model == "":
		r.say(o.place("model"), "model is empty")
	}
}

// targetOf is the target that a request names, or else the only one.
func (r *reader) targetOf(o *object) target.Options {
	name := ""
	o.text("target", &name)
	if t, ok := r.targets[name]; ok {
		return t
	}
	names := slices.Sorted(maps.Keys(r.targets))
	if name == "" && len(names) == 1 {
		return r.targets[names[0]]
	}
	r.say(o.place("target"), "target is %s, must be one of %s", strconv.Quote(name), strings.Join(names, ", "))
	return workload.Default().Target
}

// path starts from the folder of the file.
func (r *reader) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(r.folder, path)
}

// merged is both, the second before the first.
func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	maps.Copy(all, b)
	return all
}
