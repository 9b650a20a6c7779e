/* recompute_ranks.c: verifies the bound on what runs again on the ranks of a pipeline.
 *
 * A rank's bound is proved in its graph of one microbatch, in which what is kept takes its copies in flight as well.
 * That graph is checked as planned ranks' graphs are. Copies that are counted are no more than the schedule has in
 * flight, and no more than the planned graph has of what is kept there. A rerun's time is that of the device's op, on
 * one rank alone. */
#include <inttypes.h>
#include <math.h>

#include "recompute.h"
#include "recompute_ranks.h"
#include "solver/fit/check.h"
#include "solver/pipeline/check.h"
#include "src/stages/pipeline/pipelined.h"

/* The most microbatches that a rank has in flight, by its pieces. */
static int64_t recompute_ranks_most_held(const struct pipelined *pipelined, uint32_t rank)
{
	int64_t most = 1;
	for (uint32_t k = 0; k < pipelined->ranks * pipelined->chunks; k++) {
		const struct in_flight *held = &pipelined->piece[k].in_flight;
		if (piece_rank(k, pipelined->ranks, pipelined->folded) != rank)
			continue;
		most = held->input > most ? held->input : most;
		most = held->weight > most ? held->weight : most;
		most = held->between > most ? held->between : most;
	}
	return most;
}

static int64_t recompute_ranks_aligned(int64_t bytes, int64_t unit)
{
	return unit > 1 ? (bytes + unit - 1) / unit * unit : bytes;
}

/* Something behind the pass, or that runs again, reads the storage itself. */
static bool read_late(const struct graph *graph, uint32_t s)
{
	FOR_ROW(i, &graph->users, s) {
		const struct op *op = &graph->op[graph->users.item[i]];
		if ((op->phase == PHASE_BACKWARD || op->recomputed) && graph->storage[s].allocator != graph->users.item[i])
			return true;
	}
	return false;
}

/* Copies in the planned graph by the names of what they are of. */
static enum status note_copies(struct check *check, const struct graph *planned, int64_t **bytes)
{
	*bytes = arena_alloc(&check->arena, planned->storages, sizeof **bytes);
	NEED_IN(check->error, *bytes);
	for (uint32_t t = 0; t < planned->tensors; t++) {
		uint32_t of = planned->tensor[t].relation == RELATION_COPIES ? graph_find_tensor(planned, planned->tensor[t].of)
			: NONE;
		if (of != NONE)
			(*bytes)[planned->tensor[of].storage] = planned->tensor[t].bytes;
	}
	return OK;
}

static enum status check_copies(struct check *check, const struct fitted_rank *rank, uint32_t number)
{
	const struct graph *step = rank->step, *planned = check->pipelined->rank[number].graph;
	int64_t held = recompute_ranks_most_held(check->pipelined, number), *real;
	TRY(note_copies(check, planned, &real));
	for (uint32_t s = 0; s < step->storages && rank->input.copies; s++) {
		const char *name = step->tensor[step->storage[s].root].name;
		uint32_t there = graph_find_tensor(planned, name);
		int64_t said = rank->input.copies[s], unit = rank->input.alignment;
		if (said > 0 &&
			(step->storage[s].live_out || said > recompute_ranks_aligned(step->storage[s].bytes * (held - 1), unit)))
			return check_wrong(
				check, "recompute.ranks[%u]: the bound counts more copies of %.200s than are in flight", number, name);
		if (said > 0 && there != NONE && read_late(planned, planned->tensor[there].storage) &&
			said > recompute_ranks_aligned(real[planned->tensor[there].storage], unit))
			return check_wrong(
				check, "recompute.ranks[%u]: the bound counts copies of %.200s that the plan has not", number, name);
	}
	return OK;
}

/* A rerun is paid for once, and with the time that the device's op takes. */
static enum status check_times(struct check *check, const struct fitted *fitted)
{
	int64_t *left = arena_alloc(&check->arena, fitted->step->ops, sizeof *left);
	NEED_IN(check->error, left);
	for (uint32_t op = 0; op < fitted->step->ops; op++)
		left[op] = fitted->time[op];
	for (uint32_t r = 0; r < fitted->ranks; r++)
		for (uint32_t op = 0; op < fitted->rank[r].step->ops; op++) {
			int64_t time = fitted->rank[r].input.sure[op];
			uint32_t of = graph_find_op(fitted->step, fitted->rank[r].step->op[op].name);
			if (time > 0 && (of == NONE || (left[of] -= time) < 0))
				return check_wrong(check, "recompute.ranks[%u]: %.200s is not so long", r, fitted->rank[r].step->op[op].name);
		}
	return OK;
}

/* The graphs that the bounds are of: one microbatch of each is held. */
static enum status check_steps(struct check *check, const struct fitted *fitted)
{
	struct graph **step = arena_alloc(&check->arena, fitted->ranks, sizeof *step);
	struct held *one = arena_alloc(&check->arena, fitted->ranks, sizeof *one);
	NEED_IN(check->error, step && one);
	for (uint32_t r = 0; r < fitted->ranks; r++) {
		step[r] = fitted->rank[r].step;
		one[r] = (struct held){ 1, 1 };
	}
	return pipeline_check_ranks(
		fitted->step, check->rules, step, fitted->ranks, check->pipelined->microbatches, one, check->error);
}

static enum status check_rank(
	struct check *check, const struct fitted *fitted, uint32_t r, const json_t *said, int64_t *bound)
{
	const struct fitted_rank *rank = &fitted->rank[r];
	const json_t *claim = json_object_get(said, "bound_seconds");
	struct fit_certificate certificate;
	struct error why = { 0 };
	TRY(check_read_certificate(check, rank->step, json_object_get(said, "certificate"), &certificate));
	*bound = json_is_number(claim) ? llround(json_number_value(claim) * 1e12) : 0;
	if ((!json_is_number(claim) && !json_is_null(claim)) || json_is_null(claim) != certificate.impossible || *bound < 0)
		return check_wrong(check, "recompute.ranks[%u].bound_seconds contradicts its certificate", r);
	TRY(check_copies(check, rank, r));
	return fit_check(&rank->input, fitted->cap, *bound, &certificate, &why) == OK
		? OK
		: check_wrong(check, "recompute.ranks[%u]: %s", r, why.text);
}

enum status check_rank_bounds(struct check *check, const struct fitted *fitted)
{
	const json_t *ranks = check_member(check, "recompute", "ranks"),
				 *claim = check_member(check, "recompute", "bound_seconds");
	int64_t sum = 0, bound = 0;
	bool impossible = false;
	if (!check->pipelined || json_array_size(ranks) != fitted->ranks || fitted->ranks != check->pipelined->ranks)
		return check_wrong(check, "recompute.ranks must have an entry for each of %u ranks", fitted->ranks);
	enum status status = check_expect(check, "recompute", "cap_bytes", fitted->cap);
	THEN(status, check_steps(check, fitted));
	THEN(status, check_times(check, fitted));
	for (uint32_t r = 0; r < fitted->ranks && status == OK; r++) {
		status = check_rank(check, fitted, r, json_array_get(ranks, r), &bound);
		impossible |= json_is_null(json_object_get(json_array_get(ranks, r), "bound_seconds"));
		sum += bound;
	}
	if (status == OK &&
		(json_is_null(claim) != impossible || (!impossible && llround(json_number_value(claim) * 1e12) != sum)))
		return check_wrong(check, "recompute.bound_seconds is not the sum over the ranks");
	if (status == OK)
		check_passed(check,
			"the bound on the time of recomputation on every rank, from its certificate, in the rank's own graph with "
			"its copies in flight");
	return status;
}
