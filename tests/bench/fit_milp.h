/* fit_milp.h: the least extra time in one order with any number of reruns, as an integer program in the manner of
 * Checkmate (Jain et al., 2020), by GLPK. For steps of some ten forward ops that write nothing in place.
 *
 * A stage is an op after the pass that reads what can be dropped; right before it ops of the pass may run again, each
 * once, in their order. Columns: again[stage][op]; there[stage][storage], at the stage's begin;
 * held[stage][op][storage], while the op could run again, and last while the stage's own op runs. */
#pragma once

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "solver/base/milp.h"
#include "solver/recompute/recompute.h"

#define MILP_MOST 64

struct stages {
	const struct recompute_step *step;
	const uint32_t *order;                           /* [step->ops] */
	uint32_t *position;                              /* [step->ops] in it */
	uint32_t storage[MILP_MOST], storages, op[MILP_MOST], ops, stage[MILP_MOST], stages; /* stage: a position */
	uint32_t writer[MILP_MOST],
		last[MILP_MOST];      /* [storages] index into op; the last position of the pass that touches it */
	bool feeds[MILP_MOST][MILP_MOST], wanted[MILP_MOST][MILP_MOST]; /* storage -> op of the pass; stage -> storage */
	double *steady;                                  /* [positions] megabytes that are there whatever is kept */
	uint32_t again, there, held;                     /* first columns */
	struct milp milp;
};

static inline double megabytes(int64_t bytes)
{
	return (double)bytes / 1e6;
}

/* What can't be dropped, along the order. */
static inline void find_steady(struct stages *s)
{
	const struct recompute_step *step = s->step;
	for (uint32_t p = 0; p < step->ops; p++)
		s->steady[p] = megabytes(step->persistent + step->workspace[s->order[p]]);
	for (uint32_t v = 0; v < step->storages; v++) {
		const struct storage *storage = &step->graph->storage[v];
		uint32_t begin = storage->allocator == NONE ? 0 : s->position[storage->allocator],
				 end = storage->live_out ? step->ops - 1 : begin;
		FOR_ROW(i, &step->graph->users, v)
			end = s->position[step->graph->users.item[i]] > end ? s->position[step->graph->users.item[i]] : end;
		for (uint32_t p = begin; p <= end && !step->droppable[v]; p++)
			s->steady[p] += megabytes(step->bytes[v]);
	}
}

/* False where the step is not as simple as the program wants it. */
static inline bool find_stages(struct stages *s)
{
	const struct recompute_step *step = s->step;
	bool simple = !step->in_place && step->changes.start[step->ops] == 0;
	uint32_t *index = calloc(step->storages, sizeof *index);
	for (uint32_t v = 0; v < step->storages && simple; v++)
		if (step->droppable[v] && step->bytes[v] > 0 && (simple = s->storages < MILP_MOST)) {
			s->storage[s->storages++] = v;
			index[v] = s->storages;
		}
	for (uint32_t p = 0; p < step->ops && simple; p++) {
		uint32_t op = s->order[p], makes = 0, reads = 0;
		FOR_ROW(i, &step->makes, op)
			makes += index[step->makes.item[i]] > 0;
		FOR_ROW(i, &step->reads, op)
			reads += index[step->reads.item[i]] > 0;
		if (step->forward[op] && makes > 0 && (simple = s->ops < MILP_MOST && s->stages == 0)) {
			FOR_ROW(i, &step->steady, op)
				simple &= step->graph->storage[step->steady.item[i]].persistent;
			FOR_ROW(i, &step->makes, op)
				if (index[step->makes.item[i]] > 0)
					s->writer[index[step->makes.item[i]] - 1] = s->ops;
			FOR_ROW(i, &step->reads, op)
				if (index[step->reads.item[i]] > 0)
					s->feeds[index[step->reads.item[i]] - 1][s->ops] = true;
			s->op[s->ops++] = op;
		} else if (!step->forward[op] && reads > 0 && (simple = s->stages < MILP_MOST)) {
			FOR_ROW(i, &step->reads, op)
				if (index[step->reads.item[i]] > 0)
					s->wanted[s->stages][index[step->reads.item[i]] - 1] = true;
			s->stage[s->stages++] = p;
		}
	}
	for (uint32_t j = 0; j < s->storages && simple; j++)
		FOR_ROW(i, &step->graph->users, s->storage[j])
			if (step->forward[step->graph->users.item[i]] && s->position[step->graph->users.item[i]] > s->last[j])
				s->last[j] = s->position[step->graph->users.item[i]];
	free(index);
	return simple && s->stages > 0;
}

static inline uint32_t again_of(const struct stages *s, uint32_t t, uint32_t k) { return s->again + t * s->ops + k; }
static inline uint32_t there_of(const struct stages *s, uint32_t t, uint32_t j)
{
	return s->there + t * s->storages + j;
}
static inline uint32_t held_of(const struct stages *s, uint32_t t, uint32_t k, uint32_t j)
{
	return s->held + (t * (s->ops + 1) + k) * s->storages + j;
}

/* low <= a - b - c; NONE: no such column. */
static inline void at_least(struct milp *milp, double low, uint32_t a, uint32_t b, uint32_t c)
{
	milp_add_row(milp, low, INFINITY);
	milp_add_entry(milp, a, 1);
	if (b != NONE)
		milp_add_entry(milp, b, -1);
	if (c != NONE)
		milp_add_entry(milp, c, -1);
}

/* Bytes of columns first + storage are within the cap beside what is steady. */
static inline void within(struct stages *s, uint32_t first, double room)
{
	milp_add_row(&s->milp, -INFINITY, room);
	for (uint32_t j = 0; j < s->storages; j++)
		milp_add_entry(&s->milp, first + j, megabytes(s->step->bytes[s->storage[j]]));
}

/* While op k of a stage could run again a storage is held: when it is there by then and something later wants it. */
static inline void add_held(struct stages *s, uint32_t t, uint32_t j)
{
	struct milp *milp = &s->milp;
	uint32_t writer = s->writer[j], next = there_of(s, t + 1, j), now = there_of(s, t, j);
	for (uint32_t k = 0; k <= s->ops; k++) {
		uint32_t held = held_of(s, t, k, j);
		if (k == writer)
			at_least(milp, 0, held, again_of(s, t, k), NONE);
		for (uint32_t x = k > writer ? k : 0; x < s->ops; x++)
			if (s->feeds[j][x])
				at_least(milp, k > writer ? 0 : -1, held, again_of(s, t, x), k > writer || x < k ? NONE : now);
		at_least(milp, k > writer ? 0 : -1, held, next, k > writer ? NONE : now);
		if (s->wanted[t][j])
			at_least(milp, k > writer ? 1 : 0, held, k > writer ? NONE : now, NONE);
	}
}

static inline void add_stage(struct stages *s, uint32_t t, double cap)
{
	struct milp *milp = &s->milp;
	const struct recompute_step *step = s->step;
	uint32_t at = s->stage[t], op = s->order[at];
	double made = 0;
	FOR_ROW(i, &step->makes, op)
		made += step->droppable[step->makes.item[i]] ? 0 : megabytes(step->bytes[step->makes.item[i]]);
	for (uint32_t j = 0; j < s->storages; j++) {
		milp_add_row(milp, -INFINITY, 0);
		milp_add_entry(milp, there_of(s, t + 1, j), 1);
		milp_add_entry(milp, there_of(s, t, j), -1);
		milp_add_entry(milp, again_of(s, t, s->writer[j]), -1);
		if (s->wanted[t][j]) {
			milp_add_row(milp, 1, INFINITY);
			milp_add_entry(milp, there_of(s, t, j), 1);
			milp_add_entry(milp, again_of(s, t, s->writer[j]), 1);
		}
		add_held(s, t, j);
		for (uint32_t k = 0; k < s->ops; k++)
			if (s->feeds[j][k]) {
				milp_add_row(milp, -INFINITY, 0);
				milp_add_entry(milp, again_of(s, t, k), 1);
				milp_add_entry(milp, there_of(s, t, j), -1);
				milp_add_entry(milp, again_of(s, t, s->writer[j]), -1);
			}
	}
	for (uint32_t k = 0; k < s->ops; k++)
		within(s, held_of(s, t, k, 0),
			cap - s->steady[at] + made + megabytes(step->workspace[op] - step->workspace[s->op[k]]));
	within(s, held_of(s, t, s->ops, 0), cap - s->steady[at]);
	for (uint32_t q = at + 1; q < step->ops && (t + 1 == s->stages || q < s->stage[t + 1]); q++)
		within(s, there_of(s, t + 1, 0), cap - s->steady[q]);
}

/* The pass itself: a storage is there from its writer to its last reader, then where it is kept. */
static inline void add_pass(struct stages *s, double cap)
{
	for (uint32_t p = 0; p < s->stage[0]; p++) {
		double room = cap - s->steady[p];
		milp_add_row(&s->milp, -INFINITY, 0);
		struct milp_row *row = &s->milp.row[s->milp.rows - 1];
		for (uint32_t j = 0; j < s->storages && !s->milp.failed; j++) {
			double bytes = megabytes(s->step->bytes[s->storage[j]]);
			if (s->position[s->op[s->writer[j]]] <= p && p <= s->last[j])
				room -= bytes;
			else if (s->last[j] < p)
				milp_add_entry(&s->milp, there_of(s, 0, j), bytes);
		}
		row->high = room;
	}
}

static atomic_bool milp_late;

static inline void milp_stop(int signal)
{
	(void)signal;
	atomic_store(&milp_late, true);
}

/* Prints the optimum along the order, in % of the step, the program's columns and the seconds that it took; "-" where
 * there is none within `seconds`. */
static inline void print_optimum(const struct recompute_step *step, const uint32_t *order, int64_t cap, unsigned seconds)
{
	static struct stages s;
	struct control control = { .cancel = &milp_late };
	struct milp_limits none = { 0 };
	struct milp_solution solution = { 0 };
	s = (struct stages){ .step = step,
		.order = order,
		.steady = calloc(step->ops, sizeof *s.steady),
		.position = calloc(step->ops, sizeof *s.position) };
	for (uint32_t p = 0; p < step->ops; p++)
		s.position[order[p]] = p;
	if (!find_stages(&s)) {
		printf("not simple enough |");
		free(s.steady);
		free(s.position);
		return;
	}
	find_steady(&s);
	for (uint32_t t = 0; t < s.stages; t++)
		for (uint32_t k = 0; k < s.ops; k++)
			milp_add_column(&s.milp, 0, 1, (double)step->time[s.op[k]] * 100 / (double)step->total, true);
	s.there = s.milp.columns;
	for (uint32_t i = 0; i < (s.stages + 1) * s.storages; i++)
		milp_add_column(&s.milp, 0, 1, 0, true);
	s.held = s.milp.columns;
	for (uint32_t i = 0; i < s.stages * (s.ops + 1) * s.storages; i++)
		milp_add_column(&s.milp, 0, 1, 0, false);
	add_pass(&s, megabytes(cap));
	for (uint32_t t = 0; t < s.stages; t++)
		add_stage(&s, t, megabytes(cap));
	atomic_store(&milp_late, false);
	signal(SIGALRM, milp_stop);
	alarm(seconds);
	clock_t begin = clock();
	enum status status = milp_solve(&s.milp, &none, &control, &solution);
	alarm(0);
	if (status == OK)
		printf(" %.3f", solution.cost);
	else
		printf(" %s", status == INFEASIBLE ? "none fits" : "-");
	printf(" | %u | %.1f |", s.milp.columns, (double)(clock() - begin) / CLOCKS_PER_SEC);
	milp_solution_free(&solution);
	milp_free(&s.milp);
	free(s.steady);
	free(s.position);
}
