package engine

// #include <stdlib.h>
// #if defined(__GLIBC__)
// #include <malloc.h>
// static void trim(void) { malloc_trim(0); }
// #else
// static void trim(void) {}
// #endif
import "C"

// trim gives memory that was freed back to the system. A session's weights are
// freed into the arena of whichever thread loaded them, where the C library
// keeps them; without this a service that reloads its models grows for a long
// time.
func trim() { C.trim() }
