/* time.c: a step's time by phase and by what limits it, of a plan. */
#include <inttypes.h>

#include "data.h"
#include "src/draw/figure.h"
#include "src/read/rules_file.h"
#include "src/stages/pipeline/times.h"

enum status time_shares(
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

char *time_name(const struct plan *plan, char *text, size_t size)
{
	const struct pipelined *pipelined = plan->pipelined;
	if (pipelined)
		snprintf(text, size, "%.150s, rank %u of %u", plan->input->name, plan->rank, pipelined->ranks);
	else
		snprintf(text, size, "%s", plan->input->name);
	return text;
}

enum status time_csv(const struct export_job *job)
{
	struct step_shares shares;
	TRY(time_shares(job->plan, job->options, &shares, job->error));
	fputs("phase,limited_by,ops,seconds\n", job->stream);
	for (int part = 0; part < STEP_PARTS; part++)
		for (int limit = 0; limit < STEP_LIMITS; limit++)
			if (shares.ops[part][limit] > 0 || shares.time[part][limit] > 0)
				fprintf(job->stream, "%s,%s,%u,%" PRId64 ".%012" PRId64 "\n", step_part_names[part],
					step_limit_names[limit], shares.ops[part][limit], shares.time[part][limit] / PICOSECONDS,
					shares.time[part][limit] % PICOSECONDS);
	return OK;
}

enum status time_picture(const struct export_job *job)
{
	struct step_shares shares;
	char name[200];
	TRY(time_shares(job->plan, job->options, &shares, job->error));
	return figure_time(&shares, time_name(job->plan, name, sizeof name), export_paper(job->options, job->kind),
		job->stream, job->error);
}
