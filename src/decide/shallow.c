/* shallow.c: what auto chooses for a step with few of its equal layers, drawn out to all of them. */
#include "decide.h"
#include "solver/step/build.h"
#include "src/stages/shard/stage.h"

struct shallow {
	const struct graph *graph; /* the deep step */
	const struct fold *fold;
	struct build build;
	uint32_t *op, *tensor;     /* of the deep step: in the shallow one, or that which is like it there */
	bool *stays;               /* [tensors] */
	struct arena arena;
};

/* The op that stands for another one: itself, that behind the layers that are left out where one before them reads it,
 * else that of the last layer before them. */
static uint32_t shallow_like(const struct shallow *shallow, uint32_t op)
{
	const struct fold *fold = shallow->fold;
	const struct fold_segment *segment = fold->segment_of[op] == NONE ? NULL : &fold->segment[fold->segment_of[op]];
	if (!segment || segment->copies < 2 * SHARD_FEW)
		return op;
	uint32_t copy = fold->copy_of[op], head = SHARD_FEW / 2, tail = segment->copies - SHARD_FEW / 2;
	copy = copy < head || copy >= tail ? copy : copy == head ? tail : head - 1;
	return segment->op[copy * segment->ops + fold->index_of[op]];
}

/* Marks an argument of an op that stays. INFEASIBLE: another segment's op reads what is left out. */
static enum status shallow_mark(struct shallow *shallow, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = shallow->graph;
	for (uint32_t t = tensor; t != NONE; t = graph->tensor[t].alias) {
		uint32_t writer = graph->tensor[t].writer;
		bool out = writer != NONE && shallow_like(shallow, writer) != writer;
		if (out && shallow->fold->segment_of[writer] != shallow->fold->segment_of[op])
			return INFEASIBLE;
		shallow->stays[t] |= !out;
	}
	return OK;
}

/* Numbers of tensors in the shallow step; what is left out has that of what is like it. */
static enum status shallow_number(struct shallow *shallow)
{
	const struct graph *graph = shallow->graph;
	const struct csr *const arguments[] = { &graph->writes, &graph->reads };
	uint32_t count = 0;
	FOR(t, graph->tensors)
		shallow->stays[t] = csr_length(&graph->users, graph->tensor[t].storage) == 0;
	FOR(op, graph->ops)
		for (uint32_t k = 0; shallow_like(shallow, op) == op && k < op_arguments(graph, op); k++)
			TRY(shallow_mark(shallow, op, graph_argument(graph, op, k)));
	FOR(t, graph->tensors)
		shallow->tensor[t] = shallow->stays[t] ? count++ : NONE;
	FOR_INT(a, 2)
		FOR(op, graph->ops) {
			uint32_t like = shallow_like(shallow, op);
			FOR(k, csr_length(arguments[a], op)) {
				uint32_t *number = &shallow->tensor[csr_at(arguments[a], op, k)];
				*number = *number == NONE ? shallow->tensor[csr_at(arguments[a], like, k)] : *number;
			}
		}
	return OK;
}

static void shallow_write(struct shallow *shallow)
{
	const struct graph *graph = shallow->graph;
	struct build *build = &shallow->build;
	draft_lend(build->draft, graph);
	FOR_WHILE(t, graph->tensors, build->status == OK) {
		struct tensor tensor = graph->tensor[t];
		tensor.alias = tensor.alias == NONE ? NONE : shallow->tensor[tensor.alias];
		if (shallow->stays[t])
			build_add_tensor(build, &tensor);
		else if (shallow->tensor[t] == NONE)
			build->status = INFEASIBLE;
	}
	FOR(op, graph->ops)
		if (shallow_like(shallow, op) == op)
			shallow->op[op] = build_copy_op(build, graph, op, shallow->tensor);
	FOR(op, graph->ops)
		shallow->op[op] = shallow->op[shallow_like(shallow, op)];
	build_copy_control(build, graph, shallow->op);
}

static struct graph *shallow_graph(struct shallow *shallow, struct error *error)
{
	struct build *build = &shallow->build;
	if (build_copy_begin(build, shallow->graph, &shallow->arena, &shallow->tensor, &shallow->op))
		build->status = ROOM(&shallow->arena, shallow->stays, shallow->graph->tensors) ? shallow_number(shallow) : NO_MEMORY;
	if (build->status == OK)
		shallow_write(shallow);
	return build_like(build, shallow->graph, error);
}

/* The sharding of the deep step that splits every op as its like. */
static enum status shallow_draw_out(
	const struct shallow *shallow, const struct sharded *few, const struct units *units, struct sharding *sharding)
{
	const struct graph *graph = shallow->graph, *less = few->shared->graph;
	const struct sharding *of = &few->sharding;
	const uint32_t *parts = units->part_start, *few_parts = few->shared->units.part_start;
	bool like = true;
	TRY(sharding_new(units, &of->mesh, sharding));
	FOR(op, graph->ops) {
		uint32_t id = shallow->op[op];
		like &= unit_count(units, op) == unit_count(&few->shared->units, id);
		sharding->split[op] = of->split[id];
		FOR(k, csr_length(&graph->reads, op))
			sharding->needed[graph->reads.start[op] + k] = of->needed[less->reads.start[id] + k];
	}
	FOR(t, graph->tensors) {
		uint32_t id = shallow->tensor[t];
		like &= parts[t + 1] - parts[t] == few_parts[id + 1] - few_parts[id];
		sharding->produced[t] = of->produced[id];
	}
	sharding->late_axes = of->late_axes;
	sharding->each_axes = of->each_axes;
	sharding->regather_axes = of->regather_axes;
	return like ? OK : INFEASIBLE;
}

static double shallow_bytes(const struct graph *graph)
{
	double bytes = 1;
	FOR(s, graph->storages)
		bytes += (double)graph->storage[s].bytes;
	return bytes;
}

struct plan *choose_shallow(const struct planning *planning, const struct sharded *first, struct sharding *told)
{
	struct shallow shallow = { .graph = first->shared->graph, .fold = &first->shared->fold };
	struct variant few;
	OWN(graph) *graph = shallow_graph(&shallow, planning->error);
	struct plan *plan = NULL;
	if (graph && variant_open(&few, planning)) {
		variant_of_part(&few.scenario, shallow_bytes(graph) / shallow_bytes(shallow.graph));
		few.planning.input = graph;
		plan = choose_plan(&few.planning, NULL);
		scenario_done(&few.scenario);
	}
	enum status status = !plan ? planning->error->status
		: plan->sharded->shared->graph->fingerprint != graph->fingerprint ? INFEASIBLE
		: shallow_draw_out(&shallow, plan->sharded, &first->shared->units, told);
	if (plan && status != OK) {
		plan_release(plan);
		plan = NULL;
	}
	error_set(planning->error, status == NO_MEMORY || status == LIMIT ? status : OK);
	arena_free(&shallow.arena);
	return plan;
}
