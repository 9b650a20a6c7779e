/* time.c: a step's time by phase and by what limits it, of a plan. */
#include <inttypes.h>

#include "data.h"
#include "src/draw/figure.h"
#include "src/read/rules_file.h"
#include "src/stages/pipeline/times.h"

enum status time_of_step(const struct plan *plan, const struct export_options *options, struct plan_time **time,
	struct plan_time **own, struct error *error)
{
	if (plan->pipelined || plan->speed.time <= 0)
		return refuse(error, plan->pipelined ? "a pipeline's times are those of --view pipeline"
			: "the times of this step's ops are unknown");
	*time = plan->time;
	if (plan->time)
		return OK;
	struct rules *rules = rules_load(options->rules_file, error);
	if (!rules)
		return error->status;
	*time = *own = plan_time_of(plan->graph, plan->ordered->result.order, plan->sharded, &plan->scenario, rules);
	rules_free(rules);
	return *time ? OK : fail_memory(error);
}

/* What a plan's step takes on a device; of a pipeline on the rank that the plan shows. O(graph). */
static enum status time_shares(
	const struct plan *plan, const struct export_options *options, struct step_shares *shares, struct error *error)
{
	const struct sharded *sharded = plan->sharded;
	const uint32_t *order = plan->ordered->result.order;
	struct rules *rules = rules_load(options->rules_file, error);
	if (!rules)
		return error->status;
	if (plan->pipelined) {
		enum status status = plan_rank_shares(
			plan->graph, sharded, plan->pipelined, plan->rank, &plan->scenario, rules, shares);
		rules_free(rules);
		return status == OK ? OK : fail_memory(error);
	}
	struct plan_time *time = plan->time ? plan->time : plan_time_of(plan->graph, order, sharded, &plan->scenario, rules);
	enum status status = time ? plan_time_shares(plan->graph, sharded, &plan->scenario, rules, time, shares) : NO_MEMORY;
	if (!plan->time)
		plan_time_free(time);
	rules_free(rules);
	return status == OK ? OK : fail_memory(error);
}

enum status export_time(const struct export_job *job)
{
	struct step_shares shares;
	TRY(time_shares(job->plan, job->options, &shares, job->error));
	if (job->kind != EXPORT_csv)
		return figure_time(&shares, figure_subject(job->plan, TEXT(200)), export_paper(job->options, job->kind),
			job->stream, job->error);
	fputs("phase,limited_by,ops,seconds\n", job->stream);
	FOR_INT(part, STEP_PARTS)
		FOR_INT(limit, STEP_LIMITS)
			if (shares.ops[part][limit] > 0 || shares.time[part][limit] > 0)
				fprintf(job->stream, "%s,%s,%u,%" PRId64 ".%012" PRId64 "\n", step_part_names[part],
					step_limit_names[limit], shares.ops[part][limit], shares.time[part][limit] / PICOSECONDS,
					shares.time[part][limit] % PICOSECONDS);
	return OK;
}

static void roofline_add(struct roofline *roofline, const struct op *op, int64_t flops, int64_t bytes, int64_t time,
	enum machine_limit limit)
{
	if (flops <= 0 || bytes <= 0 || time <= 0) {
		roofline->others++;
		return;
	}
	double seconds = (double)time / (double)PICOSECONDS;
	roofline->op[roofline->ops++] = (struct roofline_op){ op->name, (double)flops / (double)bytes,
		(double)flops / seconds, flops, bytes, time, (int)limit };
}

/* The roof of products is that of the format in which the largest one is computed. */
static enum status roofline_find(
	const struct plan *plan, const struct rules *rules, struct arena *arena, struct roofline *roofline)
{
	const struct graph *graph = plan->graph;
	const struct machine *machine = &plan->scenario.machine;
	struct op_work *work;
	enum machine_format format = FORMAT_F32;
	int64_t largest = 0, time;
	TRY(op_work_find(graph, rules, arena, &work));
	if (!ROOM(arena, roofline->op, graph->ops))
		return NO_MEMORY;
	FOR(i, graph->ops) {
		uint32_t op = plan->ordered->result.order[i];
		enum machine_limit limit;
		int64_t bytes = 0;
		TRY(op_local_time(graph, rules, machine, op, false, &time, &limit));
		FOR(k, op_arguments(graph, op))
			bytes += op_moves(machine, &work[op], graph, op, k) ? graph->tensor[graph_argument(graph, op, k)].bytes : 0;
		/* What fused kernels leave of the traffic, as in op_work_time(). */
		if (!work[op].update && !work[op].matrix && !work[op].cast && !work[op].routes && machine->fused > 0)
			bytes = bytes / 1000 * machine->fused;
		roofline_add(roofline, &graph->op[op], work[op].flops, bytes, time, limit);
		if (work[op].matrix && work[op].flops > largest) {
			largest = work[op].flops;
			format = machine_format_of(graph, op);
		}
	}
	roofline->matrix = (double)machine->matrix_rate[format];
	roofline->vector = (double)machine->vector_rate;
	roofline->memory = (double)machine->memory_rate;
	return OK;
}

static void roofline_csv(const struct roofline *roofline, FILE *stream)
{
	fputs("op,flops,bytes,seconds,limited_by\n", stream);
	FOR(i, roofline->ops) {
		const struct roofline_op *op = &roofline->op[i];
		csv_text(stream, op->name);
		fprintf(stream, ",%" PRId64 ",%" PRId64 ",", op->flops, op->bytes);
		csv_seconds(stream, op->time);
		fprintf(stream, ",%s\n", step_limit_names[op->limit]);
	}
}

enum status export_roofline(const struct export_job *job)
{
	OWN(arena) arena = { 0 };
	char name[200];
	const struct scenario *scenario = &job->plan->scenario;
	struct roofline roofline = { .share = job->plan->sharded };
	if (!text_is(scenario->device.name, "none"))
		roofline.device = scenario->device.name;
	struct rules *rules = rules_load(job->options->rules_file, job->error);
	if (!rules)
		return job->error->status;
	enum status status = roofline_find(job->plan, rules, &arena, &roofline);
	rules_free(rules);
	if (status != OK)
		return fail_memory(job->error);
	if (job->kind == EXPORT_csv) {
		roofline_csv(&roofline, job->stream);
		return OK;
	}
	return figure_roofline(&roofline, figure_subject(job->plan, name, sizeof name), export_paper(job->options, job->kind),
		job->stream, job->error);
}
