/* view.c: the shared cursor and zoom, and small helpers of all views. */
#include "view.h"
#include "src/scenario/knobs.h"

#include <ctype.h>
#include <stdarg.h>

#define X(id, name, digit) &view_##name,
const struct view_ops *const views[VIEWS] = { VIEW_TABLE(X) };
#undef X

uint32_t model_position(const struct model *model)
{
	return model->op < model->plan->graph->ops ? model->plan->ordered->position[model->op] : 0;
}

/* Keeps the zoom inside the step and around the position. */
static void view_follow(struct model *model, uint32_t position)
{
	uint32_t ops = model->plan->graph->ops;
	if (model->zoom_count > ops)
		model->zoom_count = ops;
	if (position < model->zoom_first)
		model->zoom_first = position;
	if (position >= model->zoom_first + model->zoom_count)
		model->zoom_first = position - model->zoom_count + 1;
	if (model->zoom_first + model->zoom_count > ops)
		model->zoom_first = ops - model->zoom_count;
}

void model_go(struct model *model, int64_t position)
{
	uint32_t ops = model->plan->graph->ops;
	if (ops == 0)
		return;
	position = position < 0 ? 0 : position >= ops ? (int64_t)ops - 1 : position;
	model->op = model->plan->ordered->result.order[position];
	view_follow(model, (uint32_t)position);
}

/* The cursor of one graph in another, by name; what is not there any more gives NONE. */
static void translate_cursor(struct model *model, const struct graph *from, const struct graph *to)
{
	uint32_t tensor = model->storage < from->storages
		? graph_find_tensor(to, from->tensor[from->storage[model->storage].root].name)
		: NONE;
	model->op = model->op < from->ops ? graph_find_op(to, from->op[model->op].name) : NONE;
	model->storage = tensor == NONE ? NONE : to->tensor[tensor].storage;
}

void model_take_plan(struct model *model, const struct plan *plan, const struct plan_index *index)
{
	const struct plan *old = model->plan;
	bool whole = !old || model->zoom_count == old->graph->ops;
	bool same_graph = old && old->graph->fingerprint == plan->graph->fingerprint;
	bool at_peak = !old || old->ordered->peak_position == NONE ||
		model->op == old->ordered->result.order[old->ordered->peak_position];
	if (old && !same_graph)
		translate_cursor(model, old->graph, plan->graph);
	model->plan = plan;
	model->index = index;
	model->span = 0;
	if (at_peak || model->op >= plan->graph->ops)
		model->op = plan->ordered->peak_position == NONE ? 0 : plan->ordered->result.order[plan->ordered->peak_position];
	if (whole || !same_graph) {
		model->zoom_first = 0;
		model->zoom_count = plan->graph->ops;
	}
	if (plan->graph->ops)
		view_follow(model, model_position(model));
}

static void view_zoom(struct model *model, int64_t count)
{
	uint32_t ops = model->plan->graph->ops, position = model_position(model);
	int64_t least = SMALLER(ops, 8);
	count = count < least ? least : count > ops ? ops : count;
	/* The cursor keeps its place on the screen. */
	double share = model->zoom_count ? (position - model->zoom_first + 0.5) / model->zoom_count : 0.5;
	int64_t first = (int64_t)(position + 0.5 - share * (double)count);
	first = first < 0 ? 0 : first + count > ops ? ops - count : first;
	model->zoom_first = (uint32_t)first;
	model->zoom_count = (uint32_t)count;
	view_follow(model, position);
}

/* To where most is needed; again, or backwards, to the next local peak, around the step. */
static void view_peak(struct model *model, uint32_t position, int direction)
{
	uint32_t next = plan_local_peak(model->plan, position, direction);
	bool again = direction < 0 || model->peaked == position + 1;
	model_go(model, again && next != position ? next : model->plan->ordered->peak_position);
	model->peaked = model_position(model) + 1;
}

uint32_t view_span(const struct model *model, uint32_t *to)
{
	uint32_t position = model_position(model), anchor = model->span ? model->span - 1 : position;
	*to = anchor > position ? anchor : position;
	return anchor + position - *to;
}

#define X(id, name) name,
const char *const change_names[CHANGES] = { CHANGES_OF(X) };
#undef X

void view_span_add(const struct plan *plan, uint32_t storage, uint32_t from, uint32_t to, int64_t bytes[CHANGES])
{
	const struct laid_out *laid_out = plan->laid_out;
	bool stays = plan->graph->storage[storage].persistent;
	bool found = stays || laid_out->first[storage] < from, left = stays || laid_out->last[storage] > to;
	bytes[found ? CHANGE_FOUND : CHANGE_MADE] += laid_out->bytes[storage];
	bytes[left ? CHANGE_LEFT : CHANGE_FREED] += laid_out->bytes[storage];
}

void view_draw_span(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	int64_t bytes[CHANGES] = { 0 };
	uint32_t to, from = view_span(model, &to);
	char text[200], number[2][32];
	struct words words = { text, sizeof text, 0 };
	FOR(i, model->index->present) {
		uint32_t item = model->index->by_bytes[i];
		if (item < plan->graph->storages && plan->laid_out->first[item] <= to && plan->laid_out->last[item] >= from)
			view_span_add(plan, item, from, to, bytes);
	}
	PRINT_TO(text, "span: ops %s to %s; most in it ", count_text(from, number[0]), count_text(to, number[1]));
	int x = frame_rest(frame, 0, y, ROLE_TITLE, text);
	frame_rest(frame, x, y, ROLE_TITLE,
		BYTES(plan->ordered->live[plan_highest(plan, from, to)]));
	*text = '\0';
	FOR_INT(change, CHANGES)
		words_add(&words, "%s%s %s", change ? " · " : "", change_names[change], BYTES(bytes[change]));
	frame_words(frame, 0, y + 1, frame->window.width, ROLE_TEXT, text);
}

bool view_command(struct model *model, enum command_id command)
{
	const struct plan *plan = model->plan;
	if (plan->graph->ops == 0)
		return false;
	uint32_t position = model_position(model);
	int64_t column = larger_of(model->zoom_count / 64, 1);
	switch (command) {
	case COMMAND_LEFT: model_go(model, (int64_t)position - 1); break;
	case COMMAND_RIGHT: model_go(model, (int64_t)position + 1); break;
	case COMMAND_COLUMN_LEFT: model_go(model, position - column); break;
	case COMMAND_COLUMN_RIGHT: model_go(model, position + column); break;
	case COMMAND_PAGE_UP: model_go(model, position - 8 * column); break;
	case COMMAND_PAGE_DOWN: model_go(model, position + 8 * column); break;
	case COMMAND_FIRST: model_go(model, 0); break;
	case COMMAND_LAST: model_go(model, plan->graph->ops); break;
	case COMMAND_SPAN: model->span = model->span ? 0 : position + 1; break;
	case COMMAND_CANCEL:
		if (!model->span)
			return false;
		model->span = 0;
		break;
	case COMMAND_PEAK:
	case COMMAND_PEAK_BACK: view_peak(model, position, command == COMMAND_PEAK ? 1 : -1); break;
	case COMMAND_ZOOM_IN: view_zoom(model, model->zoom_count / 2); break;
	case COMMAND_ZOOM_OUT: view_zoom(model, (int64_t)model->zoom_count * 2); break;
	default: return false;
	}
	return true;
}

void model_column(const struct model *model, int x, int width, uint32_t *first, uint32_t *last)
{
	uint64_t count = model->zoom_count, from = (uint64_t)x * count / (unsigned)width;
	uint64_t to = (uint64_t)(x + 1) * count / (unsigned)width;
	*first = model->zoom_first + (uint32_t)from;
	*last = model->zoom_first + (uint32_t)(to > from ? to - 1 : from);
}

/* The inverse of model_column: the middle of the columns that show the position. */
int model_column_of(const struct model *model, uint32_t position, int width)
{
	if (position < model->zoom_first)
		return -1;
	if (position >= model->zoom_first + model->zoom_count)
		return width;
	uint64_t offset = position - model->zoom_first, count = model->zoom_count;
	uint64_t first = (offset * (unsigned)width + count - 1) / count;
	uint64_t next = ((offset + 1) * (unsigned)width + count - 1) / count;
	if (next <= first)
		return (int)(offset * (unsigned)width / count);
	return (int)(first + (next - first - 1) / 2);
}

/* ---- for views ---- */

void view_request(struct model *model, bool edit, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(model->request, sizeof model->request, format, arguments);
	va_end(arguments);
	model->request_edit = edit;
}

void view_say(struct model *model, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(model->message, sizeof model->message, format, arguments);
	model->bad = false;
	va_end(arguments);
}

enum role item_role(const struct plan *plan, uint32_t item)
{
	return role_of_word(item_kind(plan, item));
}

char *tensor_shape_text(const struct tensor *tensor, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	words_add(&words, "%s%s", tensor->has_dtype ? dtype_names[tensor->dtype] : "", tensor->shape ? "[" : "");
	for (int i = 0; tensor->shape && i < tensor->dims; i++)
		words_add(&words, "%s%lld", i ? "," : "", (long long)tensor->shape[i]);
	if (tensor->shape)
		words_add(&words, "]");
	return text;
}

bool text_contains(const char *text, const char *part)
{
	size_t length = strlen(part);
	char low = (char)tolower((unsigned char)*part), high = (char)toupper((unsigned char)*part);
	for (; ; text++) {
		size_t same = 0;
		while (*text && *text != low && *text != high && length > 0)
			text++;
		while (same < length && tolower((unsigned char)text[same]) == tolower((unsigned char)part[same]))
			same++;
		if (same == length)
			return true;
		if (!*text)
			return false;
	}
}

char *count_text(uint64_t count, char text[32])
{
	char digits[24];
	int length = PRINT_TO(digits, "%llu", (unsigned long long)count), out = 0;
	FOR_INT(i, length) {
		if (i > 0 && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

char *gap_text(int64_t value, int64_t bound, char *text, size_t size)
{
	double gap = bound > 0 ? 100.0 * (double)(value - bound) / (double)bound : 0;
	bool tiny = value > bound && gap < 0.005;
	if (bound <= 0 && value > 0)
		snprintf(text, size, "unknown");
	else
		snprintf(text, size, "%s%.2f %%", tiny ? "<" : "", tiny ? 0.01 : gap);
	return text;
}

const char *const ledger_names[LEDGER_PARTS] = { "parameters", "gradients", "optimizer", "activations", "other",
	"holes", "gathered", "NCCL", "context" };

const char *ledger_cents(int64_t largest, const struct verdict *verdict, int64_t cents[LEDGER_PARTS + 1])
{
	static const struct { const char *name; double bytes; } units[] = { { "GiB", 1073741824.0 }, { "MiB", 1048576.0 },
		{ "KiB", 1024.0 }, { "B", 1.0 } };
	double left[LEDGER_PARTS];
	int unit = 0;
	while (unit < 3 && (double)largest < units[unit].bytes)
		unit++;
	int64_t missing = cents[LEDGER_PARTS] = (int64_t)((double)verdict->needed / units[unit].bytes * 100 + 0.5);
	FOR_INT(part, LEDGER_PARTS) {
		double exact = (double)verdict->part[part] / units[unit].bytes * 100;
		cents[part] = (int64_t)exact;
		left[part] = exact - (double)cents[part];
		missing -= cents[part];
	}
	for (; missing > 0; missing--) {
		int most = 0;
		for (int part = 1; part < LEDGER_PARTS; part++)
			most = left[part] > left[most] ? part : most;
		cents[most]++;
		left[most] = -1;
	}
	return units[unit].name;
}

uint32_t scroll_to(uint32_t top, uint32_t row, uint32_t rows, int visible)
{
	uint32_t page = visible > 0 ? (uint32_t)visible : 1;
	if (row < top)
		top = row;
	if (row >= top + page)
		top = row - page + 1;
	if (rows <= page)
		top = 0;
	else if (top > rows - page)
		top = rows - page;
	return top;
}

bool row_command(enum command_id command, uint32_t *row, uint32_t rows, int page)
{
	int64_t target = *row;
	switch (command) {
	case COMMAND_UP: target--; break;
	case COMMAND_DOWN: target++; break;
	case COMMAND_PAGE_UP: target -= page; break;
	case COMMAND_PAGE_DOWN: target += page; break;
	case COMMAND_FIRST: target = 0; break;
	case COMMAND_LAST: target = (int64_t)rows - 1; break;
	default: return false;
	}
	if (target >= rows)
		target = (int64_t)rows - 1;
	*row = target < 0 ? 0 : (uint32_t)target;
	return true;
}

int view_source(struct frame *frame, int x, int y, int width, const struct op *op)
{
	char text[200];
	const char *place = op->src ? op->src : "";
	if (text_cells(place) <= width)
		return frame_text(frame, x, y, width, ROLE_LABEL, place);
	place = words_of_place(place);
	if (text_cells(place) <= width)
		return frame_text(frame, x, y, width, ROLE_LABEL, place);
	PRINT_TO(text, "%.*s", (int)strcspn(place, " "), place);
	return text_cells(text) <= width ? frame_text(frame, x, y, width, ROLE_LABEL, text) : 0;
}

void view_request_scenario(struct model *model, const struct scenario *scenario)
{
	char value[64];
	struct words words = { model->request, sizeof model->request, 0 };
	words_add(&words, "set");
	FOR_INT(i, KNOB_COUNT)
		if (scenario->value[i] != model->scenario->value[i])
			words_add(&words, " %s=%s", knobs[i].name, knob_text((enum knob_id)i, scenario->value[i], value, sizeof value));
	model->request_edit = false;
	if (model->request[3])
		return;
	model->request[0] = '\0';
	view_say(model, "these are the knobs that are set now");
}

void view_command_line(
	const struct model *model, const struct scenario *scenario, const char *what, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	words_add(&words, "tidemark %s ", what);
	words_add_quoted(&words, *model->path ? model->path : "-");
	words_add(&words, "%s", config_set_text(scenario, TEXT(2000)));
	FOR_WHILE(i, scenario->pins, !text_is(what, "search"))
		if (scenario->pin[i].kind != PIN_RERUN) { /* recompute=ops has said it */
			words_add(&words, " --pin ");
			words_add_quoted(&words, pin_text(&scenario->pin[i], TEXT(2000)));
		}
}
