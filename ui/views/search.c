/* search.c: all configurations of the step: the fastest of each way to cut the model, what needs less memory, what
 * doesn't fit and why, with the smallest change that does. */
#include "devices.h"
#include "src/scenario/device_figures.h"

/* The parts of the list. */
enum search_part { SEARCH_FASTEST, SEARCH_LESS, SEARCH_OVER, SEARCH_PARTS };

/* All configurations of the step on its devices. */
struct config_rows {
	uint64_t of;          /* serial of the list for which the rows were made; 0: none */
	struct config chosen; /* the selected one, which stays so when the list is ranked anew */
	struct config opened; /* of its cut all are listed; dp 0: of none */
	uint32_t *row;        /* [rows] entries */
	uint32_t rows, selected, top;
	uint32_t begin[SEARCH_PARTS + 1];
	bool context, experts; /* some have cp, ep */
	int page;              /* of the rows when they were drawn last */
	char filter[100];
};

enum { RATE = 12, TIME = 22, NEEDS = 32, DEGREES = 33, DEGREE = 3, RECOMPUTE = 10, WHY = 5, HEAD = 2 };

static void search_free(void *state)
{
	struct config_rows *list = state;
	mem_free(list->row);
	list->row = NULL;
	list->of = 0;
}

static void search_take(struct config_rows *list, const struct config_list *all, uint32_t i, bool first)
{
	const struct config *config = &all->entry[i]->config;
	if (*list->filter && !text_contains(config_text(config, TEXT(200)), list->filter))
		return;
	if (!first && config_equal(config, &list->chosen))
		list->selected = list->rows;
	list->context |= config->cp > 1;
	list->experts |= config->ep > 1;
	list->row[list->rows++] = i;
}

/* SEARCH_PARTS: in none, the fastest of its cut stands for it. */
static enum search_part search_part_of(const struct config_rows *list, const struct config_entry *entry)
{
	return !entry->fits ? SEARCH_OVER
		: entry->leads || *list->filter ? SEARCH_FASTEST
		: entry->front ? SEARCH_LESS
		: SEARCH_PARTS;
}

/* What was selected stays so when a list is ranked anew, but for the first row: that is the best one's. */
static bool search_make_rows(struct config_rows *list, const struct model *model)
{
	const struct config_list *all = &model->ranking->list;
	bool known = list->row && text_is(list->filter, model->filter), first = !known || list->selected == 0;
	if (known && list->of == model->ranking->serial)
		return true;
	search_free(list);
	MAKE(list->row, (size_t)all->entries + all->fitting + 1);
	if (!list->row)
		return false;
	PRINT_TO(list->filter, "%s", model->filter);
	list->of = model->ranking->serial;
	list->rows = list->selected = 0;
	list->context = list->experts = false;
	list->top = first ? 0 : list->top;
	FOR_INT(part, SEARCH_PARTS) {
		list->begin[part] = list->rows;
		FOR(i, all->entries) {
			const struct config_entry *entry = all->entry[i];
			if ((int)search_part_of(list, entry) != part)
				continue;
			search_take(list, all, i, first);
			bool opened = entry->leads && list->opened.dp && config_same_cut(&list->opened, &entry->config);
			for (uint32_t k = all->leading; k < all->fitting && opened && !*list->filter; k++)
				if (config_same_cut(&all->entry[k]->config, &entry->config))
					search_take(list, all, k, first);
		}
	}
	list->begin[SEARCH_PARTS] = list->rows;
	return true;
}

/* The scenario with the configuration. */
static bool search_scenario(const struct model *model, const struct config *config, struct scenario *scenario)
{
	if (scenario_copy(scenario, model->scenario) != OK)
		return false;
	config_knobs(config, scenario);
	return true;
}

/* The configuration that the plan on the screen has. */
static bool is_present(const struct model *model, const struct config *config)
{
	struct scenario scenario;
	bool same = search_scenario(model, config, &scenario) &&
		memcmp(scenario.value, model->plan->scenario.value, sizeof scenario.value) == 0;
	scenario_done(&scenario);
	return same;
}

/* ---- the list ---- */

/* A number in a column of degrees; nothing says 1. */
static int search_draw_degree(struct frame *frame, int x, int y, enum role role, const char *title, uint32_t degree)
{
	frame_right(frame, x + DEGREE, y, role, role == ROLE_LABEL ? title : PRINTED(16, "%u", degree));
	return x + DEGREE;
}

/* Throughput, time and needs: estimated ones have a ~ before them. */
static void search_draw_figures(
	struct frame *frame, int y, enum role role, const struct model *model, const struct config_entry *entry)
{
	const struct config_planned *planned = entry && entry->planned.known ? &entry->planned : NULL;
	const struct plan_speed *speed = &model->plan->speed;
	const char *about = planned || !entry ? "" : "~";
	char text[64] = "tokens/s";
	int64_t time = planned ? planned->time : entry ? entry->result.time : 0;
	double samples = (double)model->ranking->batch *
		(speed->tokens > 0 ? (double)speed->tokens / (double)speed->samples : 1);
	if (entry && time > 0)
		PRINT_TO(text, "%s%s", about, COUNT((uint64_t)(samples / ((double)time * 1e-12) + 0.5)));
	else if (speed->tokens <= 0)
		PRINT_TO(text, "samples/s");
	frame_right(frame, RATE, y, role, text);
	PRINT_TO(text, "%s%s", about, entry ? TIME(time) : "step");
	frame_right(frame, TIME, y, role, text);
	PRINT_TO(text, "%s%s", about, !entry ? "needs"
		: BYTES(planned ? planned->needs : entry->result.worst.total));
	frame_right(frame, NEEDS, y, role, text);
}

/* Degrees, schedule, recomputation. Returns the next column. */
static int search_draw_choices(struct frame *frame, int y, enum role role, const struct config_rows *list,
	const struct config *config, bool head)
{
	int x = search_draw_degree(frame, DEGREES, y, role, "dp", config->dp);
	x = search_draw_degree(frame, x, y, role, "tp", config->tp);
	x = search_draw_degree(frame, x, y, role, "pp", config->pp);
	x = list->context ? search_draw_degree(frame, x, y, role, "cp", config->cp) : x;
	x = list->experts ? search_draw_degree(frame, x, y, role, "ep", config->ep) : x;
	x = search_draw_degree(frame, x + 2, y, role, "ZeRO", config->zero) + 2;
	frame_text(frame, x, y, RECOMPUTE - 1, role, PRINTED(64, config->chunks > 1 ? "%s x%u" : "%s",
		head ? "schedule" : config->pp == 1 ? "-" : schedule_names[config->schedule], config->chunks));
	x += RECOMPUTE;
	frame_text(frame, x, y, RECOMPUTE - 1, role, head ? "recompute" : config->recompute_layers ? "layers"
		: config->offload ? "offload" : config->recompute ? recompute_names[config->recompute]
		: "-");
	return search_draw_degree(frame, x + RECOMPUTE - 1, y, role, frame->ascii ? "ub" : "µb", config->microbatch);
}

/* An entry, or the titles where it is NULL. ~: by formula, not planned yet. */
static void search_draw_row(struct frame *frame, int y, const struct config_rows *list, const struct model *model,
	const struct config_entry *entry, bool selected)
{
	static const struct config none = { 0 };
	const struct config *config = entry ? &entry->config : &none;
	bool planned = entry && entry->planned.known;
	char more[32] = "more";
	enum role role = !entry ? ROLE_LABEL : !entry->fits || (planned && !entry->planned.fits) ? ROLE_BAD
		: planned ? ROLE_TEXT : ROLE_FAINT;
	if (entry && is_present(model, config))
		frame_text(frame, 0, y, 1, ROLE_KEY, ">");
	if (entry && entry->front)
		frame_glyph(frame, 1, y, GLYPH_BULLET, ROLE_GOOD);
	search_draw_figures(frame, y, role, model, entry);
	int x = search_draw_choices(frame, y, role, list, config, !entry);
	if (entry && entry->variants > 0)
		count_text(entry->variants, more);
	if ((!entry || entry->variants > 0) && frame->window.width - x > 5)
		frame_right(frame, x + 6, y, entry ? ROLE_FAINT : ROLE_LABEL, more);
	if (selected)
		frame_select(frame, y);
}

/* ---- why ---- */

/* What the selected one holds; of one that doesn't fit what is in the way, and the nearest that fits. */
static void search_draw_why(struct frame *frame, int y, const struct model *model, const struct config_entry *entry)
{
	const struct config_ranking *ranking = model->ranking;
	const struct rank_memory *worst = &entry->result.worst;
	char text[900];
	int64_t bytes;
	int width = frame->window.width;
	uint32_t apart = device_errors_apart(&model->plan->scenario), as_fast = config_tie_end(&ranking->list, 0, apart),
			 nearest = entry->fits ? NONE : config_nearest(&ranking->list, &entry->config);
	const char *part = config_biggest(worst, &bytes);
	struct words words = { text, sizeof text, 0 };
	*text = '\0';
	frame_repeat(frame, 0, y, width, GLYPH_HORIZONTAL, ROLE_LINE);
	if (apart > 0 && as_fast > 1 && entry->leads && entry->fits)
		words_add(&words, "rows 1 to %u are closer than the errors of these times (%.1f %%): take any. ", as_fast,
			apart / 10.0);
	if (entry->planned.tried && !entry->planned.known)
		words_add(&words, "can't be planned: %s. ", entry->planned.reason);
	words_add(&words, "most on rank %u, estimated: %s %s", entry->result.worst_rank, part, BYTES(bytes));
	if (!entry->fits)
		words_add(&words, ", %s too much", BYTES(worst->total - ranking->memory));
	if (nearest != NONE)
		words_add(&words, ". The smallest change that fits: %s (%s)",
			config_changes(&entry->config, &ranking->list.entry[nearest]->config, TEXT(200)),
			BYTES(ranking->list.entry[nearest]->result.worst.total));
	else if (!entry->fits)
		words_add(&words, ranking->planning ? ". Nothing fits by formula; what needs least is being planned"
			: ". Nothing fits %u devices: D doubles them, then S searches again", ranking->devices);
	words_add(&words, ". %s%s", config_text(&entry->config, TEXT(200)),
		entry->guess ? "; a guess" : entry->planned.known ? "" : "; ~ by formula, not yet planned");
	frame_wrapped(frame, (struct rect){ 1, y + 1, width - 1, WHY - 1 }, entry->fits ? ROLE_FAINT : ROLE_WARN, text);
}

/* ---- all of it ---- */

static void search_draw_title(struct frame *frame, const struct model *model)
{
	const struct config_ranking *ranking = model->ranking;
	int x = 0, end = frame->window.width;
	bool older = !ranking->searching && !ranking->planning &&
		ranking->fingerprint != configurations_fingerprint(model->plan);
	frame_part(frame, &x, 0, end, ranking->list.fitting ? ROLE_TITLE : ROLE_BAD, "%s%s of %s configurations fit %s",
		ranking->searching ? "so far " : "", COUNT(ranking->list.fitting),
		COUNT(ranking->list.evaluated),
		ranking->memory < 0 ? "any memory" : BYTES(ranking->memory));
	if (older)
		frame_part(frame, &x, 0, end, ROLE_WARN, "for the settings before: S searches again");
	frame->marks |= older ? MARK_DIM : 0;
}

static void search_draw(void *state, struct model *model, struct frame *frame)
{
	static const char *const parts[] = { "", "LESS MEMORY", "DO NOT FIT" };
	struct config_rows *list = state;
	const struct config_ranking *ranking = model->ranking;
	int width = frame->window.width, height = frame->window.height, y = HEAD, end = height >= 9 ? height - WHY : height;
	if (!ranking || ranking->list.entries == 0) {
		const char *text = ranking && ranking->searching
			? "searching: every degree, ZeRO stage, schedule and recomputation; Esc stops"
			: ranking && *ranking->error.text ? ranking->error.text
			: "S evaluates and ranks every configuration of this step on its devices";
		frame_wrapped(frame, (struct rect){ 1, 0, width - 1, 4 }, ROLE_FAINT, text);
		return;
	}
	if (!search_make_rows(list, model)) {
		frame_no_memory(frame);
		return;
	}
	search_draw_title(frame, model);
	list->page = end - HEAD - (list->begin[1] < list->rows) - (list->begin[2] < list->rows);
	list->top = scroll_to(list->top, list->selected, list->rows, list->page);
	search_draw_row(frame, 1, list, model, NULL, false);
	for (uint32_t row = list->top; row < list->rows && y < end; row++) {
		for (int part = 1; part < SEARCH_PARTS && y < end; part++)
			if (row == list->begin[part] && row < list->begin[part + 1])
				frame_text(frame, 1, y++, width, ROLE_LABEL, parts[part]);
		search_draw_row(frame, y++, list, model, ranking->list.entry[list->row[row]], row == list->selected);
	}
	if (list->rows == 0) {
		frame_print(frame, 1, HEAD, ROLE_FAINT, "no configuration contains \"%s\"", list->filter);
		return;
	}
	list->chosen = ranking->list.entry[list->row[list->selected]]->config;
	if (end < height)
		search_draw_why(frame, end, model, ranking->list.entry[list->row[list->selected]]);
}

/* ---- commands ---- */

static void search_click(struct config_rows *list, int y)
{
	uint32_t row = list->top + (uint32_t)(y - HEAD);
	for (int part = 1; part < SEARCH_PARTS; part++)
		row -= list->begin[part] < list->begin[part + 1] && list->begin[part] >= list->top && row > list->begin[part];
	if (list->row && y >= HEAD && y < HEAD + list->page && row < list->rows)
		list->selected = row;
}

static bool search_run(void *state, struct model *model, enum command_id command)
{
	struct config_rows *list = state;
	struct scenario scenario;
	if (!model->ranking || model->ranking->list.entries == 0 || !search_make_rows(list, model) || list->rows == 0)
		return false;
	const struct config *config = &model->ranking->list.entry[list->row[list->selected]]->config;
	switch (command) {
	case COMMAND_ACTIVATE:
	case COMMAND_COPY:
		if (!search_scenario(model, config, &scenario))
			return false;
		if (command == COMMAND_ACTIVATE)
			view_request_scenario(model, &scenario);
		else
			view_command_line(model, &scenario, "plan", model->copied, sizeof model->copied);
		scenario_done(&scenario);
		return true;
	case COMMAND_ZOOM_IN:
	case COMMAND_ZOOM_OUT:
		list->opened = command == COMMAND_ZOOM_IN ? *config : (struct config){ 0 };
		list->of = 0;
		return true;
	case COMMAND_PEAK:
		FOR(i, list->rows)
			if (is_present(model, &model->ranking->list.entry[list->row[i]]->config)) {
				list->selected = i;
				return true;
			}
		view_say(model, "the configuration on the screen is not in the list");
		return true;
	case COMMAND_CLICK: search_click(list, model->click_y); return true;
	default: return row_command(command, &list->selected, list->rows, list->page);
	}
}

const struct view_ops view_search = {
	"Search", IN_SEARCH, sizeof(struct config_rows), search_draw, search_run, search_free, NULL
};
