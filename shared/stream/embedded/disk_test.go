//go:build linux

package embedded_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"triptych/shared/failure"
	"triptych/shared/stream"
	"triptych/shared/stream/embedded"
	"triptych/shared/testkit"
)

// smallDisk is a disk of so many bytes. Only root may mount one.
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	directory := t.TempDir()
	err := syscall.Mount("tmpfs", directory, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("a disk of its own can't be mounted: %v", err)
	default:
		t.Skipf("a disk of its own can't be mounted, which only root may: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(directory, 0); err != nil {
			t.Error(err)
		}
	})
	return directory
}

// publish stores messages until one is refused or not answered, and gives how many
// were said to be stored.
func publish(t *testing.T, js jetstream.JetStream, subject string, most int) (stored int, err error) {
	t.Helper()
	data := make([]byte, 256<<10)
	for range most {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err = js.Publish(ctx, subject, data)
		cancel()
		if err != nil {
			return stored, err
		}
		stored++
	}
	return stored, nil
}

func makeStreams(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for name, storage := range map[string]jetstream.StorageType{"files": jetstream.FileStorage, "more": jetstream.FileStorage, "memory": jetstream.MemoryStorage} {
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name}, Storage: storage, Discard: jetstream.DiscardNew}); err != nil {
			t.Fatal(err)
		}
	}
}

func count(t *testing.T, js jetstream.JetStream, name string) int {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return int(s.CachedInfo().State.Msgs)
}

// A disk that others fill: what is published is refused or not answered, the server
// says that it can't write, and when there is room again it writes as before, in the
// same process and for the same connections. What was said to be stored is there.
func TestAFullDisk(t *testing.T) {
	disk := smallDisk(t, 48<<20)
	logs := &lines{}
	s := start(t, embedded.Config{
		Directory: filepath.Join(disk, "nats"), MaxBytes: 1 << 30, Reserve: 8 << 20, Look: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(logs, nil)),
	})
	js := client(t, s)
	makeStreams(t, js)
	stored, err := publish(t, js, "files", 40)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(disk, "other")
	if err := os.WriteFile(other, make([]byte, 35<<20), 0o600); err != nil {
		t.Log("the disk is full by others' files:", err)
	}
	testkit.Eventually(t, 5*time.Second, "little is left", func() bool { return s.Low() != nil })
	if s.Health() != nil {
		t.Errorf("with a little left it can't write: %v", s.Health())
	}
	more, err := publish(t, js, "files", 1000)
	if err := stream.Failure(err); err == nil || failure.KindOf(err) != failure.Unavailable {
		t.Errorf("a full disk gives %v", err)
	}
	stored += more
	testkit.Eventually(t, 5*time.Second, "it can't write", func() bool { return s.Health() != nil })
	if kind := failure.KindOf(s.Health()); kind != failure.Unavailable {
		t.Errorf("it says %s %v", kind, s.Health())
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, 10*time.Second, "it can write again", func() bool { return s.Health() == nil && s.Low() == nil })
	if got := count(t, js, "files"); got < stored {
		t.Errorf("%d messages are there of %d that were said to be stored", got, stored)
	}
	if _, err := publish(t, js, "files", 2); err != nil {
		t.Errorf("afterwards a publish gives %v", err)
	}
	if !s.Synced() {
		t.Error("afterwards writes are not synced")
	}
	for _, line := range []string{"can't write to its disk", "jobs can't be stored", "no new jobs are taken", "starts anew", "jobs can be stored again", "new jobs are taken again"} {
		if !logs.has(line) {
			t.Errorf("nothing is logged like %q", line)
		}
	}
}

// The server keeps the reserve free, and says when it is full.
func TestTheReserve(t *testing.T) {
	disk := smallDisk(t, 48<<20)
	s := start(t, embedded.Config{Directory: filepath.Join(disk, "nats"), Reserve: 16 << 20, Look: 20 * time.Millisecond})
	if most := s.MaxBytes(); most < 30<<20 || most > 32<<20 {
		t.Errorf("it keeps %d bytes at most", most)
	}
	js := client(t, s)
	makeStreams(t, js)
	stored, err := publish(t, js, "files", 1000)
	if err := stream.Failure(err); err == nil || failure.KindOf(err) != failure.Busy {
		t.Errorf("after %d messages it gives %v", stored, err)
	}
	if stored < 100 || s.Low() != nil || s.Health() != nil {
		t.Errorf("%d messages are stored, %v, %v", stored, s.Low(), s.Health())
	}
	js.Conn().Close()
	s.Stop()
	// After a restart its own files count as room.
	again := start(t, embedded.Config{Directory: filepath.Join(disk, "nats"), Reserve: 16 << 20})
	if most := again.MaxBytes(); most < 30<<20 || most > 34<<20 {
		t.Errorf("after a restart it keeps %d bytes at most", most)
	}
	if got := count(t, client(t, again), "files"); got != stored {
		t.Errorf("%d messages are there of %d", got, stored)
	}
}
