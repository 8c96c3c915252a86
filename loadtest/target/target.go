// Package target is the servers' side of a load test: each protocol sends an
// image and gets labels back; GRPC sends any tensor too. Requests are encoded once, before the test, and
// connections are kept, so that the generator takes little of the machine that
// it may share with the server.
package target

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"triptych/loadtest/load"
	"triptych/loadtest/sample"
	"triptych/shared/call"
	"triptych/shared/config"
	"triptych/shared/failure"
)

// Protocol is how images are sent.
type Protocol string

// The protocols. Classify is POST /v1/classify; REST and GRPC are the Open
// Inference Protocol, which other servers speak too.
const (
	Classify Protocol = "classify"
	REST     Protocol = "rest"
	GRPC     Protocol = "grpc"
)

// Protocols are all of them.
func Protocols() []string { return []string{string(Classify), string(REST), string(GRPC)} }

// Options says where to send images, and how.
type Options struct {
	Protocol Protocol
	// URL is http://HOST:PORT, or HOST:PORT; empty for the gateway's default.
	URL   string
	Model string
	// Version is the model's; empty for the latest. Classify has no such choice.
	Version string
	// Input takes the image and Output gives the labels. Classify knows them.
	Input, Output string
	// Priority is that of the requests: lower is more urgent, 0 is the model's
	// default. REST and GRPC have it as a parameter, as Triton wants it.
	Priority uint64
	// Timeout is how long the server may take; 0 for no word of it. REST has it as a
	// parameter, GRPC says it by the context's deadline, Classify can't.
	Timeout time.Duration
	// Tenant is whose the requests are, which only Triptych's gateway asks.
	Tenant string
	// Headers go with each request: of HTTP, or as gRPC's metadata.
	Headers map[string]string
	// Connections is how many GRPC uses. HTTP uses one a request in flight.
	Connections int
	// InFlight is how many requests there may be at once.
	InFlight int
}

// Target sends images or tensors. Close it when no request is running.
type Target interface {
	load.Target
	io.Closer
}

// New prepares the requests for all images. It sends nothing.
func New(o Options, images []sample.Image) (Target, error) {
	if o.Version != "" && o.Protocol == Classify {
		return nil, failure.New(failure.Invalid, "POST /v1/classify has no choice of a version: use rest or grpc")
	}
	switch o.Protocol {
	case Classify, REST:
		base, err := httpURL(o.URL)
		if err != nil {
			return nil, err
		}
		if o.Protocol == REST {
			return newREST(o, base, images)
		}
		return newClassify(o, base, images), nil
	case GRPC:
		return newGRPCImages(o, images)
	default:
		return nil, config.Wrong("protocol", "is %q, must be one of %s", string(o.Protocol), strings.Join(Protocols(), ", "))
	}
}

// Address is where New would send: the URL, completed.
func Address(o Options) string {
	switch {
	case o.URL != "" && o.Protocol == GRPC:
		return grpcAddress(o.URL)
	case o.URL != "":
		if u, err := httpURL(o.URL); err == nil {
			return strings.TrimSuffix(u.String(), "/")
		}
		return o.URL
	case o.Protocol == GRPC:
		return config.GRPCAddress
	default:
		return "http://" + config.HTTPAddress
	}
}

// headers are those of each request by HTTP.
func (o Options) headers() http.Header {
	h := http.Header{}
	for name, value := range o.Headers {
		h.Set(name, value)
	}
	if o.Tenant != "" {
		h.Set(call.TenantHeader, o.Tenant)
	}
	return h
}

// parameters are those of a request of the Open Inference Protocol.
func (o Options) parameters() map[string]uint64 {
	p := map[string]uint64{}
	if o.Priority > 0 {
		p["priority"] = o.Priority
	}
	if o.Timeout > 0 && o.Protocol == REST {
		p["timeout"] = uint64(o.Timeout.Microseconds())
	}
	return p
}

func httpURL(text string) (*url.URL, error) {
	if text == "" {
		text = config.HTTPAddress
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || !slices.Contains([]string{"http", "https"}, u.Scheme) {
		return nil, failure.Wrap(err, failure.Invalid, "--url is %q, must be like http://%s", text, config.HTTPAddress)
	}
	if u.Path == "" {
		u.Path = "/" // or JoinPath makes relative paths
	}
	return u, nil
}

// grpcAddress lets people give the form of address that HTTP has.
func grpcAddress(text string) string {
	for _, scheme := range []string{"http://", "grpc://"} {
		text = strings.TrimPrefix(text, scheme)
	}
	return strings.TrimSuffix(text, "/")
}
