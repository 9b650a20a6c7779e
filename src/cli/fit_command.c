/* fit_command.c: `tidemark fit`: what makes a step fit into so much memory, every answer planned. */
#include <unistd.h>

#include "batch.h"
#include "fit_check.h"
#include "options.h"
#include "src/base/output.h"
#include "src/base/safe_text.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"

struct request {
	struct command_line line;
	struct scenario scenario;
	struct fit_asked asked;
};

/* ---- options ---- */

static int set_devices(struct request *request, const char *text)
{
	struct error error = { 0 };
	return knob_parse(K_devices, text, &request->asked.devices, &error) == OK
		? EXIT_FINE
		: usage_error("fit", "--devices %s: %s", text, error.text);
}

static int set_most(struct request *request, int row, const char *value)
{
	static const char *const words[] = { "batch", "sequence" };
	int word = 0, code = option_word(&request->line, row, text_is(value, "seq") ? "sequence" : value, words, 2, &word);
	request->asked.most = word == 0 ? K_batch : K_seq;
	return code;
}

static int fit_command_take_option(void *context, int row, const char *value)
{
	struct request *request = context;
	switch (row) {
	case OPTION_most_devices: return set_devices(request, value);
	case OPTION_max: return set_most(request, row, value);
	default: request->asked.smallest = true; return EXIT_FINE;
	}
}

static int fit_command_parse(struct request *request, int argc, char **argv)
{
	request->line = (struct command_line){
		.command = SUBCOMMAND_fit, .scenario = &request->scenario, .take = fit_command_take_option, .context = request
	};
	int code = command_line_parse(&request->line, argc, argv);
	if (code != EXIT_FINE || request->line.helped)
		return code;
	if (request->asked.smallest && request->asked.most != KNOB_COUNT)
		return usage_error("fit", "--max and --smallest-device are two questions");
	if (scenario_budget(&request->scenario) < 0 && !request->asked.smallest)
		return usage_error("fit", "into how much? --memory 24GiB, or --set device=PRESET");
	int64_t *value = request->scenario.value;
	bool spreads = (request->asked.smallest || request->asked.most != KNOB_COUNT) &&
		request->asked.devices > value[K_devices];
	if (spreads && value[K_strategy] == 0)
		value[K_strategy] = 1 + STRATEGY_AUTO;
	if (spreads)
		value[K_devices] = request->asked.devices;
	return EXIT_FINE;
}

/* ---- text ---- */

/* "--set devices=8 --set zero=1" of "devices=8 zero=1". Returns text. */
static char *options_text(const char *set, char *text, size_t size)
{
	size_t used = 0;
	for (const char *at = set; *at && used + 1 < size; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		int wrote = snprintf(text + used, size - used, "%s--set %.*s", used ? " " : "", (int)length, at);
		used += wrote > 0 ? (size_t)wrote : 0;
		at += length;
	}
	return text;
}

/* A row's remark without what the first line has said of every row. */
static const char *fit_command_reason(const struct fit_list *list, const struct fit_way *way, char *text, size_t size)
{
	size_t length = strlen(way->reason), said = strlen(list->base.guesses);
	if (said && length >= said && text_is(way->reason + length - said, list->base.guesses))
		length -= said;
	while (length && strchr("; ", way->reason[length - 1]))
		length--;
	return printed(text, size, "%.*s", (int)length, way->reason);
}

static void print_row(FILE *file, const struct fit_list *list, const struct fit_way *way, const char *group)
{
	char options[3 * FIT_SET_SIZE] = "", over[32] = "fits", rate[40] = "", reason[sizeof way->reason],
		about[sizeof way->reason + 80];
	const char *meaning = fit_meaning_texts[way->meaning];
	const struct fit_came *came = &way->came;
	if (!way->fits)
		PRINT_TO(over, "over by %s", BYTES(came->needs - list->budget));
	if (came->rate > 0)
		PRINT_TO(rate, "%.*f %s/s", came->rate < 100 ? 2 : 0, came->rate, came->tokens ? "tokens" : "samples");
	int model = PRINT_TO(options, "%s%s", way->model, *way->model && *way->set ? " " : "");
	options_text(way->set, options + model, sizeof options - (size_t)model);
	fprintf(file, "  %-18s %10s %10.4g ms %+9.2f %%  %s\n", over, BYTES(came->needs), (double)came->step / 1e9,
		list->base.step > 0 ? 100 * (double)way->extra / (double)list->base.step : 0.0, rate);
	words_print(file, "", 6, options);
	words_print(file, "      in PyTorch:", 18, way->how);
	meaning = text_is(meaning, group) ? "" : meaning;
	fit_command_reason(list, way, reason, sizeof reason);
	PRINT_TO(about, "%s%s%s", meaning, *meaning && *reason ? "; " : "", reason);
	if (*about)
		words_print(file, "", 6, about);
}

static int fit_command_group(const struct fit_way *way)
{
	return way->meaning < FIT_MEANING_SPREAD ? 0 : way->meaning - FIT_MEANING_SPREAD + 1;
}

/* What keeps the results, what takes more devices, what doesn't, other training: those that fit first, or
 * three that come nearest. Adds what else is over to *rest. */
static void print_groups(FILE *file, const struct fit_list *list, struct words *rest)
{
	static const char *const groups[] = { "same results", "more devices", "other numbers", "other training" };
	FOR_INT(group, 4) {
		uint32_t rows = 0, fitting = 0;
		FOR(i, list->ways) {
			const struct fit_way *way = &list->way[i];
			if (!way->planned || fit_command_group(way) != group)
				continue;
			if (!way->fits && (fitting || rows == 3)) {
				words_add(rest, "%s%s%s%s by %s", *rest->text ? ", " : "", way->model,
					*way->model && *fit_set(way) ? " " : "", fit_set(way), BYTES(way->came.needs - list->budget));
				continue;
			}
			if (rows++ == 0)
				fprintf(file, "\n%-20s %10s %13s %11s\n", groups[group], "memory", "step",
					list->base.tokens ? "extra/token" : "extra");
			print_row(file, list, way, groups[group]);
			fitting += way->fits;
		}
	}
}

/* The change that needs least, planned or by its bound; NULL: there is none. */
static const struct fit_way *fit_command_least(const struct fit_list *list)
{
	const struct fit_way *least = NULL;
	FOR(i, list->ways)
		if (!*list->way[i].model && (list->way[i].planned || list->way[i].above) &&
			(!least || list->way[i].came.needs < least->came.needs))
			least = &list->way[i];
	return least;
}

#define NAMES_MOST 12   /* the others are further from the cap */

/* Changes that can't be, those of one reason together. */
static void fit_command_print_impossible(FILE *file, const struct fit_list *list)
{
	char text[1000];
	FOR(i, list->ways) {
		const struct fit_way *way = list->way;
		struct words words = { text, sizeof text, 0 };
		FOR_WHILE(j, list->ways, !way[i].planned && !way[i].above)
			if (text_is(way[j].reason, way[i].reason)) {
				if (j < i)
					break;
				words_add(&words, "%s%s", words.at ? ", " : "", fit_set(&way[j]));
			}
		words_add(&words, ": %s", text_clean(way[i].reason, TEXT(512)));
		if (*text != ':')
			words_print(file, "not possible:", 19, text);
	}
}

/* Changes that bounds forbid, by name. */
static void print_rest(FILE *file, const struct fit_list *list, const char *over)
{
	char names[NAMES_MOST * (FIT_SET_SIZE + 8) + 80] = "";
	struct words words = { names, sizeof names, 0 };
	uint32_t above = 0;
	fputs("\n", file);
	if (*over)
		words_print(file, "planned, and over:", 19, over);
	FOR(i, list->ways) {
		const struct fit_way *way = &list->way[i];
		if (way->above && above++ < NAMES_MOST)
			words_add(&words, "%s%s%s%s", above > 1 ? ", " : "", way->model, *way->model && *fit_set(way) ? " " : "",
				fit_set(way));
	}
	if (above > NAMES_MOST)
		words_add(&words, " and %u more", above - NAMES_MOST);
	words_add(&words, " (--json has what each needs at least)");
	if (above)
		words_print(file, "proved not to fit:", 19, names);
	fit_command_print_impossible(file, list);
	if (list->useless)
		fprintf(file, "not listed:        %u change%s that save%s nothing\n", list->useless, list->useless == 1 ? "" : "s",
			list->useless == 1 ? "s" : "");
}

/* "one change takes off at most: precision 14.2 GiB, optimizer 6.0 GiB" */
static void print_frees(FILE *file, const struct fit_list *list)
{
	char text[400] = "";
	struct words words = { text, sizeof text, 0 };
	FOR(i, list->ways) {
		int64_t frees = fit_frees(list, i);
		if (frees > 0)
			words_add(&words, "%s%s %s", *text ? ", " : "", list->way[i].group, BYTES(frees));
	}
	if (*text)
		words_print(file, "one change takes off at most:", 30, text);
}

/* The op that forbids the step as it is, whatever runs again. */
static void fit_command_print_proof(FILE *file, const struct fit_list *list)
{
	if (!*list->proof.op)
		return;
	words_print(file, "", 0, PRINTED(1200,
		"no recomputation and no order helps: what %s alone reads and writes, with what must be there, is "
		"above the cap", text_clean(list->proof.op, TEXT(512))));
	words_print(file, "", 0, PRINTED(1200, "its operands, and what is there all along: %s. %s",
		text_clean(list->proof.holds, TEXT(512)), list->proof.advice));
}

/* Where nothing fits: what each kind of change takes off, and where something would. */
static void fit_command_print_none(FILE *file, const struct fit_list *list)
{
	const struct fit_way *least = fit_command_least(list);
	fit_command_print_proof(file, list);
	fprintf(file, "no change fits%s; the nearest first\n", list->limited ? " so far" : "");
	print_frees(file, list);
	if (least)
		words_print(file, "the least limit at which one", 29,
			PRINTED(1200, "%s: %s, %s", least->planned ? "fits" : "may fit", BYTES(least->came.needs),
			options_text(least->set, TEXT(2 * FIT_SET_SIZE))));
}

/* What all rows take for granted, and what isn't a row: adapters of a step whose model isn't known. */
static void fit_command_print_notes(FILE *file, const struct fit_list *list, bool model)
{
	char text[500];
	if (list->captured)
		words_print(file, "all rows:", 19, "with PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, the update parameter by "
			"parameter (foreach=False, or fused=True), gradients as zero_grad(set_to_none=True) leaves them");
	if (list->frozen > 0) {
		PRINT_TO(text, "frozen weights take %s; in int8 %s, in nf4 %s, with other numbers: BitsAndBytesConfig in PyTorch; "
			"MODEL:lora=16:base=nf4 is that step, python3 -m tidemark_torch MODEL --lora 16 --base nf4 captures it",
			BYTES(list->frozen), BYTES(list->weights), BYTES(list->weights / 100 * 52));
		words_print(file, "frozen weights:", 19, text + strlen("frozen weights "));
	} else if (list->captured && list->tuned && !model)
		words_print(file, "other training:", 19, "adapters alone (LoRA) beside frozen weights: "
			"MODEL:lora=16:target=all:base=nf4 is that step, python3 -m tidemark_torch MODEL --lora 16 --base nf4 captures it");
}

static void fit_command_print_text(
	FILE *file, const struct scenario *scenario, const struct fit_list *list, bool model)
{
	char clock[DEVICE_CLOCK_TEXT], text[1500], over[1500] = "";
	struct words rest = { over, sizeof over, 0 };
	const struct fit_came *base = &list->base;
	device_clock_text(scenario, clock);
	const char *memory = BYTES(base->needs), *cap = BYTES(list->budget),
			   *how = list->captured ? " (program order, PyTorch's allocator)" : "";
	if (list->fits)
		PRINT_TO(text, "the step fits as it is%s: it needs %s of %s and takes %.4g ms%s%s%s%s", how, memory, cap,
			(double)base->step / 1e9, clock, base->state_first ? "; with " FIT_STATE_FIRST : "",
			*base->guesses ? "; " : "", base->guesses);
	else
		PRINT_TO(text, "the step doesn't fit as it is%s: it needs %s, %s over the cap of %s, and takes %.4g ms%s%s%s", how,
			memory, BYTES(base->needs - list->budget), cap, (double)base->step / 1e9, clock,
			*base->guesses ? "; in every row a " : "", base->guesses);
	words_print(file, "", 0, text);
	if (list->fits)
		return;
	if (list->fitting == 0)
		fit_command_print_none(file, list);
	if (list->limited)
		fprintf(file, "stopped: %u change%s planned by then\n", list->ways + list->useless,
			list->ways + list->useless == 1 ? " was" : "s were");
	print_groups(file, list, &rest);
	print_rest(file, list, over);
	if (list->fitting)
		fit_command_print_proof(file, list);
	fit_command_print_notes(file, list, model);
}

/* ---- JSON ---- */

static void write_set(struct json *json, const char *set)
{
	json_open_array(json, "set");
	for (const char *at = set; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		json_write_text(json, NULL, PRINTED(FIT_SET_SIZE, "%.*s", (int)length, at));
		at += length;
	}
	json_close(json);
}

static void write_way(struct json *json, const struct fit_list *list, const struct fit_way *way)
{
	json_new_line(json, 2);
	json_open_object(json, NULL);
	if (*way->model)
		json_write_text(json, "model", way->model);
	write_set(json, way->set);
	if (way->planned) {
		json_write_bool(json, "fits", way->fits);
		json_write_integer(json, "needed_bytes", way->came.needs);
		json_write_integer(json, "over_bytes", way->fits ? 0 : way->came.needs - list->budget);
		json_write_decimal(json, "step_seconds", way->came.step, 12);
		json_write_real(json, "extra_seconds", (double)way->extra * 1e-12, 12);
		if (way->came.rate > 0)
			json_write_real(json, way->came.tokens ? "tokens_per_second" : "samples_per_second", way->came.rate, 6);
		json_write_text(json, "changes", fit_meaning_names[way->meaning]);
		json_write_text(json, "in_pytorch", way->how);
		if (*way->reason)
			json_write_text(json, "guesses", way->reason);
	} else {
		if (way->above)
			json_write_integer(json, "at_least_bytes", way->came.needs);
		json_write_text(json, "reason", way->reason);
	}
	json_close(json);
}

static void write_ways(struct json *json, const struct fit_list *list, const char *key, bool planned)
{
	json_new_line(json, 1);
	json_open_array(json, key);
	FOR(i, list->ways)
		if (list->way[i].planned == planned)
			write_way(json, list, &list->way[i]);
	json_close(json);
}

void fit_write_json(
	FILE *file, const struct scenario *scenario, const struct fit_asked *asked, const struct fit_list *list)
{
	struct json json = { .stream = file };
	json_open_object(&json, NULL);
	fit_write_asked(&json, scenario, asked);
	json_write_integer(&json, "memory_bytes", list->budget);
	json_write_bool(&json, "fits", list->fits);
	json_write_bool(&json, "as_captured", list->captured);
	json_write_integer(&json, "needed_bytes", list->base.needs);
	json_write_decimal(&json, "step_seconds", list->base.step, 12);
	json_write_text(&json, "rests_on", device_reached_text(scenario, TEXT(800)));
	json_write_real(&json, "deviation", device_deviation(scenario) / 1e3, 3);
	if (*list->base.guesses)
		json_write_text(&json, "guesses", list->base.guesses);
	json_write_text(&json, "forbidding_op", *list->proof.op ? list->proof.op : NULL);
	json_write_text(&json, "operands", *list->proof.op ? list->proof.holds : NULL);
	json_write_text(&json, "advice", list->proof.advice);
	write_ways(&json, list, "ways", true);
	write_ways(&json, list, "not_possible", false);
	json_write_integer(&json, "useless", list->useless);
	if (list->frozen > 0)
		json_write_integer(&json, "frozen_bytes", list->frozen);
	if (list->limited)
		json_write_bool(&json, "limited", true);
	json_end(&json);
}

/* ---- the command ---- */

static int fit_command_write_list(const struct request *request, const struct fit_list *list)
{
	struct output output;
	struct error error = { 0 };
	enum status status = output_open(&output, request->line.output, true, &error);
	if (status == OK) {
		if (request->line.json)
			fit_write_json(output.stream, &request->scenario, &request->asked, list);
		else
			fit_command_print_text(output.stream, &request->scenario, list,
				open_is_model(*request->line.operand));
		status = output_close(&output, OK, &error);
	}
	if (status != OK)
		return complain(NULL, &error, status);
	return list->fits || list->fitting ? EXIT_FINE : EXIT_CONSTRAINT;
}

/* On a terminal every change is told of as soon as it is planned; the sorted list comes in the end. */
static void show_planned(void *context, const struct fit_list *list, const struct fit_way *way)
{
	(void)context;
	fputs("\r\033[K", stderr);
	if (way->planned)
		print_row(stderr, list, way, "");
}

/* Tensors without a size count as 0 bytes: with no other ones all would fit. */
static enum status fit_command_doubt_sizes(const struct graph *graph, struct error *error)
{
	const struct intake *intake = &graph->about.intake;
	const char *advice = intake->advice ? intake->advice : "";
	if (intake->missing > 0 && intake->missing >= graph->tensors)
		return refuse(error, "no tensor has a size, so nothing is known of what fits; %s", advice);
	if (intake->missing > 0)
		complain_line("%u of %u tensors have no size and count as 0 bytes; %s", intake->missing, graph->tensors, advice);
	return OK;
}

static int fit_command_serve(const struct request *request)
{
	int code = EXIT_FINE;
	struct error error = { 0 };
	struct fit_list list = { 0 };
	const struct fit_watch watch = { show_planned, NULL };
	bool terminal = isatty(STDERR_FILENO) && isatty(STDOUT_FILENO) && !request->line.output;
	struct graph *graph = batch_open(*request->line.operand, &request->line.reading, &code);
	if (graph) {
		batch_doubt(&request->scenario, graph);
		enum status sized = fit_command_doubt_sizes(graph, &error);
		if (sized != OK) {
			graph_release(graph);
			return complain(*request->line.operand, &error, sized);
		}
	}
	batch_limit(request->line.seconds); /* until here, while the graph is read, signals end the program at once */
	if (!graph)
		return code;
	struct planner planner = {
		.store = store_new(), .rules_file = request->line.rules_file, .control = { .cancel = batch_cancel() }
	};
	batch_progress(&planner.control);
	if (request->asked.smallest || request->asked.most != KNOB_COUNT) {
		struct most_request most = { request->asked, request->line.json, *request->line.operand, request->line.output };
		code = planner.store ? fit_most_serve(&most, &planner, graph, &request->scenario)
			: complain(NULL, &error, fail_memory(&error));
		planner_done(&planner);
		graph_release(graph);
		return code;
	}
	const struct fit_question question = { (uint32_t)request->asked.devices,
		open_is_model(*request->line.operand) ? *request->line.operand : NULL, terminal ? &watch : NULL };
	enum status status = planner.store ? fit_list_find(&planner, graph, &request->scenario, &question, &list, &error)
		: fail_memory(&error);
	batch_progress_done();
	if (status == OK)
		code = fit_command_write_list(request, &list);
	else if (status != CANCELLED || !batch_signal())
		code = complain(*request->line.operand, &error, status);
	code = batch_signal() ? batch_signal() : code;
	fit_list_free(&list);
	planner_done(&planner);
	graph_release(graph);
	return code;
}

int fit_command(int argc, char **argv)
{
	struct request request = { .asked = { .devices = 1, .most = KNOB_COUNT } };
	scenario_init(&request.scenario);
	int code = fit_command_parse(&request, argc, argv);
	if (code == EXIT_FINE && !request.line.helped)
		code = fit_command_serve(&request);
	scenario_done(&request.scenario);
	return code;
}
