/* ways.c: the list of changes that fit, on a thread of its own. */
#include "view.h"

#include "src/scenario/knobs.h"

enum { STORE_BYTES = 1 << 28 };

struct ways_job {
	struct finder finder;
	struct fit_list list;
};

static void ways_take_row(void *context, const struct fit_list *list, const struct fit_way *way)
{
	(void)way;
	struct ways_job *job = context;
	pthread_mutex_lock(&job->finder.lock);
	fit_list_free(&job->list);
	job->finder.changed = fit_list_copy(&job->list, list) == OK;
	pthread_mutex_unlock(&job->finder.lock);
}

/* The largest batch and sequence that fit, as changes of a step that does. */
static void ways_find_room(struct ways_job *job, struct planner *planner, const struct scenario *scenario,
	struct fit_list *list)
{
	static const enum knob_id knob[] = { K_batch, K_seq };
	const int64_t *value = scenario->value;
	struct fit_most most;
	struct error error = { 0 };
	enum status status = OK;
	MAKE(list->way, COUNT_OF(knob));
	for (list->all = COUNT_OF(knob); list->way && list->tried < list->all && status != CANCELLED; list->tried++) {
		enum knob_id id = knob[list->tried];
		ways_take_row(job, list, NULL);
		status = fit_most_find(planner, job->finder.plan->input, scenario, id, id == K_seq ? 1
			: value[K_microbatches] * (value[K_strategy] ? value[K_devices] : 1), &most, &error);
		if (status != OK || most.came.rate <= 0)
			continue;
		struct fit_way *way = &list->way[list->ways++];
		*way = (struct fit_way){ .planned = true, .fits = true, .meaning = FIT_MEANING_RUN, .came = most.came,
			.extra = (int64_t)((double)list->base.step * (list->base.rate / most.came.rate - 1)) };
		PRINT_TO(way->set, "%s=%lld", knobs[id].name, (long long)most.most);
		PRINT_TO(way->how, id == K_batch ? "DataLoader(dataset, batch_size=%lld)"
			: "sequences of %lld tokens", (long long)most.most);
		list->fitting++;
	}
	ways_take_row(job, list, NULL);
}

static void ways_run(void *context, const atomic_bool *cancel)
{
	struct ways_job *job = context;
	struct scenario scenario;
	struct fit_list list = { 0 };
	struct planner planner = {
		.store = store_new(), .rules_file = job->finder.rules_file, .abandoned = cancel, .control = { .cancel = cancel }
	};
	int64_t devices = job->finder.plan->scenario.value[K_devices];
	if (!planner.store || scenario_copy(&scenario, &job->finder.plan->scenario) != OK) {
		fail_memory(&job->finder.error);
		planner_done(&planner);
		return;
	}
	scenario.value[K_store] = SMALLER(scenario.value[K_store], STORE_BYTES);
	struct fit_watch watch = { ways_take_row, job };
	const struct fit_question question = { (uint32_t)devices, NULL, &watch };
	if (fit_list_find(&planner, job->finder.plan->input, &scenario, &question, &list, &job->finder.error) == OK &&
		list.fits)
		ways_find_room(job, &planner, &scenario, &list);
	else if (list.way)
		ways_take_row(job, &list, NULL);
	fit_list_free(&list);
	scenario_done(&scenario);
	planner_done(&planner);
}

static void ways_take(void *owner, void *from)
{
	struct ways *ways = owner;
	struct ways_job *job = from;
	fit_list_free(&ways->list);
	ways->list = job->list;
	job->list = (struct fit_list){ 0 };
}

void ways_wait(struct ways *ways)
{
	ways->job = finder_look(ways->job, true, ways, &ways->error);
}

void ways_find(struct ways *ways, const struct plan *plan, const char *rules_file)
{
	ways_free(ways);
	ways->fingerprint = plan->fingerprint;
	ways->job = finder_start(
		sizeof *ways->job, plan, rules_file, plan->fingerprint, ways_run, ways_take, &ways->error);
}

const struct ways *ways_look(struct ways *ways)
{
	ways->job = finder_look(ways->job, false, ways, &ways->error);
	return ways;
}

void ways_free(struct ways *ways)
{
	finder_cancel(ways->job);
	ways_wait(ways);
	fit_list_free(&ways->list);
}
