/* recompute.c: verifies what a plan file says of recomputation. That copies compute what they stand for: values.c. */
#include <inttypes.h>
#include <math.h>

#include "solver/recompute/check.h"
#include "solver/pipeline/check.h"
#include "state.h"
#include "src/scenario/knobs.h"
#include "src/base/words.h"

/* recompute_ranks: verifies the bound on what runs again on the ranks of a pipeline.
 *
 * A rank's bound is proved in its graph of one microbatch, in which what is kept takes its copies in flight as well.
 * That graph is checked as planned ranks' graphs are. Copies that are counted are no more than the schedule has in
 * flight, and no more than the planned graph has of what is kept there. A rerun's time is that of the device's op, on
 * one rank alone. */

/* A bound's certificate, of that step. What isn't one is BAD_INPUT. */
static enum status check_read_certificate(
	struct check *check, const struct graph *step, const json_t *json, struct recompute_certificate *certificate);

/* The most microbatches that a rank has in flight, by its pieces. */
static int64_t recompute_ranks_most_held(const struct pipelined *pipelined, uint32_t rank)
{
	int64_t most = 1;
	FOR(k, pipelined->ranks * pipelined->chunks) {
		const struct in_flight *held = &pipelined->piece[k].in_flight;
		if (piece_rank(k, pipelined->ranks, pipelined->folded) != rank)
			continue;
		most = LARGER(held->input, most);
		most = LARGER(held->weight, most);
		most = LARGER(held->between, most);
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
	FOR_ITEMS(user, &graph->users, s) {
		const struct op *op = &graph->op[user];
		if ((op->phase == PHASE_BACKWARD || op->recomputed) && graph->storage[s].allocator != user)
			return true;
	}
	return false;
}

/* Copies in the planned graph by the names of what they are of. */
static enum status note_copies(struct check *check, const struct graph *planned, int64_t **bytes)
{
	if (!(ROOM(&check->arena, *bytes, planned->storages)))
		return fail_memory(check->error);
	FOR(t, planned->tensors) {
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
	FOR_WHILE(s, step->storages, rank->input.copies) {
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
	int64_t *left;
	NEEDED(check->error, ROOM(&check->arena, left, fitted->step->ops));
	FOR(op, fitted->step->ops)
		left[op] = fitted->time[op];
	FOR(r, fitted->ranks)
		FOR(op, fitted->rank[r].step->ops) {
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
	struct graph **step;
	struct held *one;
	NEEDED(check->error, ROOMS(&check->arena, fitted->ranks, step, one));
	FOR(r, fitted->ranks) {
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
	struct recompute_certificate certificate;
	struct error why = { 0 };
	TRY(check_read_certificate(check, rank->step, json_object_get(said, "certificate"), &certificate));
	*bound = json_is_number(claim) ? llround(json_number_value(claim) * 1e12) : 0;
	if ((!json_is_number(claim) && !json_is_null(claim)) || json_is_null(claim) != certificate.impossible || *bound < 0)
		return check_wrong(check, "recompute.ranks[%u].bound_seconds contradicts its certificate", r);
	TRY(check_copies(check, rank, r));
	return recompute_check(&rank->input, fitted->cap, *bound, &certificate, &why) == OK
		? OK
		: check_wrong(check, "recompute.ranks[%u]: %s", r, why.text);
}

/* The ranks' graphs of one microbatch by their own words; in each no more copies and time than there are; every rank's
 * bound from its certificate, and their sum. recomputed: the device's graph that is planned. */
static enum status check_rank_bounds(struct check *check, const struct fitted *fitted)
{
	const json_t *ranks = check_member(check, "recompute", "ranks"),
				 *claim = check_member(check, "recompute", "bound_seconds");
	int64_t sum = 0, bound = 0;
	bool impossible = false;
	if (!check->pipelined || json_array_size(ranks) != fitted->ranks || fitted->ranks != check->pipelined->ranks)
		return check_wrong(check, "recompute.ranks must have an entry for each of %u ranks", fitted->ranks);
	TRY(check_expect(check, "recompute", "cap_bytes", fitted->cap));
	TRY(check_steps(check, fitted));
	TRY(check_times(check, fitted));
	FOR(r, fitted->ranks) {
		TRY(check_rank(check, fitted, r, json_array_get(ranks, r), &bound));
		impossible |= json_is_null(json_object_get(json_array_get(ranks, r), "bound_seconds"));
		sum += bound;
	}
	if (json_is_null(claim) != impossible || (!impossible && llround(json_number_value(claim) * 1e12) != sum))
		return check_wrong(check, "recompute.bound_seconds is not the sum over the ranks");
	check_passed(check,
		"the bound on the time of recomputation on every rank, from its certificate, in the rank's own graph with "
		"its copies in flight");
	return OK;
}

/* ---- numbers ---- */

static enum status expect_time(struct check *check, const char *key, int64_t picoseconds)
{
	const json_t *member = check_member(check, "recompute", key);
	if (!json_is_number(member) || llround(json_number_value(member) * 1e12) != picoseconds)
		return check_wrong(check, "recompute.%s must be %.12f", key, (double)picoseconds / 1e12);
	return OK;
}

static uint32_t check_recompute_op_of(const struct graph *step, const json_t *name)
{
	return json_is_string(name) ? graph_find_op(step, json_string_value(name)) : NONE;
}

static enum status read_arc(
	struct check *check, const struct graph *step, const json_t *json, size_t number, struct recompute_arc *arc)
{
	const json_t *kind = json_array_get(json, 0), *tensor = json_array_get(json, 1), *flow = json_array_get(json, 4);
	int index = json_is_string(kind) ? name_index(recompute_arc_names, RECOMPUTE_ARC_COUNT, json_string_value(kind)) : -1;
	uint32_t id = json_is_string(tensor) ? graph_find_tensor(step, json_string_value(tensor)) : NONE;
	if (json_array_size(json) != 5 || index < 0 || !json_is_integer(flow) || (json_is_string(tensor) && id == NONE))
		return refuse(check->error, "not a plan file: arc %zu of recomputation's certificate is malformed", number);
	*arc = (struct recompute_arc){ (uint32_t)index, id == NONE ? NONE : step->tensor[id].storage,
		check_recompute_op_of(step, json_array_get(json, 2)), check_recompute_op_of(step, json_array_get(json, 3)),
		json_integer_value(flow) };
	return OK;
}

static enum status check_read_certificate(
	struct check *check, const struct graph *step, const json_t *json, struct recompute_certificate *certificate)
{
	const json_t *held = json_object_get(json, "held"), *price = json_array_get(json_object_get(json, "price"), 0), *arc;
	const json_t *unit = json_array_get(json_object_get(json, "price"), 1), *flow = json_object_get(json, "flow");
	const json_t *granule = json_array_get(json_object_get(json, "rounded"), 0),
				 *room = json_array_get(json_object_get(json, "rounded"), 1);
	const char *by = json_text_in(json, "by");
	size_t i;
	uint32_t op = check_recompute_op_of(step, json_object_get(json, "op"));
	bool impossible = by && (text_is(by, "room") || text_is(by, "state")),
		 known = by &&
		(op == NONE ? text_is(by, "none") : impossible || text_is(by, "cut"));
	if (!known || !json_is_integer(price) || json_integer_value(unit) != RECOMPUTE_PRICE_UNIT)
		return refuse(check->error, "not a plan file: recomputation has no certificate");
	if (json_object_get(json, "rounded") &&
		(!json_is_integer(granule) || !json_is_integer(room) || json_integer_value(granule) <= 0))
		return refuse(check->error,
			"not a plan file: recomputation's certificate does not say what sizes are rounded to");
	if (held && (!json_is_integer(held) || json_integer_value(held) < 2))
		return refuse(check->error,
			"not a plan file: recomputation's certificate does not say how many microbatches are held");
	*certificate = (struct recompute_certificate){ .op = op,
		.impossible = impossible,
		.held = json_integer_value(held),
		.granule = json_integer_value(granule),
		.room = json_integer_value(room),
		.price = json_integer_value(price),
		.arc = arena_alloc(&check->arena, json_array_size(flow) + 1, sizeof *certificate->arc) };
	NEEDED(check->error, certificate->arc);
	json_array_foreach(flow, i, arc) {
		TRY(read_arc(check, step, arc, i, &certificate->arc[certificate->arcs++]));
	}
	return OK;
}

static enum status check_recompute_check_bound(struct check *check, const struct fitted *fitted)
{
	struct recompute_certificate certificate;
	struct error why = { 0 };
	int64_t cap;
	enum status status = check_integer(check, "recompute", "cap_bytes", &cap);
	TRY(status == OK
			? check_read_certificate(check, fitted->step, check_member(check, "recompute", "certificate"), &certificate)
			: status);
	if (cap != fitted->cap)
		return check_wrong(check, "recompute.cap_bytes must be %" PRId64, fitted->cap);
	const json_t *claim = check_member(check, "recompute", "bound_seconds");
	int64_t bound = json_is_number(claim) ? llround(json_number_value(claim) * 1e12) : 0;
	if (json_is_null(claim) != certificate.impossible)
		return check_wrong(check, "recompute.bound_seconds contradicts its certificate");
	if (recompute_check(&fitted->input, cap, bound, &certificate, &why) != OK)
		return check_wrong(check, "%s", why.text);
	check_passed(check, "the bound on the time of recomputation, from its certificate");
	return OK;
}

/* Whose choice it is, and what it sends away. */
static enum status check_recompute_check_words(struct check *check, const struct fitted *fitted)
{
	const char *strategy = json_string_value(check_member(check, "recompute", "strategy"));
	if (!text_is(strategy, knob_text(K_recompute, check->asked.value[K_recompute], TEXT(64))))
		return check_wrong(check, "recompute.strategy is not the scenario's");
	TRY(fitted->away > 0 ? check_expect(check, "recompute", "offloaded", fitted->away) : OK);
	return fitted->away > 0 ? check_expect(check, "recompute", "offloaded_bytes", fitted->moved) : OK;
}

enum status check_recompute(struct check *check, const struct fitted *fitted, const struct graph *recomputed)
{
	if (!fitted)
		return json_object_get(check->plan, "recompute") ? check_wrong(check, "the scenario computes nothing again") : OK;
	int64_t total = 0;
	FOR(op, fitted->step->ops)
		total += fitted->time[op];
	enum status status = check_recompute_check_words(check, fitted);
	THEN(status, expect_time(check, "step_seconds", total));
	check->recomputes = true;
	check->recomputes_to_cap = fitted->capped;
	check->copies = fitted->away > 0;
	check->reruns = fitted_extra(fitted, recomputed) - fitted->stall;
	check->pinned_stall = fitted->pinned_stall;
	if (!check->copies && status == OK)
		status = expect_time(check, "extra_seconds", check->reruns);
	status = status == OK ? values_check(check, fitted->step, recomputed, 0) : status;
	if (status == OK)
		check_passed(check,
			"what is computed again: every op reads the values that it reads without, every copy those of the op that "
			"it repeats");
	check->recomputes_on_ranks = fitted->ranks > 0;
	return status != OK ? status
		: fitted->capped ? check_recompute_check_bound(check, fitted)
		: fitted->ranks > 0 ? check_rank_bounds(check, fitted)
		: OK;
}

/* Whether every rank's peak, or the plan's, keeps what recomputation had to fit into: of such plans alone its bound is.
 */
static bool check_recompute_keeps_cap(const struct check *check)
{
	int64_t cap = json_integer_value(check_member(check, "recompute", "cap_bytes"));
	const json_t *stage;
	size_t rank;
	if (!check->recomputes_on_ranks)
		return check->peak <= cap;
	json_array_foreach(check_member(check, "shard", "stages"), rank, stage) {
		if (json_integer_in(stage, "peak_bytes") > cap)
			return false;
	}
	return true;
}

enum status check_recompute_proof(struct check *check)
{
	const json_t *claim = check_member(check, "recompute", "bound_seconds"),
				 *proved = check_member(check, "recompute", "proved");
	if (!check->recomputes_to_cap && !check->recomputes_on_ranks)
		return OK;
	int64_t bound = llround(json_number_value(claim) * 1e12),
			extra = llround(json_number_value(check_member(check, "recompute", "extra_seconds")) * 1e12);
	bool keeps = check_recompute_keeps_cap(check);
	if (keeps && (json_is_null(claim) || bound > extra))
		return check_wrong(check, "recompute.bound_seconds is above recompute.extra_seconds, but the plan keeps cap_bytes");
	if (!json_is_boolean(proved) || json_is_true(proved) != (keeps && bound == extra))
		return check_wrong(check, "recompute.proved contradicts the bound");
	return OK;
}

enum status check_waits(struct check *check, int64_t waits)
{
	int64_t stall = waits > check->pinned_stall ? waits - check->pinned_stall : 0;
	if (!check->copies)
		return OK;
	TRY(expect_time(check, "stall_seconds", stall));
	return expect_time(check, "extra_seconds", check->reruns + stall);
}
