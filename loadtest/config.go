package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"triptych/loadtest/load"
	"triptych/loadtest/report"
	"triptych/loadtest/target"
	"triptych/shared/config"
)

// defaultDuration ends a test that has no end of its own.
const defaultDuration = 10 * time.Second

// What one generator can sensibly be asked for.
const (
	maxConnections = 1000
	maxContents    = 10_000
	maxInFlight    = 100_000
	minRate        = 0.001
	maxRate        = 1_000_000
)

// settings are the flags.
type settings struct {
	protocol    string
	url         string
	model       string
	input       string
	output      string
	connections int
	images      []string

	tensor   string
	batch    int
	contents int
	priority uint64

	concurrency    int
	rate           float64
	maxOutstanding int
	seed           uint64
	requests       int64
	duration       time.Duration
	warmup         time.Duration
	timeout        time.Duration
	deadline       time.Duration

	expected         string
	expectedVersion  string
	verifyConsistent bool
	report           string
	allowErrors      bool
	quiet            bool
}

var _ config.Section = (*settings)(nil)

func defaultSettings() settings {
	return settings{
		protocol: string(target.Classify), model: "classify", input: "IMAGE", output: "LABEL", connections: 2,
		batch: 1, contents: 16,
		concurrency: 8, maxOutstanding: 1000, seed: 1, timeout: 30 * time.Second, expectedVersion: "2",
	}
}

// RegisterFlags implements config.Section.
func (s *settings) RegisterFlags(fs *pflag.FlagSet) {
	fs.StringVar(&s.protocol, "protocol", s.protocol, "How images are sent: "+strings.Join(target.Protocols(), ", ")+".")
	fs.StringVar(&s.url, "url", s.url, "Server: http://HOST:PORT, for grpc HOST:PORT. Empty for http://"+config.HTTPAddress+" and "+config.GRPCAddress+".")
	fs.StringVar(&s.model, "model", s.model, "Model that takes an image and gives labels.")
	fs.StringVar(&s.input, "input", s.input, "The model's input for the image, BYTES [1] (rest and grpc).")
	fs.StringVar(&s.output, "output", s.output, "The model's output with the labels, BYTES (rest and grpc).")
	fs.IntVar(&s.connections, "connections", s.connections, "Connections of grpc. HTTP has one for each request in flight.")
	fs.StringArrayVar(&s.images, "images", nil, "Image or folder of images, beside those in the arguments. May be given again.")

	fs.StringVar(&s.tensor, "tensor", s.tensor, "Send random tensors in place of images: NAME:DATATYPE:DIMS, such as image:UINT8:224,224,3 (grpc).")
	fs.IntVar(&s.batch, "batch", s.batch, "Items of a tensor: the first dimension. 0 for a model without batches.")
	fs.IntVar(&s.contents, "contents", s.contents, "Different tensors, sent in turn.")
	fs.Uint64Var(&s.priority, "priority", s.priority, "Priority of the requests with tensors, 1 the most urgent. 0 for the model's default.")

	fs.IntVar(&s.concurrency, "concurrency", s.concurrency, "Closed loop: requests in flight.")
	fs.Float64Var(&s.rate, "rate", s.rate, "Open loop: mean requests a second, at random times. 0 for a closed loop.")
	fs.IntVar(&s.maxOutstanding, "max-outstanding", s.maxOutstanding, "Open loop: requests in flight at most. What is due beyond is not sent and counts as an error.")
	fs.Uint64Var(&s.seed, "seed", s.seed, "Open loop: another number gives other times.")
	fs.Int64Var(&s.requests, "requests", s.requests, "End after so many requests. 0 for no such end.")
	fs.DurationVar(&s.duration, "duration", s.duration, "End after this time. 0 for no such end; without either the test takes "+defaultDuration.String()+".")
	fs.DurationVar(&s.warmup, "warmup", s.warmup, "Send for this time first, without measuring.")
	fs.DurationVar(&s.timeout, "timeout", s.timeout, "Longest time for one request.")

	fs.DurationVar(&s.deadline, "deadline", s.deadline, "Time that one request has from when it is due; a server is told by gRPC. 0 for none.")

	fs.StringVar(&s.expected, "expected", s.expected, "File of right answers, such as testdata/expected.json: the first label of each answer must be right.")
	fs.StringVar(&s.expectedVersion, "expected-version", s.expectedVersion, "Version of the model whose answers are expected.")
	fs.BoolVar(&s.verifyConsistent, "verify-consistent", s.verifyConsistent, "Each image must get the same labels each time.")
	fs.StringVar(&s.report, "report", s.report, "File for the report as JSON.")
	fs.BoolVar(&s.allowErrors, "allow-errors", s.allowErrors, "End with status 0 even if there were errors.")
	fs.BoolVar(&s.quiet, "quiet", s.quiet, "Show no progress.")
}

// Validate implements config.Section.
func (s *settings) Validate() error {
	if !slices.Contains(target.Protocols(), s.protocol) {
		return config.Wrong("protocol", "is %q, must be one of %s", s.protocol, strings.Join(target.Protocols(), ", "))
	}
	for _, n := range []struct {
		flag               string
		value, least, most int64
	}{
		{"connections", int64(s.connections), 1, maxConnections},
		{"concurrency", int64(s.concurrency), 1, maxInFlight},
		{"max-outstanding", int64(s.maxOutstanding), 1, maxInFlight},
		{"requests", s.requests, 0, math.MaxInt64},
		{"batch", int64(s.batch), 0, math.MaxInt32},
		{"contents", int64(s.contents), 1, maxContents},
	} {
		if n.value < n.least || n.value > n.most {
			return config.Wrong(n.flag, "is %d, must be from %d to %d", n.value, n.least, n.most)
		}
	}
	switch {
	case s.rate != 0 && !(s.rate >= minRate && s.rate <= maxRate):
		return config.Wrong("rate", "is %g, must be from %g to %g, or 0", s.rate, minRate, float64(maxRate))
	case s.duration < 0:
		return config.Wrong("duration", "is %s, must be 0 or more", s.duration)
	case s.warmup < 0:
		return config.Wrong("warmup", "is %s, must be 0 or more", s.warmup)
	case s.timeout <= 0:
		return config.Wrong("timeout", "is %s, must be more than 0", s.timeout)
	case s.deadline < 0:
		return config.Wrong("deadline", "is %s, must be 0 or more", s.deadline)
	case s.model == "":
		return config.Wrong("model", "is empty")
	default:
		return s.validateTensor()
	}
}

// validateTensor checks what a tensor can't be had with, and what needs one.
func (s *settings) validateTensor() error {
	switch {
	case s.tensor == "" && s.priority > 0:
		return config.Wrong("priority", "needs --tensor")
	case s.tensor == "":
		return nil
	case s.protocol != string(target.GRPC):
		return config.Wrong("tensor", "needs --protocol grpc")
	case s.expected != "" || s.verifyConsistent:
		return config.Wrong("tensor", "has no labels that could be checked")
	case len(s.images) > 0:
		return config.Wrong("tensor", "and images can't both be sent")
	default:
		return nil
	}
}

// open tells which of the two loops is meant.
func (s *settings) open() bool { return s.rate > 0 }

// inFlight is the greatest number of requests at once.
func (s *settings) inFlight() int {
	if s.open() {
		return s.maxOutstanding
	}
	return s.concurrency
}

func (s *settings) targetOptions() target.Options {
	return target.Options{
		Protocol: target.Protocol(s.protocol), URL: s.url, Model: s.model,
		Priority: s.priority, Input: s.input, Output: s.output, Connections: s.connections, InFlight: s.inFlight(),
	}
}

func (s *settings) plan(items int) load.Plan {
	plan := load.Plan{Requests: s.requests, Duration: s.duration, Timeout: s.timeout, Deadline: s.deadline, Items: items}
	if plan.Requests == 0 && plan.Duration == 0 {
		plan.Duration = defaultDuration
	}
	return plan
}

// describe is the settings as the report has them.
func (s *settings) describe(plan load.Plan) report.Settings {
	d := report.Settings{
		Protocol: s.protocol, URL: target.Address(s.targetOptions()), Model: s.model, Images: plan.Items,
		Loop: report.Closed, Concurrency: s.concurrency,
		Requests: plan.Requests, DurationSeconds: plan.Duration.Seconds(),
		WarmupSeconds: s.warmup.Seconds(), TimeoutSeconds: s.timeout.Seconds(), DeadlineSeconds: s.deadline.Seconds(),
		Expected: s.expected, VerifyConsistent: s.verifyConsistent,
	}
	if s.open() {
		d.Loop, d.Concurrency = report.Open, 0
		d.Rate, d.MaxOutstanding, d.Seed = s.rate, s.maxOutstanding, s.seed
	}
	if s.protocol == string(target.GRPC) {
		d.Connections = s.connections
	}
	if s.tensor != "" {
		d.Images, d.Tensor, d.Priority = 0, fmt.Sprintf("%d tensors %s with a batch of %d", plan.Items, s.tensor, s.batch), s.priority
	}
	if s.expected != "" {
		d.ExpectedVersion = s.expectedVersion
	}
	return d
}
