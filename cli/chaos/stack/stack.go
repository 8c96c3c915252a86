// Package stack runs the services and NATS for tests of what happens when some of
// them die: each is a process of its own, and stands behind links that can be cut.
// Only tests import it.
package stack

import (
	"cmp"
	"strings"
	"sync"
	"testing"
	"time"

	"triptych/cli/chaos/link"
	"triptych/cli/chaos/natsd"
	"triptych/cli/e2e/process"
	"triptych/shared/testkit"
)

// Options are how a stack differs from the usual: one NATS, one of each worker, one
// gateway.
type Options struct {
	// Programs is the folder of the services' programs.
	Programs string
	// Repositories are the folders of the models.
	Repositories []string
	// NATS is how the server is started.
	NATS natsd.Options
	// Nodes, if there are any, are the servers instead.
	Nodes []*natsd.Server
	// Gateways is how many gateways there are, 1 if it is 0, and none if it is less.
	Gateways int
	// Flags are given to all services: they are about jobs. Of one service they are
	// in FlagsOf.
	Flags   []string
	FlagsOf map[string][]string
}

// Workers are the names of the services that run steps.
func Workers() []string { return []string{"preprocess", "predictor", "postprocess"} }

// Service is a process of the stack with its link to NATS.
type Service struct {
	*process.Process
	Name string
	// GRPC is its address, and HTTP that of a gateway.
	GRPC, HTTP string
	// NATS is what its connection to NATS passes through.
	NATS *link.Link
}

// Stack is all of them.
type Stack struct {
	tb       testing.TB
	Nodes    []*natsd.Server
	Workers  map[string]*Service
	Gateways []*Service
	// Added are workers beside the first of each kind.
	Added []*Service

	options Options
	before  map[*Service]usage
}

// ackWait is short, so that tests are: what a dead worker held waits for so long.
const ackWait = "3s"

// Start runs a stack and waits until it is ready.
func Start(tb testing.TB, o Options) *Stack {
	tb.Helper()
	s := &Stack{tb: tb, Nodes: o.Nodes, Workers: map[string]*Service{}, options: o, before: map[*Service]usage{}}
	if s.Nodes == nil {
		s.Nodes = []*natsd.Server{natsd.Start(tb, o.NATS)}
	}
	for _, name := range Workers() {
		s.Workers[name] = s.prepare(name, "")
	}
	for range max(cmp.Or(o.Gateways, 1), 0) {
		s.Gateways = append(s.Gateways, s.prepare("gateway", strings.Join(s.Upstreams(), ",")))
	}
	for _, service := range s.All() {
		service.Start()
	}
	s.WaitReady()
	for _, service := range s.All() {
		s.before[service] = service.usage()
	}
	return s
}

// Repositories are the folders of the models.
func (s *Stack) Repositories() []string { return s.options.Repositories }

// Upstreams are the gRPC addresses of the workers.
func (s *Stack) Upstreams() []string {
	addresses := make([]string, 0, len(Workers()))
	for _, name := range Workers() {
		addresses = append(addresses, s.Workers[name].GRPC)
	}
	return addresses
}

// All are all services.
func (s *Stack) All() []*Service {
	var all []*Service
	for _, name := range Workers() {
		all = append(all, s.Workers[name])
	}
	return append(all, s.Gateways...)
}

func (s *Stack) prepare(name, upstreams string) *Service {
	s.tb.Helper()
	service := &Service{Name: name, GRPC: process.Address(s.tb)}
	var urls []string
	if len(s.Nodes) == 1 {
		service.NATS = link.New(s.tb, s.Nodes[0].Address)
		urls = []string{"nats://" + service.NATS.Address()}
	} else {
		for _, node := range s.Nodes {
			urls = append(urls, node.URL())
		}
	}
	args := []string{"--nats-url", strings.Join(urls, ","), "--jobs-ack-wait", ackWait}
	for _, dir := range s.options.Repositories {
		args = append(args, "--model-repository", dir)
	}
	if upstreams != "" {
		service.HTTP = process.Address(s.tb)
		args = append(args, "--http-address", service.HTTP, "--upstreams", upstreams)
	}
	args = append(append(args, s.options.Flags...), s.options.FlagsOf[name]...)
	service.Process = process.NewService(s.tb, s.options.Programs, name, service.GRPC, args...)
	return service
}

// Add runs one more worker, which no gateway knows: it works for jobs alone.
func (s *Stack) Add(name string) *Service {
	s.tb.Helper()
	service := s.prepare(name, "")
	s.Added = append(s.Added, service)
	service.Start()
	testkit.Eventually(s.tb, startTimeout, "a second "+name+" is ready", service.Ready)
	return service
}

// Restart kills a service and starts it again with further flags, which go behind
// those it had: the last of a flag counts.
func (s *Service) Restart(flags ...string) {
	s.Kill()
	s.SetArgs(append(s.Args(), flags...)...)
	s.Start()
}

// startTimeout bounds how long a service may take to load its models.
const startTimeout = 90 * time.Second

// WaitReady waits until all services are ready.
func (s *Stack) WaitReady() {
	s.tb.Helper()
	for _, service := range s.All() {
		testkit.Eventually(s.tb, startTimeout, service.Name+" is ready", service.Ready)
	}
}

// Kubelet kills services that say that they hang, and starts them and those that
// have ended by themselves again, until stop is called.
func Kubelet(services ...*Service) (stop func() (restarts int)) {
	done := make(chan struct{})
	var loop sync.WaitGroup
	restarts := 0
	loop.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(probeEvery):
			}
			for _, s := range services {
				if !s.Alive() || !s.Live() {
					s.Kill()
					s.Start()
					restarts++
				}
			}
		}
	})
	var once sync.Once
	return func() int {
		once.Do(func() { close(done) })
		loop.Wait()
		return restarts
	}
}

const probeEvery = 250 * time.Millisecond
