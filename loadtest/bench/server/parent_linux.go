package server

import "syscall"

// endWithParent has the kernel end a process when the one that started it has
// ended, even by SIGKILL: no server stays behind.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }
