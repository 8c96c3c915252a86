package front

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"

	"triptych/shared/failure"
)

// maxHeaders bounds a request's headers.
const maxHeaders = 64 << 10

// Start listens and serves. A busy port is an error here.
func (f *Front) Start(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.server != nil {
		return failure.New(failure.Conflict, "the HTTP front has been started already")
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.cfg.Address)
	if err != nil {
		return failure.Wrap(err, failure.Unavailable, "listen for HTTP on %s (--http-address)", f.cfg.Address)
	}
	server := &http.Server{
		Handler:                      f.engine,
		ReadHeaderTimeout:            f.cfg.HeaderTimeout,
		WriteTimeout:                 f.cfg.BodyTimeout + f.cfg.RequestTimeout + f.cfg.WriteTimeout,
		IdleTimeout:                  f.cfg.IdleTimeout,
		MaxHeaderBytes:               maxHeaders,
		ErrorLog:                     slog.NewLogLogger(f.logger.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
	}
	f.server, f.listener, f.served = server, listener, make(chan struct{})
	go func() {
		defer close(f.served)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			f.failed <- failure.Wrap(err, failure.Internal, "serve HTTP")
		}
	}()
	return nil
}

// Address is where the front listens, or will.
func (f *Front) Address() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listener == nil {
		return f.cfg.Address
	}
	return f.listener.Addr().String()
}

// Failed tells of an end that nobody asked for.
func (f *Front) Failed() <-chan error { return f.failed }

// Drain goes on to serve, but asks every client to come back by a new
// connection, which a load balancer then sends elsewhere.
func (f *Front) Drain() { f.draining.Store(true) }

// Stop takes no new connections, finishes the requests in flight, and cuts what
// is left when ctx ends. Safe to call twice, and without Start.
func (f *Front) Stop(ctx context.Context) error {
	f.Drain()
	f.mu.Lock()
	server, served := f.server, f.served
	f.mu.Unlock()
	if server == nil {
		return nil
	}
	err := server.Shutdown(ctx)
	if err != nil {
		err = failure.Wrap(errors.Join(err, server.Close()), failure.Deadline, "requests over HTTP were cut at the end of the time to stop")
	}
	<-served
	return err
}
