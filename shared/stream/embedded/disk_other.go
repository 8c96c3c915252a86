//go:build !linux && !darwin

package embedded

// disk takes a disk to be large where the system isn't asked.
func disk(string) (total, free int64, err error) { return 1 << 40, 1 << 40, nil }
