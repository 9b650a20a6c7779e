/* json_memory.c: jansson's allocations are mem_alloc()'s, so that tests can make them fail as they do all others. */
#include "json_memory.h"

#include <jansson.h>

#include "solver/base/base.h"

static _Thread_local bool failed;

static void *allocate(size_t size)
{
	void *block = mem_alloc(1, size);
	failed |= !block;
	return block;
}

void json_memory_watch(void)
{
	json_set_alloc_funcs(allocate, mem_free);
}

bool json_memory_failed(void)
{
	bool was = failed;
	failed = false;
	return was;
}
