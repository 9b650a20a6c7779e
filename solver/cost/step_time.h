/* step_time.h: how long a step takes where collectives run beside computation.
 *
 * A device works on several streams at once: it computes on stream 0, collectives over axis a of the mesh run on stream
 * 1 + a. It computes in the plan's order. Of the collectives that could begin, a stream takes the one whose result is
 * needed first, and finishes it: what layers wait for goes before gradients. An op begins when what it needs has ended
 * and its stream is free. So gradients are reduced while earlier layers still compute. The time that computation waits
 * is exposed; it follows from the dependencies, and no constant guesses it. */
#pragma once

#include "mesh.h"

#define PREFETCH_MOST 16
#define STREAMS_MAX (3 + MESH_AXES)

struct step_model {
	uint32_t ops, streams;
	struct csr pred;           /* op -> ops that must have ended; acyclic */
	struct csr held; /* op -> ops that must have ended in this order: copies that computation waits for, and what it
						does before memory is there to come back to */
	uint32_t *sequence;        /* [ops] a topological order: that of computation */
	int64_t *turn;             /* [ops] of collectives: the least goes first; no two are equal */
	uint32_t *stream;          /* [ops] */
	int64_t *time;             /* [ops] picoseconds; an op of 0 (a view) occupies no stream */
	uint32_t *release;         /* [ops] of a collective: begins no earlier than that op, which computes; NONE */
	uint32_t *of; /* [ops] the graph's op; collectives inside an op are ops of their own here, behind the graph's */
	int64_t ahead; /* bytes: the most that parameters take that are gathered ahead of their place in the order */
	struct arena arena;
};

/* What the ops of a device's graph take. */
struct step_costs {
	uint32_t axes;
	uint32_t *stream;          /* [ops] */
	int64_t *time;             /* [ops] picoseconds, without what is inside */
	int64_t *inside; /* [ops * axes] picoseconds of collectives that the op makes itself, after its computation */
	uint32_t *layer;           /* [ops] gathers of parameters run ahead by layers; NONE: a layer of its own */
	uint32_t prefetch;         /* by so many of them; at most PREFETCH_MOST */
	const bool *apart;         /* [ops] computes in another pass: what it makes is made, not there from the start; NULL */
};

/* The model of a graph in an order. A collective has its place there: it begins no earlier than the last op that
 * computes before it, so that the plan's memory holds but for one op. Those whose operands are there from the start of
 * the step (gathers of parameters, ZeRO 3) run prefetch layers ahead, one as FSDP's do: they may begin when the first
 * op that reads the layer so many before begins. A copy to the host that a wait reads may begin when its operand is
 * there, since the wait lets go of the memory. What computes behind the wait begins when the copy is out; so it is
 * behind a copy that no wait reads, which lets go of the memory itself. A copy back begins when all that is before the
 * memory that it fills is done. So in any order no byte counts as free that a copy still reads or writes. OK or
 * NO_MEMORY; free it in any case. O(size). */
enum status step_model_build(
	const struct graph *graph, const uint32_t *order, const struct step_costs *costs, struct step_model *model);
void step_model_free(struct step_model *model);
#define step_model_drop step_model_free

struct step_time {
	int64_t *start;            /* [ops] picoseconds */
	int64_t total;             /* the end of the last op */
	int64_t busy[STREAMS_MAX];
	/* Of total - busy[0], when nothing is computed: what the collectives of each stream that computation waits for take
	 * of it. */
	int64_t exposed[STREAMS_MAX];
	struct arena arena;
};

/* OK or NO_MEMORY; free it in any case. critical path <= total <= sum of times; busy[s] <= total; the exposed add up to
 * total - busy[0]. O(ops log ops + dependencies). */
enum status step_time_find(const struct step_model *model, struct step_time *time);
void step_time_free(struct step_time *time);

/* Checks every start: the op could begin then, and no earlier, and it was its turn. Then the sums; of the exposed
 * times, that they add up. INFEASIBLE says what is wrong; NO_MEMORY. O(ops * collectives that wait at once). */
enum status step_time_check(const struct step_model *model, const struct step_time *time, struct error *error);
