package web_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"triptych/gateway/web"
	"triptych/shared/failure"
	"triptych/shared/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestReadAll(t *testing.T) {
	content := strings.Repeat("0123456789", 10_000)
	for name, size := range map[string]int64{"known": int64(len(content)), "unknown": -1, "less than there is": 10, "more": 1 << 20, "none": 0} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(content), iotest.DataErrReader(iotest.HalfReader(strings.NewReader(content)))} {
				data, err := web.ReadAll(r, 4, size)
				if err != nil || !bytes.Equal(data[:4], make([]byte, 4)) || string(data[4:]) != content {
					t.Errorf("%d bytes, %v", len(data), err)
				}
			}
		})
	}
	if _, err := web.ReadAll(iotest.ErrReader(io.ErrUnexpectedEOF), 0, 9); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// A length that is only said takes no memory, and what comes takes a few times
// its own.
func TestReadAllTakesLittle(t *testing.T) {
	for name, size := range map[string]int64{"a length": 1 << 40, "none": -1} {
		t.Run(name, func(t *testing.T) {
			for _, sent := range []int64{0, 100 << 10, 3 << 20} {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := web.ReadAll(io.MultiReader(io.LimitReader(zeros{}, sent), iotest.ErrReader(io.ErrUnexpectedEOF)), 4, size)
				runtime.ReadMemStats(&after)
				if took := int64(after.TotalAlloc - before.TotalAlloc); took > 6*sent+128<<10 || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("%d bytes took %d, %v", sent, took, err)
				}
			}
		})
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestFailure(t *testing.T) {
	inner := failure.FromStatus(status.Error(codes.Unavailable, "connection refused"), "predictor")
	for name, tc := range map[string]struct {
		err  error
		kind failure.Kind
		says string
	}{
		"own":            {failure.New(failure.Busy, "full"), failure.Busy, "full"},
		"own, prefixed":  {failure.Prefix("step x", inner), failure.Unavailable, "step x: predictor is not available"},
		"gRPC's":         {status.Error(codes.Unavailable, "10.0.0.1"), failure.Unavailable, "the server is not available"},
		"own, as status": {failure.ToStatus(failure.New(failure.BrokenImage, "cut")), failure.BrokenImage, "cut"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := web.Failure(tc.err); failure.KindOf(err) != tc.kind || failure.Message(err) != tc.says {
				t.Errorf("%v %q", failure.KindOf(err), failure.Message(err))
			}
		})
	}
}
