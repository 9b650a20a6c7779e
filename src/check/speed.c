/* speed.c: verifies how fast a plan file says that its step is. */
#include <math.h>

#include "src/plan/plan.h"
#include "src/scenario/device_figures.h"
#include "state.h"

/* digits: those behind the point that the file has. */
static enum status expect_real(struct check *check, const char *key, double expected, int digits)
{
	const json_t *member = check_member(check, "speed", key);
	bool fine = expected < 0 ? json_is_null(member)
		: json_is_number(member) &&
			fabs(json_number_value(member) - expected) <= 1e-12 * expected + 0.51 * pow(10, -digits);
	return fine ? OK : check_wrong(check, "speed.%s must be %.9g", key, expected);
}

static enum status expect_amount(struct check *check, const char *key, int64_t least, int64_t expected)
{
	if (expected >= least)
		return check_expect(check, "speed", key, expected);
	return json_is_null(check_member(check, "speed", key)) ? OK : check_wrong(check, "speed.%s must be null", key);
}

/* ---- passes whose gradients are added up ---- */

static bool is_pass(const struct graph *graph, uint32_t op)
{
	return graph->op[op].phase == PHASE_FORWARD || graph->op[op].phase == PHASE_BACKWARD;
}

/* Two operands: a gradient buffer as the step found it, and a result of this pass. */
static bool check_speed_adds_up(const struct graph *graph, uint32_t op)
{
	bool found = false, made = false;
	if (csr_length(&graph->writes, op) != 1)
		return false;
	uint32_t to = graph->tensor[csr_at(&graph->writes, op, 0)].storage;
	FOR_ITEMS(from, &graph->reads, op) {
		uint32_t writer = graph->tensor[from].writer;
		if (graph->tensor[from].storage == to)
			found |= writer == NONE;
		else
			made |= writer != NONE && graph->op[writer].phase != PHASE_UPDATE;
	}
	return found && made && graph->storage[to].kind == KIND_GRADIENT && graph->storage[to].allocator == NONE;
}

/* What no pass but the last one runs, found by going round until nothing is added. */
static void find_once(const struct graph *graph, bool *once)
{
	FOR(op, graph->ops)
		once[op] = graph->op[op].phase == PHASE_UPDATE && !check_speed_adds_up(graph, op);
	for (bool more = true; more;) {
		more = false;
		FOR(op, graph->ops) {
			if (once[op] || is_pass(graph, op) || graph->op[op].phase == PHASE_UPDATE)
				continue;
			FOR_ITEMS(before, &graph->pred, op)
				once[op] |= once[before] || check_speed_adds_up(graph, before);
			more |= once[op];
		}
	}
}

static void times_by_op(const struct step_model *model, int64_t *sum)
{
	FOR(i, model->ops)
		sum[model->of[i]] += model->time[i];
}

/* The pass that no update follows takes what the ops of a pass take, and the whole step adds up. */
static enum status check_speed_check_passes(struct check *check, const struct plan_time *time)
{
	const struct graph *graph = check->graph;
	int64_t passes = scenario_accumulation(&check->scenario), sum = 0;
	OWN(arena) arena = { 0 };
	bool *once;
	int64_t *full, *part;
	NEEDED(check->error, ROOMS(&arena, graph->ops, once, full, part));
	TRY(step_time_check(&time->pass_model, &time->pass, check->error));
	find_once(graph, once);
	times_by_op(&time->model, full);
	times_by_op(&time->pass_model, part);
	FOR(op, graph->ops)
		if (part[op] != (once[op] ? 0 : full[op]))
			return check_wrong(
				check, "one pass: %.100s must take %lld ps", graph->op[op].name, (long long)(once[op] ? 0 : full[op]));
	if (__builtin_mul_overflow(passes - 1, time->pass.total, &sum) ||
		__builtin_add_overflow(sum, time->time.total, &sum))
		sum = INT64_MAX;
	return sum == time->whole.total ? OK : check_wrong(check, "the step must take %lld ps", (long long)sum);
}

/* Floating-point operations of what one device runs in a step; -1 where an op doesn't know its own. Forward and
 * backward passes run once for each microbatch and each part of the batch that accumulates. */
static int64_t work_of(const struct check *check, int64_t microbatches)
{
	int64_t once = 0, often = 0, sum = 0;
	bool over = false;
	FOR(i, check->graph->ops) {
		const struct op *op = &check->graph->op[i];
		if (op->flops < 0)
			return -1;
		int64_t *to = is_pass(check->graph, i) || (!check->pipelined && check_speed_adds_up(check->graph, i)) ? &often
			: &once;
		over |= __builtin_add_overflow(*to, op->flops, to);
	}
	over |= __builtin_mul_overflow(often, microbatches, &often) ||
		__builtin_mul_overflow(often, scenario_accumulation(&check->scenario), &often) ||
		__builtin_add_overflow(once, often, &sum);
	return over ? -1 : sum;
}

/* What times rest on. */
static enum status expect_source(struct check *check)
{
	const char *said = json_string_value(check_member(check, "speed", "rests_on"));
	const char *software = json_string_value(check_member(check, "speed", "software"));
	if (!text_is(software, device_software(&check->asked)))
		return check_wrong(check, "speed.software must be \"%s\"", device_software(&check->asked));
	return check_words(check, "speed.rests_on", said, device_reached_text(&check->asked, TEXT(700)));
}

/* Of a step that isn't split: simulated in the file's order. Else as the file has it, which was verified; but for
 * passes. */
static enum status step_time(struct check *check, int64_t *total)
{
	bool passes = scenario_accumulation(&check->scenario) > 1 && !check->pipelined;
	enum status status = OK;
	if (check->sharded)
		*total = llround(json_number_value(check_member(check, "shard", "step_seconds")) * 1e12);
	if (check->sharded && !passes)
		return OK;
	struct plan_time *time = plan_time_of(check->graph, check->order, check->sharded, &check->scenario, check->rules);
	NEEDED(check->error, time);
	if (!check->sharded)
		*total = time->whole.total;
	if (passes)
		status = check_speed_check_passes(check, time);
	plan_time_free(time);
	return status;
}

/* The step in the program's order, simulated; of a pipeline, whose time doesn't depend on the order, the planned one.
 */
static enum status check_program_time(struct check *check, int64_t planned)
{
	uint32_t *program = arena_alloc(&check->arena, check->graph->ops, sizeof *program);
	NEEDED(check->error, program);
	if (!check_program_keeps_pins(check)) {
		check_skipped(check, "speed.program_step_seconds: the program's own order breaks a pin");
		return OK;
	}
	FOR(op, check->graph->ops)
		program[op] = op;
	if (planned >= 0 && !check->pipelined) {
		OWN(plan_time) *time = plan_time_of(check->graph, program, check->sharded, &check->scenario, check->rules);
		TRY(time ? step_time_check(&time->model, &time->time, check->error) : fail_memory(check->error));
		planned = time->whole.total < INT64_MAX ? time->whole.total : -1;
	}
	return expect_real(check, "program_step_seconds", planned < 0 ? -1 : (double)planned * 1e-12, 12);
}

enum status check_speed(struct check *check)
{
	uint32_t devices = check->sharded
		? mesh_devices(&check->sharded->sharding.mesh) * (check->pipelined ? check->pipelined->ranks : 1)
		: 1;
	int64_t microbatches = check->pipelined ? (int64_t)check->pipelined->microbatches : 1, time = -1;
	int64_t passes = check->pipelined ? microbatches : scenario_accumulation(&check->scenario);
	if (!check->sharded && scenario_shards(&check->scenario)) {
		check_skipped(check, "speed: the whole step is not at hand");
		return OK;
	}
	TRY(step_time(check, &time));
	const struct plan_speed speed = plan_speed_of(check->sharded ? check->sharded->shared->graph : check->graph,
		check->rules, &check->scenario, passes, devices, time);
	int64_t amount = speed.tokens > 0 ? speed.tokens : speed.samples;
	double rate = amount > 0 && speed.time > 0 ? (double)amount / ((double)time * 1e-12) : -1;
	const struct {
		const char *key;
		double value;
		int digits;
	} reals[] = { { "step_seconds", speed.time < 0 ? -1 : (double)speed.time * 1e-12, 12 }, { "per_second", rate, 6 },
		{ "per_second_and_device", rate < 0 ? -1 : rate / devices, 6 }, { "mfu", speed.mfu, 9 },
		{ "deviation", device_deviation(&check->asked) / 1e3, 3 } };
	const struct {
		const char *key;
		int64_t value;
	} amounts[] = { { "samples", speed.samples }, { "tokens", speed.tokens }, { "model_flops", speed.model_flops } };
	FOR(i, COUNT_OF(reals))
		TRY(expect_real(check, reals[i].key, reals[i].value, reals[i].digits));
	FOR(i, COUNT_OF(amounts))
		TRY(expect_amount(check, amounts[i].key, 1, amounts[i].value));
	TRY(check_program_time(check, speed.time));
	TRY(expect_amount(check, "flops", 0, work_of(check, microbatches)));
	TRY(expect_source(check));
	check_passed(check, "how fast the step is: its products and inputs, summed anew");
	return OK;
}
