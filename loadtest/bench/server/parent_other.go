//go:build !linux

package server

import "syscall"

// endWithParent has no means here: a benchmark that is killed leaves its servers.
func endWithParent(*syscall.SysProcAttr) {}
