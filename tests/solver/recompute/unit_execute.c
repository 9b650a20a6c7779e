/* unit_execute.c: recomputed and offloaded steps are executed, and every op of the step gives the same results, to the
 * bit. */
#include <criterion/criterion.h>
#include <string.h>

#include "solver/recompute/offload.h"
#include "solver/order/order.h"
#include "src/check/state.h"
#include "tests/common/fit_step.h"
#include "tests/common/interpreter.h"
#include "tests/common/model_steps.h"

#define ARGUMENTS 40

static const struct { const char *name; struct model_config size;
} tiny[] = {
	{ "gpt", { .layers = 2, .hidden = 8, .heads = 2, .vocab = 16, .positions = 8, .seq = 4, .batch = 2 } },
	{ "llama",
		{ .layers = 2,
			.hidden = 8,
			.heads = 4,
			.kv_heads = 2,
			.head_width = 2,
			.ffn = 12,
			.vocab = 16,
			.seq = 4,
			.batch = 2 } },
	{ "bert", { .layers = 2, .hidden = 8, .heads = 2, .vocab = 16, .positions = 8, .seq = 4, .batch = 2 } },
	{ "t5", { .layers = 1, .hidden = 8, .heads = 2, .head_width = 4, .ffn = 12, .vocab = 16, .seq = 4, .batch = 2 } },
	{ "vit", { .layers = 2, .hidden = 8, .heads = 2, .image = 32, .patch = 16, .classes = 4, .batch = 2 } },
	{ "moe",
		{ .layers = 2,
			.hidden = 8,
			.heads = 2,
			.vocab = 16,
			.positions = 8,
			.seq = 4,
			.batch = 2,
			.experts = 4,
			.top_k = 2 } },
	{ "dlrm", { .layers = 2, .hidden = 8, .experts = 2, .vocab = 16, .classes = 4, .batch = 4 } },
	{ "resnet18", { .hidden = 2, .image = 32, .classes = 4, .batch = 2 } },
};
#define TINY (sizeof tiny / sizeof *tiny)

static struct graph *tiny_step(size_t m)
{
	static const struct model_training trainings[] = { { .optimizer = OPTIMIZER_ADAM },
		{ .optimizer = OPTIMIZER_MOMENTUM, .policy = GRADIENT_IDEAL } };
	return step_of_config(tiny[m].name, sized_model(tiny[m].name, tiny[m].size), trainings[m % 2]);
}

/* ---- one device ------------------------------------------------------------------------------ */

/* A tensor: its elements' places in a storage. */
struct cell { struct array shape; double *memory; int32_t *place; };

struct run {
	const struct graph *step, *graph;  /* the step; what is executed: copies stand for the step's ops */
	const struct rules *rules;
	struct cell *cell;                 /* [graph->tensors] */
	double **result;                   /* [step->tensors] what the step's op gave; NULL before */
	bool first;                        /* results are written down, else compared */
	uint32_t compared, copies, moved, masked;
	struct binding binding;
	struct arena arena;
};

static uint32_t known(const struct graph *step, const char *name, bool tensor)
{
	char text[600];
	uint32_t id = tensor ? graph_find_tensor(step, name) : graph_find_op(step, name);
	snprintf(text, sizeof text, "%s", name);
	for (char *again = strstr(text, ".again"); again && id == NONE; again = NULL) {
		*again = '\0';
		id = tensor ? graph_find_tensor(step, text) : graph_find_op(step, text);
	}
	return id;
}

static void shape_cell(struct run *run, const struct tensor *tensor, struct cell *cell)
{
	cell->shape = (struct array){ .dims = tensor->dims, .count = 1 };
	for (int d = 0; d < tensor->dims; d++) {
		cell->shape.shape[d] = cell->shape.whole[d] = tensor->shape[d];
		cell->shape.index[d] = arena_alloc(&run->arena, (size_t)tensor->shape[d] + 1, sizeof *cell->shape.index[d]);
		for (int64_t i = 0; i < tensor->shape[d]; i++)
			cell->shape.index[d][i] = (int32_t)i;
		cell->shape.count *= tensor->shape[d];
	}
}

static void own_memory(struct run *run, struct cell *cell)
{
	cell->memory = arena_alloc(&run->arena, (size_t)cell->shape.count + 1, sizeof *cell->memory);
	cell->place = arena_alloc(&run->arena, (size_t)cell->shape.count + 1, sizeof *cell->place);
	for (int64_t i = 0; i < cell->shape.count; i++)
		cell->place[i] = (int32_t)i;
}

static double first_value(const struct tensor *tensor, int64_t place)
{
	bool integer = tensor->dtype > DTYPE_F8E5M2 && tensor->dtype < DTYPE_BOOL;
	double unit = hash_unit(text_hash(tensor->name) + (uint64_t)place * 977);
	return integer ? floor(unit * 1000)
		: tensor->dtype == DTYPE_BOOL ? unit > 0.5
		: tensor->kind == KIND_OPTIMIZER ? 0.1 + unit
		: 2 * unit - 1;
}

static void set_up(struct run *run)
{
	run->cell = arena_alloc(&run->arena, run->graph->tensors, sizeof *run->cell);
	for (uint32_t t = 0; t < run->graph->tensors; t++) {
		const struct tensor *tensor = &run->graph->tensor[t];
		shape_cell(run, tensor, &run->cell[t]);
		if (tensor->writer != NONE || tensor->alias != NONE)
			continue;
		own_memory(run, &run->cell[t]);
		for (int64_t i = 0; i < run->cell[t].shape.count; i++)
			run->cell[t].memory[i] = first_value(tensor, i);
	}
	for (uint32_t t = 0; t < run->graph->tensors; t++)
		if (run->graph->tensor[t].writer == NONE && run->graph->tensor[t].alias != NONE) {
			const struct cell *root = &run->cell[run->graph->storage[run->graph->tensor[t].storage].root];
			run->cell[t].memory = root->memory;
			run->cell[t].place = root->place;
		}
}

static struct array values_of(struct run *run, const struct cell *cell)
{
	struct array array = cell->shape;
	array.value = arena_alloc(&run->arena, (size_t)array.count + 1, sizeof *array.value);
	for (int64_t i = 0; i < array.count; i++)
		array.value[i] = cell->memory[cell->place[i]];
	return array;
}

/* Where a result goes: into memory of its own, over another tensor, or as a view of operand 0. */
static void put(struct run *run, uint32_t id, uint32_t t, bool view, const struct array *out, const int32_t *from,
	const struct cell *source, const struct array *operand)
{
	struct cell *cell = &run->cell[t];
	uint32_t over = graph_written_over(run->graph, id, t);
	if (view && run->graph->tensor[t].alias != NONE && over == NONE) {
		cell->memory = source->memory;
		cell->place = arena_alloc(&run->arena, (size_t)cell->shape.count + 1, sizeof *cell->place);
		for (int64_t i = 0; i < cell->shape.count; i++)
			cell->place[i] = source->place[from[i]];
		return;
	}
	if (over != NONE) {
		cr_assert_eq(cell->shape.count, run->cell[over].shape.count);
		cell->memory = run->cell[over].memory;
		cell->place = run->cell[over].place;
	} else {
		own_memory(run, cell);
	}
	for (int64_t i = 0; i < cell->shape.count; i++)
		cell->memory[cell->place[i]] = view ? operand->value[from[i]] : out->value[i];
}

/* Writes without a new name: some function of the old value and of what the op makes. */
static void update_statistics(struct run *run, uint32_t id, const struct array *with)
{
	for (uint32_t i = run->graph->inplace_start[id]; i < run->graph->inplace_start[id + 1]; i++) {
		struct cell *cell = &run->cell[run->graph->inplace[i].in];
		bool like = with && with->count == cell->shape.count;
		for (int64_t j = 0; run->graph->inplace[i].out == NONE && j < cell->shape.count; j++)
			cell->memory[cell->place[j]] = 0.9 * cell->memory[cell->place[j]] + (like ? 0.1 * with->value[j] : 0.05);
	}
}

static void move(struct run *run, uint32_t id)
{
	struct array value = values_of(run, &run->cell[run->graph->reads.item[run->graph->reads.start[id]]]);
	FOR_ROW(i, &run->graph->writes, id) {
		struct cell *cell = &run->cell[run->graph->writes.item[i]];
		uint32_t over = graph_written_over(run->graph, id, run->graph->writes.item[i]);
		own_memory(run, cell);
		if (over != NONE) {
			cell->memory = run->cell[over].memory;
			cell->place = run->cell[over].place;
		}
		for (int64_t j = 0; j < cell->shape.count && j < value.count; j++)
			cell->memory[j] = value.value[j];
	}
	run->moved++;
}

static void compare(struct run *run, uint32_t t, uint32_t of, const char *what)
{
	struct array value = values_of(run, &run->cell[t]);
	if (run->first) {
		run->result[of] = value.value;
		return;
	}
	cr_assert_not_null(run->result[of]);
	run->compared++;
	cr_assert_eq(memcmp(run->result[of], value.value, (size_t)value.count * sizeof *value.value), 0,
		"%s: %s has other values", what, run->graph->tensor[t].name);
}

static void run_one(struct run *run, uint32_t id, const char *what)
{
	const struct graph *graph = run->graph;
	uint32_t of = known(run->step, graph->op[id].name, false), results = csr_length(&graph->writes, id);
	struct array in[ARGUMENTS], out[ARGUMENTS];
	int32_t *from[ARGUMENTS];
	struct error error;
	if (graph->op[id].added == ADDED_OFFLOAD || graph->op[id].added == ADDED_FETCH) {
		move(run, id);
		return;
	}
	if (graph->op[id].added == ADDED_OFFLOAD_WAIT)
		return;
	if (graph->op[id].added == ADDED_FETCH_BUFFER || graph->op[id].added == ADDED_RANDOM_STATE) {
		own_memory(run, &run->cell[graph->writes.item[graph->writes.start[id]]]);
		return;
	}
	cr_assert_neq(of, NONE, "%s: %s stands for no op", what, graph->op[id].name);
	struct call call = { .graph = run->step,
		.op = of,
		.rule = rules_find(run->rules, graph->op[id].type),
		.in = in,
		.out = out,
		.from = from,
		.results = (int)results };
	bool bound = call.rule && rule_bind_op(call.rule, run->step, of, &run->binding, &error) == OK;
	call.binding = bound ? &run->binding : NULL;
	const struct cell *source = NULL;
	FOR_ROW(i, &graph->reads, id) {
		uint32_t t = graph->reads.item[i], writer = graph->tensor[t].writer;
		bool statistics = call.rule && (rules_traits(run->rules, call.rule->type) & TRAIT_STATISTICS) &&
			graph->storage[graph->tensor[t].storage].kind == KIND_BUFFER;
		if (statistics || (writer != NONE && graph->op[writer].added == ADDED_RANDOM_STATE))
			continue; /* a norm's results don't depend on running statistics; what is random depends on the op's name
						 here */
		source = source ? source : &run->cell[t];
		in[call.operands++] = values_of(run, &run->cell[t]);
	}
	for (uint32_t r = 0; r < results; r++) {
		out[r] = run->cell[graph->writes.item[graph->writes.start[id] + r]].shape;
		out[r].value = arena_alloc(&run->arena, (size_t)out[r].count + 1, sizeof(double));
		from[r] = arena_alloc(&run->arena, (size_t)out[r].count + 1, sizeof **from);
	}
	bool view = call.rule && call.rule->cost == COST_NONE && call.operands > 0 && call.binding && run_view(&call);
	cr_assert(view || run_op(&call), "%s: the interpreter doesn't know %s", what, run->step->op[of].type);
	for (uint32_t r = 0; r < results; r++)
		put(run, id, graph->writes.item[graph->writes.start[id] + r], view, &out[r], from[r], source, &in[0]);
	update_statistics(run, id, results > 0 ? &out[results - 1] : NULL);
	run->copies += graph->op[id].recomputed;
	run->masked += strcmp(graph->op[id].type, RECOMPUTE_MASKED_TYPE) == 0;
	for (uint32_t r = 0; r < results; r++)
		compare(run, graph->writes.item[graph->writes.start[id] + r],
			run->step->writes.item[run->step->writes.start[of] + r], what);
}

/* All ops in program order; at the end what stays is the same, too. */
static void execute(struct run *run, const struct graph *graph, const char *what)
{
	run->graph = graph;
	set_up(run);
	for (uint32_t op = 0; op < graph->ops; op++)
		run_one(run, op, what);
	for (uint32_t t = 0; t < run->step->tensors; t++) {
		const struct tensor *tensor = &run->step->tensor[t];
		uint32_t here = graph_find_tensor(graph, tensor->name);
		if (run->step->storage[tensor->storage].persistent && run->step->storage[tensor->storage].root == t &&
			here != NONE && tensor->writer == NONE)
			compare(run, here, t, what);
	}
}

/* ---- plans at random ------------------------------------------------------------------------- */

/* A step with some of what is saved away on the host. */
static struct graph *some_away(struct graph *step, const struct rules *rules, uint64_t *random)
{
	OWN(activations) activations;
	struct error error = { 0 };
	uint32_t *offload = mem_alloc(step->storages, sizeof *offload), offloads = 0;
	cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
	uint64_t some = random_next(random) % 4;
	for (uint32_t s = 0; s < step->storages; s++)
		if (activations.saved[s] && random_next(random) % 8 < some)
			offload[offloads++] = step->storage[s].root;
	struct graph *away = recompute_apply(step, &activations, NULL, offload, offloads, &error);
	cr_assert_not_null(away, "%s", error.text);
	mem_free(offload);
	return away;
}

/* The same with windows, as plans have them: the link is so fast, or so slow, that copies take some ops' time. */
static struct graph *some_in_windows(struct graph *step, const struct rules *rules, uint64_t *random)
{
	OWN(recompute_input) input = recompute_input_of(step);
	OWN(recompute_step) fit;
	OWN(activations) activations;
	struct error error = { 0 };
	int64_t *time = mem_alloc(step->storages, sizeof *time), total = 0;
	HELD bool *wanted = mem_alloc(step->storages, sizeof *wanted);
	HELD struct offload_window *window = mem_alloc(step->storages, sizeof *window);
	uint32_t windows = 0;
	cr_assert_eq(recompute_step_find(&input, &fit), OK);
	for (uint32_t s = 0; s < step->storages; s++) {
		wanted[s] = random_next(random) % 2;
		time[s] = (int64_t)(random_next(random) % (uint64_t)(fit.total / 16));
		fit.bytes[s] = fit.bytes[s] > 0 ? RECOMPUTE_MOVED : 0;        /* small steps, whose storages count as large */
		total += wanted[s];
	}
	struct recompute_link link = { .rate = 1, .memory = BYTES_MAX, .time = time };
	cr_assert_eq(recompute_windows_find(&fit, &link, wanted, NULL, NONE, (int64_t)(random_next(random) % (uint64_t)fit.total),
					 UINT32_MAX, window, &windows),
		OK);
	cr_assert_leq(windows, total);
	for (uint32_t i = 0; i < windows; i++)
		cr_assert(window[i].gone < window[i].back && wanted[window[i].storage]);
	cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
	struct graph *away = offload_apply(step, &activations, window, windows, &error);
	cr_assert_not_null(away, "%s", error.text);
	cr_assert_eq(away->repaired, 0);
	mem_free(time);
	return away;
}

/* A recomputed step at random; NULL where what runs again would find other values, which the replay says. */
static struct graph *some_again(struct graph *step, uint64_t *random)
{
	OWN(recompute_input) input = recompute_input_of(step);
	OWN(recompute_step) fit;
	OWN(recompute_replay) replay;
	struct recompute_base base;
	struct graph *graph = NULL;
	struct error error = { 0 };
	HELD uint32_t *order = mem_alloc(step->ops, sizeof *order);
	HELD uint8_t *state = mem_alloc(step->storages, sizeof *state);
	HELD uint8_t *fixed = mem_alloc(step->storages, sizeof *fixed);
	for (uint32_t op = 0; op < step->ops; op++)    /* what is on its way to the host stays until it leaves, as in plans */
		for (uint32_t i = step->reads.start[op]; step->op[op].added == ADDED_OFFLOAD && i < step->reads.start[op + 1]; i++)
			fixed[step->tensor[step->reads.item[i]].storage] = RECOMPUTE_SAVED;
	input.fixed = fixed;
	input.random = (enum recompute_random)(random_next(random) % RECOMPUTE_RANDOM_COUNT);
	cr_assert_eq(recompute_step_find(&input, &fit), OK);
	cr_assert_eq(recompute_replay_new(&fit, &replay), OK);
	cr_assert_eq(recompute_order_early(&fit, false, order), OK);
	if (random_next(random) % 2)
		for (uint32_t op = 0; op < step->ops; op++)
			order[op] = op;
	cr_assert_eq(recompute_base_of(&fit, order, &base), OK);
	random_states(&fit, random, state);
	cr_assert_eq(recompute_play_all(&replay, &base, state), OK);
	if (replay.valid)
		cr_assert_not_null(graph = recompute_build(&replay, state, &error), "%s", error.text);
	recompute_base_free(&base);
	return graph;
}

Test(execute, recomputed_and_offloaded_steps_give_the_same_results_to_the_bit)
{
	OWN(rules) *rules = rules_new();
	uint64_t random = test_seed();
	uint32_t rounds = test_rounds(1, 250), played = 0, copies = 0, moved = 0, masked = 0;
	for (size_t m = 0; m < TINY; m++) {
		OWN(graph) *step = tiny_step(m);
		HELD double **result = mem_alloc(step->tensors, sizeof *result);
		struct run whole = { .step = step, .rules = rules, .result = result, .first = true };
		execute(&whole, step, tiny[m].name);
		for (uint32_t i = 0; i < rounds; i++) {
			uint32_t kind = (i + (uint32_t)m) % 3;     /* of the last one, what runs again does so before the host is asked */
			OWN(graph) *first = kind == 2 ? some_again(step, &random) : NULL,
					   *away = kind == 0 ? some_away(step, rules, &random)
					: some_in_windows(first ? first : step, rules, &random);
			OWN(graph) *again = kind == 2 ? NULL : some_again(away, &random);
			struct run run = { .step = step, .rules = rules, .result = result };
			char what[80];
			snprintf(what, sizeof what, "%s, round %u, seed %llu", tiny[m].name, i, (unsigned long long)test_seed());
			execute(&run, again ? again : away, what);
			cr_assert_geq(run.compared, step->ops / 2);
			played += again || first;
			copies += run.copies;
			moved += run.moved;
			masked += run.masked;
			binding_free(&run.binding);
			arena_free(&run.arena);
		}
		binding_free(&whole.binding);
		arena_free(&whole.arena);
	}
	printf("%zu steps, %u plans of each: equal to the bit; %u run ops again, %u copies, %u tensors moved, %u products "
		   "from masks\n",
		TINY, rounds, played, copies, moved, masked);
	cr_assert(played > 0 && copies > played && moved > 0, "%u played, %u copies, %u moved", played, copies, moved);
	cr_assert(masked > 0 || rounds == 1, "no product of dropout is computed from its mask");
}

/* ---- memory by time -------------------------------------------------------------------------- */

/* Any order that keeps dependencies. */
static void order_at_random(const struct problem *problem, uint64_t *random, uint32_t *order)
{
	uint32_t *waiting = mem_alloc(problem->ops, sizeof *waiting), *ready = mem_alloc(problem->ops, sizeof *ready),
			 count = 0;
	for (uint32_t op = 0; op < problem->ops; op++)
		if ((waiting[op] = csr_length(&problem->pred, op)) == 0)
			ready[count++] = op;
	for (uint32_t p = 0; count > 0; p++) {
		uint32_t at = (uint32_t)(random_next(random) % count), op = ready[at];
		ready[at] = ready[--count];
		order[p] = op;
		FOR_ROW(i, &problem->succ, op)
			if (--waiting[problem->succ.item[i]] == 0)
				ready[count++] = problem->succ.item[i];
	}
	mem_free(waiting);
	mem_free(ready);
}

/* The program's order, planned ones, any. */
static void order_of(const struct problem *problem, uint32_t which, uint64_t *random, uint32_t *order)
{
	static const enum order_strategy strategies[] = { ORDER_LIST, ORDER_BEST, ORDER_DFS };
	struct control control = { 0 };
	struct order_result result = { 0 };
	if (which == 0 || which > 3) {
		memcpy(order, problem->program, problem->ops * sizeof *order);
		if (which > 3)
			order_at_random(problem, random, order);
		return;
	}
	struct order_options options = { .strategy = strategies[which - 1], .ticks = 200000 };
	enum status status = order_solve(problem, &options, &control, &result);
	cr_assert((status == OK || status == LIMIT) && result.order);
	memcpy(order, result.order, problem->ops * sizeof *order);
	order_result_free(&result);
}

/* Streams of computation and of both ways to the host, whose link is so fast that a copy of a mean storage takes up to
 * `slow` mean ops. */
static struct step_costs costs_of(
	const struct graph *graph, const struct recompute_input *input, int64_t slow, uint64_t *random, struct arena *arena)
{
	struct step_costs costs = { .axes = 2 };
	int64_t sum = 1, *time = costs.time = arena_alloc(arena, graph->ops, sizeof *time);
	uint32_t *stream = costs.stream = arena_alloc(arena, graph->ops, sizeof *stream);
	costs.layer = arena_alloc(arena, graph->ops, sizeof *costs.layer);
	costs.inside = arena_alloc(arena, 2 * (size_t)graph->ops, sizeof *costs.inside);
	for (uint32_t op = 0; op < graph->ops; op++)
		sum += time[op] = input->time[op];
	for (uint32_t op = 0; op < graph->ops; op++) {
		enum added added = graph->op[op].added;
		costs.layer[op] = NONE;
		if (added != ADDED_OFFLOAD && added != ADDED_FETCH)
			continue;
		stream[op] = added == ADDED_OFFLOAD ? 1 : 2;
		time[op] = 1 + (int64_t)(random_next(random) % (uint64_t)(1 + sum / graph->ops * slow));
	}
	return costs;
}

/* Whether what is alive while the streams are played is above the order's peak. without: as if computation waited for
 * what it reads alone. */
static bool exceeds(const struct graph *graph, const struct problem *problem, const uint32_t *order,
	const struct step_costs *costs, bool without, const char *what)
{
	OWN(step_model) model;
	struct step_time time;
	struct error error = { 0 };
	uint32_t *position = mem_alloc(graph->ops, sizeof *position), ignored;
	int64_t *bytes = mem_alloc(graph->storages, sizeof *bytes), peak = problem_peak(problem, order, NULL, &ignored);
	for (uint32_t p = 0; p < graph->ops; p++)
		position[order[p]] = p;
	for (uint32_t s = 0; s < graph->storages; s++)
		bytes[s] = graph->storage[s].bytes;
	cr_assert_eq(step_model_build(graph, order, costs, &model), OK);
	if (without)
		memset(model.held.start, 0, (model.ops + (size_t)1) * sizeof *model.held.start);
	cr_assert_eq(step_time_find(&model, &time), OK);
	cr_assert_eq(step_time_check(&model, &time, &error), OK, "%s: %s", what, error.text);
	int64_t alive = peak_by_time(graph, order, position, bytes, true, 1, &model, &time);
	cr_assert_geq(alive, 0);
	step_time_free(&time);
	mem_free(position);
	mem_free(bytes);
	return alive > peak;
}

struct played { uint32_t orders, untrue; };

static void play_orders(
	const struct graph *graph, uint32_t orders, uint64_t *random, struct played *played, const char *what)
{
	static const struct memory_rules rules = { .alignment = 1, .workspace = true };
	OWN(recompute_input) input = recompute_input_of(graph);
	OWN(problem) problem;
	OWN(arena) arena = { 0 };
	struct error error = { 0 };
	HELD uint32_t *order = mem_alloc(graph->ops, sizeof *order);
	cr_assert_eq(problem_of_graph(graph, &rules, &problem, &error), OK, "%s", error.text);
	for (uint32_t i = 0; i < orders; i++) {
		struct step_costs costs = costs_of(graph, &input, 1 << (random_next(random) % 7), random, &arena);
		order_of(&problem, i, random, order);
		cr_assert_not(exceeds(graph, &problem, order, &costs, false, what),
			"%s: in order %u, bytes that a copy needs count as free", what, i);
		played->untrue += exceeds(graph, &problem, order, &costs, true, what);
		played->orders++;
	}
}

Test(execute, no_order_counts_memory_as_free_that_a_copy_reads_or_writes)
{
	struct rules *rules = test_rules();
	uint64_t random = test_seed();
	struct played played = { 0, 0 };
	uint32_t rounds = test_rounds(2, 60);
	for (size_t m = 0; m <= TINY; m++) {
		OWN(graph) *step = m < TINY ? tiny_step(m) : fit_model("gpt", 2);
		for (uint32_t i = 0; i < rounds; i++) {
			OWN(graph) *away = i % 2 ? some_away(step, rules, &random) : some_in_windows(step, rules, &random),
					   *again = some_again(away, &random);
			char what[80];
			snprintf(what, sizeof what, "%s, round %u, seed %llu", m < TINY ? tiny[m].name : "gpt", i,
				(unsigned long long)test_seed());
			play_orders(again ? again : away, 8, &random, &played, what);
		}
	}
	cr_assert(played.untrue > 0, "of %u orders, none needs what holds computation back", played.orders);
}
