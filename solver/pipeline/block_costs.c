/* block_costs.c: times and bytes of blocks under a sharding. */
#include <string.h>

#include "block_costs.h"
#include "weights.h"
#include "solver/cost/reshard.h"

/* Views that say nothing but their shapes: two of a kind of one tensor are the same. Slices aren't: they have offsets. */
static bool plain_view(const struct graph *graph, const struct rule *rule, uint32_t op)
{
	return (rule->traits & TRAIT_SHAPED) && rule->cost == COST_NONE && csr_length(&graph->reads, op) == 1 && csr_length(&graph->writes, op) == 1;
}

/* The first tensor that is the same view of the same memory: what was gathered for one reader is there for the others. O(1). */
static uint32_t op_canonical(const struct graph *graph, const struct op_work *work, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	return writer == NONE || work[writer].twin == NONE ? tensor : graph->writes.item[graph->writes.start[work[writer].twin]];
}

/* A linear layer that is one of several on the same tensor views it anew. first, next: of a tensor its views, first come first. */
static uint32_t twin_of(const struct graph *graph, const struct op_work *work, uint32_t op, uint32_t *first, uint32_t *next)
{
	uint32_t operand = op_canonical(graph, work, graph->reads.item[graph->reads.start[op]]), *at = &first[operand];
	const struct tensor *result = &graph->tensor[graph->writes.item[graph->writes.start[op]]];
	for (; *at != NONE; at = &next[*at]) {
		const struct tensor *other = &graph->tensor[graph->writes.item[graph->writes.start[*at]]];
		if (strcmp(graph->op[*at].type, graph->op[op].type) == 0 && other->dims == result->dims && result->shape && other->shape
			&& memcmp(other->shape, result->shape, result->dims * sizeof *result->shape) == 0)
			return *at;
	}
	*at = op;
	return NONE;
}

static bool find_twins(const struct graph *graph, const struct rules *rules, struct op_work *work)
{
	struct arena arena = { 0 };
	uint32_t *first = arena_alloc(&arena, graph->tensors, sizeof *first), *next = arena_alloc(&arena, graph->ops, sizeof *next);
	for (uint32_t t = 0; first && t < graph->tensors; t++)
		first[t] = NONE;
	for (uint32_t op = 0; first && next && op < graph->ops; op++) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		next[op] = NONE;
		if (rule && plain_view(graph, rule, op))
			work[op].twin = twin_of(graph, work, op, first, next);
	}
	arena_free(&arena);
	return first && next;
}

enum status op_work_find(const struct graph *graph, const struct rules *rules, bool causal, struct arena *arena, struct op_work **work)
{
	struct binding binding = { 0 };
	enum status status = OK;
	*work = arena_alloc(arena, graph->ops, sizeof **work);
	for (uint32_t op = 0; *work && op < graph->ops && status != NO_MEMORY; op++) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		struct op_work *of = &(*work)[op];
		struct error ignored;
		*of = (struct op_work) { .twin = NONE, .flops = graph->op[op].flops > 0 ? graph->op[op].flops : 0, .format = machine_format_of(graph, op) };
		if (!rule)
			continue;
		of->matrix = machine_is_matrix(rule);
		of->attention = rule->cost == COST_ATTENTION || rule->cost == COST_ATTENTION_BACKWARD;
		of->cast = rule->traits & TRAIT_CAST;
		of->view = rule->cost == COST_NONE;
		of->gathers = rule->traits & TRAIT_ROWS;
		of->linear = rule->traits & (TRAIT_ADDITION | TRAIT_VERBATIM);
		if (graph->op[op].flops < 0 && (status = rule_bind_op(rule, graph, op, &binding, &ignored)) == OK)
			of->flops = rule_flops(rule, &binding);
		if (causal && of->attention)
			of->flops /= 2;
	}
	binding_free(&binding);
	return *work && status != NO_MEMORY && find_twins(graph, rules, *work) ? OK : NO_MEMORY;
}

struct costing {
	const struct units *units;
	const struct sharding *sharding;
	const struct blocks *blocks;
	const struct op_work *work;
	const struct machine *machine;
	uint32_t context, experts;
	struct block_cost *cost;
	struct placement *gathered;   /* [2 * tensors] the last placement that forward and backward ops got a tensor in */
	bool *seen;                   /* [2 * tensors] */
	uint32_t *last;               /* [storages] the last op of the forward or backward pass that touches it */
	bool *saved, *gradient;       /* [storages] */
	bool *weight;                 /* [ops] only makes gradients of weights */
};

static int64_t bytes_at(const struct costing *costing, uint32_t tensor, struct placement placement)
{
	return placement_bytes(costing->units, &costing->sharding->mesh, tensor, placement);
}

static int64_t storage_bytes(const struct costing *costing, uint32_t storage)
{
	uint32_t root = costing->units->graph->storage[storage].root;
	return bytes_at(costing, root, costing->sharding->produced[root]);
}

/* ---- time ---------------------------------------------------------------------------------------------------------- */

static int64_t op_time(const struct costing *costing, uint32_t op)
{
	const struct graph *graph = costing->units->graph;
	const struct op_work *work = &costing->work[op];
	const struct sharding *sharding = costing->sharding;
	int64_t flops = work->flops, bytes = 0;
	if (work->view)
		return 0;
	flops = split_share(costing->units, &sharding->mesh, op, sharding->split[op], flops);
	FOR_ROW(i, &graph->reads, op)
		if (!work->gathers || i > graph->reads.start[op] || graph->op[op].phase != PHASE_FORWARD)
			bytes += bytes_at(costing, graph->reads.item[i], sharding->needed[i]);
	FOR_ROW(i, &graph->writes, op)
		bytes += bytes_at(costing, graph->writes.item[i], sharding->produced[graph->writes.item[i]]);
	costing->cost[costing->blocks->of[op]].flops += flops;
	if (work->attention && costing->machine->attention > 0)
		flops = flops / costing->machine->attention * 1000;
	if (work->attention && costing->context != NONE && costing->machine->pieces > 0)
		flops = flops / costing->machine->pieces * 1000;
	if (!work->matrix && !work->cast)      /* casts read and write once, whatever is fused */
		bytes = bytes / 1000 * costing->machine->fused;
	return machine_time(costing->machine, work->matrix, (enum machine_format)work->format, flops, bytes);
}

/* All-reduces that an op makes itself: a softmax over a sharded vocabulary. */
static int64_t inside_time(const struct costing *costing, uint32_t op, uint32_t axis)
{
	const struct mesh *mesh = &costing->sharding->mesh;
	struct split split = costing->sharding->split[op];
	const struct unit *unit = split.on[axis] >= 0 ? &costing->units->unit[costing->units->unit_start[op] + (uint32_t)split.on[axis]] : NULL;
	if (!unit || unit->inside == 0)
		return 0;
	int64_t bytes = unit_inside_bytes(costing->units, mesh, op, split, axis);
	return unit->inside * collective_time(&mesh->axis[axis], COLLECTIVE_ALL_REDUCE, bytes);
}

/* What a forward op was given by an all-to-all is kept instead of what it was made from, being no larger: backward ops have it. */
static bool kept_moved(const struct costing *costing, uint32_t tensor, struct placement needed)
{
	size_t at = 2 * (size_t)op_canonical(costing->units->graph, costing->work, tensor);
	return costing->seen[at] && placement_equal(needed, costing->gathered[at])
		&& bytes_at(costing, tensor, needed) <= bytes_at(costing, tensor, costing->sharding->produced[tensor]);
}

/* Collectives that bring an op's operands to where it needs them; readers of one pass share what was gathered. */
static enum status link_time(struct costing *costing, uint32_t op, int64_t *time)
{
	const struct graph *graph = costing->units->graph;
	const struct sharding *sharding = costing->sharding;
	bool backward = graph->op[op].phase != PHASE_FORWARD;
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = graph->reads.item[i];
		size_t at = 2 * (size_t)op_canonical(graph, costing->work, tensor) + backward;
		struct placement needed = sharding->needed[i];
		struct reshard reshard;
		if (placement_equal(needed, sharding->produced[tensor]) || (costing->seen[at] && placement_equal(needed, costing->gathered[at])))
			continue;
		if (backward && kept_moved(costing, tensor, needed))
			continue;
		enum status status = reshard_find(costing->units, &sharding->mesh, tensor, sharding->produced[tensor], needed, &reshard);
		if (status == NO_MEMORY)
			return status;
		if (status != OK)
			continue;
		costing->seen[at] = true;
		costing->gathered[at] = needed;
		*time += reshard.time;
	}
	for (uint32_t a = 0; a < sharding->mesh.axes; a++)
		*time += inside_time(costing, op, a);
	return OK;
}

static enum status add_times(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	for (uint32_t op = 0; op < graph->ops; op++) {
		struct block_cost *cost = &costing->cost[costing->blocks->of[op]];
		bool forward = graph->op[op].phase == PHASE_FORWARD;
		int64_t link = 0;
		if (graph->op[op].phase == PHASE_UPDATE)
			continue;
		enum status status = link_time(costing, op, &link);
		if (status != OK)
			return status;
		int64_t time = op_time(costing, op) + link;
		*(forward ? &cost->forward : &cost->backward) += time;
		*(forward ? &cost->forward_link : &cost->backward_link) += link;
		cost->weight += costing->weight[op] ? time : 0;
	}
	return OK;
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static int64_t elements_of(const struct graph *graph, uint32_t tensor)
{
	int64_t product = 1;
	for (int d = 0; d < graph->tensor[tensor].dims && graph->tensor[tensor].shape; d++)
		product *= graph->tensor[tensor].shape[d];
	return product;
}

/* Which storages are saved for the backward pass, and which are the gradients that the update reads. */
static void classify(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	for (uint32_t op = 0; op < graph->ops; op++) {
		bool update = graph->op[op].phase == PHASE_UPDATE;
		FOR_ROW(i, &graph->touches, op) {
			uint32_t s = graph->touches.item[i], writer = graph->storage[s].allocator;
			if (writer == NONE || graph->storage[s].persistent)
				continue;
			if (!update)
				costing->last[s] = op;
			costing->gradient[s] |= update && graph->op[writer].phase == PHASE_BACKWARD;
			costing->saved[s] |= graph->op[op].phase == PHASE_BACKWARD && graph->op[writer].phase == PHASE_FORWARD;
		}
	}
}

/* Saved storages count in the block whose backward ops read them, once. */
static void add_saved(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	for (uint32_t s = 0; s < graph->storages; s++) {
		uint32_t before = NONE;
		if (!costing->saved[s] || graph->storage[s].allocator == NONE)
			continue;
		for (uint32_t i = graph->users.start[s]; i < graph->users.start[s + 1]; i++) {
			uint32_t op = graph->users.item[i], block = costing->blocks->of[op];
			if (graph->op[op].phase != PHASE_BACKWARD || block == before)
				continue;
			bool counted = false;
			for (uint32_t j = graph->users.start[s]; j < i; j++)
				counted |= graph->op[graph->users.item[j]].phase == PHASE_BACKWARD && costing->blocks->of[graph->users.item[j]] == block;
			before = block;
			uint32_t crossing = costing->blocks->crossing[block > 0 && costing->blocks->crossing[block] == NONE ? block - 1 : block];
			struct block_cost *cost = &costing->cost[block];
			int64_t bytes = counted ? 0 : storage_bytes(costing, s);
			cost->saved += bytes;
			if (crossing != NONE && elements_of(graph, graph->storage[s].root) <= elements_of(graph, crossing) / 64)
				cost->saved_small += bytes;
		}
	}
}

/* What only makes gradients of weights, and the gradients that this reads. */
static enum status split(struct costing *costing, struct arena *arena)
{
	const struct graph *graph = costing->units->graph;
	bool *backward = arena_alloc(arena, 2 * (size_t)graph->ops, sizeof *backward), *linear = backward + graph->ops;
	costing->weight = arena_alloc(arena, graph->ops, sizeof *costing->weight);
	if (!backward || !costing->weight)
		return NO_MEMORY;
	for (uint32_t op = 0; op < graph->ops; op++) {
		backward[op] = graph->op[op].phase == PHASE_BACKWARD;
		linear[op] = costing->work[op].linear;
	}
	enum status status = weight_ops_find(graph, linear, backward, costing->blocks->of, costing->weight);
	for (uint32_t s = 0; s < graph->storages && status == OK; s++) {
		uint32_t maker = graph->storage[s].allocator;
		bool waits = false;
		if (maker == NONE || !backward[maker] || costing->weight[maker] || costing->gradient[s])
			continue;
		FOR_ROW(i, &graph->users, s)
			waits |= costing->weight[graph->users.item[i]];
		costing->cost[costing->blocks->of[maker]].between += waits ? storage_bytes(costing, s) : 0;
	}
	return status;
}

/* Walks through the forward and backward ops in program order with what is alive but neither saved nor a gradient of parameters. */
static void add_transient(struct costing *costing)
{
	const struct graph *graph = costing->units->graph;
	int64_t live = 0;
	for (uint32_t op = 0; op < graph->ops; op++) {
		struct block_cost *cost = &costing->cost[costing->blocks->of[op]];
		if (graph->op[op].phase == PHASE_UPDATE)
			continue;
		for (int after = 0; after < 2; after++) {
			FOR_ROW(i, &graph->touches, op) {
				uint32_t s = graph->touches.item[i];
				if (graph->storage[s].allocator == NONE || graph->storage[s].persistent || costing->saved[s] || costing->gradient[s])
					continue;
				if (!after && graph->storage[s].allocator == op)
					live += storage_bytes(costing, s);
				if (after && costing->last[s] == op && !graph->storage[s].live_out)
					live -= storage_bytes(costing, s);
			}
			cost->transient = live > cost->transient ? live : cost->transient;
		}
	}
}

static uint32_t class_of(const struct costing *costing, uint32_t tensor)
{
	struct placement placement = costing->sharding->produced[tensor];
	uint32_t class = 0;
	if (costing->context == NONE || placement.on[costing->context] < 0)
		class |= WHOLE_ON_CONTEXT;
	if (costing->experts == NONE || placement.on[costing->experts] < 0)
		class |= WHOLE_ON_EXPERTS;
	return class;
}

/* The other block that reads a parameter in the forward pass, or NONE. */
static uint32_t other_reader(const struct costing *costing, uint32_t storage)
{
	const struct graph *graph = costing->units->graph;
	for (uint32_t i = graph->users.start[storage]; i < graph->users.start[storage + 1]; i++) {
		uint32_t op = graph->users.item[i];
		if (graph->op[op].phase == PHASE_FORWARD && !blocks_views_state(graph, op) && costing->blocks->of[op] != costing->blocks->home[storage])
			return costing->blocks->of[op];
	}
	return NONE;
}

/* The parameter that an update op writes, or NONE. */
static uint32_t updated_parameter(const struct graph *graph, uint32_t op)
{
	FOR_ROW(i, &graph->touches, op)
		if (graph->storage[graph->touches.item[i]].kind == KIND_PARAMETER && graph->storage[graph->touches.item[i]].allocator == NONE)
			return graph->touches.item[i];
	return NONE;
}

/* Bytes of one weight gradient: of one expert's where products are grouped. Tables and the output projection have none that stays. */
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
	for (uint32_t i = units->part_start[root]; i < units->part_start[root + 1]; i++)
		if (units->part[i].role == ROLE_VOCABULARY)
			return 0;
	for (uint32_t i = graph->users.start[parameter]; i < graph->users.start[parameter + 1]; i++)
		multiplied |= costing->work[graph->users.item[i]].matrix;
	for (uint32_t a = 0; a < mesh->axes && stacked > 1; a++) {
		int8_t on = costing->sharding->produced[root].on[a];
		stacked /= on >= 0 && part[on].dim == 0 ? mesh->axis[a].size : 1;
	}
	return multiplied && tensor->dims > 1 ? storage_bytes(costing, parameter) / stacked : 0;
}

static void add_state(struct costing *costing, uint32_t s, uint32_t parameter, int64_t *(*field)(struct block_states *, uint32_t))
{
	const struct graph *graph = costing->units->graph;
	uint32_t home = costing->blocks->home[parameter], root = graph->storage[parameter].root, other = other_reader(costing, parameter);
	uint32_t class = class_of(costing, root);
	/* states lie as their parameter does, whatever the ops that make them */
	int64_t whole = graph->storage[parameter].bytes, bytes = graph->storage[s].bytes;
	if (home == NONE || whole == 0)
		return;
	bytes = (int64_t)((double)bytes * ((double)storage_bytes(costing, parameter) / (double)whole));
	*field(&costing->cost[home].states, class) += bytes;
	if (s == parameter)
		costing->cost[home].matrices += one_matrix(costing, parameter);
	if (graph->tensor[root].dims < 2)
		*field(&costing->cost[home].vectors, class) += bytes;
	if (other != NONE) {
		*field(&costing->cost[other].shared, class) += bytes;
		costing->cost[other].shared_with = home;
	}
}

static int64_t *parameter_field(struct block_states *states, uint32_t class) { return &states->parameter[class]; }
static int64_t *gradient_field(struct block_states *states, uint32_t class) { return &states->gradient[class]; }
static int64_t *optimizer_field(struct block_states *states, uint32_t class) { return &states->optimizer[class]; }

/* Optimizer state and gradients belong to the parameter that they update: found from update ops, along shared storages. */
static void add_states(struct costing *costing, uint32_t *owner)
{
	const struct graph *graph = costing->units->graph;
	for (uint32_t s = 0; s < graph->storages; s++)
		owner[s] = graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE ? s : NONE;
	/* a moment is read with its gradient before the op that writes the parameter: two walks back */
	for (int pass = 0; pass < 3; pass++)
		for (uint32_t op = graph->ops; op-- > 0;) {
			uint32_t of = NONE;
			if (graph->op[op].phase != PHASE_UPDATE)
				continue;
			of = updated_parameter(graph, op);
			FOR_ROW(i, &graph->touches, op)
				of = of == NONE ? owner[graph->touches.item[i]] : of;
			FOR_ROW(i, &graph->touches, op) {
				uint32_t s = graph->touches.item[i];
				if (of != NONE && owner[s] == NONE && elements_of(graph, graph->storage[s].root) > 1)
					owner[s] = of;
			}
		}
	for (uint32_t s = 0; s < graph->storages; s++) {
		if (owner[s] == s)
			add_state(costing, s, s, parameter_field);
		else if (owner[s] != NONE && costing->gradient[s])
			add_state(costing, s, owner[s], gradient_field);
		else if (owner[s] != NONE && graph->storage[s].kind == KIND_OPTIMIZER)
			add_state(costing, s, owner[s], optimizer_field);
	}
}

enum status block_costs_find(const struct units *units, const struct sharding *sharding, const struct blocks *blocks, const struct op_work *work,
	const struct machine *machine, uint32_t context, uint32_t experts, struct block_cost *cost)
{
	const struct graph *graph = units->graph;
	struct arena arena = { 0 };
	struct costing costing = { .units = units, .sharding = sharding, .blocks = blocks, .work = work, .machine = machine,
		.context = context, .experts = experts, .cost = cost };
	costing.gathered = arena_alloc(&arena, 2 * (size_t)graph->tensors, sizeof *costing.gathered);
	costing.seen = arena_alloc(&arena, 2 * (size_t)graph->tensors, 1);
	costing.last = arena_alloc(&arena, graph->storages, sizeof *costing.last);
	costing.saved = arena_alloc(&arena, graph->storages, 1);
	costing.gradient = arena_alloc(&arena, graph->storages, 1);
	uint32_t *owner = arena_alloc(&arena, graph->storages, sizeof *owner);
	enum status status = NO_MEMORY;
	if (costing.gathered && costing.seen && costing.last && costing.saved && costing.gradient && owner) {
		for (uint32_t b = 0; b < blocks->blocks; b++)
			cost[b] = (struct block_cost) { .shared_with = NONE, .send = blocks->crossing[b] == NONE ? 0
				: bytes_at(&costing, blocks->crossing[b], sharding->produced[blocks->crossing[b]]) };
		classify(&costing);
		add_saved(&costing);
		add_transient(&costing);
		add_states(&costing, owner);
		status = split(&costing, &arena);
		if (status == OK)
			status = add_times(&costing);
	}
	arena_free(&arena);
	return status;
}
