package main

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/scenario"
	"triptych/loadtest/target"
	"triptych/loadtest/workload"
	"triptych/shared/config"
	"triptych/shared/failure"
)

const (
	maxConnections = 1000
	maxContents    = 10_000
	maxJobItems    = 100_000
)

// requestFlags say what is sent, and where.
type requestFlags struct {
	protocol    string
	url         string
	model       string
	version     string
	input       string
	output      string
	connections int
	images      []string
	tenant      string
	headers     map[string]string

	tensor   string
	batch    int
	contents int
	priority uint64
	jobs     int
	deadline time.Duration

	expected         string
	expectedVersion  string
	verifyConsistent bool
	seed             uint64
	scenario         string
}

func defaultRequests() requestFlags {
	return requestFlags{
		protocol: string(target.Classify), model: "classify", input: "IMAGE", output: "LABEL", connections: 2,
		batch: 1, contents: 16, seed: 1, expectedVersion: "2",
	}
}

// registerTarget adds the flags about where requests go.
func (r *requestFlags) registerTarget(fs *pflag.FlagSet) {
	fs.StringVar(&r.protocol, "protocol", r.protocol, "How images are sent: "+strings.Join(target.Protocols(), ", ")+".")
	fs.StringVar(&r.url, "url", r.url, "Server: http://HOST:PORT, for grpc HOST:PORT. Empty for http://"+config.HTTPAddress+" and "+config.GRPCAddress+".")
}

// register adds the flags about what is sent.
func (r *requestFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&r.model, "model", r.model, "Model that takes an image and gives labels.")
	fs.StringVar(&r.version, "model-version", r.version, "Version of the model (rest and grpc). Empty for the latest.")
	fs.StringVar(&r.input, "input", r.input, "The model's input for the image, BYTES [1] (rest and grpc).")
	fs.StringVar(&r.output, "output", r.output, "The model's output with the labels, BYTES (rest and grpc).")
	fs.IntVar(&r.connections, "connections", r.connections, "Connections of grpc. HTTP has one for each request in flight.")
	fs.StringArrayVar(&r.images, "images", nil, "Image or folder of images, beside those in the arguments. May be given again.")
	fs.StringToStringVar(&r.headers, "header", nil, "NAME=VALUE that goes with each request, as a header or as metadata of grpc. May be given again.")
	fs.StringVar(&r.tenant, "tenant", r.tenant, "Whose the requests are, for Triptych's gateway.")
	fs.IntVar(&r.jobs, "jobs", r.jobs, "Send jobs of so many images to Triptych's gateway, each followed to its end, in place of single requests.")

	fs.StringVar(&r.tensor, "tensor", r.tensor, "Send random tensors in place of images: NAME:DATATYPE:DIMS, such as image:UINT8:224,224,3 (grpc).")
	fs.IntVar(&r.batch, "batch", r.batch, "Items of a tensor: the first dimension. 0 for a model without batches.")
	fs.IntVar(&r.contents, "contents", r.contents, "Different tensors, sent in turn.")
	fs.Uint64Var(&r.priority, "priority", r.priority, "Priority of the requests, 1 the most urgent. 0 for the model's default.")
	fs.DurationVar(&r.deadline, "deadline", r.deadline, "Time that one request has from when it is due; a server is told by grpc and rest. 0 for none.")

	fs.StringVar(&r.expected, "expected", r.expected, "File of right answers, such as testdata/expected.json: the first label of each answer must be right.")
	fs.StringVar(&r.expectedVersion, "expected-version", r.expectedVersion, "Version of the model whose answers are expected.")
	fs.BoolVar(&r.verifyConsistent, "verify-consistent", r.verifyConsistent, "Each image must get the same labels each time.")
	fs.Uint64Var(&r.seed, "seed", r.seed, "Another number gives other times, tensors and turns.")
	fs.StringVar(&r.scenario, "scenario", r.scenario, "File whose requests are sent, in place of those by flags (search and compare).")
}

// validate checks them.
func (r *requestFlags) validate() error {
	if !slices.Contains(target.Protocols(), r.protocol) {
		return config.Wrong("protocol", "is %q, must be one of %s", r.protocol, strings.Join(target.Protocols(), ", "))
	}
	for _, n := range []struct {
		flag               string
		value, least, most int64
	}{
		{"connections", int64(r.connections), 1, maxConnections},
		{"batch", int64(r.batch), 0, math.MaxInt32},
		{"contents", int64(r.contents), 1, maxContents},
		{"jobs", int64(r.jobs), 0, maxJobItems},
	} {
		if err := inRange(n.flag, n.value, n.least, n.most); err != nil {
			return err
		}
	}
	switch {
	case r.deadline < 0:
		return config.Wrong("deadline", "is %s, must be 0 or more", r.deadline)
	case r.model == "":
		return config.Wrong("model", "is empty")
	case r.scenario != "" && (len(r.images) > 0 || r.tensor != ""):
		return config.Wrong("scenario", "has requests of its own: images and a tensor can't be given beside it")
	case r.tensor != "":
		return r.validateTensor()
	case len(r.images) == 0 && r.scenario == "":
		return failure.New(failure.Invalid, "give an image or a folder of images")
	default:
		return nil
	}
}

// validateTensor checks what a tensor can't be had with.
func (r *requestFlags) validateTensor() error {
	switch {
	case r.protocol != string(target.GRPC):
		return config.Wrong("tensor", "needs --protocol grpc")
	case r.expected != "" || r.verifyConsistent:
		return config.Wrong("tensor", "has no labels that could be checked")
	case len(r.images) > 0:
		return config.Wrong("tensor", "and images can't both be sent")
	case r.jobs > 0:
		return config.Wrong("jobs", "are of images, not of tensors")
	default:
		return nil
	}
}

// spec is the one sort of request that the flags describe.
func (r *requestFlags) spec(inFlight int) workload.Spec {
	return workload.Spec{
		Weight: 1,
		Target: target.Options{
			Protocol: target.Protocol(r.protocol), URL: r.url, Model: r.model, Version: r.version, Input: r.input, Output: r.output,
			Priority: r.priority, Tenant: r.tenant, Headers: r.headers, Connections: r.connections, InFlight: inFlight,
		},
		Images: r.images, Tensor: r.tensor, Batch: r.batch, Contents: r.contents, JobItems: r.jobs, Deadline: r.deadline,
		Expected: r.expected, ExpectedVersion: r.expectedVersion, Consistent: r.verifyConsistent,
	}
}

// specs are the requests of the flags, or of the scenario that they name.
func (r *requestFlags) specs(inFlight int) ([]workload.Spec, error) {
	if r.scenario == "" {
		return []workload.Spec{r.spec(inFlight)}, nil
	}
	s, err := scenario.Read(r.scenario, scenario.Change{URL: r.url})
	for i := range s.Requests {
		s.Requests[i].Target.InFlight = inFlight
	}
	return s.Requests, err
}
