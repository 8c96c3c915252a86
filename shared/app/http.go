package app

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
)

// HTTPServer is an http.Server that binds before it serves, so that a busy port
// is an error of Start, and whose end nobody asked for is told.
type HTTPServer struct {
	server  *http.Server
	address string

	mu       sync.Mutex
	listener net.Listener
	failed   chan error
	done     chan struct{}
}

// NewHTTPServer wraps a server; its Addr is not used.
func NewHTTPServer(address string, server *http.Server) *HTTPServer {
	return &HTTPServer{server: server, address: address, failed: make(chan error, 1), done: make(chan struct{})}
}

// Start binds and serves.
func (s *HTTPServer) Start(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.listener = l
	s.mu.Unlock()
	go func() {
		defer close(s.done)
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return nil
}

// Stop finishes the requests that run; when ctx ends it cuts them off.
func (s *HTTPServer) Stop(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.done
	return err
}

// Address is where the server listens, with the port that was chosen when the
// wanted one was 0.
func (s *HTTPServer) Address() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listener == nil {
		return s.address
	}
	return s.listener.Addr().String()
}

// Part is the server as a part of an app.
func (s *HTTPServer) Part(name string) Part {
	return Part{Name: name, Start: s.Start, Stop: s.Stop, Failed: s.failed}
}
