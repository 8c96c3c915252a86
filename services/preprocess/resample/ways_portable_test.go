//go:build !cgo || portable || (!amd64 && !arm64)

package resample

// ways are all ways to resize in this build.
var ways = map[string]func(work) bool{"portable": work.plain}
