/* memory.c: allocation. Tests put tests/common/support.c in its place. */
#include <stdlib.h>

#include "base.h"

static atomic_ulong refused;

unsigned long mem_refused(void)
{
	return atomic_load(&refused);
}

void mem_note_refused(void)
{
	atomic_fetch_add(&refused, 1);
}

void *mem_alloc(size_t count, size_t size)
{
	void *block = calloc(count ? count : 1, size ? size : 1);
	if (!block)
		mem_note_refused();
	return block;
}

void *mem_resize(void *block, size_t count, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	void *moved = realloc(block, bytes ? bytes : 1);
	if (!moved)
		mem_note_refused();
	return moved;
}

void mem_free(void *block)
{
	free(block);
}
