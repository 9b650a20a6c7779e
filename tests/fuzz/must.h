/* must.h: what a fuzz target finds wrong ends it. */
#pragma once

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
