/* devices_places.c: where every tensor lies, and what its other places would cost. */
#include "devices.h"
#include "src/stages/shard/stage.h"

enum { NAME_LEAST = 10, BYTES_WIDE = 52, PLACE = 14, AMOUNT = 11, WHY = 8, WHY_HIGH = 13, HIGH = 24 };

void places_free(struct place_list *list)
{
	mem_free(list->row);
	list->row = NULL;
}

/* ---- rows ---- */

struct place_row { int64_t key; const char *name; uint32_t tensor; };

COMPARATOR(devices_places_compare, struct place_row, COMPARE(b->key, a->key, strcmp(a->name, b->name)))

static int64_t bytes_here(const struct sharded *sharded, uint32_t tensor)
{
	return placement_bytes(&sharded->shared->units, &sharded->sharding.mesh, tensor, sharded->sharding.produced[tensor]);
}

static bool devices_places_make_rows(struct place_list *list, const struct model *model)
{
	const struct sharded *sharded = model->plan->transformed->sharded;
	const struct graph *graph = sharded->shared->graph;
	if (list->row && !list->stale && list->serial == model->plan->serial && text_is(list->filter, model->filter))
		return true;
	places_free(list);
	list->rows = 0;
	MAKE(list->row, graph->storages);
	struct place_row *MAKE(row, graph->storages);
	if (!list->row || !row) {
		mem_free(row);
		places_free(list);
		return false;
	}
	PRINT_TO(list->filter, "%s", model->filter);
	FOR(s, graph->storages) {
		uint32_t root = graph->storage[s].root;
		if (!text_contains(graph->tensor[root].name, list->filter) &&
			!text_contains(kind_names[graph->storage[s].kind], list->filter))
			continue;
		int64_t key = list->sort == SORT_REDUNDANT ? sharded->redundant[s]
			: list->sort == SORT_BYTES ? bytes_here(sharded, root)
			: 0;
		row[list->rows++] = (struct place_row){ key, graph->tensor[root].name, root };
	}
	qsort(row, list->rows, sizeof *row, devices_places_compare);
	FOR(i, list->rows)
		list->row[i] = row[list->reversed ? list->rows - 1 - i : i].tensor;
	mem_free(row);
	list->serial = model->plan->serial;
	list->stale = false;
	return true;
}

/* The row of the shared cursor's tensor, which may be a device's copy of it. */
static void devices_places_select_storage(struct place_list *list, const struct model *model)
{
	const struct plan *plan = model->plan;
	bool any = model->storage < plan->graph->storages;
	uint32_t tensor = any
		? sharded_tensor(plan->transformed->sharded, plan->graph, plan->graph->storage[model->storage].root)
		: NONE;
	if (list->selected < list->rows && list->row[list->selected] == tensor)
		return;
	FOR_WHILE(i, list->rows, tensor != NONE)
		if (list->row[i] == tensor) {
			list->selected = i;
			return;
		}
	if (list->selected >= list->rows)
		list->selected = list->rows ? list->rows - 1 : 0;
}

/* The cursor of all views follows the list. */
static void share_selection(const struct place_list *list, struct model *model)
{
	const struct plan *plan = model->plan;
	uint32_t tensor = graph_find_tensor(
		plan->graph, plan->transformed->sharded->shared->graph->tensor[list->row[list->selected]].name);
	if (tensor != NONE)
		model->storage = plan->graph->tensor[tensor].storage;
}

/* ---- drawing ---- */

static void devices_places_draw_header(struct frame *frame, const struct place_list *list, int name, bool kinds)
{
	int right = frame->window.width;
	frame_text(frame, 1, 0, name, list->sort == SORT_NAME ? ROLE_TITLE : ROLE_LABEL, "tensor");
	frame_text(frame, name + 2, 0, PLACE, ROLE_LABEL, "placement");
	frame_right(frame, right - (kinds ? AMOUNT : 0), 0, list->sort == SORT_REDUNDANT ? ROLE_TITLE : ROLE_LABEL, "copies");
	if (right >= BYTES_WIDE)
		frame_right(frame, right - AMOUNT - (kinds ? AMOUNT : 0), 0, list->sort == SORT_BYTES ? ROLE_TITLE : ROLE_LABEL,
			"per device");
	if (kinds)
		frame_right(frame, right, 0, ROLE_LABEL, "kind");
}

static void devices_places_draw_row(
	struct frame *frame, int y, const struct sharded *sharded, uint32_t tensor, int name, bool kinds)
{
	const struct graph *graph = sharded->shared->graph;
	const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
	int right = frame->window.width;
	frame_name(frame, 1, y, name, ROLE_TEXT, graph->tensor[tensor].name);
	frame_text(frame, name + 2, y, PLACE + 6, ROLE_TEXT,
		sharded_place(sharded, tensor, sharded->sharding.produced[tensor], TEXT(100)));
	if (kinds) {
		frame_right(frame, right, y, role_of_word(storage->kind), kind_names[storage->kind]);
		right -= AMOUNT;
	}
	int64_t redundant = sharded->redundant[graph->tensor[tensor].storage];
	frame_bytes(frame, right, y, redundant ? ROLE_WARN : ROLE_FAINT, redundant);
	if (frame->window.width >= BYTES_WIDE)
		frame_bytes(frame, right - AMOUNT, y, ROLE_TEXT, bytes_here(sharded, tensor));
}

/* One placement: its bytes, and the time of its collectives, beside those of the plan. */
static void devices_places_draw_choice(struct frame *frame, int y, const struct sharded *sharded, uint32_t tensor,
	uint32_t axis, const struct place_choice *choice, const struct place_choice *now)
{
	char word[40], text[64];
	int x = 3 +
		frame_print(frame, 3, y, choice->chosen ? ROLE_TITLE : ROLE_TEXT, "%-3s %-8s",
			sharded->sharding.mesh.axis[axis].name,
			placement_text(&sharded->shared->units, tensor, choice->on, word, sizeof word)) +
		1;
	int64_t bytes = choice->bytes - now->bytes, time = choice->time - now->time;
	frame_right(frame, x + AMOUNT, y, ROLE_TEXT,
		choice->chosen ? BYTES(choice->bytes) : CHANGE(bytes));
	time_text(time < 0 ? -time : time, word, sizeof word);
	PRINT_TO(text, "%s%s",
		choice->chosen ? ""
		: time < 0 ? "-"
		: "+",
		choice->chosen ? TIME(choice->time) : word);
	frame_right(frame, x + 2 * AMOUNT + 1, y, time < 0 ? ROLE_GOOD : time > 0 ? ROLE_BAD : ROLE_FAINT, text);
	x += 2 * AMOUNT + 3;
	frame_rest(frame, x, y, ROLE_FAINT,
		choice->chosen ? "as planned"
		: choice->on == PLACE_PARTIAL ? "partial sums"
		: "");
}

/* What the tensor's places on every axis cost, the present one first. */
static void devices_places_draw_why(struct frame *frame, int y, const struct model *model, uint32_t tensor)
{
	const struct sharded *sharded = model->plan->transformed->sharded;
	int end = frame->window.height, x = 1;
	frame_repeat(frame, 0, y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	x += frame_name(frame, x, y + 1, frame->window.width / 2, ROLE_TITLE, sharded->shared->graph->tensor[tensor].name) + 1;
	const char *label = "in other placements, if nothing else changed: bytes, time of collectives";
	frame_rest(frame, x, y + 1, ROLE_LABEL,
		x + text_cells(label) > frame->window.width ? "in other placements" : label);
	y += 2;
	FOR(a, sharded->sharding.mesh.axes) {
		struct place_choice choice[PLACE_CHOICES];
		uint32_t count = sharded_choices(sharded, tensor, a, choice);
		FOR_WHILE(i, count, y < end)
			if (choice[i].possible)
				devices_places_draw_choice(frame, y++, sharded, tensor, a, &choice[i], &choice[0]);
	}
}

void places_draw(struct frame *frame, struct place_list *list, struct model *model)
{
	int height = frame->window.height, why = height >= HIGH ? WHY_HIGH : height >= WHY + 4 ? WHY : 0;
	bool kinds = frame->window.width >= 64;
	int table = frame->window.width;
	int name = table - PLACE - (frame->window.width >= BYTES_WIDE ? 2 : 1) * AMOUNT - (kinds ? AMOUNT : 0) - 4;
	if (!devices_places_make_rows(list, model)) {
		frame_no_memory(frame);
		return;
	}
	name = LARGER(NAME_LEAST, name);
	list->page = height - 1 - why;
	devices_places_select_storage(list, model);
	devices_places_draw_header(frame, list, name, kinds);
	list->top = scroll_to(list->top, list->selected, list->rows, list->page);
	for (int i = 0; i < list->page && list->top + (uint32_t)i < list->rows; i++) {
		devices_places_draw_row(
			frame, 1 + i, model->plan->transformed->sharded, list->row[list->top + (uint32_t)i], name, kinds);
		if (list->top + (uint32_t)i == list->selected)
			frame_select(frame, 1 + i);
	}
	if (list->rows == 0)
		frame_print(frame, 1, 1, ROLE_FAINT, "no tensor's name or kind contains \"%s\"", list->filter);
	else if (why)
		devices_places_draw_why(frame, height - why, model, list->row[list->selected]);
}

bool places_command(struct place_list *list, struct model *model, enum command_id command)
{
	if (!devices_places_make_rows(list, model) || list->rows == 0)
		return false;
	switch (command) {
	case COMMAND_SORT:
		list->sort = (enum place_sort)((list->sort + 1) % SORT_COUNT);
		list->stale = true;
		return true;
	case COMMAND_REVERSE:
		list->reversed = !list->reversed;
		list->stale = true;
		return true;
	default:
		if (!row_command(command, &list->selected, list->rows, list->page))
			return false;
		share_selection(list, model);
		return true;
	}
}
