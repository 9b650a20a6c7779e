/* ranks.h: executes a step microbatch by microbatch, whole on one device, and cut into the graphs of pipeline ranks,
 * which send each other numbers. What persists must end the same. For tests. */
#pragma once

#include "lockstep.h"
#include "solver/pipeline/rank.h"

struct rank_run {
	const struct pipeline_cut *cut;
	uint32_t ranks, microbatches;
	struct graph **graph;            /* [ranks] */
	struct lockstep lock;            /* whole: the graph that was cut; dense: it runs here */
	struct device *device;           /* [ranks] */
	bool **late;                     /* [ranks] ops that run once, behind all microbatches */
	uint32_t *rank, *op, steps;      /* a joint order of all ranks' ops */
	char why[600];
};

/* The tensor of the whole step that one of a rank is, or was made from. */
static inline uint32_t meant(const struct graph *whole, const struct tensor *tensor)
{
	return graph_find_tensor(whole, tensor->relation == RELATION_NONE ? tensor->name : tensor->of);
}

/* ---- a joint order --------------------------------------------------------------------------- */

/* The op that an op waits for on another rank: the send of what it receives. */
static inline uint32_t sender(const struct rank_run *run, uint32_t rank, uint32_t op, uint32_t *from)
{
	const struct op *of = &run->graph[rank]->op[op];
	char name[500];
	if (!of->collective || of->collective->kind != COLLECTIVE_RECEIVE)
		return NONE;
	*from = of->collective->rank;
	snprintf(name, sizeof name, "%.*s.send.%u", (int)(strlen(of->name) - strlen(".recv")), of->name, rank);
	return graph_find_op(run->graph[*from], name);
}

static inline bool can_run(const struct rank_run *run, bool **done, uint32_t rank, uint32_t op)
{
	const struct graph *graph = run->graph[rank];
	uint32_t from = 0, send = sender(run, rank, op, &from);
	FOR_ROW(i, &graph->pred, op)
		if (!done[rank][graph->pred.item[i]])
			return false;
	for (uint32_t other = 0;
		other < run->ranks && graph->op[op].collective && graph->op[op].collective->kind == COLLECTIVE_ALL_REDUCE;
		other++) {
		uint32_t there = graph_find_op(run->graph[other], graph->op[op].name);
		for (uint32_t i = there == NONE ? 0 : run->graph[other]->pred.start[there];
			there != NONE && i < run->graph[other]->pred.start[there + 1]; i++)
			if (!done[other][run->graph[other]->pred.item[i]])
				return false;
	}
	return send == NONE || done[from][send];
}

/* False where ranks wait for each other. */
static inline bool order_jointly(struct rank_run *run)
{
	bool **done = arena_alloc(&run->lock.arena, run->ranks, sizeof *done);
	uint32_t ops = 0;
	for (uint32_t r = 0; r < run->ranks; r++) {
		done[r] = arena_alloc(&run->lock.arena, run->graph[r]->ops, sizeof **done);
		ops += run->graph[r]->ops;
	}
	run->rank = arena_alloc(&run->lock.arena, ops, sizeof *run->rank);
	run->op = arena_alloc(&run->lock.arena, ops, sizeof *run->op);
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t r = 0; r < run->ranks; r++)
			for (uint32_t op = 0; op < run->graph[r]->ops; op++) {
				if (done[r][op] || !can_run(run, done, r, op))
					continue;
				done[r][op] = moved = true;
				run->rank[run->steps] = r;
				run->op[run->steps++] = op;
			}
	}
	if (run->steps < ops)
		snprintf(run->why, sizeof run->why, "ranks wait for each other");
	return run->steps == ops;
}

static inline void find_late(struct rank_run *run)
{
	run->late = arena_alloc(&run->lock.arena, run->ranks, sizeof *run->late);
	for (uint32_t r = 0; r < run->ranks; r++)
		run->late[r] = arena_alloc(&run->lock.arena, run->graph[r]->ops, sizeof **run->late);
	for (uint32_t step = 0; step < run->steps; step++) {
		uint32_t r = run->rank[step], op = run->op[step], from = 0, send = sender(run, r, op, &from);
		const struct graph *graph = run->graph[r];
		bool late = graph->op[op].phase == PHASE_UPDATE || strcmp(graph->op[op].name, "pipeline.flush") == 0 ||
			(send != NONE && run->late[from][send]);
		FOR_ROW(i, &graph->pred, op)
			late |= run->late[r][graph->pred.item[i]];
		run->late[r][op] = late;
	}
}

/* ---- setting up ------------------------------------------------------------------------------ */

static inline void fill(struct lockstep *lock, struct cell *cell, uint32_t microbatch)
{
	const struct tensor *tensor = &lock->whole->tensor[cell->of];
	bool varies = tensor->kind == KIND_INPUT;
	for (int64_t i = 0; i < cell->shape.count; i++)
		cell->memory[i] = first_value(tensor, whole_place(&cell->shape, i) + (varies ? (int64_t)microbatch * 100003 : 0));
}

/* Cells of all tensors; what is there from the start has numbers, sums begin at 0. */
static inline void set_up_rank(struct rank_run *run, const struct graph *graph, struct device *device)
{
	struct lockstep *lock = &run->lock;
	struct placement whole;
	memset(&whole, PLACE_WHOLE, sizeof whole);
	device->cell = arena_alloc(&lock->arena, graph->tensors, sizeof *device->cell);
	for (uint32_t t = 0; t < graph->tensors; t++) {
		struct cell *cell = &device->cell[t];
		cell->of = meant(lock->whole, &graph->tensor[t]);
		cell->at = whole;
		if (cell->of == NONE)
			continue;
		shape_piece(lock, cell->of, whole, 0, &cell->shape);
		if (graph->tensor[t].writer != NONE || graph->tensor[t].alias != NONE)
			continue;
		own_memory(lock, cell);
		if (strcmp(graph->tensor[t].name, lock->whole->tensor[cell->of].name) == 0)
			fill(lock, cell, 0);
	}
	for (uint32_t t = 0; t < graph->tensors; t++)
		if (graph->tensor[t].writer == NONE && graph->tensor[t].alias != NONE)
			same_memory(lock, &device->cell[t], &device->cell[graph->storage[graph->tensor[t].storage].root]);
}

static inline void next_inputs(
	struct rank_run *run, const struct graph *graph, struct device *device, uint32_t microbatch)
{
	for (uint32_t t = 0; t < graph->tensors; t++)
		if (graph->tensor[t].writer == NONE && graph->tensor[t].alias == NONE && graph->tensor[t].kind == KIND_INPUT)
			fill(&run->lock, &device->cell[t], microbatch);
}

/* ---- running --------------------------------------------------------------------------------- */

static inline bool run_whole_op(
	struct rank_run *run, const struct graph *graph, struct device *device, uint32_t id, uint32_t of)
{
	struct lockstep *lock = &run->lock;
	const struct rule *rule = rules_find(lock->rules, lock->whole->op[of].type);
	struct error error;
	if (!rule || rule_bind_op(rule, lock->whole, of, &lock->binding, &error) != OK)
		lock->binding.tensors = 0;
	bool fine = run_on(lock, graph, device, id, of, NULL, NULL);
	if (!fine)
		snprintf(run->why, sizeof run->why, "%s", lock->why);
	return fine;
}

static inline void add_numbers(struct cell *to, const struct cell *what)
{
	for (int64_t i = 0; i < to->shape.count; i++)
		to->memory[to->place[i]] += what->memory[what->place[i]];
}

/* All ranks' numbers of that name, summed on each. */
static inline void all_reduce(struct rank_run *run, const char *name)
{
	struct cell *cell[64];
	uint32_t count = 0;
	for (uint32_t r = 0; r < run->ranks; r++) {
		uint32_t op = graph_find_op(run->graph[r], name);
		if (op != NONE)
			cell[count++] = &run->device[r].cell[run->graph[r]->reads.item[run->graph[r]->reads.start[op]]];
	}
	for (int64_t i = 0; i < cell[0]->shape.count; i++) {
		double sum = 0;
		for (uint32_t k = 0; k < count; k++)
			sum += cell[k]->memory[cell[k]->place[i]];
		for (uint32_t k = 0; k < count; k++)
			cell[k]->memory[cell[k]->place[i]] = sum;
	}
}

static inline bool step_rank(struct rank_run *run, uint32_t step, bool *reduced)
{
	uint32_t r = run->rank[step], id = run->op[step], from = 0,
			 of = graph_find_op(run->lock.whole, run->graph[r]->op[id].name);
	const struct graph *graph = run->graph[r];
	const struct op *op = &graph->op[id];
	struct device *device = &run->device[r];
	if (of != NONE)
		return run_whole_op(run, graph, device, id, of);
	if (op->collective && op->collective->kind == COLLECTIVE_RECEIVE) {
		uint32_t send = sender(run, r, id, &from);
		const struct graph *there = run->graph[from];
		struct cell *source = &run->device[from].cell[there->reads.item[there->reads.start[send]]], *to;
		bool state = csr_length(&graph->writes, id) == 0;
		to = &device->cell[state ? graph->inplace[graph->inplace_start[id]].in : graph->writes.item[graph->writes.start[id]]];
		if (!state)
			own_memory(&run->lock, to);
		load(source);
		store(to, source->shape.value);
	} else if (op->collective && op->collective->kind == COLLECTIVE_ALL_REDUCE) {
		if (!reduced[step])
			all_reduce(run, op->name);
		for (uint32_t other = 0; other < run->steps; other++)
			if (strcmp(run->graph[run->rank[other]]->op[run->op[other]].name, op->name) == 0)
				reduced[other] = true;
	} else if (strcmp(op->type, "aten.add_.Tensor") == 0) {    /* accumulate */
		uint32_t sum = graph->reads.item[graph->reads.start[id]], summed = graph->writes.item[graph->writes.start[id]];
		same_memory(&run->lock, &device->cell[summed], &device->cell[sum]);
		add_numbers(&device->cell[sum], &device->cell[graph->reads.item[graph->reads.start[id] + 1]]);
	}
	return true;
}

/* Everything but the update for every microbatch, then the update. */
static inline bool run_ranks(struct rank_run *run)
{
	bool *reduced = arena_alloc(&run->lock.arena, run->steps, sizeof *reduced);
	for (uint32_t m = 0; m < run->microbatches; m++) {
		for (uint32_t r = 0; r < run->ranks; r++)
			next_inputs(run, run->graph[r], &run->device[r], m);
		for (uint32_t step = 0; step < run->steps; step++)
			if (!run->late[run->rank[step]][run->op[step]] && !step_rank(run, step, reduced))
				return false;
	}
	for (uint32_t step = 0; step < run->steps; step++)
		if (run->late[run->rank[step]][run->op[step]] && !step_rank(run, step, reduced))
			return false;
	return true;
}

/* The dense reference: gradients that the update reads are summed over the microbatches. */
static inline bool run_dense(struct rank_run *run)
{
	struct lockstep *lock = &run->lock;
	const struct graph *whole = lock->whole;
	const struct pipeline_cut *cut = run->cut;
	double **sum = arena_alloc(&lock->arena, whole->storages, sizeof *sum);
	for (uint32_t m = 0; m < run->microbatches; m++) {
		next_inputs(run, whole, &lock->dense, m);
		for (uint32_t op = 0; op < whole->ops; op++)
			if (cut->side[op] != SIDE_UPDATE && !run_whole_op(run, whole, &lock->dense, op, op))
				return false;
		for (uint32_t s = 0; s < whole->storages; s++) {
			const struct cell *root = &lock->dense.cell[whole->storage[s].root];
			if (whole->storage[s].allocator == NONE || cut->side[whole->storage[s].allocator] == SIDE_UPDATE)
				continue;
			sum[s] = sum[s] ? sum[s] : arena_alloc(&lock->arena, (size_t)root->shape.count, sizeof **sum);
			for (int64_t i = 0; i < root->shape.count; i++)
				sum[s][i] += root->memory[i];
		}
	}
	for (uint32_t s = 0; s < whole->storages; s++)
		if (sum[s] && run->microbatches > 1)
			memcpy(lock->dense.cell[whole->storage[s].root].memory, sum[s],
				(size_t)lock->dense.cell[whole->storage[s].root].shape.count * sizeof(double));
	for (uint32_t op = 0; op < whole->ops; op++)
		if (cut->side[op] == SIDE_UPDATE && !run_whole_op(run, whole, &lock->dense, op, op))
			return false;
	return true;
}

static inline bool same_states(struct rank_run *run)
{
	const struct graph *whole = run->lock.whole;
	for (uint32_t s = 0; s < whole->storages; s++) {
		uint32_t root = whole->storage[s].root, holders = 0;
		const struct cell *dense = &run->lock.dense.cell[root];
		if (!whole->storage[s].persistent || csr_length(&whole->users, s) == 0)
			continue;
		for (uint32_t r = 0; r < run->ranks; r++) {
			uint32_t t = graph_find_tensor(run->graph[r], whole->tensor[root].name);
			const struct cell *cell = t == NONE ? NULL : &run->device[r].cell[t];
			holders += cell != NULL;
			for (int64_t i = 0; cell && i < cell->shape.count; i++)
				if (!(fabs(cell->memory[i] - dense->memory[i]) <= 1e-6 * fmax(1, fabs(dense->memory[i])))) {
					snprintf(run->why, sizeof run->why, "%s on rank %u, element %ld: %.12g, whole %.12g",
						whole->tensor[root].name, r, (long)i, cell->memory[i], dense->memory[i]);
					return false;
				}
		}
		if (holders == 0) {
			snprintf(run->why, sizeof run->why, "no rank holds %s", whole->tensor[root].name);
			return false;
		}
	}
	return true;
}

/* True: the same numbers. Free with ranks_free(). sharding: of the graph over a mesh without axes. */
static inline bool ranks_run(struct rank_run *run, const struct units *units, const struct sharding *sharding,
	const struct pipeline_cut *cut, struct graph **graph, uint32_t microbatches, const struct rules *rules)
{
	*run = (struct rank_run) { .cut = cut, .ranks = cut->ranks, .microbatches = microbatches, .graph = graph };
	run->lock = (struct lockstep){
		.units = units, .sharding = sharding, .whole = cut->graph, .local = cut->graph, .rules = rules, .devices = 1
	};
	run->lock.apart = arena_alloc(&run->lock.arena, 1, 1);
	run->device = arena_alloc(&run->lock.arena, run->ranks, sizeof *run->device);
	set_up_rank(run, cut->graph, &run->lock.dense);
	for (uint32_t r = 0; r < run->ranks; r++)
		set_up_rank(run, graph[r], &run->device[r]);
	if (!order_jointly(run))
		return false;
	find_late(run);
	return run_dense(run) && run_ranks(run) && same_states(run);
}

static inline void ranks_free(struct rank_run *run)
{
	lockstep_free(&run->lock);
}
