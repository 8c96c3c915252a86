package main

import (
	"math"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"triptych/loadtest/scenario"
	"triptych/loadtest/target"
	"triptych/loadtest/workload"
	"triptych/shared/call"
	"triptych/shared/config"
	"triptych/shared/failure"
)

// requestFlags say what is sent, and where.
type requestFlags struct {
	workload.Spec
	seed     uint64
	scenario string
}

func defaultRequests() requestFlags { return requestFlags{Spec: workload.Default(), seed: 1} }

// registerTarget adds the flags about where requests go.
func (r *requestFlags) registerTarget(fs *pflag.FlagSet) {
	r.registerProtocol(fs)
	fs.StringVar(&r.Target.URL, "url", r.Target.URL, "Server: http://HOST:PORT, for grpc HOST:PORT. Empty for http://"+config.HTTPAddress+" and "+config.GRPCAddress+".")
}

// registerProtocol adds the one of them that a comparison has too.
func (r *requestFlags) registerProtocol(fs *pflag.FlagSet) {
	fs.StringVar((*string)(&r.Target.Protocol), "protocol", string(r.Target.Protocol), "How images are sent: "+protocols()+".")
}

func protocols() string { return strings.Join(target.Protocols(), ", ") }

// register adds the flags about what is sent.
func (r *requestFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&r.Target.Model, "model", r.Target.Model, "Model that takes an image and gives labels.")
	fs.StringVar(&r.Target.Version, "model-version", r.Target.Version, "Version of the model (rest and grpc). Empty for the latest.")
	fs.StringVar(&r.Target.Input, "input", r.Target.Input, "The model's input for the image, BYTES [1] (rest and grpc).")
	fs.StringVar(&r.Target.Output, "output", r.Target.Output, "The model's output with the labels, BYTES (rest and grpc).")
	fs.IntVar(&r.Target.Connections, "connections", r.Target.Connections, "Connections of grpc. HTTP has one for each request in flight.")
	fs.StringArrayVar(&r.Images, "images", nil, "Image or folder of images, beside those in the arguments. May be given again.")
	fs.StringToStringVar(&r.Target.Headers, "header", nil, "NAME=VALUE that goes with each request, as a header or as metadata of grpc. May be given again.")
	fs.StringVar(&r.Target.Tenant, "tenant", r.Target.Tenant, "Whose the requests are, for Triptych's gateway.")
	fs.IntVar(&r.JobItems, "jobs", r.JobItems, "Send jobs of so many images to Triptych's gateway, each followed to its end, in place of single requests.")

	fs.StringVar(&r.Tensor, "tensor", r.Tensor, "Send random tensors in place of images: NAME:DATATYPE:DIMS, such as image:UINT8:224,224,3 (grpc).")
	fs.IntVar(&r.Batch, "batch", r.Batch, "Items of a tensor: the first dimension. 0 for a model without batches.")
	fs.IntVar(&r.Contents, "contents", r.Contents, "Different tensors, sent in turn.")
	fs.Uint64Var(&r.Target.Priority, "priority", r.Target.Priority, "Priority of the requests, 1 the most urgent. 0 for the model's default.")
	fs.DurationVar(&r.Deadline, "deadline", r.Deadline, "Time that one request has from when it is due; a server is told by grpc and rest. 0 for none.")

	fs.StringVar(&r.Expected, "expected", r.Expected, "File of right answers, such as testdata/expected.json: the first label of each answer must be right.")
	fs.StringVar(&r.ExpectedVersion, "expected-version", r.ExpectedVersion, "Version of the model whose answers are expected.")
	fs.BoolVar(&r.Consistent, "verify-consistent", r.Consistent, "Each image must get the same labels each time.")
	fs.Uint64Var(&r.seed, "seed", r.seed, "Another number gives other times, tensors and turns.")
	fs.StringVar(&r.scenario, "scenario", r.scenario, "File whose requests are sent, in place of those by flags (search and compare).")
}

// validate checks them.
func (r *requestFlags) validate() error {
	if err := checkProtocol("protocol", string(r.Target.Protocol)); err != nil {
		return err
	}
	for _, n := range []struct {
		flag               string
		value, least, most int64
	}{
		{"connections", int64(r.Target.Connections), 1, workload.MaxConnections},
		{"batch", int64(r.Batch), 0, math.MaxInt32},
		{"contents", int64(r.Contents), 1, workload.MaxContents},
		{"jobs", int64(r.JobItems), 0, workload.MaxJobItems},
	} {
		if err := inRange(n.flag, n.value, n.least, n.most); err != nil {
			return err
		}
	}
	switch {
	case r.Deadline < 0:
		return config.Wrong("deadline", "is %s, must be 0 or more", r.Deadline)
	case r.Target.Model == "":
		return config.Wrong("model", "is empty")
	case r.Target.Tenant != "" && !call.ValidTenant(r.Target.Tenant):
		return config.Wrong("tenant", "is %q, %s", r.Target.Tenant, call.TenantRule)
	case r.scenario != "" && (len(r.Images) > 0 || r.Tensor != ""):
		return config.Wrong("scenario", "has requests of its own: images and a tensor can't be given beside it")
	case r.Tensor != "":
		return r.validateTensor()
	case len(r.Images) == 0 && r.scenario == "":
		return failure.New(failure.Invalid, "give an image or a folder of images")
	default:
		return nil
	}
}

// checkProtocol checks a flag that names one.
func checkProtocol(flag, value string) error {
	if !slices.Contains(target.Protocols(), value) {
		return config.Wrong(flag, "is %q, must be one of %s", value, protocols())
	}
	return nil
}

// validateTensor checks what a tensor can't be had with.
func (r *requestFlags) validateTensor() error {
	switch {
	case r.Target.Protocol != target.GRPC:
		return config.Wrong("tensor", "needs --protocol grpc")
	case r.Expected != "" || r.Consistent:
		return config.Wrong("tensor", "has no labels that could be checked")
	case len(r.Images) > 0:
		return config.Wrong("tensor", "and images can't both be sent")
	case r.JobItems > 0:
		return config.Wrong("jobs", "are of images, not of tensors")
	default:
		return nil
	}
}

// spec is the one sort of request that the flags describe.
func (r *requestFlags) spec(inFlight int) workload.Spec {
	s := r.Spec
	s.Target.InFlight = inFlight
	return s
}

// specs are the requests of the flags, or of the scenario that they name.
func (r *requestFlags) specs(inFlight int) ([]workload.Spec, error) {
	if r.scenario == "" {
		return []workload.Spec{r.spec(inFlight)}, nil
	}
	s, err := scenario.Read(r.scenario, scenario.Change{URL: r.Target.URL})
	for i := range s.Requests {
		s.Requests[i].Target.InFlight = inFlight
	}
	return s.Requests, err
}
