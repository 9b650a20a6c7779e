/* chrome.c: tabs, status line, footer. Everything has a fixed place, so that nothing jumps while the solver runs. */
#include "app.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"
#include "ui/views/devices.h"

enum { NAMES_FROM = 72 };

/* A tab's text. */
static const char *tab_text(int i, int view, int width, char text[32])
{
	if (width >= NAMES_FROM || i == view)
		snprintf(text, 32, " %d %s", i + 1, views[i]->name);
	else
		snprintf(text, 32, " %d", i + 1);
	return text;
}

int chrome_tab_at(int width, int view, int x)
{
	char text[32];
	FOR_INT(i, VIEWS) {
		int cells = text_cells(tab_text(i, view, width, text));
		if (x < cells)
			return i;
		x -= cells;
	}
	return -1;
}

void chrome_tabs(struct frame *frame, const struct model *model, int view)
{
	int width = frame->window.width, x = 0;
	char text[32];
	FOR_INT(i, VIEWS)
		x += frame_text(frame, x, 0, width, i == view ? ROLE_TAB_ACTIVE : ROLE_TAB, tab_text(i, view, width, text));
	if (model->plan && width - x >= 8) {
		const char *name = model->plan->input->name;
		int room = width - x - 2, wanted = text_cells(name);
		frame_name(frame, width - SMALLER(wanted, room), 0, room, ROLE_TITLE, name);
	}
}

/* What the plan is of, in parts; "" for what isn't known. */
enum what { WHAT_BATCH, WHAT_SEQ, WHAT_PRECISION, WHAT_OPTIMIZER, WHAT_DEVICES, WHAT_MESH, WHAT_RANK, WHAT_CLOCK,
	WHATS };

static void chrome_what(const struct model *model, char text[WHATS][100])
{
	const struct plan *plan = model->plan;
	const struct scenario *scenario = &plan->scenario;
	const struct given *given = &model->given;
	const int64_t *value = scenario->value;
	const struct pipelined *pipelined = plan->transformed->pipelined;
	bool ranks = pipelined && pipelined->ranks > 1;
	int64_t batch = value[K_batch] == KNOB_GIVEN ? given->batch : value[K_batch],
			seq = value[K_seq] == KNOB_GIVEN ? given->sequence : value[K_seq];
	char word[64];
	if (batch > 0)
		snprintf(text[WHAT_BATCH], 100, "batch %lld", (long long)batch);
	if (seq > 0)
		snprintf(text[WHAT_SEQ], 100, "seq %lld", (long long)seq);
	snprintf(text[WHAT_PRECISION], 100, "%s", value[K_precision] ? knob_text(K_precision, value[K_precision], word,
		sizeof word) : given->precision ? given->precision : "");
	const char *optimizer = value[K_optimizer] ? knob_text(K_optimizer, value[K_optimizer], word, sizeof word)
		: given->optimizer ? given->optimizer : "";
	snprintf(text[WHAT_OPTIMIZER], 100, "%s", text_is(optimizer, "none") ? "no optimizer" : optimizer);
	if (value[K_device] == DEVICE_NONE)
		snprintf(text[WHAT_DEVICES], 100, "%lld device%s", (long long)value[K_devices], value[K_devices] == 1 ? "" : "s");
	else
		snprintf(text[WHAT_DEVICES], 100, "%lld x %s", (long long)value[K_devices], scenario->device.name);
	if (device_is_assumed(scenario) && plan->speed.time > 0)
		snprintf(text[WHAT_CLOCK], 100, "times as on an a100-80gb");
	devices_mesh_text(plan, text[WHAT_MESH], 100);
	if (ranks)
		snprintf(text[WHAT_RANK], 100, "rank %u of %u%s", plan->rank, pipelined->ranks,
			value[K_rank] == KNOB_GIVEN ? ", the fullest" : "");
}

static void chrome_draw_what(struct frame *frame, int end, const struct model *model)
{
	static const enum what usual[WHATS] = { WHAT_BATCH, WHAT_SEQ, WHAT_PRECISION, WHAT_OPTIMIZER, WHAT_DEVICES, WHAT_MESH,
		WHAT_RANK, WHAT_CLOCK }, ranked[WHATS] = { WHAT_RANK, WHAT_BATCH, WHAT_DEVICES, WHAT_MESH, WHAT_SEQ, WHAT_PRECISION,
		WHAT_OPTIMIZER, WHAT_CLOCK };
	char text[WHATS][100] = { "" };
	int x = 0;
	chrome_what(model, text);
	FOR_INT(i, WHATS) {
		const char *part = text[(*text[WHAT_RANK] ? ranked : usual)[i]];
		if (*part && !frame_part(frame, &x, 0, end, ROLE_TEXT, "%s", part))
			break;
	}
}

enum { WITHIN_FROM = 100 };   /* columns: on fewer, tokens of a second need the room */

/* Whether it fits, what a step takes, what is proved. */
static void chrome_draw_verdict(struct frame *frame, const struct plan *plan)
{
	struct verdict verdict = plan_verdict(plan);
	char text[VERDICT_TEXT], number[32];
	bool fits = fits_runs(verdict.fits);
	int x = 0, end = frame->window.width;
	enum role role = verdict.fits == FITS_ANY ? ROLE_TITLE
		: !fits ? ROLE_BAD : verdict.retries > 0 ? ROLE_WARN : ROLE_GOOD;
	frame_part(frame, &x, 1, end, role, "%s", verdict_plan_text(&verdict, text, sizeof text));
	if (!fits) {
		frame_part(frame, &x, 1, end, ROLE_BAD,
			"%s too much", BYTES(verdict.needed - verdict.cap));
	}
	if (plan->speed.time > 0)
		frame_part(frame, &x, 1, end, ROLE_TEXT, "%s%s", TIME(plan->speed.time),
			end < WITHIN_FROM ? "" : device_deviation_text(&plan->scenario, number));
	if (plan->speed.time > 0 && plan->speed.tokens > 0) {
		double rate = plan_speed_rate(&plan->speed) * plan->speed.devices;
		frame_part(frame, &x, 1, end, ROLE_TEXT, "%s tokens/s", COUNT((uint64_t)(rate + 0.5)));
	}
	bool proved = plan_is_proved(plan);
	PRINT_TO(text, "at most %s above the least",
		gap_text(plan_peak(plan), plan_bound(plan), number, sizeof number));
	frame_part(frame, &x, 1, end, proved ? ROLE_GOOD : ROLE_WARN, "%s", proved ? "least possible"
		: plan_bound(plan) > 0 ? text : plan_lacks_sizes(plan) ? "no sizes" : "not proved");
}

/* "planning 3 of 10 · 8 s" */
static void chrome_search_text(const struct config_ranking *ranking, long long seconds, char *text, size_t size)
{
	uint32_t tried = 0;
	FOR(i, ranking->list.entries)
		tried += ranking->list.entry[i]->planned.tried;
	if (ranking->planning)
		snprintf(text, size, "planning %u of %u · %lld s", tried, LARGER(tried, CONFIGS_BEST), seconds);
	else
		snprintf(text, size, "search %u · %lld s", ranking->list.looked, seconds);
}

void chrome_status(struct frame *frame, const struct model *model)
{
	const struct session_status *status = &model->status;
	int width = frame->window.width, slot = width >= 100 ? 26 : width >= 60 ? 20 : 13;
	char text[100] = "";
	int room = slot - 6 * status->stale;
	long long seconds = (long long)(model->clock - model->since);
	if (status->solving && status->fraction >= 0)
		PRINT_TO(text, "%.*s %3.0f %%", room - 6, status->stage, 100 * status->fraction);
	else if (status->solving)
		PRINT_TO(text, "%.*s", room, *status->stage ? status->stage : "planning");
	else if (model->plan && model->plan->limited)
		PRINT_TO(text, "stopped early");
	else if (model->ranking && (model->ranking->searching || model->ranking->planning))
		chrome_search_text(model->ranking, seconds, text, sizeof text);
	else if (model->ways && model->ways->job)
		PRINT_TO(text, "fit %u of %u · %lld s", model->ways->list.tried, model->ways->list.all, seconds);
	frame_right(frame, width, 0, status->stale ? ROLE_WARN : ROLE_FAINT, text);
	if (*status->problem)
		frame_right(frame, width, 0, ROLE_BAD, "refused");
	else if (status->stale)
		frame_text(frame, width - slot, 0, 5, ROLE_WARN, "old");
	if (!model->plan) {
		frame_text(frame, 0, 0, width - slot, ROLE_FAINT, *status->problem ? "no plan of these knobs" : "no plan yet");
		return;
	}
	frame->marks = status->stale ? MARK_DIM : 0;
	chrome_draw_what(frame, width - slot - 1, model);
	chrome_draw_verdict(frame, model->plan);
	frame->marks = 0;
}

/* ---- footer ---- */

static int item_width(enum command_id command)
{
	char key[16];
	return text_cells(command_key(command, key)) + 1 + text_cells(commands[command].footer) + 2;
}

/* Fit, search and the knobs go first, then what belongs to the view, the way back, and what is valid everywhere. */
int chrome_footer_items(int width, unsigned context, struct footer_item item[COMMAND_COUNT])
{
	static const enum command_id first[] = { COMMAND_FIT, COMMAND_SEARCH, COMMAND_PANEL };
	int firsts = context == IN_CHALLENGE ? 1 : (int)COUNT_OF(first), items = 0, x = 0, help = item_width(COMMAND_HELP),
		end = width - help + 2, undo = item_width(COMMAND_UNDO);
	for (int i = -firsts; i < 2 * COMMAND_COUNT + 1; i++) {
		bool own = i < COMMAND_COUNT, way_back = i == COMMAND_COUNT;
		enum command_id id = i < 0 ? first[(int)COUNT_OF(first) + i] : own ? (enum command_id)i : way_back ? COMMAND_UNDO
			: (enum command_id)(i - COMMAND_COUNT - 1);
		bool twice = id == COMMAND_HELP || (id == COMMAND_UNDO && !way_back) ||
			(i >= 0 && (id == COMMAND_FIT || id == COMMAND_SEARCH || id == COMMAND_PANEL ||
				(!way_back && command_everywhere(id) == own)));
		if (twice || !(commands[id].context & context) || !*commands[id].footer ||
			x + item_width(id) > end - (i < COMMAND_COUNT && end > 30 ? undo : 0))
			continue;
		item[items] = (struct footer_item){ id, x, item_width(id) };
		x += item[items++].width;
	}
	item[items++] = (struct footer_item){ COMMAND_HELP, end, help };
	return items;
}

void chrome_footer(struct frame *frame, unsigned context)
{
	struct footer_item item[COMMAND_COUNT];
	int width = frame->window.width, items = chrome_footer_items(width, context, item);
	FOR_INT(i, items) {
		char key[16];
		int used = frame_text(frame, item[i].x, 0, width - item[i].x, ROLE_KEY, command_key(item[i].command, key));
		frame_text(frame, item[i].x + used + 1, 0, width, ROLE_TEXT, commands[item[i].command].footer);
	}
}

const char *command_unavailable(const struct model *model, enum command_id command)
{
	switch (command) {
	case COMMAND_FIND_NEXT:
	case COMMAND_FIND_PREVIOUS: return *model->search ? NULL : "nothing was searched for yet";
	case COMMAND_PEAK:
	case COMMAND_PEAK_BACK:
	case COMMAND_BASELINE:
	case COMMAND_EXPORT:
	case COMMAND_COPY:
	case COMMAND_EDIT:
	case COMMAND_SHELL:
	case COMMAND_GO: return model->plan ? NULL : "no plan yet";
	default: return NULL;
	}
}
