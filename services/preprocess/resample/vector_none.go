//go:build !cgo || portable || (!amd64 && !arm64)

package resample

// best is what a build without vector instructions knows of them.
const best = 0

// vector does nothing in this build.
func (w work) vector(int) bool { return false }
