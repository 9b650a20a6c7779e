/* way_out.c: the nearest configuration that fits. */

#include "fit_list.h"
#include "model_source.h"
#include "outlook.h"
#include "src/read/rules_file.h"
#include "src/scenario/own_device.h"

#define STORE_BYTES ((size_t)1 << 28)

static void way_out_describe(const struct config *from, const struct config_entry *to, char *text, size_t size)
{
	char bytes[32];
	size_t used = strlen(config_changes(from, &to->config, text, size));
	snprintf(text + used, size - used, " (%s by the model, %.4g s a step)",
		bytes_text(to->result.worst.total, bytes, sizeof bytes), (double)to->result.time * 1e-12);
}

static void way_out_find(
	const struct plan *plan, struct config from, struct stage_context *stage, char *text, size_t size)
{
	const struct scenario *scenario = &plan->scenario;
	struct model_source source;
	struct config_list list;
	struct error ignored;
	struct config_request request = { .devices = (uint32_t)scenario->value[K_devices],
		.devices_per_node = (uint32_t)scenario->value[K_devices_per_node],
		.overheads = overheads_all,
		.zero = -1,
		.sp = -1,
		.recompute = -1,
		.schedule = -1 };
	model_source_of(&source, plan->input, scenario, stage);
	model_source_request(&source, &request);
	scenario_machine(scenario, &request.machine);
	request.batch = outlook_batch(stage, plan->input, scenario);
	from.microbatches = (uint32_t)scenario->value[K_microbatches];
	from.microbatch = (uint32_t)(request.batch / ((int64_t)from.dp * from.ep * from.microbatches));
	from.recompute = (uint8_t)scenario->value[K_recompute];
	if (config_search(&request, stage->control, &list, &ignored) != OK)
		return;
	uint32_t nearest = config_nearest(&list, &from);
	if (nearest != NONE)
		way_out_describe(&from, &list.entry[nearest], text, size);
	config_list_free(&list);
}

char *plan_way_out(const struct plan *plan, const char *rules_file, const atomic_bool *cancel, char *text, size_t size)
{
	struct error ignored;
	struct control control = { .cancel = cancel };
	OWN(outlook) *outlook = outlook_of_plan(plan, rules_file, cancel, &ignored);
	OWN(rules) *rules = rules_load(rules_file, &ignored);
	OWN(store) *store = store_new();
	struct stage_context stage = { .store = store, .rules = rules, .control = &control };
	text[0] = '\0';
	if (outlook && rules && store) {
		store_begin(store, STORE_BYTES, cancel);
		way_out_find(plan, outlook->config, &stage, text, size);
	}
	return text;
}
