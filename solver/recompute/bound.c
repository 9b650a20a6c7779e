/* bound.c: the least extra time of any plan under a cap. */

#include "bound.h"
#include "solver/cost/mesh.h"

__extension__ typedef __int128 wide;

#define X(id, name) name,
const char *const recompute_arc_names[RECOMPUTE_ARC_COUNT] = { RECOMPUTE_ARCS(X) };
#undef X

#define PRICE_MOST (RECOMPUTE_PRICE_UNIT * 10000000) /* 10 seconds a megabyte */
#define ROUNDS 60
#define REFINED 3      /* moments whose best price is looked for, beside the last best one */
#define GRANULES 6     /* sizes that what is kept may come in */
#define HELD_MOST 4096 /* microbatches in flight that a price counts */

/* What holds at the first moment that an op runs. */
struct recompute_turn {
	uint32_t op;
	int64_t there; /* bytes that are there whatever is kept */
	int64_t away;  /* bytes that may wait in the host then, at no time while the price is at most price_most */
	int64_t price_most;
	bool *needed;    /* [storages] droppable, read by an op that must run after */
	bool *priced;    /* [storages] droppable, not touched by the op */
	int64_t *time;   /* [ops] that a rerun after the moment costs */
	int64_t wanted;  /* bytes of storages needed and priced */
	int64_t value;   /* of the dual, at the price tried last */
	int64_t granule; /* > 0: sizes are counted in it */
	int64_t held;    /* M of bound.h */
};

/* ---- the moments ---- */

static void recompute_bound_reach(const struct csr *next, uint32_t from, uint32_t *stack, bool *seen)
{
	uint32_t depth = 0;
	stack[depth++] = from;
	while (depth > 0) {
		uint32_t op = stack[--depth];
		FOR_ITEMS(item, next, op)
			if (!seen[item]) {
				seen[item] = true;
				stack[depth++] = item;
			}
	}
}

/* Made for good before, and wanted after. */
static bool recompute_bound_stays(
	const struct recompute_step *loose, uint32_t storage, const bool *before, const bool *after)
{
	const struct graph *graph = loose->graph;
	uint32_t allocator = graph->storage[storage].allocator;
	bool wanted = graph->storage[storage].live_out;
	if (allocator != NONE && !before[allocator])
		return false;
	FOR_ITEMS(user, &graph->users, storage)
		wanted |= after[user];
	return wanted;
}

/* What a storage that is kept counts for, where so many microbatches are held of most. */
static int64_t recompute_bound_weight_at(const struct recompute_bounds *bounds, uint32_t storage, int64_t held)
{
	const struct recompute_step *loose = &bounds->loose;
	uint32_t maker = loose->graph->storage[storage].allocator;
	int64_t bytes = loose->bytes[storage], whole = bytes > BYTES_MAX / held ? BYTES_MAX : bytes * held;
	if (held == 1 || maker == NONE || !bounds->pass[maker])
		return whole;
	wide copies = (wide)loose->copies[storage] * held / (held - 1);
	int64_t kept = recompute_kept_bytes(loose, storage);
	kept = copies < kept ? (int64_t)copies : kept;
	return SMALLER(kept, whole);
}

static int64_t recompute_bound_weight(
	const struct recompute_bounds *bounds, const struct recompute_turn *turn, uint32_t storage)
{
	return recompute_bound_weight_at(bounds, storage, turn->held);
}

/* The count of microbatches with which what is wanted counts for most. */
static void recompute_bound_find_held(
	const struct recompute_bounds *bounds, struct recompute_turn *turn, const bool *after)
{
	const struct recompute_step *loose = &bounds->loose;
	int64_t most = 0, last = 0;
	turn->held = 1;
	FOR_WHILE(one, loose->storages, loose->copies && after[loose->flush]) {
		int64_t held = turn->needed[one] && turn->priced[one] && loose->bytes[one] > 0
			? recompute_kept_bytes(loose, one) / loose->bytes[one]
			: 0,
				sum = 0;
		if (held < 1 || held > HELD_MOST || held == last)
			continue;
		last = held;
		FOR(s, loose->storages)
			sum += turn->needed[s] && turn->priced[s] ? recompute_bound_weight_at(bounds, s, held) : 0;
		turn->held = sum > most ? held : turn->held;
		most = LARGER(sum, most);
	}
}

static void recompute_bound_look_at(
	const struct recompute_bounds *bounds, struct recompute_turn *turn, const bool *before, const bool *after)
{
	const struct recompute_step *loose = &bounds->loose;
	const struct graph *graph = loose->graph;
	bool copies = loose->copies && after[loose->flush];
	turn->there = loose->persistent + loose->workspace[turn->op];
	FOR(s, loose->storages) {
		turn->priced[s] = loose->droppable[s];
		FOR_ITEMS(reader, &loose->readers, s)
			turn->needed[s] |= after[reader];
		if (!loose->droppable[s] && loose->bytes[s] > 0 && recompute_bound_stays(loose, s, before, after))
			turn->there += loose->bytes[s] + (copies ? loose->copies[s] : 0);
	}
	FOR_ITEMS(s, &graph->touches, turn->op) {
		bool counted = !loose->droppable[s] && loose->bytes[s] > 0 && recompute_bound_stays(loose, s, before, after);
		turn->there += counted ? 0 : loose->bytes[s];
		turn->priced[s] = false;
	}
	recompute_bound_find_held(bounds, turn, after);
	FOR(s, loose->storages)
		turn->wanted += turn->needed[s] && turn->priced[s] ? recompute_bound_weight(bounds, turn, s) : 0;
	FOR(op, loose->ops)
		turn->time[op] = loose->forward[op] && before[op] && (turn->held == 1 || bounds->pass[op]) ? loose->time[op] : 0;
}

/* Copies to the host take the link for bytes / rate before z, and what must run after z, z itself and all that runs
 * again come on top of that. So a step of `total` + extra has extra >= bytes / rate + reruns - (total - time of z and
 * of D), and extra >= reruns: the link is worth rate * (total - time of z and D) bytes while a byte's price is at most
 * 1 / rate. So is the host's memory, at any price. */
static void find_away(const struct recompute_input *input, const struct recompute_step *loose,
	struct recompute_turn *turn, const bool *after)
{
	int64_t left = 0;
	turn->price_most = PRICE_MOST;
	if (!input->link || input->link->rate <= 0)
		return;
	FOR(op, loose->ops)
		left += (loose->view[op] ? 0 : input->time[op]) - (after[op] || op == turn->op ? loose->time[op] : 0);
	wide carried = (wide)(LARGER(left, 0)) * input->link->rate / PICOSECONDS + 1;
	wide price = (wide)PICOSECONDS * RECOMPUTE_PRICE_UNIT / input->link->rate;
	turn->away = carried < input->link->memory ? (int64_t)carried : input->link->memory;
	if (carried < input->link->memory && price < PRICE_MOST)
		turn->price_most = (int64_t)price;
}

static bool recompute_bound_find_turn(const struct recompute_input *input, struct recompute_bounds *bounds, uint32_t op,
	uint32_t *stack, bool *before, bool *after)
{
	const struct recompute_step *loose = &bounds->loose;
	struct recompute_turn *turn = &bounds->turn[bounds->turns];
	turn->op = op;
	if (!(ROOMS(&bounds->arena, loose->storages, turn->needed, turn->priced) &&
		ROOM(&bounds->arena, turn->time, loose->ops)))
		return false;
	CLEAR(before, loose->ops);
	CLEAR(after, loose->ops);
	recompute_bound_reach(&loose->graph->pred, op, stack, before);
	recompute_bound_reach(&loose->graph->succ, op, stack, after);
	recompute_bound_look_at(bounds, turn, before, after);
	find_away(input, loose, turn, after);
	bounds->turns++;
	return true;
}

enum status recompute_bounds_new(
	const struct recompute_input *input, const uint32_t *op, uint32_t count, struct recompute_bounds *bounds)
{
	const struct graph *graph = input->graph;
	struct recompute_input early = *input;
	*bounds = (struct recompute_bounds){ 0 };
	bool *MAKE_IN(&bounds->arena, forward, graph->ops);
	ROOM(&bounds->arena, bounds->pass, graph->ops);
	HELD bool *MAKE(before, graph->ops), *MAKE(after, graph->ops);
	HELD uint32_t *MAKE(stack, graph->ops + 1u);
	bool fine = ROOMS(&bounds->arena, graph->storages, bounds->price, bounds->kept) &&
		ROOM(&bounds->arena, bounds->turn, count) && forward &&
		bounds->pass && before && after && stack;
	early.forward = forward;
	early.time = input->sure ? input->sure : input->time;
	fine = fine && recompute_early_ops(graph, forward) == OK;
	FOR_WHILE(o, graph->ops, fine)
		forward[o] |= bounds->pass[o] = input->forward ? input->forward[o] : graph->op[o].phase == PHASE_FORWARD;
	fine = fine && recompute_step_find(&early, &bounds->loose) == OK
		&& recompute_network_new(&bounds->loose, true, &bounds->network) == OK;
	FOR_WHILE(i, count, fine)
		if (!forward[op[i]])
			fine = recompute_bound_find_turn(input, bounds, op[i], stack, before, after);
	return fine ? OK : NO_MEMORY;
}

uint32_t recompute_bounds_op(const struct recompute_bounds *bounds, uint32_t i)
{
	return bounds->turn[i].op;
}

void recompute_bounds_free(struct recompute_bounds *bounds)
{
	recompute_network_free(&bounds->network);
	recompute_step_free(&bounds->loose);
	arena_free(&bounds->arena);
}

/* Bytes for what is priced, on the device or in the host. */
static int64_t room_of(const struct recompute_turn *turn, int64_t cap)
{
	return cap - turn->there + turn->away;
}

/* ---- one moment ---- */

/* A cut as a line over the price: time + price * over. */
struct line { int64_t time, over; };

/* Storages are there as a whole or not at all. So what holds of bytes, their sum <= room, holds of granules, too, by
 * mixed integer rounding (Nemhauser and Wolsey 1988): with room = q g + r, the sum of floor(bytes / g) + max(0, bytes
 * mod g - r) / (g - r) is at most q. In bytes, rounded down. */
static int64_t recompute_bound_rounded(const struct recompute_turn *turn, int64_t room, int64_t bytes)
{
	int64_t granule = turn->granule, left, more;
	if (granule == 0)
		return bytes;
	left = room % granule;
	more = bytes % granule - left;
	return (int64_t)(((wide)(bytes / granule) * (granule - left) + LARGER(more, 0)) * granule / (granule - left));
}

static int64_t rounded_room(const struct recompute_turn *turn, int64_t room)
{
	return turn->granule > 0 ? room - room % turn->granule : room;
}

static int64_t at_price(int64_t price, int64_t bytes)
{
	wide whole = (wide)price * bytes;
	return (int64_t)(whole >= 0 ? whole / RECOMPUTE_PRICE_UNIT
								: -((-whole + RECOMPUTE_PRICE_UNIT - 1) / RECOMPUTE_PRICE_UNIT));
}

/* price * room, rounded up. */
static int64_t worth(int64_t price, int64_t room)
{
	return (int64_t)(((wide)price * room + RECOMPUTE_PRICE_UNIT - 1) / RECOMPUTE_PRICE_UNIT);
}

static enum status recompute_bound_cut_at(struct recompute_bounds *bounds, struct recompute_turn *turn, int64_t price,
	int64_t room, struct control *control, struct line *line)
{
	const struct recompute_step *loose = &bounds->loose;
	int64_t value, paid = 0, bytes = 0, counted = rounded_room(turn, room);
	FOR(s, loose->storages) {
		int64_t each = turn->priced[s]
			? at_price(price, recompute_bound_rounded(turn, room, recompute_bound_weight(bounds, turn, s)))
			: 0;
		bounds->price[s] = SMALLER(loose->total, each);
	}
	TRY(recompute_cut(&bounds->network, bounds->price, turn->time, turn->needed, control, &value, bounds->kept));
	FOR(s, loose->storages)
		if (turn->priced[s] && bounds->kept[s]) {
			paid += bounds->price[s];
			bytes += recompute_bound_rounded(turn, room, recompute_bound_weight(bounds, turn, s));
		}
	*line = (struct line){ value - paid, bytes - counted };
	turn->value = value - worth(price, counted);
	return OK;
}

/* What all that is wanted counts for. */
static int64_t wanted_bytes(const struct recompute_bounds *bounds, const struct recompute_turn *turn, int64_t room)
{
	const struct recompute_step *loose = &bounds->loose;
	int64_t bytes = 0;
	FOR_WHILE(s, loose->storages, turn->granule > 0)
		bytes += turn->needed[s] && turn->priced[s]
			? recompute_bound_rounded(turn, room, recompute_bound_weight(bounds, turn, s))
			: 0;
	return turn->granule > 0 ? bytes : turn->wanted;
}

/* The price at which the dual is highest: where two lines meet, until no cut is below both. *price: to begin with, and
 * of the best; 0: none. */
static enum status climb(struct recompute_bounds *bounds, struct recompute_turn *turn, int64_t room,
	struct control *control, int64_t *price, int64_t *best)
{
	struct line low = { 0, wanted_bytes(bounds, turn, room) - rounded_room(turn, room) }, high, now;
	int64_t found = 0;
	*best = 0;
	TRY(recompute_bound_cut_at(bounds, turn, turn->price_most, room, control, &high));
	if (turn->value > *best) {
		*best = turn->value;
		found = turn->price_most;
	}
	for (int round = 0; round < ROUNDS && high.over < 0; round++) {
		wide next = (wide)(high.time - low.time) * RECOMPUTE_PRICE_UNIT / ((wide)low.over - high.over);
		int64_t trial = next < 1 ? 1 : next > turn->price_most ? turn->price_most : (int64_t)next;
		TRY(recompute_bound_cut_at(bounds, turn, trial, room, control, &now));
		if (turn->value > *best) {
			*best = turn->value;
			found = trial;
		}
		bool same = (now.time == low.time && now.over == low.over) || (now.time == high.time && now.over == high.over);
		if (same || now.over == 0)
			break;
		if (now.over > 0)
			low = now;
		else
			high = now;
	}
	*price = found;
	return OK;
}

/* ---- the best of them ---- */

/* The storage or op that a node is of, except the sink. */
static void recompute_bound_find_owners(const struct recompute_network *network, uint32_t *owner)
{
	const struct recompute_step *loose = network->step;
	FOR(s, loose->storages)
		if (network->need[s] != NONE)
			owner[network->need[s]] = owner[network->need[s] + 1] = s;
	FOR(op, loose->ops)
		if (network->run[op] != NONE)
			owner[network->run[op]] = op;
}

static struct recompute_arc arc_of(const struct recompute_network *network, const uint32_t *owner, uint32_t arc)
{
	uint32_t from = flow_from(&network->flow, arc), to = network->flow.to[arc];
	struct recompute_arc record = { RECOMPUTE_ARC_RUN, NONE, NONE, NONE, flow_on(&network->flow, arc) };
	bool op_first = from >= network->runs, op_then = to >= network->runs;
	*(op_first ? &record.op : &record.storage) = owner[from];
	if (to == network->sink)
		return record;
	record.kind = !op_first ? (op_then ? RECOMPUTE_ARC_WRITE : RECOMPUTE_ARC_KEEP)
		: op_then           ? RECOMPUTE_ARC_BEFORE
							: RECOMPUTE_ARC_READ;
	if (record.kind != RECOMPUTE_ARC_KEEP)
		*(record.kind == RECOMPUTE_ARC_BEFORE ? &record.other
		: record.kind == RECOMPUTE_ARC_WRITE ? &record.op
		: &record.storage) = owner[to];
	return record;
}

static enum status recompute_bound_keep_flow(
	const struct recompute_bounds *bounds, struct recompute_certificate *certificate)
{
	const struct recompute_network *network = &bounds->network;
	const struct max_flow *flow = &network->flow;
	HELD uint32_t *MAKE(owner, flow->nodes);
	HELD int64_t *MAKE(out, flow->nodes);
	MAKE(certificate->arc, (size_t)flow->arcs / 2 + flow->nodes);
	bool fine = owner && out && certificate->arc;
	if (fine)
		recompute_bound_find_owners(network, owner);
	for (uint32_t arc = 0; arc < flow->arcs && fine; arc += 2)
		if (flow_on(flow, arc) > 0) {
			certificate->arc[certificate->arcs++] = arc_of(network, owner, arc);
			out[flow_from(flow, arc)] += flow_on(flow, arc);
			out[flow->to[arc]] -= flow_on(flow, arc);
		}
	FOR_WHILE(node, network->runs, fine)
		if (out[node] > 0) /* what flows out of a source did not come in by an arc */
			certificate->arc[certificate->arcs++] = (struct recompute_arc){ RECOMPUTE_ARC_START, owner[node], NONE,
				NONE, out[node] };
	return fine ? OK : NO_MEMORY;
}

/* The flow of the best price again, for the certificate. */
static enum status prove(struct recompute_bounds *bounds, struct recompute_turn *turn, int64_t price, int64_t room,
	struct control *control, struct recompute_certificate *certificate)
{
	struct line line;
	TRY(recompute_bound_cut_at(bounds, turn, price, room, control, &line));
	certificate->op = turn->op;
	certificate->price = price;
	certificate->granule = turn->granule;
	certificate->held = turn->held;
	certificate->room = turn->granule > 0 ? room : 0;
	return recompute_bound_keep_flow(bounds, certificate);
}

/* The value at a price for every moment: those that may matter. */
static enum status recompute_bound_try_all(
	struct recompute_bounds *bounds, int64_t cap, int64_t price, struct control *control)
{
	FOR(i, bounds->turns) {
		struct recompute_turn *turn = &bounds->turn[i];
		struct line line;
		turn->value = 0;
		if (i != bounds->best && turn->wanted > room_of(turn, cap))
			TRY(recompute_bound_cut_at(
				bounds, turn, SMALLER(price, turn->price_most), room_of(turn, cap), control, &line));
	}
	return OK;
}

/* Sizes that most of what is wanted comes in, the most bytes first. */
static uint32_t list_granules(
	const struct recompute_bounds *bounds, const struct recompute_turn *turn, int64_t granule[GRANULES])
{
	const struct recompute_step *loose = &bounds->loose;
	int64_t sum[GRANULES + 1] = { 0 }, size[GRANULES + 1] = { 0 };
	uint32_t count = 0, at;
	FOR(s, loose->storages) {
		int64_t bytes = turn->needed[s] && turn->priced[s] ? loose->bytes[s] : 0;
		for (at = 0; at < count && size[at] != bytes; at++)
			;
		if (bytes <= 1 || (at == count && count > GRANULES))
			continue;
		count += at == count;
		size[at] = bytes;
		for (sum[at] += bytes; at > 0 && sum[at - 1] < sum[at]; at--) {
			int64_t other = sum[at - 1], one = size[at - 1];
			sum[at - 1] = sum[at];
			size[at - 1] = size[at];
			sum[at] = other;
			size[at] = one;
		}
		count = SMALLER(GRANULES, count); /* the last one's place is free again */
		sum[GRANULES] = size[GRANULES] = 0;
	}
	FOR(i, count)
		granule[i] = size[i];
	return count;
}

/* The best moment's bound with sizes rounded; of larger granules where that proves more. Copies to the host take any
 * part of what is kept: not with a link. */
static enum status round_sizes(
	struct recompute_bounds *bounds, int64_t room, struct control *control, int64_t *price, int64_t *best, int64_t *chosen)
{
	struct recompute_turn *turn = &bounds->turn[bounds->best];
	int64_t granule[GRANULES];
	uint32_t count = turn->price_most < PRICE_MOST || turn->away > 0 || turn->held > 1
		? 0
		: list_granules(bounds, turn, granule);
	enum status status = OK;
	int64_t plain = *price;
	FOR_WHILE(i, count, status == OK) {
		int64_t other = 0, value = 0;
		struct line line;
		turn->granule = granule[i];
		status = recompute_bound_cut_at(bounds, turn, plain, room, control, &line);
		if (status == OK && turn->value > *best - *best / 64)
			status = climb(bounds, turn, room, control, &other, &value);
		if (value > *best) {
			*best = value;
			*price = other;
			*chosen = granule[i];
		}
	}
	turn->granule = 0;
	return status;
}

static bool impossible(const struct recompute_bounds *bounds, int64_t cap, struct recompute_certificate *certificate)
{
	const struct recompute_turn *worst = NULL;
	FOR(i, bounds->turns)
		if (bounds->turn[i].there > cap && (!worst || bounds->turn[i].there > worst->there))
			worst = &bounds->turn[i];
	if (worst && certificate)
		*certificate = (struct recompute_certificate){ .op = worst->op, .impossible = true, .bytes = worst->there };
	return worst != NULL;
}

/* The turn of the largest value above that, but for one; NONE where there is none. */
static uint32_t bound_next_turn(const struct recompute_bounds *bounds, uint32_t but, int64_t above)
{
	uint32_t next = NONE;
	FOR(i, bounds->turns)
		if (i != but && bounds->turn[i].value > above) {
			next = i;
			above = bounds->turn[i].value;
		}
	return next;
}

enum status recompute_bound(struct recompute_bounds *bounds, int64_t cap, struct control *control, int64_t *bound,
	double *slope, struct recompute_certificate *certificate)
{
	int64_t price = 0, best = 0;
	enum status status = OK;
	uint32_t at = bounds->best;
	*bound = 0;
	*slope = 0;
	if (certificate)
		*certificate = (struct recompute_certificate){ .op = NONE };
	if (bounds->turns == 0)
		return OK;
	if (impossible(bounds, cap, certificate))
		return INFEASIBLE;
	if (bounds->turn[at].wanted > room_of(&bounds->turn[at], cap))
		status = climb(bounds, &bounds->turn[at], room_of(&bounds->turn[at], cap), control, &price, &best);
	THEN(status, recompute_bound_try_all(bounds, cap, price > 0 ? price : RECOMPUTE_PRICE_UNIT, control));
	for (int round = 0; round < REFINED && status == OK; round++) {
		uint32_t next = bound_next_turn(bounds, at, price > 0 ? best / 2 : INT64_MIN / 2);
		if (next == NONE || bounds->turn[next].wanted <= room_of(&bounds->turn[next], cap))
			break;
		int64_t other = 0, value = 0;
		status = climb(bounds, &bounds->turn[next], room_of(&bounds->turn[next], cap), control, &other, &value);
		bounds->turn[next].value = INT64_MIN;
		if (value > best) {
			best = value;
			price = other;
			bounds->best = next;
		}
	}
	*slope = (double)price / (double)RECOMPUTE_PRICE_UNIT;
	int64_t granule = 0;
	struct recompute_turn *turn = &bounds->turn[bounds->best];
	if (status == OK && best > 0)
		status = round_sizes(bounds, room_of(turn, cap), control, &price, &best, &granule);
	*bound = best;
	if (status == OK && certificate && best > 0) {
		turn->granule = granule;
		status = prove(bounds, turn, price, room_of(turn, cap), control, certificate);
		turn->granule = 0;
	}
	return status;
}

int64_t recompute_bound_peak(const struct recompute_bounds *bounds, const bool *kept)
{
	const struct recompute_step *loose = &bounds->loose;
	int64_t most = 0;
	FOR(i, bounds->turns) {
		const struct recompute_turn *turn = &bounds->turn[i];
		int64_t bytes = turn->there;
		FOR(s, loose->storages) {
			uint32_t maker = loose->graph->storage[s].allocator;
			bytes += kept[s] && turn->needed[s] && turn->priced[s] && maker != NONE && turn->time[maker] > 0
				? recompute_kept_bytes(loose, s)
				: 0;
		}
		most = LARGER(bytes, most);
	}
	return most;
}

enum status recompute_bound_line(
	struct recompute_bounds *bounds, int64_t price, struct control *control, struct recompute_line *line)
{
	struct recompute_turn *turn = bounds->turns > 0 ? &bounds->turn[bounds->best] : NULL;
	struct line ignored;
	*line = (struct recompute_line){ 0 };
	price = turn && price > turn->price_most ? turn->price_most : price;
	TRY(turn ? recompute_bound_cut_at(bounds, turn, price, 0, control, &ignored) : OK);
	if (turn)
		*line = (struct recompute_line){ price, turn->value, turn->there - turn->away };
	return OK;
}

int64_t recompute_line_at(const struct recompute_line *line, int64_t cap)
{
	return line->value - worth(line->price, cap - line->there);
}

enum status recompute_bound_kept(struct recompute_bounds *bounds, int64_t price, struct control *control, bool *kept)
{
	struct recompute_line line;
	enum status status = recompute_bound_line(bounds, price, control, &line);
	FOR(s, bounds->loose.storages)
		kept[s] = bounds->turns > 0 && status == OK && bounds->kept[s];
	return status;
}
