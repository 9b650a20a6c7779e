/* search.c: all configurations of the step, those that fit first, the fastest first; which of them is asked
 * for, and why one that doesn't fit doesn't, with the smallest change that does. */
#include "devices.h"
#include "src/scenario/device_figures.h"

/* All configurations of the step on its devices. */
struct config_rows {
	uint64_t of;          /* serial of the list for which the rows were made; 0: none */
	struct config chosen; /* the selected one, which stays so when the list is ranked anew */
	uint32_t *row;        /* [rows] entries that contain the filter */
	uint32_t rows, selected, top;
	int page; /* of the rows when they were drawn last */
	char filter[100];
};

enum {
	PLANNED_FROM = 84,
	BUBBLE_FROM = 100,
	TIME = 10,
	MEMORY = 20,
	PLANNED_TIME = 31,
	PLANNED_MEMORY = 41,
	BUBBLE = 49,
	WHY = 4,
	HEAD = 2,
};

static void search_free(void *state)
{
	struct config_rows *list = state;
	mem_free(list->row);
	list->row = NULL;
	list->of = 0;
}

/* Rows that a filter leaves. What was selected stays so when a list is ranked anew, but for the first row: that is the
 * best one's. */
static bool search_make_rows(struct config_rows *list, const struct model *model)
{
	const struct config_list *all = &model->ranking->list;
	char text[200];
	bool known = list->row && strcmp(list->filter, model->filter) == 0, first = !known || list->selected == 0;
	if (known && list->of == model->ranking->serial)
		return true;
	search_free(list);
	MAKE(list->row, all->entries ? all->entries : 1);
	if (!list->row)
		return false;
	PRINT_TO(list->filter, "%s", model->filter);
	list->of = model->ranking->serial;
	list->rows = list->selected = 0;
	list->top = first ? 0 : list->top;
	FOR(i, all->entries) {
		const struct config *config = &all->entry[i].config;
		if (*list->filter && !text_contains(config_text(config, text, sizeof text), list->filter))
			continue;
		if (!first && config_equal(config, &list->chosen))
			list->selected = list->rows;
		list->row[list->rows++] = i;
	}
	return true;
}

/* The configuration that the plan on the screen has. */
static bool is_present(const struct model *model, const struct config *config)
{
	return model->outlook && !model->outlook->planned
		? config_equal(config, &model->outlook->config)
		: model->outlook && config->pp == model->outlook->config.pp && config->dp == model->outlook->config.dp &&
			config->tp == model->outlook->config.tp && config->cp == model->outlook->config.cp &&
			config->ep == model->outlook->config.ep && config->microbatches == model->outlook->config.microbatches &&
			config->schedule == model->outlook->config.schedule && config->chunks == model->outlook->config.chunks &&
			config->zero == model->plan->scenario.value[K_zero] &&
			(config->recompute_layers > 0 ? RECOMPUTE_AUTO : config->recompute) ==
				model->plan->scenario.value[K_recompute] &&
			(config->tp == 1 || config->sp == (model->plan->scenario.value[K_sp] != 0));
}

/* ---- the list ---- */

/* What the row's plan comes to; nothing where it wasn't tried. */
static void draw_planned(struct frame *frame, int y, const struct config_planned *planned)
{
	char text[32];
	if (planned->known) {
		frame_right(frame, PLANNED_TIME, y, planned->fits ? ROLE_TEXT : ROLE_FAINT,
			time_text(planned->time, text, sizeof text));
		frame_right(frame, PLANNED_MEMORY, y, planned->fits ? ROLE_TEXT : ROLE_BAD,
			bytes_text(planned->needs, text, sizeof text));
	} else if (planned->tried) {
		frame_right(frame, PLANNED_TIME, y, ROLE_FAINT, "no plan");
	}
}

/* Where the names of configurations begin. */
static int names_at(int width)
{
	return (width >= BUBBLE_FROM ? BUBBLE : width >= PLANNED_FROM ? PLANNED_MEMORY : MEMORY) + 3;
}

static void search_draw_row(
	struct frame *frame, int y, const struct model *model, uint32_t number, bool selected)
{
	const struct config_entry *entry = &model->ranking->list.entry[number];
	const struct config_result *result = &entry->result;
	int width = frame->window.width, at = names_at(width);
	char text[200];
	if (is_present(model, &entry->config))
		frame_text(frame, 0, y, 1, ROLE_KEY, ">");
	frame_right(frame, TIME, y, entry->fits ? ROLE_TEXT : ROLE_FAINT, time_text(result->time, text, sizeof text));
	frame_right(frame, MEMORY, y, entry->fits ? ROLE_TEXT : ROLE_BAD, bytes_text(result->worst.total, text, sizeof text));
	if (width >= PLANNED_FROM)
		draw_planned(frame, y, &entry->planned);
	PRINT_TO(text, "%.1f %%", result->time ? 100.0 * (double)result->bubble / (double)result->time : 0.0);
	if (width >= BUBBLE_FROM)
		frame_right(frame, BUBBLE, y, ROLE_FAINT, text);
	if (entry->front)
		frame_glyph(frame, at - 2, y, GLYPH_BULLET, ROLE_GOOD);
	size_t used = strlen(config_text(&entry->config, text, sizeof text));
	if (entry->variants > 0)
		snprintf(text + used, sizeof text - used, "  +%u", entry->variants);
	if (entry->guess)
		at += frame_text(frame, at, y, width - at, ROLE_WARN, "guess: ");
	frame_name(frame, at, y, width - at, entry->front ? ROLE_GOOD : entry->fits ? ROLE_TEXT : ROLE_FAINT, text);
	if (selected)
		frame_mark(frame, (struct rect){ 0, y, width, 1 }, MARK_REVERSE);
}

static void search_draw_header(struct frame *frame, int y)
{
	int width = frame->window.width;
	frame_right(frame, TIME, y, ROLE_LABEL, "estimated");
	frame_right(frame, MEMORY, y, ROLE_LABEL, "memory");
	if (width >= PLANNED_FROM) {
		frame_right(frame, PLANNED_TIME, y, ROLE_LABEL, "planned");
		frame_right(frame, PLANNED_MEMORY, y, ROLE_LABEL, "memory");
	}
	if (width >= BUBBLE_FROM)
		frame_right(frame, BUBBLE, y, ROLE_LABEL, "bubble");
	frame_text(frame, names_at(width), y, width, ROLE_LABEL, "configuration (> shown, +N more cut alike)");
}

/* ---- why ---- */

/* "planned: 9.76 ms, 164 MiB. ", why it can't be, or nothing. Returns what it wrote. */
static size_t planned_words(const struct config_planned *planned, char *text, size_t size)
{
	char needs[32], time[32];
	int used = !planned->tried ? 0
		: !planned->known
		? snprintf(text, size, "can't be planned: %s. ", planned->reason)
		: snprintf(text, size, "planned: %s, %s%s. ", time_text(planned->time, time, sizeof time),
			  bytes_text(planned->needs, needs, sizeof needs),
			  planned->fits ? "" : ", which doesn't fit");
	text[used > 0 ? used : 0] = '\0';
	return used < 0 ? 0 : (size_t)used < size ? (size_t)used : size - 1;
}

/* What the selected one holds; of one that doesn't fit what is in the way, and the nearest that fits. */
static void search_draw_why(struct frame *frame, int y, const struct model *model, uint32_t number)
{
	const struct config_ranking *ranking = model->ranking;
	const struct config_entry *entry = &ranking->list.entry[number];
	const struct rank_memory *worst = &entry->result.worst;
	char text[700], changes[200], amount[32], total[32];
	int64_t bytes;
	int width = frame->window.width;
	const char *part = config_biggest(worst, &bytes);
	size_t used = planned_words(&entry->planned, text, sizeof text);
	frame_repeat(frame, 0, y, width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (entry->fits) {
		char first[32], last[32];
		snprintf(text + used, sizeof text - used,
			"rank %u holds the most, %s; the largest part are %s, %s; first rank %s, last %s. Enter sets the knobs so, "
			"in one step",
			entry->result.worst_rank, bytes_text(worst->total, total, sizeof total), part,
			bytes_text(bytes, amount, sizeof amount), bytes_text(entry->result.first.total, first, sizeof first),
			bytes_text(entry->result.last.total, last, sizeof last));
		frame_wrapped(frame, (struct rect){ 0, y + 1, width, WHY - 1 }, ROLE_FAINT, text);
		return;
	}
	uint32_t nearest = config_nearest(&ranking->list, &entry->config);
	used += (size_t)snprintf(text + used, sizeof text - used, "rank %u needs %s too much; the most are %s, %s. ",
		entry->result.worst_rank, bytes_text(worst->total - ranking->memory, total, sizeof total), part,
		bytes_text(bytes, amount, sizeof amount));
	if (nearest == NONE && ranking->planning)
		snprintf(text + used, sizeof text - used, "Nothing fits by the estimates; those that need least are being planned");
	else if (nearest == NONE)
		snprintf(text + used, sizeof text - used, "Nothing fits %u devices: D doubles them, then S searches again",
			ranking->devices);
	else
		snprintf(text + used, sizeof text - used, "The smallest change that fits: %s (%s, %s)",
			 config_changes(&entry->config, &ranking->list.entry[nearest].config, changes, sizeof changes),
			 bytes_text(ranking->list.entry[nearest].result.worst.total, total, sizeof total),
			 time_text(ranking->list.entry[nearest].result.time, amount, sizeof amount));
	frame_wrapped(frame, (struct rect){ 0, y + 1, width, WHY - 1 }, ROLE_WARN, text);
}

/* ---- all of it ---- */

static void search_draw_title(struct frame *frame, const struct model *model)
{
	const struct config_ranking *ranking = model->ranking;
	char word[32];
	int x = 0, end = frame->window.width;
	frame_part(frame, &x, 0, end, ranking->list.fitting ? ROLE_TITLE : ROLE_BAD,
		"%u of %u fit", ranking->list.fitting, ranking->list.entries);
	frame_part(frame, &x, 0, end, ROLE_TEXT, "%u device%s", ranking->devices, ranking->devices == 1 ? "" : "s");
	if (ranking->memory >= 0)
		frame_part(frame, &x, 0, end, ROLE_TEXT, "of %s", bytes_text(ranking->memory, word, sizeof word));
	frame_part(frame, &x, 0, end, ROLE_TEXT, "%lld sample%s", (long long)ranking->batch, ranking->batch == 1 ? "" : "s");
	if (ranking->searching)
		frame_part(frame, &x, 0, end, ROLE_WARN, "searching");
	else if (ranking->planning)
		frame_part(frame, &x, 0, end, ROLE_WARN, "planning the %s",
			ranking->list.fitting ? "best" : "nearest");
	else if (ranking->fingerprint != configurations_fingerprint(model->plan))
		frame_part(frame, &x, 0, end, ROLE_WARN, "old figures: S searches again");
	uint32_t apart = device_errors_apart(&model->plan->scenario), as_fast = config_tie_end(&ranking->list, 0, apart);
	if (apart > 0 && as_fast > 1)
		frame_part(frame, &x, 0, end, ROLE_TEXT, "first %u no further apart than errors, %.1f %%", as_fast, apart / 10.0);
}

static void search_draw(void *state, struct model *model, struct frame *frame)
{
	struct config_rows *list = state;
	const struct config_ranking *ranking = model->ranking;
	int width = frame->window.width, height = frame->window.height;
	if (!ranking || ranking->list.entries == 0) {
		const char *text = ranking && ranking->searching
			? "searching: every degree, ZeRO stage, schedule and recomputation; Esc stops"
			: ranking && *ranking->error.text ? ranking->error.text
			: "S evaluates and ranks every configuration of this step on its devices";
		frame_wrapped(frame, (struct rect){ 1, 0, width - 1, 4 }, ROLE_FAINT, text);
		return;
	}
	if (!search_make_rows(list, model)) {
		frame_text(frame, 0, 0, frame->window.width, ROLE_BAD, status_text(NO_MEMORY));
		return;
	}
	int why = height >= 9 ? WHY : 0;
	search_draw_title(frame, model);
	list->page = height - 2 - why;
	list->top = scroll_to(list->top, list->selected, list->rows, list->page);
	search_draw_header(frame, 1);
	for (int i = 0; i < list->page && list->top + (uint32_t)i < list->rows; i++)
		search_draw_row(
			frame, 2 + i, model, list->row[list->top + (uint32_t)i], list->top + (uint32_t)i == list->selected);
	if (list->rows > 0)
		list->chosen = model->ranking->list.entry[list->row[list->selected]].config;
	if (list->rows == 0)
		frame_print(frame, 1, 2, ROLE_FAINT, "no configuration contains \"%s\"", list->filter);
	else if (why)
		search_draw_why(frame, height - why, model, list->row[list->selected]);
}

/* ---- commands ---- */

/* The knobs that give the configuration. */
static void search_apply(struct model *model, const struct config *config)
{
	bool keeps = model->scenario->value[K_strategy] - 1 == STRATEGY_MEGATRON;
	char chunks[32] = "", schedule[32], recompute[32];
	if (config->chunks > 1)
		PRINT_TO(chunks, " chunks=%u", config->chunks);
	view_request(model, false,
		"set%s dp=%u tp=%u pp=%u cp=%u ep=%u sp=%s zero=%u microbatches=%u schedule=%s%s recompute=%s",
		keeps ? "" : " strategy=megatron", config->dp, config->tp, config->pp, config->cp, config->ep,
		config->sp ? "on" : "off", config->zero, config->microbatches,
		knob_text(K_schedule, config->schedule, schedule, sizeof schedule), chunks,
		knob_text(K_recompute, config->recompute, recompute, sizeof recompute));
}

static void search_click(struct config_rows *list, int y)
{
	uint32_t row = list->top + (uint32_t)(y - HEAD);
	if (list->row && y >= HEAD && y < HEAD + list->page && row < list->rows)
		list->selected = row;
}

static bool search_run(void *state, struct model *model, enum command_id command)
{
	struct config_rows *list = state;
	if (!model->ranking || model->ranking->list.entries == 0 || !search_make_rows(list, model) || list->rows == 0)
		return false;
	const struct config_entry *entry = model->ranking->list.entry;
	if (command == COMMAND_ACTIVATE) {
		search_apply(model, &entry[list->row[list->selected]].config);
		return true;
	}
	if (command == COMMAND_PEAK) {
		FOR(i, list->rows)
			if (is_present(model, &entry[list->row[i]].config)) {
				list->selected = i;
				return true;
			}
		view_say(model, "the configuration on the screen is not in the list");
		return true;
	}
	if (command == COMMAND_CLICK)
		search_click(list, model->click_y);
	return command == COMMAND_CLICK || row_command(command, &list->selected, list->rows, list->page);
}

const struct view_ops view_search = {
	"Search", IN_SEARCH, sizeof(struct config_rows), search_draw, search_run, search_free, NULL
};
