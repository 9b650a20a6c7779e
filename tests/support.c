/* support.c: what unit tests share. */
#include "support.h"

uint64_t test_seed(void)
{
	const char *seed = getenv("SEED");
	return seed ? strtoull(seed, NULL, 0) : 20261121;
}
