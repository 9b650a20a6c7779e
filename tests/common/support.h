/* support.h: what unit tests share. Linking it replaces the solver's allocator by a counting one. */
#pragma once

#include <criterion/criterion.h>

#include "solver/graph/problem.h"

struct plan;
struct rules;

/* The seed of random tests: SEED from the environment, or a fixed one. Print it on failure. */
uint64_t test_seed(void);

/* Rounds of a long random test: `usual` of them in `make test`, `all` in `make test-long` (LONG=1); ROUNDS=n asks for
 * n. */
uint32_t test_rounds(uint32_t usual, uint32_t all);

/* From now on so many allocations succeed and all later ones fail; -1: all succeed. */
void memory_allow(long allocations);

/* How many allocations to allow after n were: one more in `make test-long`; in `make test` one more up to 100, then
 * about 2 % more. */
long memory_next(long n);

/* Blocks allocated through mem_alloc and mem_resize and not freed. Compare before and after. */
long memory_blocks(void);

/* The brutal test of a call: with no allocation, with one, ... until there are enough. What it made it frees, so that
 * nothing is left each time: EACH_REFUSAL(refused) refused.status = call(); */
struct refusal {
	long allowed, before;
	enum status status;   /* NO_MEMORY: once more; else it must be OK */
};
bool memory_refuse(struct refusal *refused);
#define EACH_REFUSAL(refused) \
	for (struct refusal refused = { .allowed = -1, .before = memory_blocks() }; memory_refuse(&refused);)

/* The rules of the program itself: read at the first call, freed at the end of the test. */
struct rules *test_rules(void);

/* At the end of every test nothing is allocated any more. */
void memory_all_freed(void);
#undef Test
#define Test(suite, name) static void suite##_##name(void); \
	CR_TEST_BASE(suite, name, .sentinel_ = 0) { suite##_##name(); memory_all_freed(); } \
	static void suite##_##name(void)

/* Bytes at the peak of a graph's program order, without workspace; -1 when out of memory. */
int64_t program_peak(const struct graph *graph);

/* samples/NAME.jsonl.gz. */
struct graph *open_sample(const char *name);

/* A plan's file. Free it with free(). */
char *plan_text(const struct plan *plan);
/* What the independent check says of such a file. */
enum status check_plan_text(const struct graph *graph, const char *text, struct error *error);
