/* memory.c: allocation. Tests put tests/common/support.c in its place. */
#include <stdlib.h>

#include "base.h"

void *mem_alloc(size_t count, size_t size)
{
	return calloc(count ? count : 1, size ? size : 1);
}

void *mem_resize(void *block, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	return realloc(block, bytes ? bytes : 1);
}

void mem_free(void *block)
{
	free(block);
}
