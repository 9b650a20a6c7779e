/* cut.c: ops of a device's graph shared out to pipeline pieces. */

#include "block_costs.h"
#include "rank.h"

/* What a tensor is made of. */
enum { OF_INPUT = 1, OF_PARAMETER = 2, OF_OTHERS = 4 };

struct finding {
	struct pipeline_cut *cut;
	const struct graph *graph, *whole;
	const struct blocks *blocks;
	const uint32_t *piece_of;
	const struct rules *rules;
	const struct sharding *sharding;
	uint32_t *traits;          /* [ops] enum trait */
	uint8_t *made_of;          /* [ops] */
	bool *follows;             /* [ops] a collective that goes with what it reads */
	uint32_t *home;            /* [storages] the piece that updates a parameter; NONE */
	uint32_t *owner;           /* [storages] the parameter whose gradient or state it is */
	struct arena scratch;
};

/* Collectives, and offloads to the host and back. */
static bool pipeline_cut_is_collective(const struct graph *graph, uint32_t op)
{
	return graph->op[op].phase == PHASE_COMMUNICATION;
}

static uint32_t pipeline_cut_storage_of(const struct graph *graph, uint32_t tensor)
{
	return graph->tensor[tensor].storage;
}

static bool in_place(const struct graph *graph, uint32_t op)
{
	return graph_pairs(graph, op) != 0;
}

/* ---- pieces and passes ---- */

static enum side pipeline_cut_side_of(uint8_t phase)
{
	return phase == PHASE_UPDATE ? SIDE_UPDATE : phase == PHASE_BACKWARD ? SIDE_BACKWARD : SIDE_FORWARD;
}

/* A gradient's pieces, which every microbatch has reduced as they come (ZeRO-2, 3). */
static bool scatters_each(const struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	const struct collective *said = graph->op[op].collective;
	uint32_t writer = graph_operands(graph, op) > 0
		? graph->tensor[graph_operand(graph, op, 0)].writer
		: NONE;
	bool each = false;
	FOR(a, said && finding->sharding ? finding->sharding->mesh.axes : 0)
		each |= (finding->sharding->each_axes >> a & 1) &&
			strncmp(finding->sharding->mesh.axis[a].name, said->axis, sizeof said->axis) == 0;
	return each && said->kind == COLLECTIVE_REDUCE_SCATTER && writer != NONE && graph->op[writer].phase != PHASE_UPDATE;
}

/* Collectives, from the last to the first: the pass and the piece of who reads them first; without readers, of what
 * they write into. */
static void place_collective(struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	uint32_t first = NONE;
	int64_t in = 0, out = 0;
	FOR_ITEMS(item, &graph->writes, op) {
		out += graph->tensor[item].bytes;
		FOR_ITEMS(reader, &finding->cut->readers, item) {
			if (finding->follows[reader] && cut->piece[reader] == NONE)
				continue;
			if (first == NONE || cut->side[reader] < cut->side[first] ||
				(cut->side[reader] == cut->side[first] && cut->piece[reader] < cut->piece[first]))
				first = reader;
		}
	}
	bool written = false;
	FOR_ITEMS(read, &graph->reads, op) {
		in += graph->tensor[read].bytes;
		written |= graph->tensor[read].writer != NONE;
	}
	bool leaves = graph->op[op].added == ADDED_OFFLOAD;    /* at once, whenever it comes back */
	cut->side[op] = leaves ? SIDE_FORWARD : first != NONE ? cut->side[first] : SIDE_UPDATE;
	if (cut->side[op] == SIDE_UPDATE && scatters_each(finding, op))
		cut->side[op] = SIDE_BACKWARD;
	finding->follows[op] = written && (first == NONE || out <= in);
	cut->piece[op] = first != NONE ? cut->piece[first] : finding->follows[op] ? NONE : 0;
}

/* The op of the whole step that an op is, or runs again. */
static uint32_t op_of_whole(const struct finding *finding, uint32_t op)
{
	const struct op *record = &finding->graph->op[op];
	uint32_t of = graph_find_op(finding->whole, record->name);
	return of == NONE && record->recomputed && record->of ? graph_find_op(finding->whole, record->of) : of;
}

/* States of random numbers are saved where they are drawn. */
static void place_states(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	FOR(op, graph->ops)
		if (graph->op[op].added == ADDED_RANDOM_STATE)
			FOR_ITEMS(written, &graph->writes, op)
				FOR_ITEMS(reader, &finding->cut->readers, written)
					finding->cut->piece[op] = finding->cut->piece[reader];
}

/* What reads updated parameters behind the last backward pass, averages of them say, runs once, and in no forward pass
 * of a microbatch; so does what only it reads. */
static void place_behind_updates(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	uint8_t *side = finding->cut->side;
	uint32_t end = 0;
	FOR(op, graph->ops)
		end = side[op] == SIDE_BACKWARD ? op : end;
	FOR_FROM(op, end, graph->ops)
		FOR_ITEMS(before, &graph->pred, op)
			if (side[before] == SIDE_UPDATE)
				side[op] = SIDE_UPDATE;
	for (uint32_t op = graph->ops; op-- > end + 1;) {
		bool behind = csr_length(&graph->succ, op) > 0;
		FOR_ITEMS(after, &graph->succ, op)
			behind &= side[after] == SIDE_UPDATE;
		side[op] = behind ? SIDE_UPDATE : side[op];
	}
}

static void pipeline_cut_place_ops(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	FOR(op, graph->ops) {
		uint32_t of = pipeline_cut_is_collective(graph, op) ? NONE : op_of_whole(finding, op);
		cut->side[op] = (uint8_t)pipeline_cut_side_of(graph->op[op].phase);
		cut->piece[op] = of == NONE ? 0 : finding->piece_of[finding->blocks->of[of]];
	}
	place_behind_updates(finding);
	FOR_DOWN(op, graph->ops)
		if (pipeline_cut_is_collective(graph, op))
			place_collective(finding, op);
	place_states(finding);
}

/* An op is no earlier than what it reads: in a later pass, or in the same pass not before that piece has had its turn.
 */
static void pipeline_cut_follow(struct finding *finding, uint32_t op, uint32_t writer)
{
	struct pipeline_cut *cut = finding->cut;
	if (finding->follows[op] && writer != NONE && writer != op && cut->piece[op] == NONE)
		cut->piece[op] = cut->piece[writer];
	if (writer == NONE || writer == op || cut->anywhere[writer])
		return;
	if (cut->side[writer] > cut->side[op])
		cut->side[op] = cut->side[writer];
	if (finding->follows[op])
		cut->piece[op] = cut->piece[writer];
	if (cut->side[writer] != cut->side[op])
		return;
	bool late = cut->side[op] == SIDE_FORWARD ? cut->piece[writer] > cut->piece[op]
		: cut->side[op] == SIDE_BACKWARD && cut->piece[writer] < cut->piece[op];
	cut->piece[op] = late ? cut->piece[writer] : cut->piece[op];
}

/* A collective of nothing that anybody makes or reads. */
static void cut_default(struct pipeline_cut *cut, uint32_t op)
{
	if (cut->piece[op] == NONE)
		cut->piece[op] = 0;
}

static void order_pieces(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	FOR(op, graph->ops)
		FOR_INT(pass, 2) /* a later operand may move the op to a later pass */
			FOR_ITEMS(tensor, &graph->reads, op) {
				pipeline_cut_follow(finding, op, graph->tensor[tensor].writer);
				pipeline_cut_follow(finding, op, graph->storage[pipeline_cut_storage_of(graph, tensor)].allocator);
			}
	FOR(op, graph->ops)
		cut_default(finding->cut, op);
}

/* The last op before one that writes to a storage and that not every rank runs; else the op that allocates it, or NONE.
 */
static uint32_t last_writer(const struct finding *finding, uint32_t storage, uint32_t before)
{
	const struct graph *graph = finding->graph;
	uint32_t last = graph->storage[storage].allocator;
	FOR_ITEMS(op, &graph->users, storage)
		if (op < before && !finding->cut->anywhere[op] && graph_writes_in_place(graph, op, storage))
			last = op;
	return last;
}

/* A framework lets go of a storage where it was filled. */
static void place_releases(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	FOR(op, graph->ops) {
		uint32_t read = op_releases(&graph->op[op]) && graph_operands(graph, op) > 0
			? graph_operand(graph, op, 0)
			: NONE;
		uint32_t writer = read == NONE ? NONE : last_writer(finding, pipeline_cut_storage_of(graph, read), op);
		if (writer != NONE)
			finding->cut->piece[op] = finding->cut->piece[writer];
	}
}

/* ---- what every rank can make for itself ---- */

/* A view of all of its operand. */
static bool pipeline_cut_is_view(const struct graph *graph, uint32_t op)
{
	if (in_place(graph, op) || graph_operands(graph, op) != 1 || graph_results(graph, op) != 1)
		return false;
	const struct tensor *from = &graph->tensor[graph_operand(graph, op, 0)],
						*to = &graph->tensor[graph_result(graph, op, 0)];
	return to->alias != NONE && to->bytes == from->bytes;
}

static uint8_t made_of(const struct finding *finding, uint32_t tensor)
{
	static const uint8_t leaf[KIND_COUNT] = { [KIND_INPUT] = OF_INPUT,
		[KIND_PARAMETER] = OF_PARAMETER,
		[KIND_OPTIMIZER] = OF_OTHERS,
		[KIND_GRADIENT] = OF_OTHERS,
		[KIND_ACTIVATION] = OF_INPUT,
		[KIND_TEMPORARY] = OF_INPUT,
		[KIND_OUTPUT] = OF_INPUT };
	const struct graph *graph = finding->graph;
	const struct storage *storage = &graph->storage[pipeline_cut_storage_of(graph, tensor)];
	uint32_t writer = graph->tensor[tensor].writer;
	return writer != NONE ? finding->made_of[writer]
		: storage->allocator != NONE ? finding->made_of[storage->allocator]
		: leaf[storage->kind];
}

static void find_anywhere(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	FOR(op, graph->ops) {
		uint8_t of = 0;
		bool output = false;
		FOR_ITEMS(read, &graph->reads, op)
			of |= made_of(finding, read);
		FOR_ITEMS(written, &graph->writes, op)
			output |= graph->storage[pipeline_cut_storage_of(graph, written)].live_out &&
				graph->tensor[written].alias == NONE;
		if (in_place(graph, op) || (finding->traits[op] & TRAIT_RANDOM) || graph->op[op].added == ADDED_RANDOM_STATE ||
			(cut->side[op] == SIDE_UPDATE && of != 0))
			of |= OF_OTHERS;
		finding->made_of[op] = of;
		cut->anywhere[op] = !output && (of == 0 || of == OF_INPUT || of == OF_PARAMETER || pipeline_cut_is_view(graph, op));
	}
}

/* ---- updates ---- */

static uint32_t parameter_of(const struct finding *finding, uint32_t op)
{
	return blocks_owner(finding->graph, finding->owner, op);
}

/* Gradients and states belong to the parameter that they update, found along shared storages; numbers belong to all. */
static void pipeline_cut_find_owners(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	FOR(s, graph->storages)
		finding->owner[s] = graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE ? s : NONE;
	FOR_INT(pass, 3)
		FOR_DOWN(op, graph->ops) {
			uint32_t of = finding->cut->side[op] == SIDE_UPDATE ? parameter_of(finding, op) : NONE;
			FOR_ITEMS(s, &graph->touches, op)
				if (of != NONE && finding->owner[s] == NONE && tensor_elements(&graph->tensor[graph->storage[s].root]) > 1)
					finding->owner[s] = of;
		}
}

/* A parameter is updated on one rank: where the first op that works for it was put. */
static void gather_updates(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	FOR(op, graph->ops) {
		uint32_t parameter = cut->side[op] == SIDE_UPDATE && !pipeline_cut_is_collective(graph, op)
			? parameter_of(finding, op)
			: NONE;
		if (parameter == NONE)
			continue;
		if (finding->home[parameter] == NONE)
			finding->home[parameter] = cut->piece[op];
		cut->piece[op] = finding->home[parameter];
	}
	FOR(op, graph->ops) {
		uint32_t read = finding->follows[op] && graph_operands(graph, op) > 0
			? graph_operand(graph, op, 0)
			: NONE;
		if (read != NONE && graph->tensor[read].writer != NONE && cut->side[op] == SIDE_UPDATE)
			cut->piece[op] = cut->piece[graph->tensor[read].writer];
	}
}

/* Numbers that ops of the update write in place on several ranks: whether any gradient has overflowed. */
static void pipeline_cut_find_joint(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	FOR(s, graph->storages) {
		uint32_t rank = NONE;
		if (graph->storage[s].persistent || tensor_elements(&graph->tensor[graph->storage[s].root]) > 1)
			continue;
		FOR_ITEMS(op, &graph->users, s) {
			for (uint32_t j = graph->inplace_start[op]; j < graph->inplace_start[op + 1] && cut->side[op] == SIDE_UPDATE; j++)
				if (pipeline_cut_storage_of(graph, graph->inplace[j].in) == s) {
					cut->joint[s] |= cut->of_tied[op] != NONE || (rank != NONE && rank != cut_rank(cut, op));
					rank = cut_rank(cut, op);
				}
		}
	}
}

/* ---- parameters that several ranks hold ---- */

static bool is_addition(const struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	if (!(finding->traits[op] & TRAIT_ADDITION) || graph_operands(graph, op) != 2 ||
		graph_results(graph, op) != 1)
		return false;
	const uint32_t *read = graph->reads.item + graph->reads.start[op];
	const struct tensor *left = &graph->tensor[read[0]], *right = &graph->tensor[read[1]];
	return left->bytes == right->bytes && left->writer != NONE && right->writer != NONE;
}

/* What may be done to each summand instead of to the sum. */
static bool pipeline_cut_is_linear(const struct finding *finding, uint32_t op)
{
	const struct graph *graph = finding->graph;
	bool known = (finding->traits[op] & TRAIT_VERBATIM) || graph->op[op].collective;
	return known && graph_operands(graph, op) == 1 && graph_results(graph, op) == 1;
}

/* Only one op reads what an op writes. */
static bool read_once(const struct finding *finding, uint32_t op)
{
	uint32_t tensor = graph_result(finding->graph, op, 0);
	return csr_length(&finding->cut->readers, tensor) == 1;
}

/* Marks the additions that a tensor is a sum of, from the last one back; its summands become leaves. */
static void mark_sum(struct finding *finding, uint32_t tensor, uint32_t number)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	uint32_t top = graph->tensor[tensor].writer;
	cut->sums[top] = true;
	cut->of_tied[top] = number;
	FOR_DOWN(op, top + 1) {
		if (!cut->sums[op] || cut->of_tied[op] != number)
			continue;
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t writer = graph->tensor[read].writer;
			if (cut->side[writer] == SIDE_BACKWARD && is_addition(finding, writer) && read_once(finding, writer)) {
				cut->sums[writer] = true;
				cut->of_tied[writer] = number;
			} else {
				cut->leaf[cut->tied[number].first + cut->tied[number].count++] = read;
			}
		}
	}
}

static void unmark_sum(struct finding *finding, uint32_t number)
{
	struct pipeline_cut *cut = finding->cut;
	FOR(op, finding->graph->ops)
		if (cut->of_tied[op] == number) {
			cut->of_tied[op] = NONE;
			cut->sums[op] = false;
		}
}

bool tied_on(const struct pipeline_cut *cut, uint32_t tied, uint32_t rank)
{
	FOR(i, cut->tied[tied].count)
		if (cut_rank(cut, cut->graph->tensor[cut->leaf[cut->tied[tied].first + i]].writer) == rank)
			return true;
	return false;
}

/* A gradient that the update reads: a sum of several ranks' parts, perhaps cast since? */
static void try_tied(struct finding *finding, uint32_t tensor, uint32_t parameter)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	uint32_t chain[16], links = 0, writer;
	while ((writer = graph->tensor[tensor].writer) != NONE && cut->side[writer] == SIDE_BACKWARD &&
		!is_addition(finding, writer)) {
		if (!pipeline_cut_is_linear(finding, writer) || links == COUNT_OF(chain))
			return;
		chain[links++] = writer;
		tensor = graph_operand(graph, writer, 0);
	}
	bool sum = writer != NONE && cut->side[writer] == SIDE_BACKWARD && is_addition(finding, writer) &&
		cut->of_tied[writer] == NONE;
	if (!sum || (links > 0 && !read_once(finding, writer)))
		return;
	uint32_t number = cut->tieds, before = number ? cut->tied[number - 1].first + cut->tied[number - 1].count : 0;
	cut->tied[number] = (struct tied) { .parameter = parameter, .first = before };
	mark_sum(finding, tensor, number);
	bool several = false;
	FOR_FROM(i, 1, cut->tied[number].count)
		several |= cut_rank(cut, graph->tensor[cut->leaf[before + i]].writer) !=
			cut_rank(cut, graph->tensor[cut->leaf[before]].writer);
	if (!several) {
		unmark_sum(finding, number);
		return;
	}
	FOR(i, links)
		cut->of_tied[chain[i]] = number;
	cut->tieds++;
}

static void pipeline_cut_find_tied(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	FOR(op, graph->ops)
		FOR_ITEMS(tensor, &graph->reads, op) {
			uint32_t writer = graph->tensor[tensor].writer,
					 parameter = finding->owner[pipeline_cut_storage_of(graph, tensor)];
			if (cut->side[op] == SIDE_UPDATE && writer != NONE && cut->side[writer] == SIDE_BACKWARD &&
				parameter != NONE && cut->of_tied[writer] == NONE)
				try_tied(finding, tensor, parameter);
		}
	FOR_WHILE(op, graph->ops, cut->tieds > 0) {
		uint32_t parameter = cut->side[op] == SIDE_UPDATE ? parameter_of(finding, op) : NONE;
		FOR_WHILE(k, cut->tieds, parameter != NONE)
			if (cut->tied[k].parameter == parameter)
				cut->of_tied[op] = k;
	}
}

/* ---- the two parts of a backward pass ---- */

/* The block of an op, of a collective that of what it moves, else of who reads it. */
static uint32_t pipeline_cut_block_of(const struct finding *finding, uint32_t op, const uint32_t *block)
{
	const struct graph *graph = finding->graph;
	uint32_t of = pipeline_cut_is_collective(graph, op) ? NONE : op_of_whole(finding, op);
	uint32_t writer = graph_operands(graph, op) > 0
		? graph->tensor[graph_operand(graph, op, 0)].writer
		: NONE;
	if (of != NONE)
		return finding->blocks->of[of];
	return writer != NONE && writer < op ? block[writer] : 0;
}

static bool pipeline_cut_find_weights(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	bool *MAKE_IN(&finding->scratch, backward, 2 * (size_t)graph->ops), *linear = backward + graph->ops;
	uint32_t *block;
	if (!(ROOM(&finding->scratch, block, graph->ops) && backward))
		return false;
	FOR(op, graph->ops) {
		backward[op] = cut->side[op] == SIDE_BACKWARD;
		linear[op] = graph->op[op].collective || (finding->traits[op] & (TRAIT_ADDITION | TRAIT_VERBATIM));
		block[op] = pipeline_cut_block_of(finding, op, block);
	}
	if (weight_ops_find(graph, linear, backward, block, cut->weight) != OK)
		return false;
	for (uint32_t op = 0; op < graph->ops;
		op++)    /* what is done to a parameter's sum that several ranks make a part of comes last in any case */
		cut->weight[op] = cut->weight[op] || (backward[op] && cut->of_tied[op] != NONE);
	return true;
}

/* ---- all ---- */

static bool pipeline_cut_start(struct finding *finding)
{
	const struct graph *graph = finding->graph;
	struct pipeline_cut *cut = finding->cut;
	uint32_t parameters = 0;
	FOR(s, graph->storages)
		parameters += graph->storage[s].kind == KIND_PARAMETER;
	if (!(ROOMS(&cut->arena, graph->ops, cut->piece, cut->side, cut->anywhere, cut->weight, cut->sums, cut->of_tied) &&
		ROOM(&cut->arena, cut->joint, graph->storages) && ROOM(&cut->arena, cut->tied, parameters + (size_t)1) &&
		ROOM(&cut->arena, cut->leaf, 2 * (size_t)graph->ops + 2) && ROOMS(&finding->scratch, graph->ops,
		finding->traits, finding->made_of, finding->follows) && ROOMS(&finding->scratch, graph->storages, finding->home,
		finding->owner)) ||
		csr_transpose(&cut->arena, &graph->reads, graph->ops, graph->tensors, &cut->readers) != OK)
		return false;
	csr_unique(&cut->readers, graph->tensors);
	FOR(op, graph->ops) {
		cut->of_tied[op] = NONE;
		finding->traits[op] = rules_traits(finding->rules, graph->op[op].type);
	}
	FOR(s, graph->storages)
		finding->home[s] = NONE;
	return true;
}

enum status pipeline_cut_find(const struct graph *device, const struct graph *whole, const struct rules *rules,
	const struct sharding *sharding, const struct blocks *blocks, const uint32_t *piece_of, struct pieces_wanted wanted,
	struct pipeline_cut *cut)
{
	*cut = (struct pipeline_cut){
		.graph = device, .ranks = wanted.ranks, .pieces = wanted.pieces, .folded = wanted.folded
	};
	struct finding finding = { .cut = cut,
		.graph = device,
		.whole = whole,
		.rules = rules,
		.blocks = blocks,
		.piece_of = piece_of,
		.sharding = sharding };
	bool fine = pipeline_cut_start(&finding);
	if (fine) {
		pipeline_cut_place_ops(&finding);
		find_anywhere(&finding);
		order_pieces(&finding);
		place_releases(&finding);
		pipeline_cut_find_owners(&finding);
		gather_updates(&finding);
		pipeline_cut_find_tied(&finding);
		pipeline_cut_find_joint(&finding);
		fine = !wanted.split || pipeline_cut_find_weights(&finding);
	}
	arena_free(&finding.scratch);
	if (!fine)
		pipeline_cut_free(cut);
	return fine ? OK : NO_MEMORY;
}

void pipeline_cut_free(struct pipeline_cut *cut)
{
	arena_free(&cut->arena);
	*cut = (struct pipeline_cut) { 0 };
}
