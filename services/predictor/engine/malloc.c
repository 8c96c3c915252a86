/*
 * The C library keeps up to eight arenas for each core. Go moves its goroutines
 * between threads, so that each load and each run finds another arena to leave
 * fragments in, which no trim gives back. One for each core is enough here: tensors
 * live in ONNX Runtime's own arena. The limit is fixed when a second thread first
 * asks for memory, so it has to be said before main. Who has set MALLOC_ARENA_MAX
 * knows better.
 */

#include <stdlib.h>
#include <unistd.h>

#if defined(__GLIBC__)
#include <malloc.h>

__attribute__((constructor)) static void bound_arenas(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	if (cores > 0 && getenv("MALLOC_ARENA_MAX") == NULL)
		mallopt(M_ARENA_MAX, (int)cores);
}
#endif
