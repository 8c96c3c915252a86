//go:build cgo && !portable && (amd64 || arm64)

package resample

// ways are all ways to resize in this build. They are false if the CPU lacks the
// instructions.
var ways = map[string]func(work) bool{
	"avx2":     func(w work) bool { return w.vector(avx2) },
	"neon":     func(w work) bool { return w.vector(neon) },
	"best":     func(w work) bool { return w.vector(best) || w.plain() },
	"portable": work.plain,
}
