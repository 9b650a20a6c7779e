/* check.c: verifies a bound on the extra time from its certificate.
 *
 * The proof of bound.h, read from the step's graph alone: which ops must run before and after z; that every arc's flow
 * is of an arc that the network has, within its capacity; that what flows into a node flows out; and the bytes that are
 * there at z. A storage that the flow passes is one that may be kept for its price, so it is not counted among those
 * that are there for good. */
#include "check.h"
#include "solver/cost/mesh.h"
#include "solver/order/order.h"

/* check_floor: an op's cheapest state as the certificate of an order's bound, in a problem in which what plans may
 * write again weighs nothing. */

/* The arcs as an order's certificate; of a storage that is no item, an item that isn't there. */
static enum status read_arcs(const struct recompute_certificate *certificate, const struct problem *problem,
	uint32_t *item, uint32_t storages, struct order_certificate *order, struct error *error)
{
	FOR(s, storages)
		item[s] = problem->items;
	FOR(i, problem->items)
		item[problem->storage[i]] = i;
	FOR(i, certificate->arcs) {
		const struct recompute_arc *arc = &certificate->arc[i];
		if (arc->kind != RECOMPUTE_ARC_STATE || (arc->storage != NONE && arc->storage >= storages))
			return refuse(error, "an arc of the proof that nothing fits is not of a state");
		order->arc[order->arcs++] = (struct order_arc){ arc->storage == NONE ? NONE : item[arc->storage], arc->op,
			arc->other, arc->flow };
	}
	return OK;
}

/* What is neither written for good nor touched by the op may be gone. */
static void forget_others(const struct graph *graph, const bool *for_good, uint32_t op, struct problem *problem)
{
	FOR(i, problem->items) {
		bool there = for_good[problem->storage[i]];
		FOR_ITEMS(touche, &graph->touches, op)
			there |= touche == problem->storage[i];
		if (!there)
			problem->size[i] = 0;
	}
}

/* BAD_INPUT, with the reason, where the certificate's flow does not prove that more than cap is there while its op
 * runs. for_good [storages]: written once in every plan. O(step + arcs). */
static enum status recompute_check_floor(const struct recompute_input *input, const bool *for_good, int64_t cap,
	const struct recompute_certificate *certificate, struct error *error)
{
	const struct graph *graph = input->graph;
	const struct memory_rules rules = { .alignment = input->alignment, .workspace = input->workspace };
	struct order_certificate order = { .proof = ORDER_PROOF_CUT, .op = certificate->op };
	struct problem problem;
	struct error why = { 0 };
	TRY(problem_of_graph(graph, &rules, &problem, error));
	uint32_t *MAKE(item, graph->storages);
	MAKE(order.arc, certificate->arcs);
	forget_others(graph, for_good, certificate->op, &problem);
	enum status status = item && order.arc ? read_arcs(certificate, &problem, item, graph->storages, &order, error)
		: fail_memory(error);
	if (status == OK && order_check_certificate(&problem, &order, cap + 1, &why) != OK)
		status = refuse(error, "that nothing fits is not proved: %s", why.text);
	mem_free(item);
	mem_free(order.arc);
	problem_free(&problem);
	return status;
}

__extension__ typedef __int128 wide;

struct claim {
	const struct recompute_input *input;
	const struct graph *graph;
	const struct recompute_certificate *certificate;
	struct error *error;
	bool *before, *after;   /* [ops] must run before z, after it */
	bool *touched, *passed; /* [storages] by z; by flow */
	bool *for_good;         /* [storages] written once in every plan of the class */
	int64_t *need, *redo;   /* [storages] flow in less flow out */
	int64_t *run;           /* [ops] */
	struct arena arena;
};

static enum status recompute_check_wrong(const struct claim *proof, const char *what)
{
	return refuse(proof->error, "the bound on the extra time is not proved: %s", what);
}

static int64_t recompute_check_size_of(const struct claim *proof, uint32_t storage)
{
	int64_t unit = proof->input->alignment, bytes = proof->graph->storage[storage].bytes;
	return unit > 1 ? (bytes + unit - 1) / unit * unit : bytes;
}

static bool recompute_check_in_pass(const struct claim *proof, uint32_t op)
{
	return proof->input->forward ? proof->input->forward[op] : proof->graph->op[op].phase == PHASE_FORWARD;
}

static int64_t recompute_check_share_of(const struct claim *proof)
{
	return LARGER(proof->certificate->held, 1);
}

/* What a storage counts for at z, where copies of it are held as well: no more than either of the two sets of bound.h
 * has there, each in its share. */
static wide counted_size(const struct claim *proof, uint32_t storage)
{
	wide size = recompute_check_size_of(proof, storage), held = recompute_check_share_of(proof);
	uint32_t maker = proof->graph->storage[storage].allocator;
	if (held == 1)
		return size;
	wide once = size * held, copies = proof->input->copies[storage], both = size + copies,
		 stayed = copies * held / (held - 1);
	if (maker != NONE && !recompute_check_in_pass(proof, maker))
		return once;
	return stayed < both ? SMALLER(stayed, once) : both < once ? both : once;
}

/* ---- what the graph says ---- */

static bool overwrites(const struct claim *proof, uint32_t op, uint32_t storage)
{
	const struct graph *graph = proof->graph;
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->tensor[graph->inplace[i].in].storage == storage)
			return true;
	return false;
}

static bool writes(const struct claim *proof, uint32_t op, uint32_t storage)
{
	return proof->graph->storage[storage].allocator == op || overwrites(proof, op, storage);
}

static bool touches(const struct claim *proof, uint32_t op, uint32_t storage)
{
	FOR_ITEMS(touched, &proof->graph->touches, op)
		if (touched == storage)
			return true;
	return false;
}

/* A later op of the step writes over what the op found in the storage. */
static bool overwritten_after(const struct claim *proof, uint32_t op, uint32_t storage)
{
	FOR_ITEMS(user, &proof->graph->users, storage)
		if (user > op && overwrites(proof, user, storage))
			return true;
	return false;
}

/* Where masks are kept: that of an op whose result can be computed from it. */
static uint32_t mask_storage(const struct claim *proof, uint32_t op)
{
	const struct graph *graph = proof->graph;
	uint32_t first = graph->writes.start[op], mask = NONE;
	bool one = graph->reads.start[op + 1] - graph->reads.start[op] == 1, two = graph->writes.start[op + 1] - first == 2;
	if (proof->input->random != RECOMPUTE_RANDOM_MASK || !(proof->input->traits[op] & TRAIT_MASKED) || !one || !two)
		return NONE;
	mask = graph->tensor[graph->writes.item[first + 1]].storage;
	if (graph->storage[mask].allocator != op ||
		graph_home(graph, graph->writes.item[first])->allocator != op ||
		overwritten_after(proof, op, mask))
		return NONE;
	FOR_SPAN(i, graph->inplace_start, op)
		mask = NONE;
	return mask;
}

/* An op that can't run again with the same result, as far as storages written for good tell. */
static bool runs_once(const struct claim *proof, uint32_t op)
{
	const struct graph *graph = proof->graph;
	const struct op *record = &graph->op[op];
	bool norm = proof->input->traits[op] & TRAIT_STATISTICS;
	if (proof->input->forward ? !proof->input->forward[op] : record->phase != PHASE_FORWARD)
		return true;
	if (proof->input->random != RECOMPUTE_RANDOM_STATE && (proof->input->traits[op] & TRAIT_RANDOM) &&
		mask_storage(proof, op) == NONE)
		return true;
	FOR_ITEMS(s, &graph->touches, op) {
		bool statistics = norm && graph->storage[s].persistent &&
			(graph->storage[s].kind == KIND_BUFFER || overwrites(proof, op, s));
		if (!proof->for_good[s] || graph->storage[s].allocator == op || statistics)
			continue;
		if (overwrites(proof, op, s))
			return true;
		FOR_ITEMS(user, &graph->users, s)
			if (user > op && graph->op[user].phase == PHASE_FORWARD && overwrites(proof, user, s))
				return true;
	}
	return false;
}

/* Storages that no plan of the class writes twice: a fixed point from below. */
static void find_for_good(struct claim *proof)
{
	const struct graph *graph = proof->graph;
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		proof->for_good[s] = storage->allocator == NONE || storage->live_out || storage->persistent
			|| (proof->input->fixed && proof->input->fixed[s] == RECOMPUTE_SAVED);
	}
	FOR(op, graph->ops) {
		uint32_t mask = mask_storage(proof, op);
		if (mask != NONE)
			proof->for_good[mask] = true;
	}
	for (bool changed = true; changed;) {
		changed = false;
		FOR(op, graph->ops) {
			bool names = graph_pairs(graph, op) == 0;
			FOR_ITEMS(written, &graph->writes, op)
				names &= graph->tensor[written].alias != NONE;
			if (names || !runs_once(proof, op))
				continue;
			FOR_ITEMS(s, &graph->touches, op)
				if (writes(proof, op, s) && !proof->for_good[s])
					changed = proof->for_good[s] = true;
		}
	}
}

static void recompute_check_mark(const struct csr *next, uint32_t from, uint32_t ops, bool *seen, uint32_t *queue)
{
	uint32_t head = 0, tail = 0;
	for (queue[tail++] = from; head < tail && tail <= ops; head++)
		FOR_ITEMS(item, next, queue[head])
			if (!seen[item]) {
				seen[item] = true;
				queue[tail++] = item;
			}
}

static enum status recompute_check_set_up(struct claim *proof)
{
	const struct graph *graph = proof->graph;
	struct arena *arena = &proof->arena;
	uint32_t *queue;
	if (!(ROOM(arena, queue, graph->ops + 1u) && ROOMS(arena, graph->ops, proof->before, proof->after, proof->run) &&
		ROOMS(arena, graph->storages, proof->touched, proof->passed, proof->for_good, proof->need, proof->redo)))
		return fail_memory(proof->error);
	recompute_check_mark(&graph->pred, proof->certificate->op, graph->ops, proof->before, queue);
	recompute_check_mark(&graph->succ, proof->certificate->op, graph->ops, proof->after, queue);
	FOR_ITEMS(touched, &graph->touches, proof->certificate->op)
		proof->touched[touched] = true;
	find_for_good(proof);
	return OK;
}

/* ---- the flow ---- */

/* An op that must run after z wants what is in the storage in the end, and nothing that must run after z writes it. */
static enum status check_start(const struct claim *proof, uint32_t storage)
{
	bool wanted = false;
	FOR_ITEMS(user, &proof->graph->users, storage) {
		wanted |= proof->after[user] && !overwritten_after(proof, user, storage);
		if (writes(proof, user, storage) && (proof->after[user] || user == proof->certificate->op))
			return recompute_check_wrong(proof, "an op behind the moment writes a storage that is said to come before it");
	}
	return wanted ? OK : recompute_check_wrong(proof, "flow enters a storage that no op behind the moment reads");
}

static enum status check_read(const struct claim *proof, uint32_t op, uint32_t storage)
{
	bool fine = touches(proof, op, storage) && !writes(proof, op, storage) && !overwritten_after(proof, op, storage);
	return fine ? OK : recompute_check_wrong(proof, "flow goes from an op to a storage that it does not read");
}

/* An op finds in some storage what the other wrote there. */
static enum status check_before(const struct claim *proof, uint32_t op, uint32_t other)
{
	FOR_ITEMS(s, &proof->graph->touches, op)
		if (other < op && proof->graph->storage[s].allocator != op && writes(proof, other, s) && !proof->for_good[s])
			return overwrites(proof, op, s) || overwritten_after(proof, op, s)
				? OK
				: recompute_check_wrong(proof, "keeping a storage would spare a rerun");
	return recompute_check_wrong(proof, "flow goes between ops that share no storage");
}

/* A size in granules of the certificate, as bytes: whole ones, and of the rest what the room's own rest doesn't take,
 * in granules less that. */
static wide granular(const struct claim *proof, wide bytes)
{
	wide granule = proof->certificate->granule, rest = granule > 0 ? (wide)proof->certificate->room % granule : 0;
	if (granule == 0)
		return bytes;
	wide whole = bytes / granule, part = bytes % granule > rest ? bytes % granule - rest : 0;
	return whole * granule + part * granule / (granule - rest);
}

static enum status check_keep(const struct claim *proof, const struct recompute_arc *arc)
{
	wide price = proof->touched[arc->storage]
		? 0
		: (wide)proof->certificate->price * granular(proof, counted_size(proof, arc->storage)) / RECOMPUTE_PRICE_UNIT;
	bool dropped = proof->input->fixed && proof->input->fixed[arc->storage] == RECOMPUTE_DROPPED;
	return dropped || arc->flow <= price ? OK
		: recompute_check_wrong(proof, "more flows through a storage than keeping it costs");
}

static enum status recompute_check_run(const struct claim *proof, const struct recompute_arc *arc)
{
	const int64_t *times = proof->input->sure ? proof->input->sure : proof->input->time;
	int64_t time = proof->before[arc->op] &&
			(recompute_check_share_of(proof) == 1 || recompute_check_in_pass(proof, arc->op))
		? times[arc->op]
		: 0;
	return arc->flow <= time ? OK : recompute_check_wrong(proof, "more flows through an op than it takes");
}

static bool in_range(const struct claim *proof, const struct recompute_arc *arc)
{
	if (arc->kind == RECOMPUTE_ARC_STATE)
		return false;
	bool storage = arc->kind == RECOMPUTE_ARC_START || arc->kind == RECOMPUTE_ARC_KEEP ||
		arc->kind == RECOMPUTE_ARC_WRITE || arc->kind == RECOMPUTE_ARC_READ;
	bool op = arc->kind != RECOMPUTE_ARC_START && arc->kind != RECOMPUTE_ARC_KEEP;
	return arc->kind < RECOMPUTE_ARC_COUNT && arc->flow > 0 && arc->flow <= BYTES_MAX &&
		(!storage || arc->storage < proof->graph->storages) && (!op || arc->op < proof->graph->ops) &&
		(arc->kind != RECOMPUTE_ARC_BEFORE || arc->other < proof->graph->ops);
}

static enum status check_arc(struct claim *proof, const struct recompute_arc *arc)
{
	if (!in_range(proof, arc))
		return recompute_check_wrong(proof, "an arc names no storage or op");
	if (arc->storage != NONE && (arc->storage >= proof->graph->storages || proof->for_good[arc->storage]))
		if (arc->storage >= proof->graph->storages || proof->graph->storage[arc->storage].persistent ||
			proof->graph->storage[arc->storage].live_out)
			return recompute_check_wrong(proof, "flow goes through a storage that is always there");
	switch (arc->kind) {
	case RECOMPUTE_ARC_START: proof->need[arc->storage] += arc->flow; return check_start(proof, arc->storage);
	case RECOMPUTE_ARC_KEEP:
		proof->need[arc->storage] -= arc->flow;
		proof->redo[arc->storage] += arc->flow;
		return check_keep(proof, arc);
	case RECOMPUTE_ARC_WRITE:
		proof->redo[arc->storage] -= arc->flow;
		proof->run[arc->op] += arc->flow;
		return writes(proof, arc->op, arc->storage)
			? OK
			: recompute_check_wrong(proof, "flow goes from a storage to an op that does not write it");
	case RECOMPUTE_ARC_READ:
		proof->run[arc->op] -= arc->flow;
		proof->need[arc->storage] += arc->flow;
		return check_read(proof, arc->op, arc->storage);
	case RECOMPUTE_ARC_BEFORE:
		proof->run[arc->op] -= arc->flow;
		proof->run[arc->other] += arc->flow;
		return check_before(proof, arc->op, arc->other);
	default: proof->run[arc->op] -= arc->flow; return recompute_check_run(proof, arc);
	}
}

/* What flows in flows out: the total is the value. */
static enum status recompute_check_flow(struct claim *proof, int64_t *value)
{
	const struct recompute_certificate *certificate = proof->certificate;
	*value = 0;
	FOR(i, certificate->arcs) {
		const struct recompute_arc *arc = &certificate->arc[i];
		TRY(check_arc(proof, arc));
		*value += arc->kind == RECOMPUTE_ARC_START ? arc->flow : 0;
		if (*value > BYTES_MAX)
			return recompute_check_wrong(proof, "the flow is larger than any time");
		if (arc->storage != NONE)
			proof->passed[arc->storage] = true;
	}
	FOR(s, proof->graph->storages)
		if (proof->need[s] || proof->redo[s])
			return recompute_check_wrong(proof, "a storage's flow in and out differ");
	FOR(op, proof->graph->ops)
		if (proof->run[op])
			return recompute_check_wrong(proof, "an op's flow in and out differ");
	return OK;
}

/* ---- the bytes ---- */

/* In memory while z runs, whatever a plan keeps. */
static int64_t bytes_there(const struct claim *proof)
{
	const struct graph *graph = proof->graph;
	const struct op *z = &graph->op[proof->certificate->op];
	int64_t unit = proof->input->alignment, there = 0;
	if (proof->input->workspace && z->workspace > 0)
		there += (z->workspace + unit - 1) / unit * unit;
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		bool made = storage->allocator == NONE || proof->before[storage->allocator], wanted = storage->live_out;
		FOR_ITEMS(user, &graph->users, s)
			wanted |= proof->after[user];
		bool stays = proof->for_good[s] && !proof->passed[s] && made && wanted;
		if (storage->persistent || proof->touched[s] || stays)
			there += recompute_check_size_of(proof, s);
		if (!storage->persistent && stays && recompute_check_size_of(proof, s) > 0 && proof->input->copies &&
			proof->after[proof->input->flush])
			there += proof->input->copies[s];
	}
	return there;
}

/* Bytes that may be in the host while z runs, for nothing at the certificate's price: what the link carries in the time
 * that must not be spent on ops from z on, or what the host holds. */
static int64_t bytes_away(const struct claim *proof)
{
	const struct recompute_link *link = proof->input->link;
	const int64_t *sure = proof->input->sure ? proof->input->sure : proof->input->time;
	wide before = 0;
	if (!link || link->rate <= 0)
		return 0;
	FOR(op, proof->graph->ops)
		before += proof->input->time[op] - (proof->after[op] || op == proof->certificate->op ? sure[op] : 0);
	wide carried = LARGER(before, 0) * link->rate / PICOSECONDS + 1;
	bool dear = (wide)proof->certificate->price * link->rate > (wide)RECOMPUTE_PRICE_UNIT * PICOSECONDS;
	return carried < link->memory && !dear ? (int64_t)carried : link->memory;
}

/* What the certificate itself must keep. NULL: all is well. */
static const char *recompute_check_ranges(
	const struct recompute_input *input, const struct recompute_certificate *certificate)
{
	int64_t granule = certificate->granule, held = certificate->held;
	if (certificate->op >= input->graph->ops || certificate->price < 0 || certificate->price > BYTES_MAX / 16)
		return "its op or price is out of range";
	if (granule != 0 && (granule < 0 || granule > BYTES_MAX || certificate->room < 0 || certificate->room > BYTES_MAX ||
		input->link))
		return "sizes can't be rounded so";
	if (held < 0 || held > BYTES_MAX / 16 || (held > 1 && (!input->copies || granule != 0)))
		return "copies can't be counted so";
	return NULL;
}

/* What the flow's value proves. NULL: the bound. */
static const char *recompute_check_value(const struct claim *proof, int64_t cap, int64_t bound, int64_t value)
{
	const struct recompute_certificate *certificate = proof->certificate;
	int64_t room = cap - bytes_there(proof), away = bytes_away(proof);
	wide counted = certificate->granule > 0 ? certificate->room / certificate->granule * certificate->granule
		: (wide)room + away,
		 worth = (wide)certificate->price * counted;
	wide proved = (wide)value - (worth + (worth > 0 ? RECOMPUTE_PRICE_UNIT - 1 : 0)) / RECOMPUTE_PRICE_UNIT;
	if (certificate->impossible && room >= 0)
		return "the op's own operands fit the cap";
	if (certificate->granule > 0 && room > certificate->room)
		return "there is more room than sizes were rounded for";
	return !certificate->impossible && room >= 0 && proved < bound ? "the flow is too small" : NULL;
}

enum status recompute_check(const struct recompute_input *input, int64_t cap, int64_t bound,
	const struct recompute_certificate *certificate, struct error *error)
{
	struct claim proof = { .input = input, .graph = input->graph, .certificate = certificate, .error = error };
	int64_t value = 0;
	if (certificate->op == NONE)
		return bound <= 0 && !certificate->impossible ? OK : recompute_check_wrong(&proof, "it has no certificate");
	const char *wrong = recompute_check_ranges(input, certificate);
	enum status status = wrong ? OK : recompute_check_set_up(&proof);
	if (status == OK && !wrong && certificate->held > 1 && !proof.after[input->flush])
		wrong = "copies may be gone at its op";
	bool state = certificate->impossible && certificate->arcs > 0;
	if (status == OK && !wrong)
		status = state ? recompute_check_floor(input, proof.for_good, cap, certificate, error)
					   : recompute_check_flow(&proof, &value);
	if (status == OK && !wrong && !state)
		wrong = recompute_check_value(&proof, cap, bound, value);
	if (wrong)
		status = recompute_check_wrong(&proof, wrong);
	arena_free(&proof.arena);
	return status;
}
