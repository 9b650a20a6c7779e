/* support.h: what unit tests share. */
#ifndef TIDEMARK_TESTS_SUPPORT_H
#define TIDEMARK_TESTS_SUPPORT_H

#include "solver/base.h"

/* The seed of random tests: SEED from the environment, or a fixed one. Print it on failure. */
uint64_t test_seed(void);

#endif
