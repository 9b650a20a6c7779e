/* speed.c: verifies how fast a plan file says that its step is. */
#include <jansson.h>
#include <math.h>

#include "speed.h"
#include "src/plan/pipelined.h"
#include "src/plan/plan_time.h"
#include "src/plan/speed.h"
#include "src/scenario/shard_mesh.h"

static enum status expect_real(struct check *check, const char *key, double expected)
{
	const json_t *member = check_member(check, "speed", key);
	bool fine = expected < 0 ? json_is_null(member) : json_is_number(member) && fabs(json_number_value(member) - expected) <= 1e-5 * expected + 1e-9;
	return fine ? OK : check_wrong(check, "speed.%s must be %.9g", key, expected);
}

static enum status expect_amount(struct check *check, const char *key, int64_t expected)
{
	if (expected > 0)
		return check_expect(check, "speed", key, expected);
	return json_is_null(check_member(check, "speed", key)) ? OK : check_wrong(check, "speed.%s must be null", key);
}

/* Floating-point operations of what one device runs in a step; -1 where an op doesn't know its own. Forward and backward passes run once for each
 * microbatch and each part of the batch that accumulates. */
static int64_t work_of(const struct check *check, int64_t microbatches)
{
	int64_t once = 0, often = 0, sum = 0;
	bool over = false;
	for (uint32_t i = 0; i < check->graph->ops; i++) {
		const struct op *op = &check->graph->op[i];
		if (op->flops < 0)
			return -1;
		int64_t *to = op->phase == PHASE_FORWARD || op->phase == PHASE_BACKWARD ? &often : &once;
		over |= __builtin_add_overflow(*to, op->flops, to);
	}
	over |= __builtin_mul_overflow(often, microbatches, &often) || __builtin_mul_overflow(often, check->scenario.value[K_accumulation], &often) ||
		__builtin_add_overflow(once, often, &sum);
	return over ? -1 : sum;
}

static enum status expect_work(struct check *check, int64_t work)
{
	if (work >= 0)
		return check_expect(check, "speed", "flops", work);
	return json_is_null(check_member(check, "speed", "flops")) ? OK : check_wrong(check, "speed.flops must be null");
}

/* Of a step that isn't split: simulated in the file's order. Else as the file has it, which was verified. */
static int64_t step_time(const struct check *check)
{
	if (check->sharded)
		return llround(json_number_value(check_member(check, "shard", "step_seconds")) * 1e12);
	struct plan_time *time = plan_time_of(check->graph, check->order, NULL, &check->scenario, check->rules);
	int64_t total = time ? time->time.total : -1;
	plan_time_free(time);
	return total;
}

enum status check_speed(struct check *check)
{
	uint32_t devices = check->sharded ? mesh_devices(&check->sharded->sharding.mesh) * (check->pipelined ? check->pipelined->ranks : 1) : 1;
	int64_t passes = check->pipelined ? (int64_t)check->pipelined->microbatches : 1;
	if (!check->sharded && scenario_shards(&check->scenario)) {
		check_skipped(check, "speed: the whole step is not at hand");
		return OK;
	}
	int64_t time = step_time(check);
	if (time < 0)
		return fail_memory(check->error);
	const struct plan_speed speed = plan_speed_of(check->sharded ? check->sharded->shared->graph : check->graph, check->rules, &check->scenario, passes, devices,
		time);
	int64_t amount = speed.tokens > 0 ? speed.tokens : speed.samples;
	double rate = amount > 0 && speed.time > 0 ? (double)amount / ((double)time * 1e-12) : -1;
	const struct { const char *key; double value; } reals[] = { { "step_seconds", speed.time < 0 ? -1 : (double)speed.time * 1e-12 }, { "per_second", rate },
		{ "per_second_and_device", rate < 0 ? -1 : rate / devices }, { "mfu", speed.mfu } };
	const struct { const char *key; int64_t value; } amounts[] = { { "samples", speed.samples }, { "tokens", speed.tokens }, { "model_flops", speed.model_flops } };
	enum status status = OK;
	for (size_t i = 0; i < sizeof reals / sizeof *reals && status == OK; i++)
		status = expect_real(check, reals[i].key, reals[i].value);
	for (size_t i = 0; i < sizeof amounts / sizeof *amounts && status == OK; i++)
		status = expect_amount(check, amounts[i].key, amounts[i].value);
	if (status == OK)
		status = expect_work(check, work_of(check, passes));
	if (status == OK)
		check_passed(check, "how fast the step is: its products and inputs, summed anew");
	return status;
}
