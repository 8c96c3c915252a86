package call_test

import (
	"strings"
	"testing"

	"triptych/shared/call"
)

func TestInfoTravels(t *testing.T) {
	if got := call.Of(t.Context()); got != (call.Info{}) {
		t.Errorf("an empty context has %+v", got)
	}
	want := call.Info{RequestID: "a", Priority: 2}
	if got := call.Of(call.With(call.With(t.Context(), call.Info{RequestID: "old"}), want)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestValidRequestID(t *testing.T) {
	for id, want := range map[string]bool{
		"7f1b-42": true, "~!": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "two words": false, "line\nbreak": false, "tab\t": false,
		"ü": false, "\x7f": false, "nul\x00": false,
	} {
		if call.ValidRequestID(id) != want {
			t.Errorf("ValidRequestID(%q) is not %t", id, want)
		}
	}
}

func TestValidTenant(t *testing.T) {
	for name, want := range map[string]bool{
		"team-7": true, strings.Repeat("x", 64): true, "": false, strings.Repeat("x", 65): false, "two words": false, "é": false,
	} {
		if call.ValidTenant(name) != want {
			t.Errorf("ValidTenant(%q) is not %t", name, want)
		}
	}
}
