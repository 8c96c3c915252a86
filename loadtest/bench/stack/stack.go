// Package stack runs the four services as processes of their own, in one
// configuration, and does to them what a bad day would: kills, pauses. It sends no
// load.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triptych/loadtest/bench/server"
)

// The services. All but the gateway are stages.
const (
	Gateway     = "gateway"
	Preprocess  = "preprocess"
	Predictor   = "predictor"
	Postprocess = "postprocess"
)

// Stages are the services behind the gateway.
func Stages() []string { return []string{Preprocess, Predictor, Postprocess} }

// Built is an error where one of our programs is missing in a folder.
func Built(folder string) error {
	for _, name := range append(Stages(), Gateway) {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return fmt.Errorf("there is no %s: make build makes it", filepath.Join(folder, name))
		}
	}
	return nil
}

// Options say what runs.
type Options struct {
	// Binaries is the folder with our programs, Repository that with the models.
	Binaries, Repository string
	// Flags go to every service beside its addresses.
	Flags []string
	// Replicas is how many there are of a stage; one where it says nothing.
	Replicas map[string]int
	// Log is where the services' logs go.
	Log io.Writer
}

// Stack is what runs.
type Stack struct {
	// Gateway is the front, and Web where it speaks HTTP.
	Gateway *Service
	Web     string
	// Services are all, the gateway last.
	Services []*Service
}

// Start runs the stages, then the gateway, and waits until all say that they can serve
// what they were promised to: a model of which an older version is ready already would
// give other answers a moment later. Then it waits for models.
func Start(ctx context.Context, o Options, models ...string) (*Stack, error) {
	s := &Stack{}
	err := s.start(ctx, o)
	for _, service := range s.Services {
		if err == nil {
			err = service.ready(ctx)
		}
	}
	for _, model := range models {
		if err == nil {
			err = s.Gateway.Server().Ready(ctx, model)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, o Options) error {
	var upstreams []string
	for _, stage := range Stages() {
		for n := range max(o.Replicas[stage], 1) {
			name := stage
			if n > 0 {
				name += " " + strconv.Itoa(n+1)
			}
			service, err := s.add(ctx, name, filepath.Join(o.Binaries, stage), o, nil)
			if err != nil {
				return err
			}
			upstreams = append(upstreams, service.grpc)
		}
	}
	var err error
	if s.Web, err = server.Free(ctx); err != nil {
		return err
	}
	s.Gateway, err = s.add(ctx, Gateway, filepath.Join(o.Binaries, Gateway), o, []string{"--http-address", s.Web, "--upstreams", strings.Join(upstreams, ",")})
	return err
}

func (s *Stack) add(ctx context.Context, name, binary string, o Options, own []string) (*Service, error) {
	flags := slices.Concat([]string{"--model-repository", o.Repository}, own, o.Flags)
	service, err := newService(ctx, name, binary, flags, o.Log)
	if err != nil {
		return nil, err
	}
	if err := service.Restart(ctx); err != nil {
		return nil, err
	}
	s.Services = append(s.Services, service)
	return service, nil
}

// Service is the one of a name: that of a stage, or with a number after it from the
// second replica on. It is nil where there is none.
func (s *Stack) Service(name string) *Service {
	for _, service := range s.Services {
		if service.Name == name {
			return service
		}
	}
	return nil
}

// Alive tells whether no process has ended.
func (s *Stack) Alive() bool {
	return !slices.ContainsFunc(s.Services, func(service *Service) bool { return service.Server().Ended() })
}

// Stop ends all processes, the gateway first. It may be called again.
func (s *Stack) Stop() error {
	var errs []error
	for _, service := range slices.Backward(s.Services) {
		errs = append(errs, service.stop())
	}
	return errors.Join(errs...)
}
