/* search_command.c: `tidemark search MODEL|GRAPH`: whole configurations, ranked. */
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

#include "batch.h"
#include "help.h"
#include "options.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/configs/model_source.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"

#define TOP 10
#define SHARES_MOST 16 /* ways to share the tokens out that are named */
#define FRONT_STEP \
	93 /* of the slower ones, those are printed that take at most this many hundredths of the memory before */

struct search {
	struct scenario scenario;
	bool set[KNOB_COUNT]; /* knobs that the command line sets: they are wanted so */
	struct command_line line;
	const char *name;
	uint32_t top, planned; /* rows printed; of these, planned */
	bool even, stopped; /* stopped: before all was estimated */
	uint32_t offload; /* OFFLOAD_*: what may wait in the host */
	struct overheads overheads;
	char device[4200]; /* "device=@FILE", where a file of the user's own is asked for */
	struct model_source source;
	struct config_request request;
	uint32_t seen;   /* rows, by the line of progress */
	int64_t fastest; /* of them that fits */
};

/* ---- what is asked for ---- */

static uint32_t wanted(const struct search *search, enum knob_id knob)
{
	return search->set[knob] && search->scenario.value[knob] > 0 ? (uint32_t)search->scenario.value[knob] : 0;
}

static int wanted_choice(const struct search *search, enum knob_id knob)
{
	return search->set[knob] ? (int)search->scenario.value[knob] : -1;
}

static void fill_request(struct search *search)
{
	struct config_request *request = &search->request;
	request->overheads = search->overheads;
	model_source_request(&search->source, request);
	const int64_t *value = search->scenario.value;
	const struct device_preset *preset = &search->scenario.device;
	request->devices = (uint32_t)value[K_devices];
	request->devices_per_node = (uint32_t)preset->node;
	request->even = search->even;
	request->rows = search->line.json ? search->top : 0;
	request->offload = search->offload;
	request->host_memory = preset->host_memory;
	request->batch = value[K_batch] != KNOB_GIVEN ? value[K_batch] : value[K_devices];
	request->dp = wanted(search, K_dp);
	request->tp = wanted(search, K_tp);
	request->pp = wanted(search, K_pp);
	request->cp = wanted(search, K_cp);
	request->ep = wanted(search, K_ep);
	request->microbatches = wanted(search, K_microbatches);
	request->chunks = wanted(search, K_chunks);
	request->zero = wanted_choice(search, K_zero);
	request->sp = value[K_sp] == 2 ? -1 : wanted_choice(search, K_sp);
	request->schedule = wanted_choice(search, K_schedule);
	request->schedule = request->schedule < SCHEDULE_COUNT ? request->schedule : -1; /* auto: all of them */
	bool estimated = value[K_recompute] < RECOMPUTE_AUTO || value[K_recompute] == RECOMPUTE_OPS;
	request->recompute = estimated ? wanted_choice(search, K_recompute) : -1;
}

/* The same with every choice free: for the way out. */
static struct config_request search_command_freed(const struct config_request *request)
{
	struct config_request free_one = *request;
	free_one.dp = free_one.tp = free_one.pp = free_one.cp = free_one.ep = free_one.microbatches = 0;
	free_one.zero = free_one.sp = free_one.schedule = free_one.recompute = -1;
	return free_one;
}

/* ---- printing ---- */

static double gib(int64_t bytes)
{
	return (double)bytes / 1073741824.0;
}

/* "9.1234 s    18.40 GiB", "can't be planned": as wide as the heading. */
static const char *planned_text(const struct config_planned *planned, char *text, size_t size)
{
	if (planned->known)
		snprintf(text, size, "%9.4f s  %8.2f GiB%s", (double)planned->time / 1e12, gib(planned->needs),
			planned->fits ? " " : "!");
	else
		snprintf(text, size, "%-26s", planned->tried ? "can't be planned" : "");
	return text;
}

/* The command line that gives the row's planned figures. */
static const char *plan_line(
	const struct search *search, const struct config *config, int64_t batch, char *text, size_t size)
{
	OWN(scenario) scenario;
	char set[20000] = "";
	struct words words = { set, sizeof set, 0 };
	if (!config_has_plan(config)) {
		return printed(text, size, "estimated alone: plans keep optimizer states on the devices");
	}
	if (model_source_scenario(&search->source, batch, &scenario) == OK) {
		if (*search->device) {
			scenario_put(&scenario, K_device, knobs[K_device].normal);
			words_add(&words, " --set ");
			words_add_quoted(&words, search->device);
		}
		scenario.value[K_devices] = (int64_t)config->dp * config->tp * config->pp * config->cp * config->ep;
		config_knobs(config, &scenario);
		config_set_text(&scenario, set + words.at, sizeof set - words.at);
	}
	return model_source_line(&search->source, batch, set, text, size);
}

/* "dp 8 cp 1 +0.4 %, dp 2 cp 4 +1.0 %; 439 more with tp 8 pp 8 fit" */
static void print_variants(FILE *file, const struct config_list *list, uint32_t number)
{
	const struct config_entry *entry = list->entry[number];
	const struct config *config = &entry->config;
	uint32_t share[SHARES_MOST], shares = config_token_shares(list, number, SHARES_MOST, share);
	FOR(i, shares) {
		const struct config_entry *other = list->entry[share[i]];
		fprintf(file, "%sdp %u cp %u %+.1f %%", i ? ", " : "      ", other->config.dp, other->config.cp,
			100.0 * ((double)other->result.time / (double)entry->result.time - 1));
	}
	fprintf(file, "%s%u %swith tp %u pp %u", shares ? "; " : "      ", entry->variants, shares ? "in all " : "more ",
		config->tp, config->pp);
	fprintf(file, config->ep > 1 ? " ep %u fit\n" : " fit\n", config->ep);
}

static void print_entry(const struct search *search, FILE *file, uint32_t number, const struct config_list *list,
	const struct config_entry *entry, int64_t batch)
{
	char planned[64];
	const struct config_result *result = &entry->result;
	fprintf(file, "%4u  %9.4f s  %8.2f GiB  %s  %8.2f  %8.2f  %5.1f%%  %s %s\n      %s\n", number,
		(double)result->time / 1e12, gib(result->worst.total),
		planned_text(&entry->planned, planned, sizeof planned), gib(result->first.total),
		gib(result->last.total), 100.0 * (double)result->bubble / (double)(result->time ? result->time : 1),
		entry->front ? "*" : " ", config_text(&entry->config, TEXT(200)),
		plan_line(search, &entry->config, batch, TEXT(24000)));
	if (entry->variants > 0)
		print_variants(file, list, number - 1);
	if (result->host > 0)
		fprintf(file, "      %.2f GiB of a device's in the host's memory\n", gib(result->host));
	if (*entry->planned.reason)
		fprintf(file, "      can't be planned: %s\n", entry->planned.reason);
	else if (entry->planned.known && !entry->planned.fits)
		fprintf(file, "      its plan does not fit\n");
	if (entry->guess)
		fprintf(file, "      a guess: not all of a microbatch of %u was captured; its plan says what\n",
			entry->config.microbatch * entry->config.ep);
}

/* X(field, name): what an overhead is made of. */
#define OVERHEAD_PARTS(X) X(context, "context") X(communication, "communication") X(buckets, "buckets") X(workspace, \
	"workspace") \
	X(cached, "weight gradients kept") X(fragmentation, "fragmentation")

static void print_memory(FILE *file, const char *which, const struct rank_memory *memory)
{
	fprintf(file,
		"  %-12s parameters %.2f  gradients %.2f  optimizer %.2f  activations %.2f  transient %.2f  gathered %.2f  "
		"overhead %.2f  = %.2f GiB",
		which, gib(memory->parameters), gib(memory->gradients), gib(memory->optimizer), gib(memory->activations),
		gib(memory->transient), gib(memory->gathered), gib(memory->overhead), gib(memory->total));
	bool any = false;
#define X(field, name) \
	if (memory->field > 0) { \
		fprintf(file, "%s" name " %.2f", any ? ", " : "  (overhead: ", gib(memory->field)); \
		any = true; \
	}
	OVERHEAD_PARTS(X)
#undef X
	fprintf(file, "%s\n", any ? ")" : "");
}

/* Tokens of a step of a built-in model; 0 where it has no sequence. */
static int64_t tokens_of(const struct search *search)
{
	const struct model_config *config = &search->source.asked;
	return search->source.model.name && config->vocab > 0 && config->seq > 0 ? search->request.batch * config->seq : 0;
}

/* Behind the last shown row of a tie, which began with row tie: how far apart they are. Returns where the tie of the
 * next row begins. */
static uint32_t print_tie(
	const struct search *search, FILE *file, const struct config_list *list, uint32_t tie, uint32_t row, uint32_t shown)
{
	uint32_t apart = device_errors_apart(&search->scenario), end = config_tie_end(list, tie, apart);
	if (end <= tie || row + 1 != SMALLER(end, shown))
		return end <= tie ? row + 1 : tie;
	if (tie == 0)
		fprintf(file,
			"up to here at most %.1f %% slower than the first: no further apart than the errors of two estimates (RMS, "
			"of the steps that times rest on)\n",
			apart / 10.0);
	else if (row > tie)
		fprintf(file, "rows %u to %u: at most %.1f %% slower than row %u, no further apart than these errors\n",
			tie + 1, row + 1, apart / 10.0, tie + 1);
	return row + 1;
}

/* No step is below it: matmuls at the peak. Picoseconds. */
static double search_command_least_time(const struct config_list *list)
{
	double least = list->entries > 0 ? HUGE_VAL : 0;
	FOR(i, list->entries)
		if (list->entry[i]->result.mfu > 0)
			least = fmin(least, list->entry[i]->result.mfu * (double)list->entry[i]->result.time);
	return isfinite(least) ? least : 0;
}

static void search_command_print_text(const struct search *search, FILE *file, const struct config_list *list)
{
	const struct config_request *request = &search->request;
	uint32_t shown = SMALLER(list->fitting, search->top);
	char assumed[2000], within[16];
	fprintf(file, "%s on %u device%s (%s", search->name, request->devices, request->devices == 1 ? "" : "s",
		search->scenario.device.name);
	if (request->machine.memory >= 0)
		fprintf(file, ", %.2f GiB each", gib(request->machine.memory));
	fprintf(file,
		"), %" PRId64 " samples a step: %u of %u configurations fit, with %u ways to cut the model (tp, pp, ep); the "
					  "fastest of each first\n",
		request->batch, list->fitting, list->evaluated, list->leading);
	if (search->stopped)
		fprintf(file,
			"stopped: %u of %u configurations looked at; pipelines may take longer; none takes less than %.4f s, matmuls "
			"at their peak\n",
			list->looked, list->all, search_command_least_time(list) / 1e12);
	fprintf(file, "times%s rest on: %s\n", device_deviation_text(&search->scenario, within),
		device_reached_text(&search->scenario, assumed, sizeof assumed));
	fprintf(file, "assumed: %s\n", model_source_assumptions(&search->source, assumed, sizeof assumed));
	if (shown > 0)
		fprintf(file,
			"            estimated                    planned         estimated ranks:\n"
			"row        time     worst rank         time     worst rank       first      last  bubble "
			" front configuration (mbs: samples of a microbatch), and the line that plans it\n");
	for (uint32_t i = 0, tie = 0; i < shown; i++) {
		print_entry(search, file, i + 1, list, list->entry[i], request->batch);
		tie = print_tie(search, file, list, tie, i, shown);
	}
	int64_t least = INT64_MAX;
	bool over = false;
	FOR(i, shown) {
		least = SMALLER(list->entry[i]->result.worst.total, least);
		over |= list->entry[i]->planned.known && !list->entry[i]->planned.fits;
	}
	uint32_t at[2] = { 0 }, more = 0;
	for (uint32_t i; shown > 0 && (i = config_next_by_time(list, shown, at)) != NONE;) {
		int64_t total = list->entry[i]->result.worst.total;
		if (list->entry[i]->front && total < least / 100 * FRONT_STEP) {
			if (more++ == 0)
				fprintf(file, "less memory, more time:\n");
			print_entry(search, file, i + 1, list, list->entry[i], request->batch);
			least = total;
		}
	}
	if (shown > 0) {
		const struct config_result *best = &list->entry[0]->result;
		if (over)
			fprintf(file, "!: more than the memory\n");
		fprintf(file, "the fastest, estimated:\n");
		print_memory(file, "first rank", &best->first);
		print_memory(file, "last rank", &best->last);
		print_memory(file, "worst rank", &best->worst);
		double speed = (double)tokens_of(search) * 1e12 / (double)best->time;
		if (speed > 0)
			fprintf(file,
				"  speed        %.6g tokens/s, %.6g per device; MFU %.1f %%: the matmuls' share of the peak\n",
				speed, speed / request->devices, 100 * best->mfu);
		fprintf(file,
			"  time         collectives inside layers %.4f s, gradients not hidden %.4f s, update %.4f s, idle in the "
			"pipeline %.4f s\n",
			(double)best->link / 1e12, (double)best->exposed / 1e12, (double)best->update / 1e12,
			(double)best->bubble / 1e12);
	}
}

/* Bytes of the plan that needs the least. */
static int64_t least_planned(const struct config_list *list)
{
	int64_t least = INT64_MAX;
	FOR(i, list->entries)
		if (list->entry[i]->planned.known && list->entry[i]->planned.needs < least)
			least = list->entry[i]->planned.needs;
	return least;
}

/* Nothing fits: why, and the smallest change that does. */
static enum status print_way_out(const struct search *search, FILE *file, const struct config_list *list,
	struct control *control, struct error *error)
{
	const struct config_entry *least = list->entry[0];
	struct config_list others = { 0 };
	int64_t bytes;
	const char *part = config_biggest(&least->result.worst, &bytes);
	if (least->planned.known)
		fprintf(file, "also planned: the least of them needs %.2f GiB\n", gib(least_planned(list)));
	fprintf(file, "least memory, estimated: %s: rank %u needs %.2f GiB, %.2f GiB too much; the most are %s, %.2f GiB\n",
		config_text(&least->config, TEXT(300)), least->result.worst_rank, gib(least->result.worst.total),
		gib(least->result.worst.total - search->request.machine.memory), part, gib(bytes));
	print_memory(file, "worst rank", &least->result.worst);
	struct config_request request = search->request;
	request.offload = OFFLOADS - 1;
	enum status status = search->offload ? OK : config_search(&request, control, &others, error);
	if (others.fitting > 0) {
		fprintf(file, "with what can wait in the host's memory (--offload all), estimated:\n");
		print_entry(search, file, 1, &others, others.entry[0], request.batch);
	}
	config_list_free(&others);
	request = search_command_freed(&search->request);
	THEN(status, config_search(&request, control, &others, error));
	uint32_t nearest = status == OK ? config_nearest(&others, &least->config) : NONE;
	if (nearest != NONE) {
		fprintf(file, "the smallest change that fits, estimated: %s\n",
			config_changes(&least->config, &others.entry[nearest]->config, TEXT(300)));
		print_entry(search, file, nearest + 1, &others, others.entry[nearest], request.batch);
	}
	config_list_free(&others);
	for (int i = 0; i < 8 && status == OK && nearest == NONE; i++) {
		request.devices *= 2;
		request.batch = request.batch % request.devices == 0 || request.batch > request.devices ? request.batch
			: request.devices;
		status = config_search(&request, control, &others, error);
		nearest = status == OK && others.fitting > 0 ? 0 : NONE;
		if (nearest != NONE) {
			fprintf(file, "nothing fits %u devices; %u devices, %" PRId64 " samples a step, estimated:\n",
				search->request.devices, request.devices, request.batch);
			print_entry(search, file, 1, &others, others.entry[0], request.batch);
		}
		config_list_free(&others);
	}
	if (status == OK && nearest == NONE)
		fprintf(file, "nothing fits %u devices either\n", request.devices);
	return status == CANCELLED ? OK : status;
}

static json_t *memory_json(const struct rank_memory *memory)
{
	json_t *parts = json_object(), *all = json_object(), *into = parts;
#define X(field, name) json_object_set_new(into, #field, json_integer(memory->field));
	OVERHEAD_PARTS(X)
	into = all;
	X(parameters, ) X(gradients, ) X(optimizer, ) X(activations, ) X(transient, ) X(gathered, ) X(overhead, )
	json_object_set_new(all, "overheads", parts);
	X(total, )
#undef X
	return all;
}

static json_t *planned_json(const struct config_planned *planned)
{
	if (planned->known)
		return json_pack("{sI sf sb}", "needed", (json_int_t)planned->needs, "step_seconds",
			(double)planned->time / 1e12, "fits", planned->fits);
	return planned->tried ? json_pack("{ss}", "reason", planned->reason) : json_null();
}

/* Leading rows that estimates can't tell apart have the same number, from 1 on. */
static json_t *tie_json(const struct search *search, const struct config_list *list, uint32_t number)
{
	uint32_t apart = device_errors_apart(&search->scenario), tie = 1;
	if (apart == 0 || number >= list->leading)
		return json_null();
	for (uint32_t end = 0; (end = config_tie_end(list, end, apart)) <= number; tie++)
		if (config_failed(list->entry[end]))
			return json_null();
	return json_integer(tie);
}

static json_t *entry_json(const struct search *search, const struct config_list *list, uint32_t number)
{
	const struct config_entry *entry = list->entry[number];
	const struct config *config = &entry->config;
	const struct config_result *result = &entry->result;
	double tokens = (double)tokens_of(search) * 1e12 / (double)(result->time > 0 ? result->time : 1) /
		search->request.devices;
	return json_pack(
		"{si si si si si sb si ss si ss si ss si si sf sf sf sf sf sb sb sb sb sb so si so so so si sI so so so so}",
		"dp",
		(int)config->dp, "tp", (int)config->tp, "pp", (int)config->pp, "cp", (int)config->cp, "ep", (int)config->ep,
		"sp", config->sp, "zero", config->zero, "schedule", schedule_names[config->schedule], "chunks",
		(int)config->chunks, "recompute", recompute_names[config->recompute], "recompute_layers",
		(int)config->recompute_layers, "offload", offload_names[config->offload], "microbatch_size",
		(int)config->microbatch, "microbatches", (int)config->microbatches, "step_seconds", (double)result->time / 1e12,
		"bubble_seconds", (double)result->bubble / 1e12, "link_seconds", (double)result->link / 1e12, "exposed_seconds",
		(double)result->exposed / 1e12, "update_seconds", (double)result->update / 1e12, "fits", entry->fits, "played",
		entry->played, "front", entry->front, "leads", entry->leads, "guess", entry->guess, "tie",
		tie_json(search, list, number), "variants", (int)entry->variants, "first_rank",
		memory_json(&result->first), "last_rank", memory_json(&result->last),
		"worst_rank", memory_json(&result->worst), "worst", (int)result->worst_rank, "host", (json_int_t)result->host,
		"planned", planned_json(&entry->planned), "tokens_per_second_and_device",
		tokens > 0 ? json_real(tokens) : json_null(), "mfu", result->mfu > 0 ? json_real(result->mfu) : json_null(),
		"plan",
		config_has_plan(config) ? json_string(plan_line(search, config, search->request.batch, TEXT(24000)))
		: json_null());
}

static enum status print_json(const struct search *search, FILE *file, const struct config_list *list)
{
	const struct config_request *request = &search->request;
	json_t *entries = json_array();
	FOR_WHILE(i, list->entries, i < search->top)
		json_array_append_new(entries, entry_json(search, list, i));
	uint32_t at[2] = { 0 };
	for (uint32_t i; search->top < list->fitting && (i = config_next_by_time(list, search->top, at)) != NONE;)
		if (list->entry[i]->front)
			json_array_append_new(entries, entry_json(search, list, i));
	json_t *root = json_pack("{ss ss sf ss ss si si sI sI si si si si sf so sb si si sf}", "model", search->name,
		"software", device_software(&search->scenario), "deviation", device_deviation(&search->scenario) / 1e3,
		"rests_on", device_reached_text(&search->scenario, TEXT(700)), "assumptions",
		model_source_assumptions(&search->source, TEXT(2000)), "devices", (int)request->devices,
		"devices_per_node", (int)request->devices_per_node, "batch", (json_int_t)request->batch, "memory",
		(json_int_t)request->machine.memory, "evaluated", (int)list->evaluated, "fitting", (int)list->fitting,
		"fitting_cuts", (int)list->leading, "as_fast",
		(int)config_tie_end(list, 0, device_errors_apart(&search->scenario)), "apart",
		device_errors_apart(&search->scenario) / 1000.0, "configurations", entries, "stopped", search->stopped,
		"looked_at", (int)list->looked, "of", (int)list->all, "least_seconds", search_command_least_time(list) / 1e12);
	/* What was left out for want of memory makes a wrong object, not none. */
	bool fine = root && !json_memory_failed() && json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
	fputc('\n', file);
	json_decref(root);
	return fine || ferror(file) ? OK : NO_MEMORY;
}

/* ---- options ---- */

static const char *const overhead_words[] = { "context=BYTES", "communication=BYTES", "bucket=BYTES", "workspace=BYTES",
	"fragmentation=PERCENT", "transient=on|off", "small=on|off", "vectors=on|off", "gathered=on|off", "cached=on|off",
	"inside=PERCENT", "updated=PERCENT" };
static const char *const overhead_helps[] = {
	"the context of each device (0)", "buffers for every degree above 1 (0)",
	"a bucket of gradients, of which there are two (0)", "what kernels keep (0)", "of activations (0)",
	"short-lived tensors (on)", "statistics of norms (on)", "parameters of one dim (on)",
	"ZeRO-3's gathered parameters, two blocks (on)",
	"a weight gradient for every shape stays allocated, as in Transformer Engine (off)",
	"share of the collectives inside layers that overlaps with matmuls: Megatron's tp_comm_overlap, async TP (0)",
	"share of a forward pass that overlaps with the gathers of updated parameters: Megatron's overlap_param_gather (0)"
};

static void search_command_print_more(void)
{
	putchar('\n');
	words_print(stdout, "", 0,
		"Evaluates every way to train a built-in model or a captured step on a cluster: data, tensor, pipeline, "
		"context and expert parallel degrees, "
		"sequence parallelism, ZeRO stages, microbatches, schedules, recomputation of all layers or of as few per stage "
		"as fit. Prints the fastest configurations that fit for each tp, pp and ep, and those that need less memory; or "
		"why none fits and the smallest change that helps. Knobs that are set are kept. The planned memory of a row is "
		"that of the knob allocator.");
	words_print(stdout, "", 0,
		"With --offload, a configuration that doesn't fit also uses host memory: saved activations go there block by "
		"block, as many as the link carries out and back while the stage computes, so the step takes no longer; the "
		"update streams optimizer states through the device, as fast as the link allows. "
		"host_memory is the limit.");
	words_print(stdout, "", 0,
		"A built-in model may have other sizes, and flash, dropout, fused and eager_loss of 0 or 1: "
		"llama3-70b:layers=12:seq=4096, gpt2-xl:flash=1:dropout=0. "
		"`tidemark model --help` lists the models.");
	help_print_words(
		"X, for --overhead", overhead_words, overhead_helps, (int)COUNT_OF(overhead_words));
}

/* Unlike a plan's, a search's pipelines can be set. */
static int set_knob(void *context, const char *assignment)
{
	struct search *search = context;
	if (*assignment == '@')
		return batch_set_lines(assignment + 1, search->scenario.value[K_devices], set_knob, search);
	char text[300];
	struct error error = { 0 };
	const char *value = strchr(assignment, '=');
	PRINT_TO(text, "%.*s", value ? (int)(value - assignment) : 0, assignment);
	enum knob_id knob = knob_find(text);
	if (!value || knob == KNOB_COUNT)
		return batch_set(&search->scenario, assignment);
	value++;
	search->set[knob] = true;
	if (knob == K_device)
		PRINT_TO(search->device, "%s", *value == '@' ? assignment : "");
	if (knob == K_device || (knob == K_recompute && text_begins(value, "ops:")))
		return batch_set(&search->scenario, assignment);
	int64_t number;
	if (knob_parse(knob, value, &number, &error) != OK)
		return usage_error("search", "%s", error.text);
	scenario_put(&search->scenario, knob, number);
	return EXIT_FINE;
}

/* "transient=off", "context=2GiB", "inside=50%". */
static int set_overhead(struct search *search, const char *text)
{
	struct overheads *overheads = &search->overheads;
	bool *const switches[] = { &overheads->transient, &overheads->small, &overheads->gathered, &overheads->vectors,
		&overheads->cached };
	static const char *const names[] = { "transient", "small", "gathered", "vectors", "cached" };
	char name[32];
	const char *value = strchr(text, '=');
	struct error error;
	int64_t number = 0;
	PRINT_TO(name, "%.*s", value ? (int)(value - text) : 0, text);
	int index = name_index(names, COUNT_OF(names), name);
	if (index >= 0 && (text_is(value, "=on") || text_is(value, "=off"))) {
		*switches[index] = value[2] == 'n';
		return EXIT_FINE;
	}
	/* bytes and percentages are read as those of knobs are */
	static const char *const sizes[] = { "context", "communication", "bucket", "workspace" },
							 *const shares[] = { "inside", "updated", "fragmentation" };
	int64_t *const bytes[] = { &overheads->context, &overheads->communication, &overheads->bucket, &overheads->workspace };
	uint32_t *const share[] = { &overheads->inside, &overheads->updated, &overheads->fragmentation };
	int size = name_index(sizes, COUNT_OF(sizes), name),
		of = name_index(shares, COUNT_OF(shares), name);
	if ((size < 0 && of < 0) || knob_parse(size >= 0 ? K_reserve : K_slack, value + 1, &number, &error) != OK)
		return usage_error("search",
			"--overhead %s: expected context, communication, bucket or workspace=BYTES, inside, updated or "
			"fragmentation=PERCENT, or transient, small, gathered, vectors, cached=on or off",
			text);
	if (size >= 0)
		*bytes[size] = number;
	else
		*share[of] = (uint32_t)number * 10;
	return EXIT_FINE;
}

static int set_offload(struct search *search, const char *value)
{
	int kinds = name_index(offload_names, OFFLOADS, value);
	if (kinds < 0)
		return usage_error("search", "--offload %s: expected no, activations, optimizer or all", value);
	search->offload = (uint32_t)kinds;
	return EXIT_FINE;
}

static int search_command_take_option(void *context, int row, const char *value)
{
	struct search *search = context;
	int64_t number = 0;
	int code = EXIT_FINE;
	switch (row) {
	case OPTION_set: return set_knob(search, value);
	case OPTION_offload: return set_offload(search, value);
	case OPTION_overhead: return set_overhead(search, value);
	case OPTION_top:
		code = option_number(&search->line, row, value, 0, UINT32_MAX, &number);
		search->top = (uint32_t)number;
		return code;
	case OPTION_best:
		code = option_number(&search->line, row, value, 0, UINT32_MAX, &number);
		search->planned = (uint32_t)number;
		return code;
	default: search->even = true; return EXIT_FINE;
	}
}

static int search_command_parse(struct search *search, int argc, char **argv)
{
	search->line = (struct command_line){ .command = SUBCOMMAND_search,
		.take = search_command_take_option,
		.context = search,
		.help = search_command_print_more };
	int code = command_line_parse(&search->line, argc, argv);
	search->name = code == EXIT_FINE && !search->line.helped ? *search->line.operand : NULL;
	return code;
}

/* A search tries all shardings that configurations have: the knob is overwritten in every row, planned or not. */
static void note_idle(const struct search *search)
{
	if (search->set[K_strategy] && search->scenario.value[K_strategy] != knobs[K_strategy].normal)
		fprintf(stderr, "note: strategy has no effect in a search\n");
	static const enum knob_id planned[] = { K_prefetch, K_offload, K_accumulation };
	FOR(i, COUNT_OF(planned))
		if (search->scenario.value[planned[i]] != knobs[planned[i]].normal)
			fprintf(stderr, "note: %s changes planned rows alone, not estimated ones, by which rows are ranked%s\n",
				knobs[planned[i]].name, planned[i] == K_offload ? "; --offload has estimates" : "");
	if (search->request.recompute < 0 && search->scenario.value[K_recompute] >= RECOMPUTE_AUTO)
		fprintf(stderr,
			"note: a search tries recompute=none, selective, full and products, and ops where it is set, of all layers "
			"or of as few as fit; others are known only where they are planned\n");
	if (search->overheads.updated > 0 && search->planned > 0)
		fprintf(stderr,
			"note: updated=%u%% shortens estimated steps alone; planned ones end when the last updated parameter is "
			"gathered\n",
			search->overheads.updated / 10);
	if (search->overheads.inside > 0 && search->planned > 0)
		fprintf(stderr,
			"note: inside=%u%% shortens estimated steps alone; planned ones wait for the whole of each collective "
			"inside a layer\n",
			search->overheads.inside / 10);
}

/* The fastest so far. */
static void search_command_show_found(void *context, const struct config_list *list)
{
	struct search *search = context;
	const struct config_entry *best = NULL;
	for (; search->seen < list->entries; search->seen++) {
		const struct config_entry *entry = list->entry[search->seen];
		if (!entry->fits || entry->result.time >= search->fastest)
			continue;
		search->fastest = entry->result.time;
		best = entry;
	}
	if (best)
		fprintf(stderr, "\r\033[K%u configurations, best so far %.4f s: %.100s", list->looked,
			(double)best->result.time / 1e12, config_text(&best->config, TEXT(400)));
}

static void search_command_show_planned(void *context, const struct config_list *list)
{
	const struct search *search = context;
	uint32_t fitting = 0;
	int64_t best = INT64_MAX;
	FOR(i, list->entries)
		if (list->entry[i]->planned.known && list->entry[i]->planned.fits) {
			best = smaller_of(best, list->entry[i]->planned.time);
			fitting++;
		}
	if (fitting > 0 && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K%u of %u rows planned, best so far %.4f s", fitting, search->planned,
			(double)best / 1e12);
}

/* Plans the rows that come first. A search that is stopped here has its estimates. */
static enum status plan_best(struct search *search, struct config_list *list, struct error *error)
{
	struct planner planner = { .store = store_new(), .control = { .cancel = batch_cancel() } };
	const struct config_watch watch = { search_command_show_planned, search };
	struct scenario scenario = { 0 };
	int64_t batch = search->request.batch;
	struct graph *graph = planner.store ? model_source_whole(&search->source, batch, error) : NULL;
	enum status status = !planner.store ? fail_memory(error)
		: !graph ? error->status
		: model_source_scenario(&search->source, batch, &scenario);
	THEN(status, config_plan_best(&planner, graph, &scenario, search->planned, &watch, list, error));
	batch_progress_done();
	graph_release(graph);
	scenario_done(&scenario);
	planner_done(&planner);
	if (status == BAD_INPUT && list->entries > 0) { /* too large to be built whole */
		list->entry[0]->planned = (struct config_planned) { .tried = true };
		snprintf(list->entry[0]->planned.reason, sizeof list->entry[0]->planned.reason, "%.*s",
			(int)sizeof list->entry[0]->planned.reason - 1, error->text);
	}
	return status == CANCELLED || status == BAD_INPUT ? OK : status;
}

static int search_command_run(struct search *search)
{
	struct control control = { .cancel = batch_cancel() };
	struct config_list list;
	struct error error = { 0 };
	struct output output;
	enum status status = output_open(&output, search->line.output, true, &error);
	if (status != OK)
		return complain(NULL, &error, status);
	FILE *file = output.stream;
	const struct config_watch watch = { search_command_show_found, search };
	search->fastest = INT64_MAX;
	search->request.watch = isatty(STDERR_FILENO) ? &watch : NULL;
	status = config_search(&search->request, &control, &list, &error);
	search->request.watch = NULL;
	batch_progress_done();
	int code = EXIT_FINE;
	search->stopped = status == CANCELLED && list.evaluated > 0;
	status = search->stopped ? OK : status;
	if (status == OK && search->planned > 0 && !search->stopped)
		status = plan_best(search, &list, &error);
	if (status == OK) {
		if (search->line.json)
			status = print_json(search, file, &list);
		else
			search_command_print_text(search, file, &list);
		if (status == OK && list.fitting == 0 && !search->line.json && !search->stopped)
			status = print_way_out(search, file, &list, &control, &error);
		if (control_status(&control) != OK)
			complain_line("cut short: rows that were not planned are estimates");
		code = batch_signal() ? batch_signal() : list.fitting == 0 ? EXIT_CONSTRAINT : EXIT_FINE;
	}
	config_list_free(&list);
	status = output_close(&output, status, &error);
	return status != OK ? complain(*search->source.model.file.name ? search->source.name : NULL, &error, status) : code;
}

int search_command(int argc, char **argv)
{
	struct search search = { .top = TOP, .planned = CONFIGS_PLANNED, .overheads = overheads_all };
	scenario_init(&search.scenario);
	int code = search_command_parse(&search, argc, argv);
	if (code == EXIT_FINE && !search.line.helped &&
		(code = model_source_open(&search.source, search.name, &search.line.reading, &search.scenario)) == EXIT_FINE) {
		batch_limit(search.line.seconds); /* until here, while files are read, signals end the program at once */
		fill_request(&search);
		note_idle(&search);
		batch_doubt(&search.scenario, NULL);
		code = search_command_run(&search);
	}
	model_source_close(&search.source);
	scenario_done(&search.scenario);
	int signalled = batch_signal();
	return signalled ? signalled : code;
}
