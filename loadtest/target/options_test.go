package target_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triptych/loadtest/target"
	"triptych/loadtest/target/targettest"
	"triptych/shared/failure"
)

func TestWhatARequestSays(t *testing.T) {
	server := targettest.Start(t, byName)
	tests := []struct {
		name string
		o    target.Options
		want targettest.Call
	}{
		{"classify", target.Options{Protocol: target.Classify, URL: server.URL}, targettest.Call{Priority: "2", Tenant: "shop", Note: "hello"}},
		{"rest", target.Options{Protocol: target.REST, URL: server.URL, Version: "7"}, targettest.Call{Version: "7", Priority: "2", Timeout: "5000000", Tenant: "shop", Note: "hello"}},
		{"grpc", target.Options{Protocol: target.GRPC, URL: server.Address, Version: "7"}, targettest.Call{Version: "7", Priority: "2", Tenant: "shop", Note: "hello"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Priority, tt.o.Timeout, tt.o.Tenant = 2, 5*time.Second, "shop"
			tt.o.Headers = map[string]string{targettest.NoteHeader: "hello"}
			if _, err := dial(t, tt.o).Do(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, server.Last()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAVersionCantBeChosenByClassify(t *testing.T) {
	_, err := target.New(target.Options{Protocol: target.Classify, Version: "1"}, images)
	if failure.KindOf(err) != failure.Invalid || !strings.Contains(failure.Message(err), "no choice of a version") {
		t.Errorf("error = %v", err)
	}
}
