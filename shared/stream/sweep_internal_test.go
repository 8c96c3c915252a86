package stream

import (
	"testing"

	"github.com/nats-io/nats.go"

	"triptych/shared/stream/embedded"
	"triptych/shared/telemetry"
)

// Chunks without an object go at the second sweep that sees them; those of objects,
// and what others have put there in their own way, stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(embedded.Config{Directory: t.TempDir(), MaxBytes: 64 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	cfg := DefaultConfig()
	cfg.InProcess = s
	c, err := Connect(cfg, "test", telemetry.Discard())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole, err := c.PutBlob(t.Context(), Blobs, "whole", make([]byte, 2<<20))
	if err != nil {
		t.Fatal(err)
	}
	b, err := c.bucket(t.Context(), Blobs)
	if err != nil {
		t.Fatal(err)
	}
	// What crashes leave: an upload without its name, and one of a key that has another.
	for _, id := range []string{"x-bG9zdA==", "y-d2hvbGU=", "strange"} {
		if _, err := c.js.PublishMsg(t.Context(), &nats.Msg{Subject: b.chunks(id)}); err != nil {
			t.Fatal(err)
		}
	}
	sweeper := &sweeper{conn: c}
	for _, want := range []uint64{7, 5, 5} { // three chunks and a name, and what is lost
		if err := sweeper.sweep(t.Context(), Blobs); err != nil {
			t.Fatal(err)
		}
		info, err := b.stream.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := info.State.Msgs; got != want {
			t.Errorf("%d messages, want %d", got, want)
		}
	}
	if _, err := c.GetBlob(t.Context(), whole, 0); err != nil {
		t.Error(err)
	}
}
