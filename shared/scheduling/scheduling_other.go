//go:build !linux

package scheduling

func batch() error { return nil }
