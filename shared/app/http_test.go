package app_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"triptych/shared/app"
)

// get asks the server once and keeps no connection.
func get(server *app.HTTPServer) (string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + server.Address() + "/")
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// blocking is a server whose requests say that they run and then wait.
func blocking(t *testing.T) (server *app.HTTPServer, running, release chan struct{}) {
	t.Helper()
	running, release = make(chan struct{}, 1), make(chan struct{})
	server = app.NewHTTPServer("127.0.0.1:0", &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running <- struct{}{}
		select {
		case <-release:
			io.WriteString(w, "done")
		case <-r.Context().Done():
		}
	})})
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server, running, release
}

func TestABusyPortIsAnErrorOfStart(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := app.NewHTTPServer(l.Addr().String(), &http.Server{})
	var busy *net.OpError
	if err := server.Start(t.Context()); !errors.As(err, &busy) || busy.Op != "listen" {
		t.Errorf("got %v, want an error of listen", err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("Stop after a Start that failed: %v", err)
	}
}

func TestStopWithoutStart(t *testing.T) {
	server := app.NewHTTPServer("127.0.0.1:0", &http.Server{})
	for range 2 {
		if err := server.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if server.Address() != "127.0.0.1:0" {
		t.Errorf("address is %s", server.Address())
	}
}

func TestStartTwice(t *testing.T) {
	server, _, _ := blocking(t)
	address := server.Address()
	if err := server.Start(t.Context()); err == nil || err.Error() != address+" is served already" {
		t.Errorf("got %v", err)
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestStopFinishesWhatRuns(t *testing.T) {
	server, running, release := blocking(t)
	answers := make(chan string, 1)
	go func() {
		body, err := get(server)
		if err != nil {
			body = err.Error()
		}
		answers <- body
	}()
	<-running
	stopped := make(chan error, 2)
	for range 2 { // twice at once
		go func() { stopped <- server.Stop(t.Context()) }()
	}
	for { // until no connection is taken any more
		if _, err := net.DialTimeout("tcp", server.Address(), time.Second); err != nil {
			break
		}
	}
	select {
	case err := <-stopped:
		t.Errorf("stopped while a request ran: %v", err)
	default:
	}
	close(release)
	if got := <-answers; got != "done" {
		t.Errorf("the running request got %q", got)
	}
	for range 2 {
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	if err := server.Stop(t.Context()); err != nil {
		t.Errorf("Stop again: %v", err)
	}
}

func TestStopCutsOffAtItsDeadline(t *testing.T) {
	server, running, _ := blocking(t)
	cut := make(chan error, 1)
	go func() {
		_, err := get(server)
		cut <- err
	}()
	<-running
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	if err := server.Stop(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Stop gives %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("Stop took %s", took)
	}
	if err := <-cut; err == nil {
		t.Error("the request was answered")
	}
}

func TestAnEndNobodyAskedForIsTold(t *testing.T) {
	broken := errors.New("broken")
	port := app.NewPort("127.0.0.1:0", func(l net.Listener) error { l.Close(); return broken })
	if err := port.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-port.Failed(); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	port.Wait()
}

func TestHTTPServerInAnApp(t *testing.T) {
	server, _, _ := blocking(t)
	part := server.Part("web")
	if part.Name != "web" || part.Failed == nil {
		t.Errorf("part is %+v", part)
	}
	if err := part.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
