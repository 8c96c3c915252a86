package app

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Port is what servers of every protocol have in common: an address that is bound
// before it is served, so that a busy one is an error of Start, and a goroutine
// that serves it and whose end nobody asked for is told. Safe for concurrent use.
type Port struct {
	address string
	serve   func(net.Listener) error
	failed  chan error

	mu       sync.Mutex
	listener net.Listener
	done     chan struct{}
}

// NewPort makes a port; serve accepts until the listener is closed, and returns
// nil when its end was asked for.
func NewPort(address string, serve func(net.Listener) error) *Port {
	return &Port{address: address, serve: serve, failed: make(chan error, 1)}
}

// Start binds and serves. It can be called once.
func (p *Port) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return fmt.Errorf("%s is served already", p.listener.Addr())
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.address)
	if err != nil {
		return err
	}
	p.listener, p.done = l, make(chan struct{})
	go func() {
		defer close(p.done)
		if err := p.serve(l); err != nil {
			p.failed <- err
		}
	}()
	return nil
}

// Wait returns when nothing is served any more: at once when nothing ever was.
func (p *Port) Wait() {
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	if done != nil {
		<-done
	}
}

// Failed tells of an end that nobody asked for.
func (p *Port) Failed() <-chan error { return p.failed }

// Address is where the port is, with the number that was chosen when the wanted
// one was 0.
func (p *Port) Address() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return p.address
	}
	return p.listener.Addr().String()
}
