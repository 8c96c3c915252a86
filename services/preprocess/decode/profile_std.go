//go:build !cgo || portable

package decode

// ColorProfiles tells whether this build can turn embedded color profiles into
// sRGB.
const ColorProfiles = false

// toSRGB can't be opened in builds without C libraries.
type toSRGB struct{}

func (*toSRGB) open([]byte) bool { return false }
func (*toSRGB) convert([]byte)   {}
func (*toSRGB) free()            {}
