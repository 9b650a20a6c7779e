/* block_costs.c: times and bytes of blocks under a sharding. */

#include "block_costs.h"
#include "solver/cost/reshard.h"

/* Whose readers share what was gathered: the forward pass's, the backward pass's, and of that the part that makes
 * gradients of inputs. */
enum { GATHERED_FORWARD, GATHERED_BACKWARD, GATHERED_INPUT, GATHERINGS };

/* Of an op of the update, and of all that are like it. */
struct update_times {
	int64_t flops, bytes, time[UPDATE_SHARES];
	double share;
	uint32_t format;
};
#define UPDATE_KINDS 256

struct costing {
	const struct units *units;
	const struct sharding *sharding;
	const struct blocks *blocks;
	const struct block_work *work;
	const struct machine *machine;
	struct reshard_memo memo;
	uint32_t context, experts, data; /* axes of the mesh, or NONE */
	struct block_cost *cost;
	struct placement *gathered;   /* [GATHERINGS * tensors] the last placement that these ops got a tensor in */
	bool *seen;                   /* [GATHERINGS * tensors] */
	int64_t *there;               /* [GATHERINGS * tensors] when these ops have it so */
	int64_t *made;                /* [tensors] when it is there as its op leaves it */
	int64_t free[MESH_AXES];      /* when the stream of an axis is */
	int64_t begun, now;           /* when the op computed last began, and ended */
	int64_t *bytes;               /* [storages] of a device's share */
	struct update_times *update;  /* [UPDATE_KINDS] the last one found, by a hash; share 0: none */
};

static int64_t block_costs_bytes_at(const struct costing *costing, uint32_t tensor, struct placement placement)
{
	return placement_bytes(costing->units, &costing->sharding->mesh, tensor, placement);
}

/* ---- time ---- */

static int64_t op_time(const struct costing *costing, uint32_t op)
{
	const struct sharding *sharding = costing->sharding;
	const struct op_work *work = &costing->work->op[op];
	struct block_cost *cost = &costing->cost[costing->blocks->of[op]];
	int64_t peak = costing->machine->matrix_rate[work->format];
	if (work->matrix && !costing->units->graph->op[op].recomputed && peak > 0)
		cost->ideal += (int64_t)((double)work->flops * 1e12 / (double)peak);
	cost->flops = sum_or_most(
		cost->flops, split_share(costing->units, &sharding->mesh, op, sharding->split[op], work->flops));
	return op_share_time(costing->units, &sharding->mesh, work, costing->machine, op, sharding->split[op]);
}

static size_t gathering(const struct costing *costing, uint32_t tensor, uint32_t readers)
{
	return GATHERINGS * (size_t)block_work_canonical(costing->units->graph, costing->work->twin, tensor) + readers;
}

/* True where some readers have got a tensor as it is needed. */
static bool gathered_by(const struct costing *costing, uint32_t tensor, struct placement needed, uint32_t readers)
{
	size_t at = gathering(costing, tensor, readers);
	return costing->seen[at] && placement_equal(needed, costing->gathered[at]);
}

static void gather_for(struct costing *costing, uint32_t tensor, struct placement needed, uint32_t readers)
{
	size_t at = gathering(costing, tensor, readers);
	costing->seen[at] = true;
	costing->gathered[at] = needed;
}

/* What a forward op was given by an all-to-all is kept instead of what it was made from, being no larger: backward ops
 * have it. */
static bool kept_moved(const struct costing *costing, uint32_t tensor, struct placement needed)
{
	return gathered_by(costing, tensor, needed, GATHERED_FORWARD) &&
		block_costs_bytes_at(costing, tensor, needed) <=
		block_costs_bytes_at(costing, tensor, costing->sharding->produced[tensor]);
}

/* What the first part of a split backward pass gathers. */
static void find_input_gathers(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	FOR(op, graph->ops)
		FOR_ROW(i, &graph->reads, op) {
			uint32_t tensor = graph->reads.item[i];
			if (graph->op[op].phase == PHASE_BACKWARD && !costing->work->weight[op] &&
				!placement_equal(costing->sharding->needed[i], costing->sharding->produced[tensor]))
				gather_for(costing, tensor, costing->sharding->needed[i], GATHERED_INPUT);
		}
}

/* A gradient of an input in parts, made by a product that devices share: it is summed up. Attention's own, over the
 * context axis, is none of these. */
static bool sums_input(const struct costing *costing, uint32_t tensor)
{
	uint32_t maker = costing->units->graph->tensor[tensor].writer;
	bool partial = false;
	FOR(a, costing->sharding->mesh.axes)
		partial |= costing->sharding->produced[tensor].on[a] == PLACE_PARTIAL;
	return partial && maker != NONE && costing->units->graph->op[maker].phase == PHASE_BACKWARD &&
		!costing->work->weight[maker] && !costing->work->op[maker].attention;
}

/* Picoseconds of the collectives that bring an op's operands to where it needs them; of these, sums of gradients of
 * inputs, what the first part of a split backward pass gathers, and what it sends itself; when it has its operands. */
struct links { int64_t all, summed, input, ready, inside; };

/* Shards that become summands: no collective does. */
static bool makes_summands(const struct mesh *mesh, struct placement from, struct placement to)
{
	bool makes = false;
	FOR(a, mesh->axes)
		makes |= from.on[a] >= 0 && to.on[a] == PLACE_PARTIAL;
	return makes;
}

/* A collective has its place behind the op that makes a sum, or before the first reader, and begins no earlier than the
 * op computed last before that (device_graph.h, step_time.h). axis: the first along which it moves. */
static int64_t carry_out(struct costing *costing, uint32_t tensor, uint32_t axis, int64_t takes)
{
	bool sums = false;
	FOR(a, costing->sharding->mesh.axes)
		sums |= costing->sharding->produced[tensor].on[a] == PLACE_PARTIAL;
	int64_t begin = larger_of(costing->made[tensor], sums ? 0 : costing->begun);
	return costing->free[axis] = larger_of(begin, costing->free[axis]) + takes;
}

/* Readers of one pass share what was gathered. */
static enum status block_costs_link_time(struct costing *costing, uint32_t op, struct links *links)
{
	const struct graph *graph = costing->units->graph;
	const struct sharding *sharding = costing->sharding;
	bool backward = graph->op[op].phase != PHASE_FORWARD;
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = graph->reads.item[i], readers = backward ? GATHERED_BACKWARD : GATHERED_FORWARD;
		struct placement needed = sharding->needed[i];
		const struct reshard *reshard;
		uint32_t axis = 0;
		links->ready = larger_of(links->ready, costing->made[tensor]);
		while (axis < sharding->mesh.axes && needed.on[axis] == sharding->produced[tensor].on[axis])
			axis++;
		if (axis == sharding->mesh.axes || axis == costing->data ||
			makes_summands(&sharding->mesh, sharding->produced[tensor], needed))
			continue;
		int64_t *there = &costing->there[gathering(costing, tensor, readers)];
		bool moved = !gathered_by(costing, tensor, needed, readers);
		if (moved && backward && kept_moved(costing, tensor, needed))
			continue;
		enum status status = moved
			? reshard_memo_find(&costing->memo, tensor, sharding->produced[tensor], needed, &reshard) : INFEASIBLE;
		if (status == NO_MEMORY)
			return status;
		if (status == OK) {
			gather_for(costing, tensor, needed, readers);
			*there = carry_out(costing, tensor, axis, reshard->time);
			links->all += reshard->time;
			links->summed += sums_input(costing, tensor) ? reshard->time : 0;
			links->input += gathered_by(costing, tensor, needed, GATHERED_INPUT) ? reshard->time : 0;
		}
		links->ready = larger_of(links->ready, *there);
	}
	links->inside = op_inside_time(costing->units, &sharding->mesh, op, sharding->split[op], NULL, NULL);
	links->all += links->inside;
	return OK;
}

/* Program order on streams. */
static enum status add_times(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	FOR(op, graph->ops) {
		struct block_cost *cost = &costing->cost[costing->blocks->of[op]];
		bool forward = graph->op[op].phase == PHASE_FORWARD, view = costing->work->op[op].view;
		struct links links = { 0 };
		if (graph->op[op].phase == PHASE_UPDATE)
			continue;
		TRY(block_costs_link_time(costing, op, &links));
		int64_t time = op_time(costing, op), waits = view ? 0 : larger_of(0, links.ready - costing->now),
				made;
		costing->begun = view ? costing->begun : costing->now + waits;
		costing->now += view ? 0 : waits + time;
		made = (view ? larger_of(links.ready, costing->begun) : costing->now) + links.inside;
		FOR_ITEMS(written, &graph->writes, op)
			costing->made[written] = made;
		*(forward ? &cost->forward : &cost->backward) += waits + time;
		*(forward ? &cost->forward_link : &cost->backward_link) += waits;
		cost->carried[!forward] += links.all;
		cost->beside += forward ? 0 : links.all - waits;
		cost->weight += costing->work->weight[op] ? time + links.all - links.input : 0;
		cost->weight_link += costing->work->weight[op] ? links.all - links.input : 0;
		cost->summed += links.summed;
	}
	return OK;
}

/* ---- memory ---- */

static int64_t block_costs_elements_of(const struct graph *graph, uint32_t tensor)
{
	int64_t product = 1;
	for (int d = 0; d < graph->tensor[tensor].dims && graph->tensor[tensor].shape; d++)
		product *= graph->tensor[tensor].shape[d];
	return product;
}

/* Gradients of a block's weights are made of a storage. */
static bool weight_reads(const struct costing *costing, uint32_t storage, uint32_t block)
{
	const struct graph *graph = costing->units->graph;
	bool reads = false;
	FOR_ITEMS(user, &graph->users, storage)
		reads |= costing->work->weight[user] && costing->blocks->of[user] == block;
	return reads;
}

/* Saved storages count in the block whose backward ops read them, once. */
static void add_saved(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	FOR(s, graph->storages) {
		uint32_t before = NONE;
		if (!costing->work->saved[s] || graph->storage[s].allocator == NONE)
			continue;
		FOR_SPAN(i, graph->users.start, s) {
			uint32_t op = graph->users.item[i], block = costing->blocks->of[op];
			if (graph->op[op].phase != PHASE_BACKWARD || block == before)
				continue;
			bool counted = false;
			FOR_FROM(j, graph->users.start[s], i)
				counted |= graph->op[graph->users.item[j]].phase == PHASE_BACKWARD &&
					costing->blocks->of[graph->users.item[j]] == block;
			before = block;
			uint32_t crossing =
				costing->blocks->crossing[block > 0 && costing->blocks->crossing[block] == NONE ? block - 1 : block];
			struct block_cost *cost = &costing->cost[block];
			int64_t bytes = counted ? 0 : costing->bytes[s];
			cost->saved += bytes;
			cost->saved_weight += weight_reads(costing, s, block) ? bytes : 0;
			if (crossing != NONE &&
				block_costs_elements_of(graph, graph->storage[s].root) <= block_costs_elements_of(graph, crossing) / 64)
				cost->saved_small += bytes;
		}
	}
}

/* Bytes of a storage that stay for gradients of weights: as it was made, where one reads or gathers it so, and as the
 * first part of the backward pass gathered it (Transformer Engine keeps both operands of a delayed gradient whole). */
static int64_t between_bytes(const struct costing *costing, uint32_t s)
{
	const struct graph *graph = costing->units->graph;
	int64_t made = 0, gathered = 0;
	FOR_ITEMS(op, &graph->users, s) {
		for (uint32_t i = graph->reads.start[op]; costing->work->weight[op] && i < graph->reads.start[op + 1]; i++) {
			uint32_t tensor = graph->reads.item[i];
			struct placement needed = costing->sharding->needed[i];
			if (graph->tensor[tensor].storage != s)
				continue;
			bool shares = !placement_equal(needed, costing->sharding->produced[tensor]) &&
				gathered_by(costing, tensor, needed, GATHERED_INPUT);
			*(shares ? &gathered : &made) = shares ? block_costs_bytes_at(costing, tensor, needed)
				: costing->bytes[s];
		}
	}
	return made + gathered;
}

/* What the first part of a backward pass makes and gradients of weights read counts in the first block, going back,
 * whose weights read it. */
static void add_between(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	FOR(s, graph->storages) {
		uint32_t maker = graph->storage[s].allocator, reader = NONE;
		if (maker == NONE || graph->op[maker].phase != PHASE_BACKWARD || costing->work->weight[maker] ||
			costing->work->gradient[s])
			continue;
		FOR_ITEMS(op, &graph->users, s) {
			uint32_t block = costing->blocks->of[op];
			reader = costing->work->weight[op] && (reader == NONE || block > reader) ? block : reader;
		}
		if (reader != NONE)
			costing->cost[reader].between += between_bytes(costing, s);
	}
}

/* Of an op what is only there while it runs: gradients that it writes, which are reduced or used up next, and
 * parameters that it reads. */
static void passing(const struct costing *costing, uint32_t op, int64_t *written, int64_t *read)
{
	const struct graph *graph = costing->units->graph;
	*written = *read = 0;
	FOR_ITEMS(s, &graph->touches, op) {
		if (costing->work->gradient[s] && graph->storage[s].allocator == op)
			*written += costing->bytes[s];
		else if (graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE)
			*read += costing->bytes[s];
	}
}

static uint32_t block_costs_class_of(const struct costing *costing, uint32_t tensor)
{
	struct placement placement = costing->sharding->produced[tensor];
	uint32_t class = 0;
	if (costing->context == NONE || placement.on[costing->context] < 0)
		class |= WHOLE_ON_CONTEXT;
	if (costing->experts == NONE || placement.on[costing->experts] < 0)
		class |= WHOLE_ON_EXPERTS;
	return class;
}

/* What a tensor views whole. */
static uint32_t views_whole(const struct graph *graph, uint32_t tensor)
{
	for (uint32_t writer; (writer = graph->tensor[tensor].writer) != NONE; ) {
		uint32_t from = csr_length(&graph->reads, writer) == 1 ? graph->reads.item[graph->reads.start[writer]] : NONE;
		if (from == NONE || graph->tensor[from].storage != graph->tensor[tensor].storage ||
			block_costs_elements_of(graph, from) != block_costs_elements_of(graph, tensor))
			break;
		tensor = from;
	}
	return tensor;
}

/* Views of the same are gathered once in a pass. */
static void block_costs_add_reads(struct costing *costing, uint32_t *block_of)
{
	const struct graph *graph = costing->units->graph;
	FOR(t, 2 * graph->tensors)
		block_of[t] = NONE;
	FOR(op, graph->ops) {
		uint32_t block = costing->blocks->of[op];
		bool backward = graph->op[op].phase == PHASE_BACKWARD;
		struct block_reads *reads = backward ? &costing->cost[block].backward_reads : &costing->cost[block].forward_reads;
		if (graph->op[op].phase == PHASE_UPDATE || costing->work->op[op].view)
			continue;
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t tensor = views_whole(graph, read), s = graph->tensor[tensor].storage;
			if (graph->storage[s].kind != KIND_PARAMETER || graph->storage[s].allocator != NONE ||
				block_of[2 * (size_t)tensor + backward] == block)
				continue;
			uint32_t class = block_costs_class_of(costing, graph->storage[s].root);
			block_of[2 * (size_t)tensor + backward] = block;
			reads->bytes[class] += costing->bytes[s];
			reads->count[class]++;
		}
	}
}

/* Bytes at a moment. */
struct moment {
	int64_t live, parts, weights; /* of live: parts of gradients, and what is made for gradients of weights */
	int64_t later;                /* what ended with gradients of weights of the block, which wait in a split pass */
	uint32_t block;
};

static void raise_working(
	struct block_working *working, int64_t live, int64_t parts, int64_t own, int64_t written, int64_t read)
{
	FOR_INT(kind, ALIVE_KINDS)
		FOR_INT(gathered, 2) {
			int64_t bytes = live - (kind == ALIVE_SUMMED ? parts : 0) + (kind == ALIVE_OWN ? own : 0) +
				(kind == ALIVE_SUMMED || kind == ALIVE_SHARDED ? written : 0) + (gathered ? read : 0);
			working->most[kind][gathered] = larger_of(working->most[kind][gathered], bytes);
		}
}

/* Bytes of a gradient before a cast that makes it larger, where it comes from one. */
static int64_t uncast_bytes(const struct costing *costing, uint32_t s)
{
	const struct graph *graph = costing->units->graph;
	uint32_t op = graph->storage[s].allocator;
	int64_t bytes = graph->storage[s].bytes;
	if (op == NONE || csr_length(&graph->reads, op) != 1 || csr_length(&graph->writes, op) != 1)
		return bytes;
	uint32_t from = graph_operand(graph, op, 0);
	const struct storage *storage = &graph->storage[graph->tensor[from].storage];
	bool same = !storage->persistent &&
		block_costs_elements_of(graph, from) == block_costs_elements_of(graph, graph->storage[s].root);
	return same && storage->bytes < bytes ? storage->bytes : bytes;
}

/* What an op allocates, or what ends with it, of all bytes and of those that are made for gradients of weights. */
static void change_live(const struct costing *costing, uint32_t op, bool after, struct moment *now)
{
	const struct graph *graph = costing->units->graph;
	now->later = now->block == costing->blocks->of[op] ? now->later : 0;
	now->block = costing->blocks->of[op];
	FOR_ITEMS(s, &graph->touches, op) {
		uint32_t maker = graph->storage[s].allocator;
		if (maker == NONE || graph->storage[s].persistent)
			continue;
		if (costing->work->gradient[s]) {
			int64_t uncast = maker == op ? uncast_bytes(costing, s) : 0, whole = graph->storage[s].bytes;
			if (uncast > 0 && after == (uncast < whole))
				costing->cost[costing->blocks->of[op]].made += costing->bytes[s] / (whole / uncast);
			continue;
		}
		bool changes = after ? costing->work->last[s] == op && !graph->storage[s].live_out : maker == op;
		int64_t bytes = !changes ? 0 : after ? -costing->bytes[s] : costing->bytes[s];
		now->live += bytes;
		now->parts += costing->work->part[s] ? bytes : 0;
		now->weights += costing->work->weight[maker] && !costing->work->part[s] ? bytes : 0;
		now->later -= after && costing->work->weight[op] && !costing->work->weight[maker] ? bytes : 0;
	}
}

/* What is gathered of a storage in one pass, the most, for ops from the first to the last one. */
struct copy { int64_t bytes; uint32_t first, last; bool there; };

/* Parameters are gathered for reads (struct block_reads). */
static void find_copies(const struct costing *costing, struct copy *copies)
{
	const struct graph *graph = costing->units->graph;
	for (uint32_t op = 0; op < graph->ops && costing->sharding->mesh.axes > 0; op++)
		FOR_ROW(i, &graph->reads, op) {
			uint32_t tensor = graph->reads.item[i], s = graph->tensor[tensor].storage;
			struct copy *copy = &copies[2 * (size_t)s + (graph->op[op].phase == PHASE_BACKWARD)];
			if (graph->op[op].phase == PHASE_UPDATE || costing->work->op[op].view || graph->storage[s].persistent)
				continue;
			double share = (double)block_costs_bytes_at(costing, tensor, costing->sharding->needed[i]) /
				(double)graph->tensor[tensor].bytes;
			int64_t bytes = (int64_t)(share * (double)SMALLER(graph->tensor[tensor].bytes, graph->storage[s].bytes));
			if (!(share * (double)graph->storage[s].bytes > 1.01 * (double)costing->bytes[s]))
				continue;
			copy->first = copy->bytes == 0 ? op : copy->first;
			copy->last = op;
			copy->bytes = larger_of(copy->bytes, bytes);
		}
}

/* Bytes of copies that come with an op or end behind it. */
static int64_t copies_at(const struct costing *costing, struct copy *copies, uint32_t op, bool after)
{
	const struct graph *graph = costing->units->graph;
	int64_t bytes = 0;
	FOR_ITEMS(read, &graph->reads, op) {
		struct copy *copy =
			&copies[2 * (size_t)graph->tensor[read].storage + (graph->op[op].phase == PHASE_BACKWARD)];
		if (copy->bytes == 0 || copy->there != after || (after ? copy->last : copy->first) != op)
			continue;
		copy->there = !after;
		bytes += after ? -copy->bytes : copy->bytes;
	}
	return bytes;
}

/* Walks through the forward and backward ops in program order with what is alive but no gradient of parameters, beside
 * all that is saved up to the block. */
static void add_working(struct costing *costing, int64_t *saved_until, struct copy *copies)
{
	const struct graph *graph = costing->units->graph;
	static const int64_t never = INT64_MIN /
		4; /* of a block in which nothing works: below all that is, and may be added to */
	const struct block_working none = { { { never, never }, { never, never }, { never, never }, { never, never } } };
	struct moment now = { 0 };
	FOR(b, costing->blocks->blocks) {
		saved_until[b] = (b > 0 ? saved_until[b - 1] : 0) + costing->cost[b].saved;
		costing->cost[b].both = costing->cost[b].input = none;
		costing->cost[b].whole = never;
	}
	find_copies(costing, copies);
	FOR(op, graph->ops) {
		struct block_cost *cost = &costing->cost[costing->blocks->of[op]];
		int64_t written, read, part = now.parts;
		if (graph->op[op].phase == PHASE_UPDATE)
			continue;
		passing(costing, op, &written, &read);
		cost->own += written;
		FOR_INT(after, 2) {
			now.live += after ? 0 : copies_at(costing, copies, op, false);
			change_live(costing, op, after, &now);
			if (after)
				now.live += copies_at(costing, copies, op, true);
			if (costing->work->op[op].view)    /* of a parameter, it may stand far from its block */
				continue;
			const struct sharding *sharding = costing->sharding;
			int64_t scratch = after ? 0 : split_scratch(costing->units, &sharding->mesh, op, sharding->split[op]),
					beside = now.live + scratch - saved_until[costing->blocks->of[op]],
					waiting = SMALLER(part, now.parts); /* its own part is there */
			cost->whole = larger_of(cost->whole, beside + cost->made);
			raise_working(&cost->both, beside, waiting, cost->own, after ? 0 : written, after ? 0 : read);
			if (costing->work->weight[op])
				cost->weights = larger_of(cost->weights, now.weights + now.parts - waiting + (after ? 0 : written));
			else
				raise_working(&cost->input, beside + now.later, waiting, 0, after ? 0 : written, after ? 0 : read);
		}
	}
}

/* The other block that reads a parameter in the forward pass, or NONE. */
static uint32_t other_reader(const struct costing *costing, uint32_t storage)
{
	const struct graph *graph = costing->units->graph;
	FOR_SPAN(i, graph->users.start, storage) {
		uint32_t op = graph->users.item[i];
		if (graph->op[op].phase == PHASE_FORWARD && !blocks_views_state(graph, op) &&
			costing->blocks->of[op] != costing->blocks->home[storage])
			return costing->blocks->of[op];
	}
	return NONE;
}

/* Bytes of one weight gradient: of one expert's where products are grouped. Tables and the output projection have none
 * that stays. */
static int64_t one_matrix(const struct costing *costing, uint32_t parameter)
{
	const struct units *units = costing->units;
	const struct graph *graph = units->graph;
	const struct mesh *mesh = &costing->sharding->mesh;
	uint32_t root = graph->storage[parameter].root;
	const struct tensor *tensor = &graph->tensor[root];
	const struct part *part = units->part + units->part_start[root];
	int64_t stacked = tensor->dims > 2 ? tensor->shape[0] : 1;
	bool multiplied = false;
	FOR_SPAN(i, units->part_start, root)
		if (units->part[i].role == ROLE_VOCABULARY)
			return 0;
	FOR_SPAN(i, graph->users.start, parameter)
		multiplied |= costing->work->op[graph->users.item[i]].matrix;
	FOR_WHILE(a, mesh->axes, stacked > 1) {
		int8_t on = costing->sharding->produced[root].on[a];
		stacked /= on >= 0 && part[on].dim == 0 ? mesh->axis[a].size : 1;
	}
	return multiplied && tensor->dims > 1 ? costing->bytes[parameter] / stacked : 0;
}

static void add_state(struct costing *costing, uint32_t s, uint32_t parameter, int64_t bytes,
	int64_t *(*field)(struct block_states *, uint32_t))
{
	const struct graph *graph = costing->units->graph;
	uint32_t home = costing->blocks->home[parameter], root = graph->storage[parameter].root,
			 other = other_reader(costing, parameter);
	uint32_t class = block_costs_class_of(costing, root);
	/* states lie as their parameter does, whatever the ops that make them */
	int64_t whole = graph->storage[parameter].bytes;
	if (home == NONE || whole == 0)
		return;
	bytes = (int64_t)((double)bytes * ((double)costing->bytes[parameter] / (double)whole));
	*field(&costing->cost[home].states, class) += bytes;
	if (s == parameter) {
		costing->cost[home].parameters[class]++;
		costing->cost[home].matrices += one_matrix(costing, parameter);
	}
	if (graph->tensor[root].dims < 2)
		*field(&costing->cost[home].vectors, class) += bytes;
	if (other != NONE) {
		*field(&costing->cost[other].shared, class) += bytes;
		costing->cost[other].shared_with = home;
	}
}

/* On 1, 1/2, 1/4, ... of a device's share. */
static const int64_t *update_times_of(
	const struct costing *costing, const struct op_work *work, int64_t bytes, double share)
{
	uint64_t key = ((uint64_t)bytes * 31 + (uint64_t)work->flops) * UINT64_C(0x9e3779b97f4a7c15);
	struct update_times *found = &costing->update[(key >> 32) % UPDATE_KINDS];
	if (found->bytes != bytes || found->flops != work->flops || found->share != share || found->format != work->format) {
		*found = (struct update_times) { .flops = work->flops, .bytes = bytes, .share = share, .format = work->format };
		for (int i = 0; i < UPDATE_SHARES; i++, share /= 2)
			found->time[i] = op_work_time(costing->machine, work, (int64_t)((double)work->flops * share),
				(int64_t)((double)bytes * share));
	}
	return found->time;
}

/* Every op of the update: states lie as their parameter does. */
static void add_update(struct costing *costing, uint32_t op, uint32_t parameter)
{
	const struct graph *graph = costing->units->graph;
	const struct op_work *work = &costing->work->op[op];
	uint32_t home = costing->blocks->home[parameter];
	int64_t whole = graph->storage[parameter].bytes, bytes = 0;
	if (home == NONE || whole == 0)
		return;
	FOR(k, op_arguments(graph, op))
		bytes += op_moves(costing->machine, work, graph, op, k) ? graph->tensor[graph_argument(graph, op, k)].bytes : 0;
	double share = (double)costing->bytes[parameter] / (double)whole;
	int64_t beside = 0;
	bool unscales = !work->view;
	FOR_ITEMS(s, &graph->touches, op) {
		beside += graph->storage[s].persistent || costing->work->gradient[s] ? 0 : graph->storage[s].bytes;
		unscales &= costing->work->gradient[s] || tensor_elements(&graph->tensor[graph->storage[s].root]) < 2;
	}
	costing->cost[home].update_transient = larger_of(
		costing->cost[home].update_transient, (int64_t)((double)beside * share));
	int64_t *time = costing->cost[home].update[block_costs_class_of(costing, graph->storage[parameter].root)];
	const int64_t *times = update_times_of(costing, work, bytes, share);
	costing->cost[home].unscaled += unscales ? times[0] : 0;
	for (int i = 0; i < UPDATE_SHARES && !work->view; i++)
		time[i] += times[i];
}

static int64_t *parameter_field(struct block_states *states, uint32_t class) { return &states->parameter[class]; }
static int64_t *gradient_field(struct block_states *states, uint32_t class) { return &states->gradient[class]; }
static int64_t *uncast_field(struct block_states *states, uint32_t class) { return &states->uncast[class]; }
static int64_t *optimizer_field(struct block_states *states, uint32_t class) { return &states->optimizer[class]; }

/* Optimizer state and gradients belong to the parameter that they update. */
static void block_costs_add_states(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	const uint32_t *owner = costing->work->owner;
	FOR(op, graph->ops) {
		uint32_t of = graph->op[op].phase == PHASE_UPDATE ? blocks_owner(graph, owner, op) : NONE;
		if (of != NONE)
			add_update(costing, op, of);
	}
	FOR(s, graph->storages) {
		int64_t bytes = graph->storage[s].bytes;
		if (owner[s] == s)
			add_state(costing, s, s, bytes, parameter_field);
		else if (owner[s] != NONE && costing->work->gradient[s]) {
			add_state(costing, s, owner[s], bytes, gradient_field);
			add_state(costing, s, owner[s], uncast_bytes(costing, s), uncast_field);
		} else if (owner[s] != NONE && graph->storage[s].kind == KIND_OPTIMIZER)
			add_state(costing, s, owner[s], bytes, optimizer_field);
	}
}

enum status block_costs_find(const struct units *units, const struct sharding *sharding, const struct blocks *blocks,
	const struct block_work *work, const struct machine *machine, struct block_cost *cost)
{
	const struct graph *graph = units->graph;
	const struct mesh *mesh = &sharding->mesh;
	OWN(arena) arena = { 0 };
	struct costing costing = { .units = units, .sharding = sharding, .blocks = blocks, .work = work, .machine = machine,
		.context = mesh_axis_named(mesh, "cp"), .experts = mesh_axis_named(mesh, "ep"),
		.data = mesh_axis_named(mesh, "dp"), .cost = cost };
	ROOM(&arena, costing.gathered, GATHERINGS * (size_t)graph->tensors);
	ROOM(&arena, costing.seen, GATHERINGS * (size_t)graph->tensors);
	ROOM(&arena, costing.there, (GATHERINGS + 1) * (size_t)graph->tensors);
	ROOM(&arena, costing.bytes, graph->storages);
	ROOM(&arena, costing.update, UPDATE_KINDS);
	uint32_t *MAKE_IN(&arena, block_of, 2 * (size_t)graph->tensors);
	int64_t *MAKE_IN(&arena, saved_until, blocks->blocks);
	struct copy *MAKE_IN(&arena, copies, 2 * (size_t)graph->storages);
	NEED(costing.gathered && costing.seen && costing.there && costing.bytes && costing.update && block_of &&
		saved_until && copies);
	costing.made = costing.there + GATHERINGS * (size_t)graph->tensors;
	FOR(s, graph->storages) {
		uint32_t root = graph->storage[s].root;
		costing.bytes[s] = block_costs_bytes_at(&costing, root, sharding->produced[root]);
	}
	FOR(b, blocks->blocks)
		cost[b] = (struct block_cost){ .shared_with = NONE,
			.joined = blocks->joined[b],
			.send = blocks->crossing[b] == NONE
				? 0
				: block_costs_bytes_at(&costing, blocks->crossing[b], sharding->produced[blocks->crossing[b]]) };
	add_saved(&costing);
	find_input_gathers(&costing);
	add_between(&costing);
	add_working(&costing, saved_until, copies);
	block_costs_add_reads(&costing, block_of);
	block_costs_add_states(&costing);
	enum status status = reshard_memo_begin(&costing.memo, units, &sharding->mesh);
	status = status == OK ? add_times(&costing) : status;
	reshard_memo_end(&costing.memo);
	return status;
}
