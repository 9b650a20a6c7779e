/* planned.c: rows of a search as plans. */
#include <string.h>

#include "planned.h"
#include "ranking.h"
#include "src/plan/verdict.h"

void config_knobs(const struct config *config, struct scenario *scenario)
{
	int64_t *value = scenario->value;
	bool split = (uint64_t)config->dp * config->tp * config->pp * config->cp * config->ep > 1;
	value[K_strategy] = split || config->microbatches > 1 ? 1 + STRATEGY_MEGATRON : 0;
	const struct { enum knob_id knob; uint32_t degree; } degrees[] = { { K_dp, config->dp }, { K_tp, config->tp }, { K_pp, config->pp }, { K_cp, config->cp },
		{ K_ep, config->ep } };
	for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
		value[degrees[i].knob] = split ? (int64_t)degrees[i].degree : KNOB_GIVEN;
	value[K_sp] = config->tp > 1 ? config->sp : knobs[K_sp].normal;
	value[K_zero] = config->zero;
	value[K_microbatches] = config->microbatches;
	value[K_schedule] = config->pp > 1 ? config->schedule : knobs[K_schedule].normal;
	value[K_chunks] = config->chunks > 1 ? (int64_t)config->chunks : KNOB_GIVEN;
	value[K_recompute] = config->recompute;
	if (config->recompute_layers > 0 || config->offload & OFFLOAD_ACTIVATIONS)
		value[K_recompute] = RECOMPUTE_AUTO;
	if (config->offload & OFFLOAD_ACTIVATIONS)
		value[K_offload] = true;
}

bool config_has_plan(const struct config *config)
{
	return !(config->offload & OFFLOAD_OPTIMIZER);
}

char *config_set_text(const struct scenario *scenario, char *text, size_t size)
{
	size_t used = 0;
	char word[64];
	text[0] = '\0';
	for (int i = 0; i < KNOB_COUNT && used < size; i++)
		if (scenario->value[i] != knobs[i].normal)
			used += (size_t)snprintf(text + used, size - used, " --set %s=%s", knobs[i].name, knob_text((enum knob_id)i, scenario->value[i], word, sizeof word));
	return text;
}

static enum status config_plan(struct planner *planner, struct graph *graph, const struct scenario *base, struct config_entry *entry,
	struct error *error)
{
	struct scenario scenario;
	struct error why = { 0 };
	NEED_IN(error, scenario_copy(&scenario, base) == OK);
	config_knobs(&entry->config, &scenario);
	struct plan *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &why);
	scenario_done(&scenario);
	entry->planned = (struct config_planned) { .tried = true };
	if (!plan) {
		snprintf(entry->planned.reason, sizeof entry->planned.reason, "%.*s", (int)sizeof entry->planned.reason - 1, why.text);
		return why.status == NO_MEMORY || why.status == CANCELLED ? fail(error, why.status, "%s", why.text) : OK;
	}
	if (plan->limited) {
		plan_release(plan);
		entry->planned.tried = false;
		return fail(error, CANCELLED, "cancelled");
	}
	struct verdict verdict = plan_verdict(plan);
	entry->planned.known = true;
	entry->planned.fits = verdict.fits == FITS_ANY || verdict.fits == FITS_YES;
	entry->planned.needs = plan_needs(plan);
	entry->planned.time = plan->speed.time;
	plan_release(plan);
	return OK;
}

/* Planned rows that fit first, by their planned time; those whose plans don't fit last. */
static bool comes_before(const struct config_planned *a, const struct config_planned *b)
{
	int left = a->known ? (a->fits ? 0 : 2) : a->tried ? 2 : 1, right = b->known ? (b->fits ? 0 : 2) : b->tried ? 2 : 1;
	return left != right ? left < right : left == 0 && a->time < b->time;
}

static void sort_planned(struct config_list *list, uint32_t rows)
{
	for (uint32_t i = 1; i < rows; i++) {      /* few rows; equal ones stay as they are */
		struct config_entry entry = list->entry[i];
		uint32_t at = i;
		for (; at > 0 && comes_before(&entry.planned, &list->entry[at - 1].planned); at--)
			list->entry[at] = list->entry[at - 1];
		list->entry[at] = entry;
	}
}

enum status config_plan_best(struct planner *planner, struct graph *graph, const struct scenario *base, uint32_t wanted,
	const struct config_watch *watch, struct config_list *list, struct error *error)
{
	bool near = list->fitting == 0;
	uint32_t fitting = 0, most = 2 * wanted < list->entries ? 2 * wanted : list->entries;
	int64_t cap = scenario_budget(base);
	bool second = false;            /* one more variant is tried where a set's first doesn't fit; then it's the turn of other degrees */
	enum status status = OK;
	for (uint32_t i = 0, tries = 0; tries < most && i < list->entries && fitting < wanted && status == OK; tries++) {
		struct config_entry *entry = &list->entry[i];
		if (!config_has_plan(&entry->config)) {
			i++;
			continue;
		}
		if (!near && !entry->fits)
			break;
		status = config_plan(planner, graph, base, entry, error);
		bool fits = entry->planned.known && entry->planned.fits;
		fitting += fits;
		entry->fits |= near && fits;
		second = !second && !fits && !near && config_pass_lead(list, i, cap);
		i += !second;
		if (watch && status == OK)
			watch->found(watch->context, list);
	}
	if (near && fitting > 0 && status == OK && config_rank(list) != OK)
		status = fail_memory(error);
	sort_planned(list, most < list->fitting ? most : list->fitting);
	return status;
}
