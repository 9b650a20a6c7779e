/* must.h: what a fuzz target finds wrong ends it. */
#ifndef TIDEMARK_TESTS_FUZZ_MUST_H
#define TIDEMARK_TESTS_FUZZ_MUST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void must(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "%s\n", what);
		abort();
	}
}

#endif
