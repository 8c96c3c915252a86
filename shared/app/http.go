package app

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// HTTPServer is an http.Server that binds before it serves, so that a busy port
// is an error of Start, and whose end nobody asked for is told.
type HTTPServer struct {
	server *http.Server
	port   *Port
}

// NewHTTPServer wraps a server; its Addr is not used.
func NewHTTPServer(address string, server *http.Server) *HTTPServer {
	return &HTTPServer{server: server, port: NewPort(address, func(l net.Listener) error {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})}
}

// Start binds and serves. It can be called once.
func (s *HTTPServer) Start(ctx context.Context) error { return s.port.Start(ctx) }

// Stop finishes the requests that run; when ctx ends it cuts them off. It may be
// called again, and before Start.
func (s *HTTPServer) Stop(ctx context.Context) error {
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	s.port.Wait()
	return err
}

// Address is where the server listens, with the port that was chosen when the
// wanted one was 0.
func (s *HTTPServer) Address() string { return s.port.Address() }

// Part is the server as a part of an app.
func (s *HTTPServer) Part(name string) Part {
	return Part{Name: name, Start: s.Start, Stop: s.Stop, Failed: s.port.Failed()}
}
