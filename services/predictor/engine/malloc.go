package engine

// #include <stdlib.h>
// #if defined(__GLIBC__)
// #include <malloc.h>
// static void trim(void) { malloc_trim(0); }
// static void arenas(int n) { mallopt(M_ARENA_MAX, n); }
// #else
// static void trim(void) {}
// static void arenas(int n) { (void)n; }
// #endif
import "C"

import (
	"os"
	"runtime"
)

// trim gives memory that was freed back to the system. A session's weights are
// freed into the arena of whichever thread loaded them, where the C library
// keeps them; without this a service that reloads its models grows for a long
// time.
func trim() { C.trim() }

// boundArenas has the C library keep no more arenas than there are cores, where it
// would keep eight times as many. Go moves its goroutines between threads, so
// that each load and each run finds another arena to leave fragments in, which
// no trim gives back: 20 swaps under load grew by 36 to 38 MiB without it, by 16 to
// 22 with it. Who has set MALLOC_ARENA_MAX knows better.
func boundArenas() {
	if os.Getenv("MALLOC_ARENA_MAX") == "" {
		C.arenas(C.int(runtime.GOMAXPROCS(0)))
	}
}
