/* job.h: one run of the orderer: the best order and bound so far. */
#pragma once

#include "memory.h"
#include "model.h"

#define SEED_BETWEEN (ORDER_ROAM + 1) /* the strategies before it give the other seeds */
#define SEEDS (SEED_BETWEEN + 1)

struct order_job {
	const struct problem *problem;
	const struct order_options *options;
	struct control control;        /* the call's own: its ticks start at 0 */
	uint64_t effort;               /* control.limit at most; 0: that isn't changed */
	int64_t gap;                   /* when control.limit was set */
	struct order_model model, reversed;
	int64_t *alive;                /* op -> LB2; NULL until computed */
	uint32_t *order;               /* the best so far */
	int64_t peak;
	const char *winner;
	int64_t bound;
	struct order_certificate certificate;
	uint32_t *seed[SEEDS];         /* the seeds' orders, repaired in place; NULL: none */
	int64_t seed_peak[SEEDS];
	uint32_t *count;               /* scratch [items] */
	int64_t *live;                 /* scratch [ops] */
	struct order_store own;        /* answers of this run, in memory */
	struct order_memory memory;
	uint32_t solved, reused;
	struct arena arena;
};

/* Takes over the order if it is better than the best so far. */
void order_job_offer(struct order_job *job, const uint32_t *order, const char *winner);
/* Raises the bound, with what proves it (and the op at which). */
void order_job_raise(struct order_job *job, int64_t bound, enum order_proof proof, uint32_t op);
/* From here on the run of a large problem ends where 7/8 of what was spent, and 1/8 of the effort at least, brought the
 * best order and the bound no nearer to each other; half, and 1/32, where at most 0.1 % is left between them. */
void order_job_hurry(struct order_job *job);
/* Nothing is left to gain: proved, or the bound is above the ceiling that was asked for. */
bool order_job_done(const struct order_job *job);

/* Answers to sub-problems, from this run or from the caller's store. An answer begins with the ticks it took, which
 * are charged when the caller's store saves them, so that a store changes times but no results. A run that was
 * stopped keeps nothing: status is the answer's. */
bool order_job_find(struct order_job *job, const uint64_t key[2], void *answer, size_t bytes);
void order_job_keep(struct order_job *job, const uint64_t key[2], const void *answer, size_t bytes, enum status status);
