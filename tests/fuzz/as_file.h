/* as_file.h: a fuzz target's input under a path, for readers that open files themselves. Nothing is written to disk. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The descriptor to close, and the path while it is open. */
static inline int as_file(const void *data, size_t size, char path[40])
{
	int descriptor = (int)syscall(SYS_memfd_create, "input", 0u);
	if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size)
		abort();
	snprintf(path, 40, "/proc/self/fd/%d", descriptor);
	return descriptor;
}

static inline void must(int condition)
{
	if (!condition)
		abort();
}

/* From here on, warnings go nowhere. What the fuzzer and the sanitizers print still comes: they write to the
 * descriptor. */
static inline void hush(void)
{
	static FILE *nowhere;
	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	must(nowhere != NULL);
	stderr = nowhere;
}
