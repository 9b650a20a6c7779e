/* stages.c: the stages between graph and plan. */
#include <inttypes.h>

#include "src/base/background.h"
#include "src/base/clock.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "stages.h"

/* Ticks of an effort knob: each level is four times the one before. */
static uint64_t effort_ticks(int64_t level, uint64_t normal)
{
	for (; level < EFFORT_DEFAULT; level++)
		normal /= 4;
	for (; level > EFFORT_DEFAULT; level--)
		normal *= 4;
	return normal;
}

/* Whether a cancelled run is for nobody; else it finishes quickly what it has. */
static bool abandoned(const struct stage_context *stage)
{
	return stage->abandoned && atomic_load(stage->abandoned);
}

/* ---- life ---- */

struct ordered *ordered_retain(struct ordered *ordered)
{
	atomic_fetch_add(&ordered->references, 1);
	return ordered;
}

void ordered_release(void *pointer)
{
	struct ordered *ordered = pointer;
	if (!ordered || atomic_fetch_sub(&ordered->references, 1) > 1)
		return;
	graph_release(ordered->graph);
	problem_free(&ordered->problem);
	order_result_free(&ordered->result);
	arena_free(&ordered->arena);
	mem_free(ordered);
}

struct laid_out *laid_out_retain(struct laid_out *laid_out)
{
	atomic_fetch_add(&laid_out->references, 1);
	return laid_out;
}

void laid_out_release(void *pointer)
{
	struct laid_out *laid_out = pointer;
	if (!laid_out || atomic_fetch_sub(&laid_out->references, 1) > 1)
		return;
	layout_free(&laid_out->layout);
	arena_free(&laid_out->arena);
	mem_free(laid_out);
}

/* ---- order ---- */

/* An order for time begins with that of the least peak. */
static enum order_strategy first_strategy(const struct scenario *scenario)
{
	return scenario_seeks_time(scenario) ? ORDER_BEST : scenario_order(scenario);
}

bool stage_contradicts(
	const struct stage_context *stage, const struct graph *graph, const struct scenario *scenario, int64_t bound)
{
	int64_t own = graph == stage->input ? graph->about.intake.peak : 0;
	return own > 0 && own < bound && scenario->pins == 0 && scenario->value[K_alignment] == 1;
}

void order_key_add(struct key *key, const struct scenario *scenario, bool quick)
{
	key_add_knobs(key, scenario, BY_MEMORY);
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind != PIN_ORDER)
			continue;
		key_add_bytes(key, pin->a, strlen(pin->a));
		key_add_bytes(key, pin->b, strlen(pin->b));
	}
	if (!quick) {
		key_add(key, (uint64_t)first_strategy(scenario));
		key_add(key, (uint64_t)scenario->value[K_effort]);
	}
}

static struct key order_key(
	const struct stage_context *stage, const struct graph *graph, const struct scenario *scenario, bool quick)
{
	struct key key = key_of(quick ? "quick order" : "order");
	key_add(&key, graph->fingerprint);
	if (graph == stage->input && graph->about.intake.peak)
		key_add(&key, (uint64_t)graph->about.intake.peak);
	order_key_add(&key, scenario, quick);
	return key;
}

enum status scenario_problem(
	const struct graph *graph, const struct scenario *scenario, struct problem *problem, struct error *error)
{
	struct order_pin *MAKE(pin, scenario->pins);
	NEEDED(error, pin);
	uint32_t pins = 0;
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_ORDER) {
			struct order_pin next = { graph_find_op(graph, scenario->pin[i].a), graph_find_op(graph, scenario->pin[i].b) };
			if (next.before != NONE && next.after != NONE)    /* else on another pipeline rank */
				pin[pins++] = next;
		}
	struct memory_rules rules = scenario_memory_rules(scenario);
	rules.pin = pin;
	rules.pins = pins;
	enum status status = problem_of_graph(graph, &rules, problem, error);
	mem_free(pin);
	return status;
}

static void log_improvement(void *context, uint64_t ticks, int64_t peak, int64_t bound, const char *winner)
{
	struct ordered *ordered = context;
	if (ordered->improvements < IMPROVEMENTS_MOST)
		ordered->improvements++;
	ordered->improvement[ordered->improvements - 1] = (struct improvement){ ticks, peak, bound, winner,
		clock_seconds(CLOCK_MONOTONIC) - ordered->begun };
}

static size_t find_blob(void *store, const uint64_t key[2], void *data, size_t bytes)
{
	return store_find_blob(store, key, data, bytes);
}

static void keep_blob(void *store, const uint64_t key[2], const void *data, size_t bytes)
{
	store_keep_blob(store, key, data, bytes);
}

static enum status run_order(
	struct stage_context *stage, const struct scenario *scenario, bool quick, struct ordered *ordered)
{
	if (quick)
		return order_quick(&ordered->problem, stage->control, &ordered->result);
	struct order_store store = { stage->store, find_blob, keep_blob };
	struct order_options options = {
		.strategy = first_strategy(scenario),
		.ticks = effort_ticks(scenario->value[K_effort], ORDER_EFFORT_DEFAULT),
		.store = &store,
		.side_by_side = background_all,
		.improved = log_improvement,
		.context = ordered,
	};
	NEED(ROOM(&ordered->arena, ordered->improvement, IMPROVEMENTS_MOST));
	order_solver *solve = stage->order_solver ? stage->order_solver : order_solve;
	enum status status = solve(&ordered->problem, &options, stage->control, &ordered->result);
	if (status == CANCELLED && !ordered->result.order && !abandoned(stage)) {
		struct control unstoppable = { 0 };
		status = order_quick(&ordered->problem, &unstoppable, &ordered->result);
		ordered->cut_short = true;
	}
	return status;
}

/* What the plan needs of an order besides the solver's result. */
static enum status stages_evaluate(struct ordered *ordered)
{
	const struct problem *problem = &ordered->problem;
	NEED(ROOMS(&ordered->arena, problem->ops, ordered->live, ordered->position));
	int64_t peak = problem_peak(problem, ordered->result.order, ordered->live, &ordered->peak_position);
	ordered->program_peak = problem_peak(problem, problem->program, NULL, NULL);
	FOR(i, problem->ops)
		ordered->position[ordered->result.order[i]] = i;
	return peak < 0 || ordered->program_peak < 0 ? NO_MEMORY : OK;
}

static void withdraw(struct ordered *ordered)
{
	ordered->result.proof.bound = ordered->result.certificate.arcs = 0;
	ordered->result.certificate.proof = ORDER_PROOF_CONTRADICTED;
	ordered->result.certificate.op = NONE;
	FOR(i, ordered->improvements)
		ordered->improvement[i].bound = 0;
}

struct ordered *stage_order(
	struct stage_context *stage, struct graph *graph, const struct scenario *scenario, bool quick, struct error *error)
{
	quick = quick && first_strategy(scenario) != ORDER_PROGRAM;    /* which needs no heuristics */
	struct key key = order_key(stage, graph, scenario, quick);
	struct ordered *ordered = store_find(stage->store, &key);
	error_set(error, OK);
	stage->order_reused = ordered != NULL;
	if (ordered)
		return ordered_retain(ordered);
	if (stage->only_stored) {
		error_set(error, LIMIT);
		return NULL;
	}
	double begin = clock_seconds(CLOCK_MONOTONIC);
	MAKE(ordered, 1);
	if (!ordered) {
		fail_memory(error);
		return NULL;
	}
	atomic_store(&ordered->references, 1);
	ordered->graph = graph_retain(graph);
	ordered->key = key;
	ordered->begun = begin;
	enum status status = scenario_problem(graph, scenario, &ordered->problem, error);
	if (status == OK) {
		status = run_order(stage, scenario, quick, ordered);
		ordered->cut_short |= status == CANCELLED;
		if (status == LIMIT || (status == CANCELLED && ordered->result.order))
			status = OK;
		THEN(status, stages_evaluate(ordered));
		if (status == OK && stage_contradicts(stage, graph, scenario, ordered->result.proof.bound))
			withdraw(ordered);
		if (status != OK)
			fail_status(error, status);
	}
	if (error_set(error, status) != OK) {
		ordered_release(ordered);
		return NULL;
	}
	ordered->run = (struct stage_run){ clock_seconds(CLOCK_MONOTONIC) - begin, ordered->result.reused,
		ordered->result.solved + 1 };
	if (!ordered->cut_short)
		store_keep(stage->store, &key, ordered_retain(ordered),
			ordered->problem.arena.bytes + ordered->arena.bytes + ordered->problem.ops * sizeof(uint32_t) +
				ordered->result.certificate.arcs * sizeof(struct order_arc),
			ordered_release);
	return ordered;
}

/* The result that the order stage began with, but for the order. */
static enum status copy_result(const struct order_result *from, uint32_t ops, const uint32_t *order, const char *winner,
	struct order_result *result)
{
	*result = *from;
	result->roam = (struct order_roam) { 0 };
	result->winner = winner;
	MAKE(result->order, ops);
	result->certificate.arc = mem_alloc(from->certificate.arcs, sizeof *from->certificate.arc);
	NEED(result->order && result->certificate.arc);
	memcpy(result->order, order, ops * sizeof *order);
	if (from->certificate.arcs)
		memcpy(result->certificate.arc, from->certificate.arc, from->certificate.arcs * sizeof *from->certificate.arc);
	return OK;
}

struct ordered *ordered_again(const struct ordered *from, const struct scenario *scenario, const uint32_t *order,
	const char *winner, struct error *error)
{
	struct ordered *MAKE(ordered, 1);
	if (!ordered) {
		fail_memory(error);
		return NULL;
	}
	atomic_store(&ordered->references, 1);
	ordered->graph = graph_retain(from->graph);
	ordered->key = key_of("order in another's place");
	key_add_key(&ordered->key, &from->key);
	key_add_bytes(&ordered->key, order, from->problem.ops * sizeof *order);
	ordered->run = from->run;
	ordered->cut_short = from->cut_short;
	enum status status = scenario_problem(from->graph, scenario, &ordered->problem, error);
	if (status == OK && (status = copy_result(&from->result, from->problem.ops, order, winner, &ordered->result)) == OK)
		status = stages_evaluate(ordered);
	if (status == OK) {
		ordered->result.peak = ordered->result.proof.value = problem_peak(&ordered->problem, order, NULL, &(uint32_t) { 0 });
		return ordered;
	}
	if (status == NO_MEMORY)
		fail_memory(error);
	ordered_release(ordered);
	return NULL;
}

/* ---- layout ---- */

void layout_key_add(struct key *key, const struct scenario *scenario, bool quick)
{
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind == PIN_BEHIND) {
			key_add_bytes(key, pin->a, strlen(pin->a));
			key_add_bytes(key, pin->b, strlen(pin->b));
		}
		if (pin->kind != PIN_OFFSET)
			continue;
		key_add_bytes(key, pin->a, strlen(pin->a));
		key_add(key, (uint64_t)pin->number);
	}
	if (!quick) {
		key_add_knobs(key, scenario, BY_LAYOUT);
		key_add(key, (uint64_t)scenario->value[K_effort]);
	}
}

static struct key layout_key(const struct ordered *ordered, const struct scenario *scenario, bool quick)
{
	struct key key = key_of(quick ? "quick layout" : "layout");
	key_add_key(&key, &ordered->key);
	layout_key_add(&key, scenario, quick);
	/* Addresses are no part of the fingerprint. */
	for (uint32_t t = 0; !quick && scenario->value[K_layout] == LAYOUT_FILE && t < ordered->graph->tensors; t++)
		key_add(&key, ordered->graph->tensor[t].has_address ? (uint64_t)ordered->graph->tensor[t].address : UINT64_MAX);
	return key;
}

/* first, last and bytes of every storage and workspace under the order. */
static enum status lifetimes(const struct ordered *ordered, int64_t alignment, struct laid_out *laid_out)
{
	const struct graph *graph = ordered->graph;
	const struct problem *problem = &ordered->problem;
	struct arena *arena = &laid_out->arena;
	laid_out->items = graph->storages + graph->ops;
	ROOM(arena, laid_out->first, laid_out->items);
	ROOM(arena, laid_out->last, laid_out->items);
	ROOM(arena, laid_out->bytes, laid_out->items);
	ROOM(arena, laid_out->offset, laid_out->items);
	HELD uint32_t *MAKE(first, problem->items);
	HELD uint32_t *MAKE(last, problem->items);
	enum status status = NO_MEMORY;
	if (laid_out->first && laid_out->last && laid_out->bytes && laid_out->offset && first && last)
		status = problem_lifetimes(problem, ordered->result.order, first, last);
	FOR_WHILE(s, graph->storages, status == OK) {
		bool there = graph->storage[s].persistent && graph->storage[s].bytes > 0;
		laid_out->bytes[s] = align_up(graph->storage[s].bytes, alignment);
		laid_out->first[s] = there ? 0 : NONE;
		laid_out->last[s] = there ? (graph->ops ? graph->ops - 1 : 0) : NONE;
		laid_out->offset[s] = -1;
	}
	FOR_WHILE(item, problem->items, status == OK) {
		laid_out->first[problem->storage[item]] = first[item];
		laid_out->last[problem->storage[item]] = last[item];
	}
	FOR_WHILE(i, graph->ops, status == OK) {
		uint32_t op = ordered->result.order[i], item = graph->storages + op;
		laid_out->bytes[item] = problem->workspace[op];
		laid_out->first[item] = laid_out->last[item] = problem->workspace[op] > 0 ? i : NONE;
		laid_out->offset[item] = -1;
	}
	return status;
}

/* The layout stage's input: one buffer per item that is there, in order of items. */
struct layout_input {
	struct buffers buffers;
	uint32_t *behind;           /* of each buffer, see group_pins(); NULL: no groups */
	uint32_t *item;             /* of each buffer, see struct laid_out */
	uint32_t *buffer;           /* of each storage, or NONE */
	struct arena arena;
};

static enum status collect_buffers(
	const struct ordered *ordered, const struct laid_out *laid_out, struct layout_input *input)
{
	uint32_t storages = ordered->graph->storages, items = 0;
	struct buffers *buffers = &input->buffers;
	FOR(item, laid_out->items)
		items += laid_out->first[item] != NONE;
	NEED(ROOMS(&input->arena, items, buffers->lower, buffers->upper, buffers->size, input->item) &&
		ROOM(&input->arena, input->buffer, storages));
	FOR(item, laid_out->items) {
		bool there = laid_out->first[item] != NONE;
		if (item < storages)
			input->buffer[item] = there ? buffers->n : NONE;
		if (!there)
			continue;
		uint32_t i = buffers->n++;
		buffers->lower[i] = laid_out->first[item];
		buffers->upper[i] = (int64_t)laid_out->last[item] + 1;
		buffers->size[i] = laid_out->bytes[item];
		input->item[i] = item;
	}
	return OK;
}

/* The file's addresses are as they are: they take no wishes. Why, NULL where they are taken. */
static const char *takes_no_pins(const struct scenario *scenario)
{
	return scenario->value[K_layout] == LAYOUT_FILE ? "the file's own layout" : NULL;
}

/* Addresses that the graph's file has, for layout=file. */
static enum status take_addresses(const struct ordered *ordered, struct layout_input *input, struct error *error)
{
	const struct graph *graph = ordered->graph;
	bool any = false;
	if (!(input->buffers.hint = arena_alloc(&input->arena, input->buffers.n, sizeof *input->buffers.hint)))
		return fail_memory(error);
	FOR(i, input->buffers.n) {
		const struct tensor *root = input->item[i] < graph->storages
			? &graph->tensor[graph->storage[input->item[i]].root] : NULL;
		input->buffers.hint[i] = root && root->has_address ? root->address : -1;
		any |= root && root->has_address;
	}
	return any ? OK
		: fail(error, INFEASIBLE,
					 "the file has no addresses: layout=file takes those of XLA's buffer assignment or of a PyTorch "
					 "memory snapshot");
}

static enum status fix_offsets(
	const struct ordered *ordered, const struct scenario *scenario, struct layout_input *input, struct error *error)
{
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind != PIN_OFFSET)
			continue;
		if (takes_no_pins(scenario))
			return fail(error, INFEASIBLE, "%s puts no tensor at a wanted offset: set another layout", takes_no_pins(scenario));
		struct buffers *buffers = &input->buffers;
		if (!buffers->fixed) {
			NEEDED(error, ROOM(&input->arena, buffers->fixed, buffers->n));
			FOR(b, buffers->n)
				buffers->fixed[b] = -1;
		}
		uint32_t tensor = graph_find_tensor(ordered->graph, pin->a);
		if (tensor == NONE)     /* on another pipeline rank */
			continue;
		uint32_t buffer = input->buffer[ordered->graph->tensor[tensor].storage];
		if (buffer == NONE)
			return refuse(error, "tensor \"%.100s\" occupies no memory, so it can't be pinned at an offset", pin->a);
		if (pin->number % scenario->value[K_alignment])
			return fail(error, INFEASIBLE,
				"tensor \"%.100s\" is pinned at %lld, which is not a multiple of the alignment", pin->a,
				(long long)pin->number);
		if (buffers->fixed[buffer] >= 0 && buffers->fixed[buffer] != pin->number)
			return fail(error, INFEASIBLE, "tensor \"%.100s\" shares memory that is pinned at another offset", pin->a);
		buffers->fixed[buffer] = pin->number;
	}
	return OK;
}

static enum status link_groups(
	const struct ordered *ordered, const struct scenario *scenario, struct layout_input *input, struct error *error)
{
	const struct graph *graph = ordered->graph;
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		for (int side = 0; side < 2 && pin->kind == PIN_BEHIND; side++) {
			const char *name = side ? pin->b : pin->a;
			uint32_t tensor = graph_find_tensor(graph, name);
			if (tensor != NONE && input->buffer[graph->tensor[tensor].storage] == NONE)
				return refuse(error,
					"tensor \"%.100s\" occupies no memory, so no other tensor can be behind it or before it", name);
		}
	}
	TRY(group_pins(graph, scenario, input->buffer, input->buffers.n, &input->arena, &input->behind, error));
	if (input->behind && takes_no_pins(scenario))
		return fail(error, INFEASIBLE, "%s lays no tensor behind another: set another layout", takes_no_pins(scenario));
	return OK;
}

static bool lookup_blob(void *store, const uint64_t key[2], void *value, size_t bytes)
{
	return store_find_blob(store, key, value, bytes) == bytes;
}

/* The pin's name for a storage, for the reason why pins contradict each other. */
static const char *pinned_name(const struct graph *graph, const struct scenario *scenario, uint32_t storage)
{
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_OFFSET
		    && graph->tensor[graph_find_tensor(graph, scenario->pin[i].a)].storage == storage)
			return scenario->pin[i].a;
	return graph->tensor[graph->storage[storage].root].name;
}

static enum status name_clash(const struct graph *graph, const struct scenario *scenario,
	const struct layout_input *input, const struct layout *layout, struct error *error)
{
	return fail(error, INFEASIBLE, "tensors \"%.100s\" and \"%.100s\" %s", pinned_name(graph, scenario,
		input->item[layout->clash.buffer[0]]),
		pinned_name(graph, scenario, input->item[layout->clash.buffer[1]]),
			layout_clash_text(&layout->clash, TEXT(300)));
}

/* From a layout of blocks to one of the buffers. Its bound is their load, which holds whatever is done with the room of
 * a block whose other tensors are live. */
static enum status spread_blocks(const struct layout_input *input, const struct group_blocks *blocks, int64_t alignment,
	struct layout *layout)
{
	uint32_t n = input->buffers.n;
	int64_t *offset = layout->offset ? mem_alloc(n, sizeof *offset) : NULL;
	NEED(!layout->offset || offset);
	for (uint32_t i = 0; offset && i < n; i++)
		offset[i] = layout->offset[blocks->block[i]] + blocks->from[i];
	mem_free(layout->offset);
	layout->offset = offset;
	for (int side = 0; side < 2 && layout->clash.buffer[side] != NONE; side++)
		FOR_DOWN(i, n)
			if (blocks->block[i] == layout->clash.buffer[side] && input->buffers.fixed[i] >= 0) {
				layout->clash.buffer[side] = i;
				break;
			}
	layout->core_count = 0;
	layout->irreducible = false;
	layout->ground = LAYOUT_PROOF_LOAD;
	layout->load = layout->proof.bound = layout_load(&input->buffers, alignment, &layout->moment);
	layout->proof.by = layout_proof_names[LAYOUT_PROOF_LOAD];
	return layout->load < 0 ? NO_MEMORY : OK;
}

static enum status stages_lay_out(struct layout_input *input, const struct layout_options *options,
	struct control *control, struct layout *layout, struct error *error)
{
	struct group_blocks blocks;
	if (!input->behind)
		return layout_solve(&input->buffers, options, control, layout, error);
	TRY(group_join(&input->buffers, input->behind, &input->arena, &blocks, error));
	enum status status = layout_solve(&blocks.buffers, options, control, layout, error);
	if (status == NO_MEMORY || status == BAD_INPUT)
		return status;
	enum status spread = spread_blocks(input, &blocks, options->alignment, layout);
	return spread == OK ? status : fail_status(error, spread);
}

static const char *moved_text(struct arena *arena, uint32_t moved, uint32_t buffers)
{
	char text[100];
	int length = snprintf(
		text, sizeof text, "the file's addresses, but for %" PRIu32 " of %" PRIu32 " buffers", moved, buffers);
	const char *kept = arena_text(arena, text, (size_t)length);
	return kept ? kept : "the file's addresses, some moved";
}

#define FIRST_MOST 100000      /* buffers: of more, a quick plan takes the first layout that is found */

static enum status run_layout(struct stage_context *stage, const struct graph *graph, const struct scenario *scenario,
	bool quick, struct layout_input *input, struct laid_out *laid_out, struct error *error)
{
	struct layout_cache cache = { lookup_blob, keep_blob, stage->store };
	struct layout_options options = {
		.strategy = quick ? LAYOUT_BEST : (enum layout_strategy)scenario->value[K_layout],
		.alignment = scenario->value[K_alignment],
		.effort = quick || scenario->value[K_effort] == 0 ? 0
			: effort_ticks(scenario->value[K_effort], LAYOUT_EFFORT_DEFAULT),
		.cache = stage->store ? &cache : NULL,
		.first = quick && input->buffers.n > FIRST_MOST,
	};
	enum status status = stages_lay_out(input, &options, stage->control, &laid_out->layout, error);
	laid_out->cut_short = status == CANCELLED;
	if (status == CANCELLED && !laid_out->layout.offset && !abandoned(stage)) {
		/* Stopped while the order was being sought, or before there was a layout: the first one makes it a plan. */
		struct control unstoppable = { 0 };
		options.strategy = LAYOUT_BEST;
		options.effort = 0;
		options.first = true;
		status = stages_lay_out(input, &options, &unstoppable, &laid_out->layout, error);
	}
	if ((status == LIMIT || status == CANCELLED) && laid_out->layout.offset)
		status = OK;
	if (status == INFEASIBLE && error && laid_out->layout.clash.buffer[0] != NONE)
		status = name_clash(graph, scenario, input, &laid_out->layout, error);
	if (status == OK && laid_out->layout.moved && options.strategy == LAYOUT_FILE)
		laid_out->layout.strategy = moved_text(&laid_out->arena, laid_out->layout.moved, input->buffers.n);
	FOR_WHILE(i, input->buffers.n, status == OK)
		laid_out->offset[input->item[i]] = laid_out->layout.offset[i];
	return status;
}

/* Buffers of an order, laid out; input: for what else is asked of them. */
static enum status lay_out_order(struct stage_context *stage, const struct ordered *ordered,
	const struct scenario *scenario, bool quick, struct layout_input *input, struct laid_out *laid_out,
	struct error *error)
{
	enum status status = lifetimes(ordered, scenario->value[K_alignment], laid_out);
	THEN(status, collect_buffers(ordered, laid_out, input));
	if (status != OK)
		fail_status(error, status);
	THEN(status, fix_offsets(ordered, scenario, input, error));
	THEN(status, link_groups(ordered, scenario, input, error));
	if (status == OK && !quick && scenario->value[K_layout] == LAYOUT_FILE)
		status = take_addresses(ordered, input, error);
	THEN(status, run_layout(stage, ordered->graph, scenario, quick, input, laid_out, error));
	bool theirs = status == OK &&
		memcmp(ordered->result.order, ordered->problem.program, ordered->problem.ops * sizeof *ordered->result.order) ==
			0;
	if (ordered->result.certificate.proof == ORDER_PROOF_CONTRADICTED
		|| (theirs && stage_contradicts(stage, ordered->graph, scenario, laid_out->layout.proof.bound))) {
		laid_out->layout.proof.bound = 0;
		laid_out->layout.ground = LAYOUT_PROOF_CONTRADICTED;
	}
	return status;
}

struct laid_out *stage_layout(struct stage_context *stage, const struct ordered *ordered,
	const struct scenario *scenario, bool quick, struct error *error)
{
	struct key key = layout_key(ordered, scenario, quick);
	bool keep = !ordered->cut_short;
	struct laid_out *laid_out = keep ? store_find(stage->store, &key) : NULL;
	error_set(error, OK);
	stage->layout_reused = laid_out != NULL;
	if (laid_out)
		return laid_out_retain(laid_out);
	if (stage->only_stored) {
		error_set(error, LIMIT);
		return NULL;
	}
	double begin = clock_seconds(CLOCK_MONOTONIC);
	MAKE(laid_out, 1);
	if (!laid_out) {
		fail_memory(error);
		return NULL;
	}
	atomic_store(&laid_out->references, 1);
	struct layout_input input = { 0 };
	enum status status = lay_out_order(stage, ordered, scenario, quick, &input, laid_out, error);
	arena_free(&input.arena);
	if (error_set(error, status) != OK) {
		laid_out_release(laid_out);
		return NULL;
	}
	laid_out->run = (struct stage_run){ clock_seconds(CLOCK_MONOTONIC) - begin, 0, 1 };
	if (keep && !laid_out->cut_short)
		store_keep(stage->store, &key, laid_out_retain(laid_out), laid_out->arena.bytes + input.buffers.n * sizeof(int64_t),
			laid_out_release);
	return laid_out;
}
