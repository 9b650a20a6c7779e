/* planned.c: rows of a search as plans. */

#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "config_search.h"
#include "fit_list.h"
#include "src/scenario/device_figures.h"

void config_knobs(const struct config *config, struct scenario *scenario)
{
	int64_t *value = scenario->value;
	bool split = (uint64_t)config->dp * config->tp * config->pp * config->cp * config->ep > 1;
	value[K_strategy] = split || config->microbatches > 1 ? 1 + STRATEGY_MEGATRON : 0;
	const struct {
		enum knob_id knob;
		uint32_t degree;
	} degrees[] = { { K_dp, config->dp }, { K_tp, config->tp }, { K_pp, config->pp }, { K_cp, config->cp },
		{ K_ep, config->ep } };
	FOR(i, COUNT_OF(degrees))
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

/* Rows that recompute some of the layers, by whatever strategy, are one plan: recompute=auto's. */
static bool has_same_plan(const struct scenario *base, const struct config *a, const struct config *b)
{
	struct scenario left = *base, right = *base;   /* only read, pins included */
	config_knobs(a, &left);
	config_knobs(b, &right);
	return memcmp(left.value, right.value, sizeof left.value) == 0;
}

static bool is_planned(const struct scenario *base, const struct config_list *list, uint32_t number)
{
	bool planned = false;
	FOR_WHILE(i, list->entries, !planned)
		planned |= i != number && list->entry[i]->planned.tried &&
			has_same_plan(base, &list->entry[i]->config, &list->entry[number]->config);
	return planned;
}

bool config_has_plan(const struct config *config)
{
	return !(config->offload & OFFLOAD_OPTIMIZER);
}

/* What runs again by its names, which are pins. */
static size_t ops_text(const struct scenario *scenario, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	const char *before = " --set recompute=ops:";
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_RERUN) {
			words_add(&words, "%s%s", before, scenario->pin[i].a);
			before = "+";
		}
	return words.at;
}

char *config_set_text(const struct scenario *scenario, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (int i = 0; i < KNOB_COUNT && used < size; i++)
		if (i == K_recompute && scenario->value[i] == RECOMPUTE_OPS)
			used += ops_text(scenario, text + used, size - used);
		else if (scenario->value[i] != knobs[i].normal)
			used += (size_t)snprintf(text + used, size - used, " --set %s=%s", knobs[i].name,
				knob_text((enum knob_id)i, scenario->value[i], TEXT(64)));
	bool file = scenario_figure(scenario, FIGURE_NAME);    /* device=@FILE has them */
	FOR_INT(figure, FIGURE_COUNT) {
		const char *value = file ? NULL : scenario_figure(scenario, (enum figure_id)figure);
		if (value && used < size)
			used += (size_t)snprintf(
				text + used, size - used, " --set %s=%s", figure_name((enum figure_id)figure), value);
	}
	return text;
}

static enum status config_plan(struct planner *planner, struct graph *graph, const struct scenario *base,
	struct config_entry *entry, struct error *error)
{
	OWN(scenario) scenario;
	struct error why = { 0 };
	struct fit_came came;
	if (scenario_copy(&scenario, base) != OK)
		return fail_memory(error);
	config_knobs(&entry->config, &scenario);
	enum status status = fit_plan(planner, graph, &scenario, &came, &why);
	entry->planned = (struct config_planned) { .tried = status != CANCELLED, .known = status == OK };
	if (status == NO_MEMORY || status == CANCELLED)
		return fail(error, status, "%s", why.text);
	if (status == OK) {
		entry->planned.fits = came.fits;
		entry->planned.needs = came.needs;
		entry->planned.time = came.step;
	} else {
		PRINT_TO(entry->planned.reason, "%.*s", (int)sizeof entry->planned.reason - 1, why.text);
	}
	return OK;
}

/* The first row to plan: of those before the wanted number of rows whose plans fit. NONE: these are all planned. */
static uint32_t next_to_plan(const struct scenario *base, const struct config_list *list, uint32_t wanted)
{
	uint32_t fitting = 0;
	FOR_WHILE(i, list->entries, fitting < wanted) {
		const struct config_entry *entry = list->entry[i];
		if (!entry->planned.tried && config_has_plan(&entry->config) && !is_planned(base, list, i))
			return entry->fits || list->fitting == 0 ? i : NONE;
		fitting += entry->planned.known && entry->planned.fits;
	}
	return NONE;
}

/* Where a cut's fastest doesn't fit when planned, one more of its variants is tried; then it's the turn of other cuts.
 */
static void pass_lead(struct config_list *list, uint32_t failed, int64_t cap)
{
	uint32_t before = 0;
	FOR(i, list->fitting)
		before += i != failed && config_failed(list->entry[i]) &&
			config_same_cut(&list->entry[i]->config, &list->entry[failed]->config);
	if (before == 0)
		config_pass_lead(list, failed, cap);
}

enum status config_plan_best(struct planner *planner, struct graph *graph, const struct scenario *base, uint32_t wanted,
	const struct config_watch *watch, struct config_list *list, struct error *error)
{
	bool near = list->fitting == 0;
	uint32_t fitting = 0, most = SMALLER(2 * wanted, list->entries);
	enum status status = OK;
	for (uint32_t tries = 0, i; tries < most && (i = next_to_plan(base, list, wanted)) != NONE && status == OK; tries++) {
		struct config_entry *entry = list->entry[i];
		status = config_plan(planner, graph, base, entry, error);
		bool fits = entry->planned.known && entry->planned.fits;
		fitting += fits;
		entry->fits |= near && fits;
		if (!near && config_failed(entry))
			pass_lead(list, i, scenario_device_memory(base));
		if (!near)
			config_order_rows(list, device_errors_apart(base));
		if (watch && status == OK)
			watch->found(watch->context, list);
	}
	if (near && fitting > 0 && status == OK && config_rank(list) != OK)
		status = fail_memory(error);
	return status;
}
