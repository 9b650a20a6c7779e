/* check.c: verifies plan files with code that shares nothing with the solvers. */
#include <inttypes.h>

#include "check.h"
#include "solver/shard/device_graph.h"
#include "src/decide/decide.h"
#include "src/read/plan_file.h"
#include "src/read/rules_file.h"
#include "state.h"
#include "src/scenario/knobs.h"

/* run: what a plan file says of the run that made it. Seconds and what was kept from before can't be known
 * afterwards; no other claim may stand there. */

/* What the orderer had meanwhile is nothing that the order's bound rules out. */
static enum status check_run_progress(struct check *check, const json_t *list)
{
	const json_t *order = json_object_get(check->plan, "order");
	json_int_t bound = json_integer_in(order, "bound_bytes"), ticks, peak, below;
	double seconds;
	size_t i;
	json_t *one;
	json_array_foreach(list, i, one)
		if (json_unpack(one, "{s:F, s:I, s:I, s:I !}", "seconds", &seconds, "ticks", &ticks, "peak_bytes", &peak,
				"bound_bytes", &below) != 0)
			return refuse(check->error, "not a plan file: run.progress[%zu] is malformed", i);
		else if (seconds < 0 || ticks < 0 || peak < bound || below > bound)
			return check_wrong(check, "run.progress[%zu] contradicts the order's bound", i);
	return OK;
}

/* OK where there is none, or it has the shape of one and agrees with the rest; BAD_INPUT or INFEASIBLE with what is
 * wrong. Its numbers are not looked at. */
static enum status check_run(struct check *check)
{
	json_t *run = json_object_get(check->plan, "run");
	double seconds[2];
	json_int_t count[4];
	json_t *progress = NULL;
	int limited;
	if (!run)
		return OK;
	if (json_unpack(run, "{s:{s:F, s:F !}, s:{s:{s:I, s:I !}, s:{s:I, s:I !} !}, s:b, s?o !}", "seconds",
			stage_names[STAGE_ORDER], &seconds[0], stage_names[STAGE_LAYOUT], &seconds[1], "cache",
			stage_names[STAGE_ORDER], "reused", &count[0], "solved", &count[1], stage_names[STAGE_LAYOUT], "reused",
			&count[2], "solved", &count[3], "limited", &limited, "progress", &progress) != 0)
		return refuse(check->error,
			"not a plan file: \"run\" has other members than seconds, cache, limited and progress, or they are malformed");
	FOR_INT(i, 4)
		if (count[i] < 0 || seconds[i / 2] < 0)
			return check_wrong(check, "run says that something took less than nothing");
	if (limited != json_true_in(check->plan, "limited"))
		return check_wrong(check, "run.limited and limited contradict each other");
	TRY(check_run_progress(check, progress));
	check_skipped(check, "run: how long it took, and what was kept from before");
	return OK;
}

/* ---- the graph ---- */

static enum status check_shard(
	struct check *check, struct stage_context *stage, const struct plan_wish *wish, const struct sharded *sharded)
{
	const json_t *shard = json_object_get(check->plan, "shard");
	const char *how = NULL;
	TRY(shard_check(shard, sharded, check->pipelined ? sharded->device : check->graph, check->error));
	TRY(shard_check_sums(shard, sharded, check->pipelined ? sharded->device : check->graph, check->error));
	check_passed(check,
		"every op's split and every tensor's placement is possible; redundancy and communication by kind, summed anew; "
		"annotations");
	TRY(device_graph_check(&sharded->shared->units, &sharded->sharding, check->rules, sharded->device, check->error));
	check_passed(
		check, "the device's graph: operands in the placements that their ops need, collectives, latest versions");
	TRY(shard_check_bound(shard, stage, sharded, &check->scenario, wish, check_plans_again(check), &how, check->error));
	if (how)
		check_passed(check, how);
	return OK;
}

/* The pipeline rank that the plan is of: the scenario's, or the one that had the largest arena. */
static enum status read_rank(struct check *check)
{
	const json_t *rank = json_object_get(json_object_get(json_object_get(check->plan, "shard"), "pipeline"), "rank");
	if (!scenario_pipelines(&check->scenario))
		return OK;
	if (!json_is_integer(rank) || json_integer_value(rank) < 0 || json_integer_value(rank) > knobs[K_rank].maximum)
		return refuse(check->error, "not a plan file: shard.pipeline.rank must be the number of a rank");
	if (check->scenario.value[K_rank] != KNOB_GIVEN && check->scenario.value[K_rank] != json_integer_value(rank))
		return check_wrong(check, "the plan is of another pipeline rank than the scenario asks for");
	check->scenario.value[K_rank] = json_integer_value(rank);
	return OK;
}

/* The schedule that schedule=auto has chosen: any named one will do, as what it comes to is computed anew. */
static enum status check_read_schedule(struct check *check)
{
	const json_t *pipeline = json_object_get(json_object_get(check->plan, "shard"), "pipeline"),
				 *chunks = json_object_get(pipeline, "chunks");
	const char *name = json_text_in(pipeline, "schedule");
	int64_t *value = check->scenario.value;
	if (!has_free_schedule(&check->scenario))
		return OK;
	for (int schedule = 0; name && schedule < SCHEDULE_COUNT; schedule++)
		if (text_is(name, schedule_names[schedule]))
			value[K_schedule] = schedule;
	if (value[K_schedule] == SCHEDULE_AUTO || !json_is_integer(chunks) || json_integer_value(chunks) < 1 ||
		json_integer_value(chunks) > knobs[K_chunks].maximum)
		return refuse(
			check->error, "not a plan file: shard.pipeline must name its schedule and the number of chunks");
	if (value[K_schedule] != SCHEDULE_INTERLEAVED)
		return OK;
	if (value[K_chunks] != KNOB_GIVEN && value[K_chunks] != json_integer_value(chunks))
		return check_wrong(check, "the plan has another number of chunks than the scenario asks for");
	value[K_chunks] = json_integer_value(chunks);
	return OK;
}

/* recompute=auto that keeps all, planned as recompute=none is. */
static enum status read_kept(struct check *check)
{
	const json_t *word = json_object_get(json_object_get(check->plan, "recompute"), "planned_as");
	int64_t *recompute = &check->scenario.value[K_recompute];
	char none[16];
	knob_text(K_recompute, RECOMPUTE_NONE, none, sizeof none);
	if (!word)
		return OK;
	if (!json_is_string(word) || !text_is(json_string_value(word), none))
		return refuse(check->error, "not a plan file: recompute.planned_as may be \"%s\" alone", none);
	if (*recompute != RECOMPUTE_AUTO)
		return check_wrong(check, "recompute.planned_as is of recompute=auto");
	*recompute = RECOMPUTE_KEPT;
	return OK;
}

/* What the plan left of the cap to order and layout. */
static enum status read_margin(const struct check *check, int64_t *margin)
{
	const json_t *member = check_member(check, "memory", "fit_margin_bytes");
	*margin = json_is_null(member) ? MARGIN_NO_CAP : json_integer_value(member);
	if (!json_is_null(member) && !json_is_integer(member))
		return refuse(check->error, "not a plan file: memory.fit_margin_bytes is not an integer");
	return *margin >= -BYTES_MAX && *margin <= BYTES_MAX
		? OK
		: refuse(check->error, "fit_margin_bytes is out of range");
}

/* How the step is split, against what the plan file says of it. */
static enum status check_split(struct check *check, struct stage_context *stage, const struct plan_wish *wish,
	const struct transformed *transformed)
{
	const json_t *shard = json_object_get(check->plan, "shard");
	if (!transformed->sharded)
		return shard_check_unsplit(shard, check->error);
	check->sharded = sharded_retain(transformed->sharded);
	check->pipelined = transformed->pipelined ? pipelined_retain(transformed->pipelined) : NULL;
	TRY(check_shard(check, stage, wish, transformed->sharded));
	if (check->pipelined)
		TRY(pipeline_check_claims(shard, check->pipelined, check->sharded, &check->scenario, check->rules, check->error));
	check->ahead = check->pipelined ? check->pipelined->ahead : check->ahead;
	if (check->pipelined)
		check_passed(check, "every pipeline rank's graph; the schedule played anew, and the step's time; what ranks hold");
	return OK;
}

/* Whether a plan that was cut short has other ops than one that isn't. */
static bool ops_differ(const struct check *check)
{
	const json_t *ops = json_object_get(json_object_get(check->plan, "order"), "ops"), *name;
	bool differ = json_array_size(ops) != check->graph->ops;
	size_t i;
	json_array_foreach(ops, i, name)
		differ |= !json_is_string(name) || graph_find_op(check->graph, json_string_value(name)) == NONE;
	return differ && json_true_in(check->plan, "limited");
}

/* The graph that the plan is of: the one given, if it is that already, or what the scenario makes of it. */
static enum status transform_graph(struct check *check)
{
	struct graph *input = (struct graph *)(uintptr_t)check->input;
	check->rules = rules_load(check->rules_file, check->error);
	if (!check->rules)
		return check->error->status;
	if (check->as_planned) {
		check->graph = graph_retain(input);
		return OK;
	}
	struct control control = { 0 };
	int64_t margin = 0;
	TRY(read_rank(check));
	TRY(check_read_schedule(check));
	TRY(read_kept(check));
	TRY(read_margin(check, &margin));
	struct shard_claim claim = { json_object_get(check->plan, "shard"), &check->scenario };
	OWN(store) *store = store_new();
	struct stage_context stage = { .store = store, .control = &control, .rules = check->rules,
		.shard_decider = shard_decision, .shard_context = &claim, .witness = made_check, .witness_context = check };
	bool sends = json_object_get(json_object_get(check->plan, "recompute"), "offloaded") != NULL;
	struct plan_wish wish = { .margin = margin, .alone = (check->scenario.value[K_offload] & HOSTS_SAVED) && !sends };
	NEED(store);
	OWN(transformed) *transformed = stage_transform(&stage, input, &check->scenario, &wish, false, check->error);
	if (!transformed)
		return check->error->status;
	const struct fitted *fitted = transformed->fitted;
	check->graph = graph_retain(transformed->graph);
	check->notes = arena_text(&check->arena, transformed->notes, strlen(transformed->notes));
	NEEDED(check->error, check->notes);
	if (fitted && fitted->capped && ops_differ(check))
		return fail(check->error, LIMIT, "cut short while recomputation was sought: it can't be planned again");
	TRY(check_split(check, &stage, &wish, transformed));
	made_report(check);
	return check_recompute(check, fitted, fitted ? fitted->recomputed : NULL);
}

static enum status prepare_graph(struct check *check)
{
	TRY(check_input_graph(check));
	TRY(transform_graph(check));
	TRY(check_planned_graph(check));
	const struct graph *graph = check->graph;
	ROOM(&check->arena, check->position, graph->ops);
	ROOM(&check->arena, check->order, graph->ops);
	check->items = graph->storages + graph->ops;
	if (!(ROOMS(&check->arena, check->items, check->first, check->last, check->bytes, check->offset) &&
		check->position && check->order))
		return fail_memory(check->error);
	return OK;
}

/* ---- order ---- */

static enum status src_check_order(struct check *check)
{
	const struct graph *graph = check->graph;
	const json_t *ops = check_member(check, "order", "ops"), *name;
	size_t i;
	if (!json_is_array(ops))
		return refuse(check->error, "not a plan file: it has no order.ops");
	if (json_array_size(ops) != graph->ops)
		return check_wrong(check, "the order has %zu ops, the graph has %u", json_array_size(ops), graph->ops);
	FOR(op, graph->ops)
		check->position[op] = NONE;
	json_array_foreach(ops, i, name) {
		uint32_t op = json_is_string(name) ? graph_find_op(graph, json_string_value(name)) : NONE;
		if (op == NONE)
			return check_wrong(check, "position %zu of the order is not an op of the graph", i);
		if (check->position[op] != NONE)
			return check_wrong(check, "op \"%.100s\" appears in the order twice", graph->op[op].name);
		check->position[op] = (uint32_t)i;
		check->order[i] = op;
	}
	FOR(op, graph->ops)
		FOR_ITEMS(item, &graph->pred, op)
			if (check->position[item] > check->position[op])
				return check_wrong(check, "op \"%.100s\" runs before \"%.100s\", which it depends on", graph->op[op].name,
					graph->op[item].name);
	FOR(p, check->scenario.pins) {
		const struct pin *pin = &check->scenario.pin[p];
		uint32_t a = pin->kind == PIN_ORDER ? graph_find_op(graph, pin->a) : NONE,
				 b = pin->kind == PIN_ORDER ? graph_find_op(graph, pin->b) : NONE;
		if (a != NONE && b != NONE && check->position[a] > check->position[b])
			return check_wrong(check, "the pin \"%.100s before %.100s\" is not kept", pin->a, pin->b);
	}
	check_passed(check, "the order runs every op once and keeps every dependency and pin");
	return OK;
}

/* The step simulated in the file's order. */
static enum status check_time(struct check *check)
{
	if (check->pipelined)
		return check_waits(check, 0);
	if (!check->sharded && !check->copies)
		return OK;
	OWN(plan_time) *time = plan_time_of(check->graph, check->order, check->sharded, &check->scenario, check->rules);
	NEEDED(check->error, time);
	TRY(check_waits(check, plan_time_host_waits(time, check->sharded)));
	if (!check->sharded)
		return OK;
	enum status status = shard_check_time(json_object_get(check->plan, "shard"), check->sharded, time, check->error);
	const json_t *bound = json_object_get(json_object_get(check->plan, "shard"), "step_bound");
	check->ahead = time->model.ahead;
	TRY(status);
	check_passed(check, "the time of a step: computation and collectives run event by event");
	if (!bound)
		return OK;
	TRY(shard_check_step_bound(bound, time, check->error));
	check_passed(check, "no order of the step takes less than its bound: heads, work and tails of its stations");
	return OK;
}

/* ---- memory: lifetimes first, then a sum of differences ---- */

static void find_lifetime(struct check *check, uint32_t s)
{
	const struct graph *graph = check->graph;
	struct life life = storage_life(graph, check->position, s);
	check->bytes[s] = align_up(graph->storage[s].bytes, check->scenario.value[K_alignment]);
	check->offset[s] = -1;
	check->first[s] = life.first;
	check->last[s] = life.last;
}

/* While the op runs, where the scenario counts it. */
static void check_find_workspace(struct check *check, uint32_t op)
{
	uint32_t item = check->graph->storages + op;
	check->bytes[item] = check->scenario.value[K_workspace] ? align_up(check->graph->op[op].workspace,
		check->scenario.value[K_alignment]) : 0;
	check->offset[item] = -1;
	check->first[item] = check->last[item] = check->bytes[item] > 0 ? check->position[op] : NONE;
}

static enum status src_check_memory(struct check *check)
{
	const struct graph *graph = check->graph;
	int64_t persistent = 0, bytes = 0;
	int64_t *change;
	if (!ROOM(&check->arena, change, (size_t)graph->ops + 2) || !ROOM(&check->arena, check->load, graph->ops))
		return fail_memory(check->error);
	FOR(s, graph->storages) {
		find_lifetime(check, s);
		persistent += graph->storage[s].persistent ? check->bytes[s] : 0;
	}
	FOR(op, graph->ops)
		check_find_workspace(check, op);
	FOR(item, check->items) {
		if (check->first[item] == NONE)
			continue;
		change[check->first[item]] += check->bytes[item];
		change[check->last[item] + 1] -= check->bytes[item];
	}
	check->peak = graph->ops ? -1 : change[0];
	FOR(position, graph->ops) {
		bytes += change[position];
		check->load[position] = bytes;
		if (bytes > check->peak) {
			check->peak = bytes;
			check->peak_position = position;
		}
	}
	TRY(check_expect(check, "memory", "persistent_bytes", persistent));
	TRY(check_expect(check, "memory", "peak_bytes", check->peak));
	TRY(check_expect(check, "order", "peak_bytes", check->peak));
	const char *op = json_string_value(check_member(check, "memory", "peak_op")),
			   *peak = graph->ops ? graph->op[check->order[check->peak_position]].name : NULL;
	if (peak ? !text_is(op, peak) : !json_is_null(check_member(check, "memory", "peak_op")))
		return check_wrong(check, "memory.peak_op is not \"%.100s\"", peak ? peak : "null");
	check_passed(check, "peak and persistent bytes, computed anew");
	return OK;
}

/* ---- the order's bound ---- */

static uint32_t op_named(const struct check *check, const json_t *name)
{
	return json_is_string(name) ? graph_find_op(check->graph, json_string_value(name)) : NONE;
}

static enum status read_flow(
	struct check *check, const struct problem *problem, struct order_certificate *certificate, const json_t *flow)
{
	const struct graph *graph = check->graph;
	uint32_t *item;
	if (!(ROOM(&check->arena, item, graph->storages) && ROOM(&check->arena, certificate->arc, json_array_size(flow))))
		return fail_memory(check->error);
	FOR(s, graph->storages)
		item[s] = NONE;
	FOR(i, problem->items)
		item[problem->storage[i]] = i;
	const json_t *arc;
	size_t i;
	json_array_foreach(flow, i, arc) {
		const json_t *name = json_array_get(arc, 0), *bytes = json_array_get(arc, 3);
		uint32_t tensor = json_is_string(name) ? graph_find_tensor(graph, json_string_value(name)) : NONE;
		bool fine = json_array_size(arc) == 4 && json_is_integer(bytes) && (json_is_null(name) || tensor != NONE);
		for (size_t k = 1; k < 3 && fine; k++)
			fine = json_is_null(json_array_get(arc, k)) || op_named(check, json_array_get(arc, k)) != NONE;
		if (!fine)
			return refuse(check->error, "not a plan file: arc %zu of the order's certificate is malformed", i);
		certificate->arc[certificate->arcs++] = (struct order_arc){
			.item = tensor == NONE ? NONE : item[graph->tensor[tensor].storage],
			.from = op_named(check, json_array_get(arc, 1)),
			.to = op_named(check, json_array_get(arc, 2)),
			.flow = json_integer_value(bytes),
		};
	}
	return OK;
}

static enum status read_precedences(struct check *check, struct order_certificate *certificate, const json_t *list)
{
	const json_t *entry;
	size_t i;
	NEEDED(check->error, ROOM(&check->arena, certificate->arc, json_array_size(list)));
	json_array_foreach(list, i, entry) {
		uint32_t to = op_named(check, json_array_get(entry, 0)), from = op_named(check, json_array_get(entry, 1));
		const char *at = json_string_value(json_array_get(entry, 2));
		bool fine = json_array_size(entry) == 3 && to != NONE && from != NONE && at;
		if (!fine || (!text_is(at, "first") && !text_is(at, "second")))
			return refuse(check->error, "not a plan file: precedence %zu of the order's certificate is malformed", i);
		certificate->arc[certificate->arcs++] = (struct order_arc){ NONE, from, to, text_is(at, "first") };
	}
	return OK;
}

/* What a search is to reach; it ends there. */
struct wanted_bound { int64_t bound; bool reached; atomic_bool enough; };

static void look_at_bound(void *context, uint64_t ticks, int64_t peak, int64_t bound, const char *winner)
{
	struct wanted_bound *wanted = context;
	(void)ticks, (void)peak, (void)winner;
	wanted->reached |= bound >= wanted->bound;
	atomic_store(&wanted->enough, wanted->reached);
}

static enum status search_order_again(struct check *check, const struct problem *problem, int64_t bound)
{
	struct order_result result = { 0 };
	struct wanted_bound wanted = { .bound = bound };
	struct control control = { .cancel = &wanted.enough };
	struct order_options options = {
		.strategy = ORDER_BEST, .ticks = ORDER_EFFORT_DEFAULT * 16, .improved = look_at_bound, .context = &wanted
	};
	if (check_plans_again(check)) {
		check_passed(check, "the order's bound is by search: it is searched for when all is planned again");
		return OK;
	}
	enum status status = order_solve(problem, &options, &control, &result);
	bool confirmed = wanted.reached || (result.order && result.proof.bound >= bound);
	order_result_free(&result);
	if (status == NO_MEMORY)
		return fail_memory(check->error);
	if (!confirmed)
		return check_wrong(check, "the order's bound %" PRId64 " could not be confirmed by searching again", bound);
	check_passed(check, "the order's bound, searched again");
	return OK;
}

static enum status verify_certificate(struct check *check, const struct problem *problem, int64_t bound)
{
	const json_t *json = check_member(check, "order", "certificate");
	const char *by = json_text_in(json, "by");
	int proof = by ? name_index(order_proof_names, ORDER_PROOF_COUNT, by) : -1;
	struct order_certificate certificate = { .proof = (enum order_proof)proof,
		.op = op_named(check, json_object_get(json, "op")) };
	if (proof < 0)
		return refuse(check->error, "not a plan file: order.certificate.by is unknown");
	if (proof == ORDER_PROOF_SEARCH || proof == ORDER_PROOF_SERIES)
		return search_order_again(check, problem, bound);
	if (proof == ORDER_PROOF_CUT)
		TRY(read_flow(check, problem, &certificate, json_object_get(json, "flow")));
	if (proof == ORDER_PROOF_PRECEDENCE)
		TRY(read_precedences(check, &certificate, json_object_get(json, "precedences")));
	struct error why = { 0 };
	if (order_check_certificate(problem, &certificate, bound, &why) != OK)
		return check_wrong(check, "the order's bound does not hold: %s", why.text);
	check_passed(check, proof == ORDER_PROOF_CONTRADICTED
		? "nothing is claimed of other orders: the file's own peak is below what its graph needs"
		: "the order's bound, from its certificate");
	return OK;
}

static enum status check_order_bound(struct check *check)
{
	int64_t bound;
	TRY(check_integer(check, "order", "bound_bytes", &bound));
	if (bound > 0 &&
		stage_contradicts(&(struct stage_context){ .input = check->input }, check->graph, &check->scenario, bound))
		return check_wrong(check,
			"the order's bound is above the peak that the graph's file brings of its own, %" PRId64 " bytes",
			check->input->about.intake.peak);
	if (bound < 0 || bound > check->peak || !json_is_boolean(check_member(check, "order", "proved"))
	    || json_is_true(check_member(check, "order", "proved")) != (bound == check->peak))
		return check_wrong(check, "order.proved or order.bound_bytes contradicts the peak");
	struct problem problem;
	TRY(scenario_problem(check->graph, &check->scenario, &problem, check->error));
	enum status status = verify_certificate(check, &problem, bound);
	problem_free(&problem);
	return status;
}

/* ---- all of it ---- */

/* The next digit, or the end. */
static const char *words_digit(const char *text)
{
	return text + strcspn(text, "0123456789");
}

enum status check_words(struct check *check, const char *what, const char *said, const char *expected)
{
	const char *one = said ? said : "", *other = expected;
	if (check->other)
		for (one = words_digit(one), other = words_digit(other); *one && *one == *other;)
			one = words_digit(one + 1), other = words_digit(other + 1);
	bool same = check->other ? *one == *other : text_is(one, other);
	return said && same ? OK : check_wrong(check, "%s must be \"%s\"", what, expected);
}

static enum status src_check_version(struct check *check)
{
	const json_t *form = json_object_get(check->plan, "tidemark"), *version = json_object_get(check->plan, "version");
	if (!json_is_integer(form) || json_integer_value(form) != 1)
		return refuse(check->error, "not a plan file of version 1");
	if (version && !json_is_string(version))
		return refuse(check->error, "not a plan file: version is not a text");
	check->other = version && !text_is(json_string_value(version), TIDEMARK_VERSION);
	return OK;
}

enum status plan_check(const struct graph *graph, const char *path, const struct check_options *options,
	struct check_outcome *outcome, struct error *error)
{
	static enum status (*const steps[])(struct check *) = {
		src_check_version,
		check_scenario,
		prepare_graph,
		src_check_order,
		check_time,
		check_speed,
		src_check_memory,
		check_recompute_proof,
		check_streams,
		check_layout,
		check_host,
		check_savings,
		check_order_bound,
		check_fit,
		check_members,
		check_run,
		check_again,
	};
	json_t *plan = plan_file_read(path, error);
	if (!plan)
		return error->status;
	struct check check = { .input = graph,
		.plan = plan,
		.rules_file = options->rules_file,
		.path = path,
		.numbers = options->numbers,
		.report = options->report,
		.error = error };
	scenario_init(&check.scenario);
	check.as_planned = options->planned && check_given_as_planned(&check);
	enum status status = OK;
	for (size_t i = 0; i < COUNT_OF(steps) && status == OK; i++)
		status = steps[i](&check);
	*outcome = (struct check_outcome){ check.other || json_true_in(plan, "limited"), check.over };
	json_decref(plan);
	graph_release(check.graph);
	sharded_release(check.sharded);
	pipelined_release(check.pipelined);
	rules_free(check.rules);
	scenario_done(&check.scenario);
	scenario_done(&check.asked);
	arena_free(&check.arena);
	return status;
}
