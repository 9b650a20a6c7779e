/* html.c: plans as one page with pictures to point at: page.html around what it shows. The page works out live bytes
 * from the buffers, so that what one sees rests on the addresses and lifetimes themselves. */
#include <inttypes.h>

#include "caption.h"
#include "data.h"
#include "src/base/json.h"
#include "src/base/streams.h"
#include "src/plan/timeline.h"
#include "src/plan/verdict.h"

#define MARK "@PLANS@"

/* Lines of page.html. */
static const char *const page[] = {
#include "page.inc"
};
#define PAGE_LINES (COUNT_OF(page))

/* "f32 [2, 3]" */
static char *html_shape(const struct tensor *tensor, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	words_add(&words, "%s", dtype_names[tensor->dtype]);
	for (int d = 0; d < tensor->dims && tensor->shape; d++)
		words_add(&words, "%s%" PRId64 "%s", d ? ", " : " [", tensor->shape[d], d + 1 == tensor->dims ? "]" : "");
	return text;
}

/* The buffer's number in the page of each item that is there; NONE of all others. */
static void html_buffers(const struct plan *plan, uint32_t *number, struct json *json)
{
	const struct laid_out *laid_out = plan->laid_out;
	uint32_t count = 0;
	json_open_array(json, "buffers");
	FOR(item, laid_out->items) {
		bool work = item >= plan->graph->storages;
		number[item] = laid_out->first[item] == NONE ? NONE : count++;
		if (number[item] == NONE)
			continue;
		json_open_array(json, NULL);
		json_write_text(json, NULL, item_name(plan, item));
		json_write_integer(json, NULL, group_of_kind(item_kind(plan, item)));
		json_write_integer(json, NULL, laid_out->offset[item]);
		json_write_integer(json, NULL, laid_out->bytes[item]);
		json_write_integer(json, NULL, laid_out->first[item]);
		json_write_integer(json, NULL, laid_out->last[item]);
		json_write_text(json, NULL, work ? "workspace" : kind_names[item_kind(plan, item)]);
		json_write_text(json, NULL,
			work ? "" : html_shape(&plan->graph->tensor[plan->graph->storage[item].root], TEXT(200)));
		json_close(json);
	}
	json_close(json);
}

static void html_row(
	const struct plan *plan, const struct csr *row, uint32_t op, const uint32_t *number, struct json *json)
{
	json_open_array(json, NULL);
	FOR_ITEMS(item, row, op) {
		uint32_t buffer = number[plan->graph->tensor[item].storage];
		if (buffer != NONE)
			json_write_integer(json, NULL, buffer);
	}
	json_close(json);
}

static void html_ops(const struct plan *plan, const uint32_t *number, struct json *json)
{
	json_open_array(json, "ops");
	FOR(i, plan->graph->ops) {
		uint32_t at = plan->ordered->result.order[i];
		const struct op *op = &plan->graph->op[at];
		json_open_array(json, NULL);
		json_write_text(json, NULL, op->name);
		json_write_text(json, NULL, op->type);
		json_write_text(json, NULL, phase_names[op->phase]);
		json_write_text(json, NULL, op->module);
		json_write_text(json, NULL, op->src ? op->src : "");
		html_row(plan, &plan->graph->reads, at, number, json);
		html_row(plan, &plan->graph->writes, at, number, json);
		json_close(json);
	}
	json_close(json);
}

/* The parts of what the step needs, in the order in which they add up. */
static void html_ledger(const struct verdict *verdict, struct json *json)
{
	json_open_array(json, "ledger");
	FOR_INT(part, LEDGER_PARTS) {
		json_open_array(json, NULL);
		json_write_text(json, NULL, bar_names[part]);
		json_write_integer(json, NULL, verdict->part[part]);
		json_close(json);
	}
	json_close(json);
}

static enum status html_plan(const struct plan *plan, const char *label, struct json *json, struct error *error)
{
	const struct verdict verdict = plan_verdict(plan);
	char text[1000];
	uint32_t *MAKE(number, plan->laid_out->items);
	NEEDED(error, number);
	json_open_object(json, NULL);
	json_write_text(json, "name", plan->graph->name);
	json_write_text(json, "label", label);
	json_write_text(json, "verdict", verdict_text(&verdict, text, VERDICT_TEXT));
	struct words words = { text, sizeof text, 0 };
	caption_add_knobs(&plan->scenario, &words);
	json_write_text(json, "knobs", text);
	html_ledger(&verdict, json);
	json_write_integer(json, "needs", verdict.needed);
	json_write_integer(json, "limit", LARGER(verdict.cap, 0));
	json_write_integer(json, "peak", plan_peak(plan));
	json_write_integer(json, "bound", plan_bound(plan));
	if (plan->graph->about.ranks > 1)
		json_write_integer(json, "rank", plan->graph->about.rank);
	json_write_bool(json, "proved", plan_is_proved(plan));
	json_write_known(json, "teaches", plan->input->about.teaches);
	json_write_known(json, "asks", plan->input->about.asks);
	json_write_integer(json, "arena", plan_arena(plan));
	if (plan->speed.time >= 0)
		json_write_decimal(json, "seconds", plan->speed.time, 12);
	else
		json_write_null(json, "seconds");
	html_buffers(plan, number, json);
	html_ops(plan, number, json);
	enum status status = plan->pipelined ? pipeline_member(plan, json, error) : OK;
	json_close(json);
	mem_free(number);
	return status;
}

/* JSON within a page: "<" only in texts, where an escape says the same. */
static void html_put(const char *text, size_t length, FILE *stream)
{
	FOR_SIZE(i, length)
		if (text[i] == '<')
			fputs("\\u003c", stream);
		else
			putc(text[i], stream);
}

static enum status html_plans(
	const struct plan *const *plan, const char *const *label, uint32_t plans, FILE *stream, struct error *error)
{
	char *text = NULL;
	size_t length = 0;
	FILE *memory = text_stream(&text, &length);
	NEEDED(error, memory);
	struct json json = { .stream = memory };
	enum status status = OK;
	json_open_object(&json, NULL);
	json_open_array(&json, "groups");
	FOR_INT(group, GROUP_COUNT) {
		json_open_array(&json, NULL);
		json_write_text(&json, NULL, group_names[group]);
		json_write_text(&json, NULL, group_colours[group]);
		json_close(&json);
	}
	json_close(&json);
	json_open_array(&json, "plans");
	FOR_WHILE(i, plans, status == OK)
		status = html_plan(plan[i], label[i], &json, error);
	json_end(&json);
	if (fclose(memory) != 0 && status == OK)
		status = fail_memory(error);
	if (status == OK)
		html_put(text, length, stream);
	free(text);
	return status;
}

enum status html_write(
	const struct plan *const *plan, const char *const *label, uint32_t plans, FILE *stream, struct error *error)
{
	enum status status = OK;
	FOR(i, plans)
		if (plan[i]->graph->ops == 0)
			return refuse(error, "a graph without ops has no page");
	for (size_t i = 0; i < PAGE_LINES && status == OK; i++) {
		const char *mark = strstr(page[i], MARK);
		if (!mark) {
			fputs(page[i], stream);
			continue;
		}
		fwrite(page[i], 1, (size_t)(mark - page[i]), stream);
		status = html_plans(plan, label, plans, stream, error);
		fputs(mark + strlen(MARK), stream);
	}
	return status;
}

enum status export_html(const struct export_job *job)
{
	return html_write(&job->plan, &(const char *){ "" }, 1, job->stream, job->error);
}
