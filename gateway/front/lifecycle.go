package front

import (
	"context"
	"log/slog"
	"net/http"

	"triptych/shared/app"
	"triptych/shared/failure"
)

// maxHeaders bounds a request's headers.
const maxHeaders = 64 << 10

// newServer makes the server, which does not listen before Start.
func (f *Front) newServer() *app.HTTPServer {
	return app.NewHTTPServer(f.cfg.Address, &http.Server{
		Handler:                      f.engine,
		ReadHeaderTimeout:            f.cfg.HeaderTimeout,
		WriteTimeout:                 f.cfg.BodyTimeout + f.cfg.RequestTimeout + f.cfg.WriteTimeout,
		IdleTimeout:                  f.cfg.IdleTimeout,
		MaxHeaderBytes:               maxHeaders,
		ErrorLog:                     slog.NewLogLogger(f.logger.Handler(), slog.LevelDebug),
		DisableGeneralOptionsHandler: true,
	})
}

// Start listens and serves. A busy port is an error here. It can be called once.
func (f *Front) Start(ctx context.Context) error {
	if err := f.server.Start(ctx); err != nil {
		return failure.New(failure.Unavailable, "listen for HTTP on %s (--http-address): %v", f.cfg.Address, err)
	}
	return nil
}

// Address is where the front listens, or will.
func (f *Front) Address() string { return f.server.Address() }

// Drain goes on to serve, but asks every client to come back by a new
// connection, which a load balancer then sends elsewhere.
func (f *Front) Drain() { f.draining.Store(true) }

// Stop takes no new connections, finishes the requests in flight, and cuts what
// is left when ctx ends. Safe to call twice, and without Start.
func (f *Front) Stop(ctx context.Context) error {
	f.Drain()
	if err := f.server.Stop(ctx); err != nil {
		return failure.Wrap(err, failure.Deadline, "requests over HTTP were cut at the end of the time to stop")
	}
	return nil
}

// Part is the front as a part of an app.
func (f *Front) Part(name string) app.Part {
	part := f.server.Part(name)
	part.Start, part.Drain, part.Stop, part.Door = f.Start, f.Drain, f.Stop, true
	return part
}
