/* blocks.c: where a step can be cut for a pipeline. */

#include "blocks.h"

#define SMALL 4096   /* elements: scalars and statistics on their way to the loss don't hinder a cut */

/* What a storage is made of. */
enum { OF_INPUT = 1, OF_PARAMETER = 2 };

struct cutting {
	const struct graph *graph;
	struct blocks *blocks;
	uint8_t *made_of;      /* [storages] */
	uint32_t *first, *last;/* [storages] forward ops that write it and that read it last; NONE */
	uint32_t *crossings;   /* [ops] storages that cross the gap behind an op */
	bool *anchor;          /* [ops] reads a parameter of more than one dim */
	bool *shared;          /* [storages] nothing writes it, and forward ops of several blocks read it */
	bool *told;            /* [ops] activations or parameters tell its block, not just gradients */
	uint32_t *owner;       /* [storages] blocks_owners() */
};

static uint32_t blocks_storage_of(const struct graph *graph, uint32_t tensor)
{
	return graph->tensor[tensor].storage;
}

static void blocks_find_uses(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	FOR(s, graph->storages) {
		uint8_t kind = graph->storage[s].kind;
		bool there = graph->storage[s].allocator == NONE;
		cutting->made_of[s] = !there ? 0
			: kind == KIND_PARAMETER ? OF_PARAMETER
			: kind == KIND_BUFFER || kind == KIND_CONSTANT ? 0
			: OF_INPUT;
		cutting->first[s] = cutting->last[s] = NONE;
	}
	FOR(op, graph->ops) {
		uint8_t of = 0;
		if (graph->op[op].phase != PHASE_FORWARD)
			continue;
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t s = blocks_storage_of(graph, read);
			of |= cutting->made_of[s];
			cutting->last[s] = op;
			cutting->anchor[op] |= graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE
				&& graph->tensor[graph->storage[s].root].dims > 1;
		}
		FOR_ITEMS(written, &graph->writes, op) {
			uint32_t s = blocks_storage_of(graph, written);
			if (graph->storage[s].allocator == NONE) {  /* a view of a parameter: reading it is what counts */
				cutting->anchor[op] = false;
				continue;
			}
			cutting->made_of[s] |= of;
			if (cutting->first[s] == NONE)
				cutting->first[s] = op;
		}
	}
}

static bool counts(const struct cutting *cutting, uint32_t s)
{
	const struct graph *graph = cutting->graph;
	return cutting->first[s] != NONE && cutting->last[s] != NONE && cutting->made_of[s] == (OF_INPUT | OF_PARAMETER)
		&& tensor_elements(&graph->tensor[graph->storage[s].root]) > SMALL;
}

static void count_crossings(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	FOR(s, graph->storages)
		if (counts(cutting, s) && cutting->last[s] > cutting->first[s]) {
			cutting->crossings[cutting->first[s]]++;
			cutting->crossings[cutting->last[s]]--;
		}
	FOR_FROM(op, 1, graph->ops)
		cutting->crossings[op] += cutting->crossings[op - 1];
}

/* The first op of the backward pass. Forward ops behind it, those of a loss in chunks, can't be cut from it. Copies to
 * the host stand between forward ops. */
static uint32_t first_backward(const struct graph *graph)
{
	uint32_t op = 0;
	while (op < graph->ops && graph->op[op].phase != PHASE_BACKWARD)
		op++;
	return op;
}

/* Cuts at the last gap before an anchor that one storage crosses, if there is an anchor before it. */
static void blocks_cut(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	uint32_t gap = NONE, block = 0, end = first_backward(graph);
	bool anchored = false;
	FOR(op, graph->ops) {
		if (graph->op[op].phase != PHASE_FORWARD)
			continue;
		if (cutting->anchor[op] && gap != NONE) {
			block++;
			FOR_FROM(i, gap + 1, op)
				blocks->of[i] = graph->op[i].phase == PHASE_FORWARD ? block : blocks->of[i];
			gap = NONE;
		}
		anchored |= cutting->anchor[op];
		blocks->of[op] = block;
		if (anchored && op < end && cutting->crossings[op] == 1)
			gap = op;
		else if (op >= end)
			gap = NONE;
	}
	blocks->blocks = block + 1;
}

/* The forward op that an op runs again, or NONE; see recompute_apply(). */
static uint32_t original_of(const struct graph *graph, uint32_t op)
{
	return graph->op[op].recomputed && graph->op[op].of ? graph_find_op(graph, graph->op[op].of) : NONE;
}

/* What runs again in one go is not cut: a rank would run the pass of the piece before it again, with the weights of
 * both. */
static void join_reruns(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	FOR(op, graph->ops) {
		uint32_t original = original_of(graph, op);
		if (original == NONE)
			continue;
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t writer = graph->storage[blocks_storage_of(graph, read)].allocator,
					 first = writer == NONE ? NONE : original_of(graph, writer);
			bool told = first != NONE && graph_results(graph, first) > 0 &&
				counts(cutting, blocks_storage_of(graph, graph_result(graph, first, 0)));
			FOR_FROM(b, told ? blocks->of[first] : blocks->of[original], blocks->of[original])
				blocks->joined[b] = true;
		}
	}
}

/* ---- which block the other phases belong to ---- */

static void find_crossing(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	FILL_NONE(blocks->crossing, blocks->blocks);
	FOR(s, graph->storages) {
		if (!counts(cutting, s))
			continue;
		FOR_FROM(b, blocks->of[cutting->first[s]], blocks->of[cutting->last[s]])
			blocks->crossing[b] = graph->storage[s].root;
	}
}

bool blocks_views_state(const struct graph *graph, uint32_t op)
{
	bool all = graph_results(graph, op) > 0;
	FOR_ITEMS(written, &graph->writes, op)
		all &= graph->storage[blocks_storage_of(graph, written)].allocator == NONE;
	return all && graph->op[op].phase == PHASE_FORWARD;
}

static void find_homes(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	FOR(s, graph->storages)
		blocks->home[s] = NONE;
	FOR(op, graph->ops)
		for (int side = 0; side < 2 && graph->op[op].phase == PHASE_FORWARD && !blocks_views_state(graph, op); side++) {
			const struct csr *of = side ? &graph->writes : &graph->reads;
			FOR_ITEMS(item, of, op) {
				uint32_t s = blocks_storage_of(graph, item), *home = &blocks->home[s];
				*home = *home == NONE ? blocks->of[op] : *home;
				cutting->shared[s] |= !side && graph->storage[s].allocator == NONE && *home != blocks->of[op];
			}
		}
}

/* False for what several blocks share: inputs, constants and what is made of them alone, scalars. */
static bool tells(const struct cutting *cutting, uint32_t s)
{
	const struct graph *graph = cutting->graph;
	const struct storage *storage = &graph->storage[s];
	if (tensor_elements(&graph->tensor[storage->root]) < 2 || cutting->shared[s])
		return false;
	if (storage->allocator == NONE)
		return storage->kind == KIND_PARAMETER || storage->kind == KIND_OPTIMIZER;
	return graph->op[storage->allocator].phase != PHASE_FORWARD || (cutting->made_of[s] & OF_PARAMETER);
}

/* The latest block whose activations or parameters the op reads; else the earliest of its gradients; NONE where neither
 * tells. */
static uint32_t blocks_block_of(struct cutting *cutting, uint32_t op)
{
	const struct graph *graph = cutting->graph;
	const struct blocks *blocks = cutting->blocks;
	uint32_t latest = NONE, earliest = NONE;
	uint32_t original = original_of(graph, op);
	cutting->told[op] = original != NONE;
	if (original != NONE)
		return blocks->of[original];
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t s = blocks_storage_of(graph, read), home = blocks->home[s],
				 writer = graph->storage[s].allocator;
		if (home == NONE || !tells(cutting, s))
			continue;
		if (home + 1 < blocks->blocks && blocks->crossing[home] == graph->storage[s].root)
			home++; /* what crosses is an operand behind the cut */
		if (writer != NONE && graph->op[writer].phase != PHASE_FORWARD && original_of(graph, writer) == NONE)
			earliest = SMALLER(home, earliest);
		else
			latest = latest == NONE || home > latest ? home : latest;
	}
	cutting->told[op] = latest != NONE;
	return latest != NONE ? latest : earliest;
}

/* Ops that nothing tells of (the decay of a moment) follow the storages they touch: those are placed by other ops. */
static void blocks_place_others(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	FOR_INT(pass, 2)
		FOR(op, graph->ops) {
			if (graph->op[op].phase == PHASE_FORWARD || (pass == 1 && blocks->of[op] != NONE))
				continue;
			blocks->of[op] = blocks_block_of(cutting, op);
			if (blocks->of[op] == NONE && pass == 1)
				blocks->of[op] = blocks->blocks - 1;
			for (int side = 0; side < 2 && blocks->of[op] != NONE; side++) {
				const struct csr *of = side ? &graph->writes : &graph->reads;
				FOR_ITEMS(item, of, op) {
					uint32_t *home = &blocks->home[blocks_storage_of(graph, item)];
					*home = *home == NONE ? blocks->of[op] : *home;
				}
			}
		}
}

static uint32_t blocks_updated_parameter(const struct graph *graph, uint32_t op)
{
	FOR_ITEMS(touched, &graph->touches, op)
		if (graph->storage[touched].kind == KIND_PARAMETER &&
			graph->storage[touched].allocator == NONE)
			return touched;
	return NONE;
}

uint32_t blocks_owner(const struct graph *graph, const uint32_t *owner, uint32_t op)
{
	uint32_t of = blocks_updated_parameter(graph, op);
	FOR_ITEMS(touched, &graph->touches, op)
		of = of == NONE ? owner[touched] : of;
	return of;
}

void blocks_owners(const struct graph *graph, uint32_t *owner)
{
	FOR(s, graph->storages)
		owner[s] = graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE ? s : NONE;
	/* a moment is read with its gradient before the op that writes the parameter: two walks back */
	FOR_INT(pass, 3)
		FOR_DOWN(op, graph->ops) {
			uint32_t of = graph->op[op].phase == PHASE_UPDATE ? blocks_owner(graph, owner, op) : NONE;
			FOR_ITEMS(s, &graph->touches, op)
				if (of != NONE && owner[s] == NONE && tensor_elements(&graph->tensor[graph->storage[s].root]) > 1)
					owner[s] = of;
		}
}

/* Of the blocks that read a parameter in the forward pass the last that isn't behind an op of the backward pass, as far
 * as that has been placed: whose gradient it makes. */
static uint32_t reading_block(const struct cutting *cutting, uint32_t parameter, uint32_t op)
{
	const struct graph *graph = cutting->graph;
	const struct blocks *blocks = cutting->blocks;
	uint32_t latest = blocks->home[parameter];
	FOR_ITEMS(user, &graph->users, parameter) {
		uint32_t block = blocks->of[user];
		if (graph->op[user].phase == PHASE_FORWARD && !blocks_views_state(graph, user) && block > latest &&
			block <= blocks->of[op])
			latest = block;
	}
	return latest;
}

/* Gradients of a parameter that are made of gradients alone (a table's, of those of its rows) belong to the parameter,
 * and so does its update. */
static void place_gradients(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	blocks_owners(graph, cutting->owner);
	FOR_DOWN(op, graph->ops) {
		uint32_t of = NONE;
		bool update = graph->op[op].phase == PHASE_UPDATE;
		if (graph->op[op].phase == PHASE_FORWARD || (cutting->told[op] && !update))
			continue;
		if (update)
			of = blocks_owner(graph, cutting->owner, op);
		for (uint32_t i = graph->writes.start[op]; i < graph->writes.start[op + 1] && !update; i++)
			of = of == NONE ? cutting->owner[blocks_storage_of(graph, graph->writes.item[i])] : of;
		if (of == NONE || blocks->home[of] == NONE)
			continue;
		blocks->of[op] = update ? blocks->home[of] : reading_block(cutting, of, op);
		for (uint32_t i = graph->reads.start[op]; i < graph->reads.start[op + 1] && !update;
			i++) {    /* what it casts or adds up, and nobody else reads */
			uint32_t s = blocks_storage_of(graph, graph->reads.item[i]), writer = graph->storage[s].allocator;
			bool alone = writer != NONE && graph->op[writer].phase == PHASE_BACKWARD && !cutting->told[writer] &&
				csr_length(&graph->users, s) == 2;
			if (alone && cutting->owner[s] == NONE)
				cutting->owner[s] = of;
		}
	}
}

static uint64_t tensor_signature(const struct tensor *tensor)
{
	uint64_t hash = hash_join(tensor->dtype, (uint64_t)tensor->bytes);
	for (int d = 0; d < tensor->dims && tensor->shape; d++)
		hash = hash_join(hash, (uint64_t)tensor->shape[d]);
	return hash;
}

static void blocks_describe(struct cutting *cutting)
{
	const struct graph *graph = cutting->graph;
	struct blocks *blocks = cutting->blocks;
	FOR(op, graph->ops) {
		uint64_t *hash = &blocks->signature[blocks->of[op]];
		if (graph->op[op].phase != PHASE_FORWARD)
			continue;
		for (const char *c = graph->op[op].type; *c; c++)
			*hash = hash_join(*hash, (unsigned char)*c);
		FOR_ITEMS(read, &graph->reads, op)
			*hash = hash_join(*hash, tensor_signature(&graph->tensor[read]));
		FOR_ITEMS(written, &graph->writes, op)
			*hash = hash_join(*hash, tensor_signature(&graph->tensor[written]));
	}
}

/* Cuts behind given ops. */
static void blocks_cut_at(struct cutting *cutting, const bool *gap)
{
	uint32_t block = 0;
	bool pending = false;
	FOR(op, cutting->graph->ops) {
		if (cutting->graph->op[op].phase != PHASE_FORWARD)
			continue;
		block += pending;
		cutting->blocks->of[op] = block;
		pending = gap[op];
	}
	cutting->blocks->blocks = block + 1;
}

static enum status pipeline_blocks_find(const struct graph *graph, const bool *gap, struct blocks *blocks)
{
	struct arena scratch = { 0 };
	struct cutting cutting = { .graph = graph, .blocks = blocks };
	*blocks = (struct blocks) { 0 };
	cutting.made_of = arena_alloc(&scratch, graph->storages, 1);
	bool fine = ROOMS(&scratch, graph->storages, cutting.first, cutting.last, cutting.shared, cutting.owner) &&
		ROOMS(&scratch, graph->ops, cutting.crossings, cutting.anchor, cutting.told) &&
		ROOM(&blocks->arena, blocks->of, graph->ops) && ROOM(&blocks->arena, blocks->home, graph->storages) &&
		cutting.made_of;
	if (fine) {
		blocks_find_uses(&cutting);
		count_crossings(&cutting);
		if (gap)
			blocks_cut_at(&cutting, gap);
		else
			blocks_cut(&cutting);
		fine = ROOMS(&blocks->arena, blocks->blocks, blocks->crossing, blocks->signature, blocks->joined);
	}
	if (fine) {
		if (!gap)
			join_reruns(&cutting);
		FOR(b, blocks->blocks)
			blocks->stretches += !blocks->joined[b];
		find_crossing(&cutting);
		find_homes(&cutting);
		blocks_place_others(&cutting);
		place_gradients(&cutting);
		blocks_describe(&cutting);
	}
	arena_free(&scratch);
	if (!fine)
		blocks_free(blocks);
	return fine ? OK : NO_MEMORY;
}

enum status blocks_find(const struct graph *graph, struct blocks *blocks)
{
	return pipeline_blocks_find(graph, NULL, blocks);
}

enum status blocks_find_at(const struct graph *graph, const bool *gap, struct blocks *blocks)
{
	return pipeline_blocks_find(graph, gap, blocks);
}

/* ---- cheap gaps ---- */

/* Bytes that go through the gap behind every forward op: what an op before it makes and one behind it reads. */
static void crossing_bytes(const struct graph *graph, int64_t *bytes)
{
	FOR(s, graph->storages) {
		uint32_t first = NONE, last = NONE;
		FOR_ITEMS(op, &graph->users, s) {
			first = first == NONE ? op : first;
			last = graph->op[op].phase == PHASE_FORWARD ? op : last;
		}
		if (graph->storage[s].allocator == NONE || last == NONE || last <= first)
			continue;
		bytes[first] += graph->storage[s].bytes;
		bytes[last] -= graph->storage[s].bytes;
	}
	FOR_FROM(op, 1, graph->ops)
		bytes[op] += bytes[op - 1];
}

enum status blocks_cheap_gaps(const struct graph *graph, uint32_t stretches, bool *gap, uint32_t *gaps)
{
	int64_t *MAKE(bytes, graph->ops);
	uint32_t forward = 0, number = 0, best = NONE, end = first_backward(graph);
	*gaps = 0;
	NEED(bytes);
	crossing_bytes(graph, bytes);
	FOR(op, graph->ops) {
		gap[op] = false;
		forward += graph->op[op].phase == PHASE_FORWARD;
	}
	FOR(op, graph->ops) {
		if (graph->op[op].phase != PHASE_FORWARD)
			continue;
		uint64_t stretch = (uint64_t)number * stretches / forward, next = (uint64_t)(number + 1) * stretches / forward;
		if (++number < forward && op < end && (best == NONE || bytes[op] < bytes[best]))
			best = op;
		if (next != stretch && best != NONE) {
			gap[best] = true;
			++*gaps;
			best = NONE;
		}
	}
	mem_free(bytes);
	return OK;
}

void blocks_free(struct blocks *blocks)
{
	arena_free(&blocks->arena);
	*blocks = (struct blocks) { 0 };
}

bool blocks_period(const struct blocks *blocks, uint32_t *first, uint32_t *length, uint32_t *period)
{
	uint32_t best = 0;
	for (uint32_t p = 1; 2 * p <= blocks->blocks; p++)
		for (uint32_t begin = 0, end; begin + p < blocks->blocks; begin = end + 1) {
			for (end = begin; end + p < blocks->blocks && blocks->signature[end] == blocks->signature[end + p]; end++)
				;
			if (end - begin >= p && end - begin + p > best) {
				best = end - begin + p;
				*first = begin;
				*length = best;
				*period = p;
			}
		}
	return best > 0;
}
