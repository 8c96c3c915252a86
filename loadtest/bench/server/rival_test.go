package server_test

import (
	"io"
	"strings"
	"testing"

	"triptych/loadtest/bench/server"
)

func TestRival(t *testing.T) {
	text, address := command(t)
	r := server.Rival{Command: "test {mark} = it && " + text, Address: address, Model: "m"}
	if err := r.Validate(); err != nil || !r.Given() || r.Notes() != nil {
		t.Errorf("error %v, notes %q", err, r.Notes())
	}
	for value, want := range map[string]string{"it": "", "that": "has ended"} {
		asked := false
		err := r.With(t.Context(), "{mark}", value, io.Discard, func(s *server.Server) error {
			asked = true
			return s.Ready(t.Context(), "m")
		})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || asked != (want == "") {
			t.Errorf("with %s: asked %t, error %v", value, asked, err)
		}
	}
}

func TestNoRival(t *testing.T) {
	r := server.RivalOf(func(string) string { return "" })
	if err := r.Validate(); err != nil || r.Given() || len(r.Notes()) != 1 {
		t.Errorf("error %v, notes %q", err, r.Notes())
	}
	r = server.RivalOf(func(name string) string { return strings.TrimPrefix(name, "RIVAL_MODEL") })
	if err := r.Validate(); err == nil || !strings.Contains(err.Error(), "--rival needs --rival-grpc and --rival-model") {
		t.Errorf("without a model: %v", err)
	}
}
