/* speed.h: how fast a step is: its time, samples and tokens per second, and the share of the devices' peak that is
 * reached. */
#pragma once

#include "src/stages/shard/sharded.h"
#include "src/scenario/scenario.h"

struct plan_speed {
	int64_t
		time; /* picoseconds of a step; < 0: unknown, as of a memory snapshot, whose ops are allocations, or too many */
	int64_t samples, tokens;    /* of a step, of all devices; 0: no input says so */
	int64_t model_flops; /* of matrix products of a step, of all devices, without what runs again; attention counts
							whole, also where a mask hides half. -1: some product doesn't know its own */
	uint32_t devices;
	double mfu; /* model FLOPs utilisation (Chowdhery et al., arXiv 2204.02311, appendix B): the share of the time in
				 * which the devices would do these products at their peak, each in its format; < 0: unknown */
};

/* graph: the whole step that is not split yet, of a microbatch. passes: how often its forward and backward passes run
 * in a step (microbatches, or accumulation). Tokens are the elements of the largest input of integers with two dims,
 * samples the first dim of that, else of the largest input. O(graph). */
struct plan_speed plan_speed_of(const struct graph *graph, const struct rules *rules, const struct scenario *scenario,
	int64_t passes, uint32_t devices, int64_t time);
/* Tokens, or else samples, of a second and one device; 0 where neither is known. */
double plan_speed_rate(const struct plan_speed *speed);
