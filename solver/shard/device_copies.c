/* device_copies.c: copies of tensors in other placements, and the collectives that make them, keep them up to date and
 * sum them up. */
#include <stdio.h>

#include "device_walk.h"

#define NAME_LENGTH 320

void walk_stop(struct walk *walk, enum status status)
{
	if (walk->status == OK && status != OK)
		walk->status = status == NO_MEMORY ? fail_memory(walk->error) : status;
}

/* ---- tensors and collectives ---- */

static bool all_whole(struct placement placement)
{
	FOR_INT(a, MESH_AXES)
		if (placement.on[a] != PLACE_WHOLE)
			return false;
	return true;
}

/* ["S(0)","R"], one for each axis, for messages. */
static void place_list(const struct walk *walk, uint32_t tensor, struct placement placement, char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "[");
	FOR(a, walk->mesh->axes) {
		char one[40];
		used += (size_t)snprintf(text + used, size - used, "%s\"%s\"", a ? "," : "",
			placement_text(walk->units, tensor, placement.on[a], one, sizeof one));
	}
	snprintf(text + used, size - used, "]");
}

/* A tensor of the input in a placement: its local extents and bytes. */
uint32_t walk_tensor(struct walk *walk, uint32_t of, const char *name, struct placement placement, uint32_t alias)
{
	int64_t shape[DIMS_MAX];
	struct tensor tensor = walk->graph->tensor[of];
	struct axis_places places = placement_said(walk->units, walk->mesh, of, placement);
	if (walk->status != OK)
		return NONE;
	if (tensor.shape) {
		placement_shape(walk->units, walk->mesh, of, placement, shape);
		tensor.shape = shape;
	}
	tensor.bytes = placement_bytes(walk->units, walk->mesh, of, placement);
	if (!all_whole(placement))
		tensor.places = &places;
	tensor.alias = alias;
	if (name) {                /* a copy */
		tensor.name = name;
		if (kind_persistent(tensor.kind) || tensor.kind == KIND_OUTPUT)
			tensor.kind = KIND_TEMPORARY;
		tensor.line = 0;
	}
	uint32_t id = walk->status == OK ? draft_tensor(walk->draft, &tensor) : NONE;
	if (id == NONE)
		walk_stop(walk, NO_MEMORY);
	return id;
}

/* "wte.weight.all_gather.dp", with a number where that is taken. */
static void name_move(const struct walk *walk, uint32_t tensor, const struct reshard_move *move, char *name)
{
	int used = snprintf(name, NAME_LENGTH, "%.240s.%s.%.7s", walk->graph->tensor[tensor].name,
		collective_names[move->collective], walk->mesh->axis[move->axis].name);
	for (uint32_t n = 2; draft_find_op(walk->draft, name) != NONE || draft_find_tensor(walk->draft, name) != NONE
		|| graph_find_op(walk->graph, name) != NONE; n++)
		snprintf(name + used, (size_t)(NAME_LENGTH - used), ".%u", n);
}

/* The lowest device of the group that a device belongs to on an axis. */
static uint32_t group_of(const struct mesh *mesh, uint32_t device, uint32_t axis)
{
	uint32_t stride = 1;
	FOR_FROM(a, axis + 1, mesh->axes)
		stride *= mesh->axis[a].size;
	return device - mesh_coordinate(mesh, device, axis) * stride;
}

/* Where the result of a collective goes: fresh memory, or in place: a name for what `into` is (a view: of the operand).
 */
enum target { FRESH, VIEW, INTO };

/* One collective on a tensor of the input: from is the draft's tensor. Returns the draft's result. */
static uint32_t device_copies_collect(struct walk *walk, uint32_t tensor, uint32_t from, struct placement at,
	const struct reshard_move *move, enum target target, uint32_t into)
{
	char text[NAME_LENGTH];
	const struct mesh_axis *axis = &walk->mesh->axis[move->axis];
	if (walk->status != OK)
		return NONE;
	name_move(walk, tensor, move, text);
	const char *name = draft_text(walk->draft, text);
	struct collective said = { .size = axis->size,
		.group = group_of(walk->mesh, walk->number, move->axis),
		.rank = NONE,
		.moved = collective_bytes(axis, move->collective, move->bytes),
		.from = placement_said(walk->units, walk->mesh, tensor, at),
		.to = placement_said(walk->units, walk->mesh, tensor, move->to) };
	memcpy(said.axis, axis->name, sizeof said.axis);
	bool keeps_one = move->to.on[move->axis] == PLACE_PARTIAL;
	struct op op = { .name = name,
		.type = collective_types[keeps_one ? COLLECTIVE_KEEP_ONE : move->collective],
		.module = walk->module,
		.collective = &said,
		.phase = PHASE_COMMUNICATION,
		.has_phase = true,
		.has_module = *walk->module != '\0' };
	uint32_t id = name ? draft_op(walk->draft, &op) : NONE;
	uint32_t result = id == NONE ? NONE
		: walk_tensor(walk, tensor, name, move->to,
									   target == FRESH ? NONE
									: target == VIEW ? from
									: into);
	if (result == NONE || draft_read(walk->draft, id, from) != OK || draft_write(walk->draft, id, result) != OK
		|| (target == INTO && draft_inplace(walk->draft, id, result, into) != OK))
		walk_stop(walk, NO_MEMORY);
	return result;
}

static enum status find_chain(
	struct walk *walk, uint32_t tensor, struct placement from, struct placement to, struct reshard *chain)
{
	const struct reshard *found;
	enum status status = reshard_memo_find(&walk->memo, tensor, from, to, &found);
	if (status == OK)
		reshard_copy(chain, found);
	if (status == INFEASIBLE) {
		char a[MESH_AXES * 48], b[MESH_AXES * 48];
		place_list(walk, tensor, from, a, sizeof a);
		place_list(walk, tensor, to, b, sizeof b);
		status = refuse(walk->error, "tensor \"%.100s\" can't be brought from %s to %s",
			walk->graph->tensor[tensor].name, a, b);
	}
	walk_stop(walk, status);
	return walk->status;
}

/* ---- versions ---- */

bool walk_home(const struct walk *walk, uint32_t holder)
{
	return holder < walk->graph->storages;
}

static bool is_current(const struct walk *walk, uint32_t holder)
{
	const struct holder *at = &walk->holder[holder];
	if (at->version == walk->version[at->storage])
		return true;
	return at->base != NONE && is_current(walk, at->base);
}

/* Writes `from`, the content of a tensor, over `into` by a chain of collectives. Returns the new name of into. */
static uint32_t overwrite(
	struct walk *walk, uint32_t tensor, uint32_t from, struct placement at, uint32_t into, struct placement to)
{
	struct reshard chain;
	if (find_chain(walk, tensor, at, to, &chain) != OK)
		return NONE;
	FOR(i, chain.moves) {
		from = device_copies_collect(walk, tensor, from, at, &chain.move[i], i + 1 == chain.moves ? INTO : FRESH, into);
		at = chain.move[i].to;
	}
	return from;
}

/* Brings the newest copy's content back to where its source rests. */
static void write_back(struct walk *walk, uint32_t holder)
{
	const struct holder copy = walk->holder[holder];
	uint32_t target = walk->where[copy.source];
	walk->name[copy.source] = overwrite(
		walk, copy.source, copy.name, copy.at, walk->name[copy.source], walk->place[copy.source]);
	walk->holder[target].version = copy.version;
	walk->newest[copy.storage] = target;
}

/* Makes a holder's content the latest: upwards from the newest holder to the home, then down to this one. */
void walk_bring_up(struct walk *walk, uint32_t holder)
{
	const struct holder at = walk->holder[holder];
	if (walk->status != OK || is_current(walk, holder))
		return;
	while (!walk_home(walk, walk->newest[at.storage]) && walk->newest[at.storage] != holder && walk->status == OK)
		write_back(walk, walk->newest[at.storage]);
	if (walk->status != OK || is_current(walk, holder))
		return;
	walk_bring_up(walk, walk->where[at.source]);
	if (walk->status != OK)
		return;
	uint32_t name = overwrite(walk, at.source, walk->name[at.source], walk->place[at.source], at.name, at.at);
	walk->holder[holder].name = name;
	walk->holder[holder].version = walk->version[at.storage];
}

/* ---- copies ---- */

/* Where a tensor is at hand, and the chain from there. */
struct source { uint32_t copy, name; struct placement at; struct reshard chain; };

static bool device_copies_serves(const struct walk *walk, uint32_t copy, uint8_t phase)
{
	uint8_t of = walk->holder[copy].phase;
	return (of == ANY_PHASE || of == phase) && is_current(walk, copy);
}

/* The first op after `op` that writes a storage in place, or NONE. */
static uint32_t next_write(const struct graph *graph, uint32_t storage, uint32_t op)
{
	FOR_ITEMS(user, &graph->users, storage)
		if (user > op && graph_writes_in_place(graph, user, storage))
			return user;
	return NONE;
}

/* The chain to a place from where a tensor rests goes by way of a place that a later reader needs, for which the same
 * copy serves, where that makes both together cheaper. */
static void pass_by_others(
	struct walk *walk, uint32_t tensor, struct placement to, uint8_t phase, struct reshard *chain)
{
	const struct graph *graph = walk->graph;
	uint32_t last = next_write(graph, graph->tensor[tensor].storage, walk->now);
	const struct reshard direct = *chain;
	int64_t saved = 0;
	for (uint32_t i = walk->read_start[tensor]; i < walk->read_start[tensor + 1] && walk->status == OK; i++) {
		struct placement by = walk->sharding->needed[walk->read[i]];
		struct reshard there, on, back;
		bool later = walk->reader[i] > walk->now && (last == NONE || walk->reader[i] <= last);
		if (!later || placement_equal(by, to) || placement_equal(by, walk->place[tensor]) ||
			find_chain(walk, tensor, walk->place[tensor], by, &there) != OK ||
			(graph->op[walk->reader[i]].phase != phase && reshard_gathers_anew(graph, walk->sharding, tensor, &there)) ||
			find_chain(walk, tensor, by, to, &on) != OK || find_chain(walk, tensor, to, by, &back) != OK ||
			there.moves + on.moves > RESHARD_MOVES)
			continue;
		int64_t saves = direct.time + SMALLER(there.time, back.time) - there.time - on.time;
		if (saves <= saved)
			continue;
		saved = saves;
		*chain = there;
		COPY(chain->move + there.moves, on.move, on.moves);
		chain->moves += on.moves;
		chain->time += on.time;
		chain->sent += on.sent;
	}
}

/* The cheapest way to a placement from where the tensor rests or from a copy; of equals the first. copy: NONE where it
 * rests. */
static enum status find_source(
	struct walk *walk, uint32_t tensor, struct placement to, uint8_t phase, struct source *best)
{
	bool any = false;
	for (uint32_t copy = walk->copies[tensor]; copy != NONE && walk->status == OK; copy = walk->holder[copy].next) {
		struct source at = { .copy = copy, .name = walk->holder[copy].name, .at = walk->holder[copy].at };
		if (!device_copies_serves(walk, copy, phase) || find_chain(walk, tensor, at.at, to, &at.chain) != OK)
			continue;
		if (!any || at.chain.time < best->chain.time)
			*best = at;
		any = true;
	}
	if (!any)
		walk_bring_up(walk, walk->where[tensor]);
	if (walk->status != OK || !is_current(walk, walk->where[tensor]))
		return walk->status;
	struct source rest = { .copy = NONE, .name = walk->name[tensor], .at = walk->place[tensor] };
	if (find_chain(walk, tensor, rest.at, to, &rest.chain) == OK && (!any || rest.chain.time <= best->chain.time)) {
		*best = rest;
		pass_by_others(walk, tensor, to, phase, &best->chain);
	}
	return walk->status;
}

/* A slice of memory that stays anyway is a view where it is in one piece: the part is the outermost that is left. */
static bool slices_view(const struct walk *walk, uint32_t tensor, struct placement at, const struct reshard_move *move)
{
	const struct units *units = walk->units;
	int8_t on = move->to.on[move->axis];
	if (move->collective != COLLECTIVE_SLICE || on < 0 ||
		!graph_home(walk->graph, tensor)->persistent)
		return false;
	for (int8_t i = 0; i < on; i++) {
		int64_t left = units->part[units->part_start[tensor] + (uint32_t)i].size;
		FOR(a, walk->mesh->axes)
			if (at.on[a] == i)
				left = (left + walk->mesh->axis[a].size - 1) / walk->mesh->axis[a].size;
		if (left > 1)
			return false;
	}
	return true;
}

/* Gathered tensors are gathered anew in another phase: passing ones always, parameters on the axes that say so. */
static uint8_t phase_of_copy(const struct walk *walk, uint32_t tensor, const struct source *source,
	const struct reshard_move *move, uint8_t phase)
{
	const struct storage *storage = &walk->graph->storage[walk->graph->tensor[tensor].storage];
	if (source->copy != NONE && walk->holder[source->copy].phase != ANY_PHASE)
		return walk->holder[source->copy].phase;
	if (move->collective != COLLECTIVE_ALL_GATHER ||
		(storage->persistent && !(walk->sharding->regather_axes >> move->axis & 1)))
		return ANY_PHASE;
	return phase;
}

uint32_t walk_add_holder(struct walk *walk, struct holder holder)
{
	if (walk->status == OK && !GROWN(walk->holder, walk->room, walk->holders + 1))
		walk_stop(walk, NO_MEMORY);
	if (walk->status != OK)
		return NONE;
	walk->holder[walk->holders] = holder;
	return walk->holders++;
}

/* Takes the next move of a source's chain; the source is then the copy that it made. */
static void take_move(
	struct walk *walk, uint32_t tensor, struct source *source, const struct reshard_move *move, uint8_t phase)
{
	bool view = slices_view(walk, tensor, source->at, move);
	struct holder copy = {
		.source = tensor, .storage = walk->graph->tensor[tensor].storage, .at = move->to, .next = walk->copies[tensor],
		.base = view ? (source->copy == NONE ? walk->where[tensor] : source->copy) : NONE,
		.phase = phase_of_copy(walk, tensor, source, move, phase),
	};
	copy.version = walk->version[copy.storage];
	copy.name = device_copies_collect(walk, tensor, source->name, source->at, move, view ? VIEW : FRESH, NONE);
	uint32_t holder = walk_add_holder(walk, copy);
	if (holder == NONE)
		return;
	walk->copies[tensor] = holder;
	source->copy = holder;
	source->name = copy.name;
	source->at = copy.at;
}

/* The draft's tensor with a tensor's content in a placement, and its holder. */
uint32_t walk_reach(struct walk *walk, uint32_t tensor, struct placement to, uint8_t phase, uint32_t *holder)
{
	struct source source = { .copy = NONE };
	*holder = walk->where[tensor];
	if (placement_equal(walk->place[tensor], to)) {
		walk_bring_up(walk, *holder);
		return walk->name[tensor];
	}
	if (walk->status != OK || find_source(walk, tensor, to, phase, &source) != OK)
		return NONE;
	const struct reshard chain = source.chain;
	FOR_WHILE(i, chain.moves, walk->status == OK)
		take_move(walk, tensor, &source, &chain.move[i], phase);
	if (source.copy != NONE)
		*holder = source.copy;
	return source.name;
}

/* ---- reductions, as soon as there is a partial sum ---- */

static bool device_copies_is_reduction(const struct reshard_move *move)
{
	return move->collective == COLLECTIVE_ALL_REDUCE || move->collective == COLLECTIVE_REDUCE_SCATTER;
}

/* An all-reduce may overwrite the partial sum where all that comes later reads this tensor, and reads the sum, or reads
 * what is made of it then. */
static bool sums_in_place(const struct walk *walk, uint32_t tensor, uint32_t axis, uint32_t op)
{
	const struct graph *graph = walk->graph;
	uint32_t storage = graph->tensor[tensor].storage;
	if (graph->storage[storage].live_out)
		return false;
	FOR_ITEMS(user, &graph->users, storage) {
		bool reads = false;
		if (user <= op)
			continue;
		FOR_ROW(i, &graph->reads, user)
			if (graph->tensor[graph->reads.item[i]].storage == storage) {
				uint32_t read = graph->reads.item[i], writer = graph->tensor[read].writer;
				bool later = writer != NONE && writer > op;
				if (!later && (read != tensor || walk->sharding->needed[i].on[axis] == PLACE_PARTIAL))
					return false;
				reads = true;
			}
		if (!reads)
			return false;
	}
	return true;
}

/* Reductions wait for a late axis where the reader is an update. */
static uint32_t device_copies_early_moves(const struct walk *walk, const struct reshard *chain, uint8_t phase)
{
	uint32_t early = 0;
	FOR(i, chain->moves) {
		bool late = walk->sharding->late_axes >> chain->move[i].axis & 1
			|| (walk->sharding->late_sums && chain->move[i].collective == COLLECTIVE_ALL_REDUCE);
		if (device_copies_is_reduction(&chain->move[i]) && phase == PHASE_UPDATE && late)
			break;
		if (device_copies_is_reduction(&chain->move[i]))
			early = i + 1;
	}
	return early;
}

/* The reductions that one reader needs, right after the op that wrote the tensor. */
static void reduce_for(struct walk *walk, uint32_t tensor, uint32_t op, struct placement to, uint8_t phase)
{
	struct source source = { .copy = NONE };
	if (placement_equal(walk->place[tensor], to) || find_source(walk, tensor, to, phase, &source) != OK)
		return;
	const struct reshard chain = source.chain;
	uint32_t early = device_copies_early_moves(walk, &chain, phase);
	FOR_WHILE(i, early, walk->status == OK) {
		const struct reshard_move *move = &chain.move[i];
		if (move->collective == COLLECTIVE_ALL_REDUCE && source.copy == NONE && sums_in_place(walk, tensor, move->axis, op)) {
			walk->name[tensor] = source.name = device_copies_collect(
				walk, tensor, source.name, source.at, move, INTO, source.name);
			walk->place[tensor] = source.at = move->to;
		} else {
			take_move(walk, tensor, &source, move, phase);
		}
	}
}

void walk_reduce(struct walk *walk, uint32_t op)
{
	const struct graph *graph = walk->graph;
	FOR_ITEMS(tensor, &graph->writes, op) {
		uint32_t last = next_write(graph, graph->tensor[tensor].storage, op);
		bool partial = false;
		FOR_INT(a, MESH_AXES)
			partial |= walk->place[tensor].on[a] == PLACE_PARTIAL;
		for (uint32_t i = walk->read_start[tensor]; partial && i < walk->read_start[tensor + 1] && walk->status == OK; i++)
			if (walk->reader[i] > op && (last == NONE || walk->reader[i] <= last))
				reduce_for(walk, tensor, op, walk->sharding->needed[walk->read[i]], graph->op[walk->reader[i]].phase);
	}
}
