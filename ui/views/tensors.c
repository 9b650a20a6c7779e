/* tensors.c: all tensors in a table that sorts and filters. A row's numbers are its storage's: views
 * (tensors that share another's memory) are hidden until asked for. */
#include "details.h"
#include "frequency.h"

#define BEHIND_SOURCE 40 /* cells kept for what follows the place in the source */
#define USERS 13         /* at least for this: ", used by 123" */

struct tensors {
	enum column sort;
	bool reversed, aliases;
	uint32_t *row; /* tensor of each row */
	uint32_t rows, selected, top;
	int page, width;
	uint64_t serial; /* of the plan that the rows were made for */
	char filter[100];
	bool stale; /* rows must be made again */
	struct frequency frequency;
	bool *marked; /* [storages] of the graph `marks_of`, or NULL */
	uint64_t marks_of;
	uint32_t marks;
};

static void tensors_free(void *state)
{
	struct tensors *tensors = state;
	mem_free(tensors->row);
	tensors->row = NULL;
	mem_free(tensors->marked);
	tensors->marked = NULL;
	tensors->marks = 0;
	frequency_free(&tensors->frequency);
}

/* ---- rows ---- */

struct sortable {
	int64_t key;
	const char *text; /* compared first where there is one */
	uint32_t id;
};

/* By text where both have one. */
static int tensors_compare(const void *left, const void *right)
{
	const struct sortable *a = left, *b = right;
	int order = a->text && b->text ? strcmp(a->text, b->text) : 0;
	return order ? order : COMPARE(a->key, b->key, COMPARE(a->id, b->id, 0));
}

static bool tensors_passes(
	const struct tensors *tensors, const struct row_filter *filter, const struct plan *plan, uint32_t id)
{
	const char *value[ROW_FIELD_COUNT];
	const struct tensor *tensor = &plan->graph->tensor[id];
	if (tensor->alias != NONE && !tensors->aliases)
		return false;
	tensor_fields(plan->graph, id, value);
	return row_filter_passes(filter, value);
}

static void tensors_select_storage(struct tensors *tensors, const struct model *model)
{
	const struct tensor *tensor = model->plan->graph->tensor;
	if (tensors->selected < tensors->rows && tensor[tensors->row[tensors->selected]].storage == model->storage)
		return;
	FOR(i, tensors->rows)
		if (tensor[tensors->row[i]].storage == model->storage) {
			tensors->selected = i;
			return;
		}
	if (tensors->selected >= tensors->rows)
		tensors->selected = tensors->rows ? tensors->rows - 1 : 0;
}

static bool tensors_make_rows(struct tensors *tensors, const struct model *model)
{
	const struct plan *plan = model->plan;
	uint32_t n = plan->graph->tensors, rows = 0;
	if (tensors->row && !tensors->stale && tensors->serial == plan->serial && text_is(tensors->filter, model->filter))
		return true;
	mem_free(tensors->row);
	MAKE(tensors->row, n);
	struct sortable *MAKE(list, n);
	struct row_filter filter;
	struct error error;
	if (!tensors->row || !list) {
		mem_free(list);
		tensors_free(tensors);
		return false;
	}
	row_filter_read(model->filter, &filter, &error);
	PRINT_TO(tensors->filter, "%s", model->filter);
	bool descending = columns[tensors->sort].descending != tensors->reversed;
	FOR(i, n)
		if (tensors_passes(tensors, &filter, plan, i))
			list[rows++] = (struct sortable){ tensor_value(plan, i, tensors->sort), tensor_words(plan, i, tensors->sort), i };
	row_filter_free(&filter);
	for (uint32_t i = 0; descending && i < rows; i++)
		list[i].key = -list[i].key;
	qsort(list, rows, sizeof *list, tensors_compare);
	bool backwards = rows > 0 && list[0].text && descending;
	FOR(i, rows)
		tensors->row[i] = list[backwards ? rows - 1 - i : i].id;
	mem_free(list);
	tensors->rows = rows;
	tensors->serial = plan->serial;
	tensors->stale = false;
	return true;
}

/* ---- drawing ---- */

/* The user's choice; the usual columns where there is nobody to choose. */
static const struct column_set *tensors_columns(const struct model *model)
{
	static const struct column_set none;
	return model->columns ? model->columns : &none;
}

static void tensors_draw_header(struct frame *frame, const struct tensors *tensors, const struct column_layout *layout)
{
	FOR_INT(i, layout->count) {
		const struct column_text *column = &columns[layout->column[i]];
		bool sorted = layout->column[i] == tensors->sort, down = column->descending != tensors->reversed;
		enum role role = sorted ? ROLE_TITLE : ROLE_LABEL;
		char title[32];
		PRINT_TO(title, "%s%s", column->title, sorted ? (down ? " v" : " ^") : "");
		if (column->right)
			frame_right(frame, layout->x[i] + layout->width[i], 0, role, title);
		else
			frame_text(frame, layout->x[i], 0, layout->width[i], role, title);
	}
	if (layout->left_out)
		frame_right(frame, frame->window.width, 0, ROLE_WARN, PRINTED(16, " +%d", layout->left_out));
}

static void tensors_draw_row(
	struct frame *frame, int y, const struct model *model, uint32_t id, const struct column_layout *layout)
{
	const struct tensor *tensor = &model->plan->graph->tensor[id];
	enum role role = tensor->alias == NONE ? ROLE_TEXT : ROLE_FAINT;
	FOR_INT(i, layout->count) {
		enum column column = layout->column[i];
		char text[300];
		tensor_value_text(model->plan, id, column, text, sizeof text);
		if (columns[column].right)
			frame_right(frame, layout->x[i] + layout->width[i], y, role, text);
		else
			frame_name(frame, layout->x[i], y, layout->width[i], column == COLUMN_KIND
				? item_role(model->plan, tensor->storage) : role, text);
	}
}

/* A name that its column cuts, whole where the line has room; a tensor's that is called as its op follows
 * "written by". Returns the cells. */
static int draw_whole_name(struct frame *frame, int y, const struct graph *graph, const struct tensor *tensor,
	const struct column_layout *layout)
{
	FOR_INT(i, layout->count)
		if (layout->column[i] == COLUMN_NAME && text_cells(tensor->name) > layout->width[i] &&
			(tensor->writer == NONE || !text_is(tensor->name, graph->op[tensor->writer].name)))
			return frame_name(frame, 0, y, frame->window.width, ROLE_TEXT, tensor->name) + 2;
	return 0;
}

/* The selected tensor's name and ops in the last line. */
static void draw_detail(
	struct frame *frame, int y, const struct model *model, uint32_t id, const struct column_layout *layout)
{
	const struct graph *graph = model->plan->graph;
	const struct tensor *tensor = &graph->tensor[id];
	int width = frame->window.width, x = draw_whole_name(frame, y, graph, tensor, layout);
	char place[100];
	if (model->plan->transformed->sharded &&
		*sharded_place_here(model->plan->transformed->sharded, graph, id, place, sizeof place))
		x += frame_rest(frame, x, y, ROLE_TITLE, place) + 2;
	if (tensor->alias != NONE) {
		x += frame_rest(frame, x, y, ROLE_LABEL, "a view of ");
		x += frame_name(frame, x, y, SMALLER(width - x, width / 3), ROLE_TEXT,
				 graph->tensor[tensor->alias].name) +
			2;
	}
	static const char start[] = "there from the start";
	if (tensor->writer == NONE)
		x += text_cells(start) <= width - x ? frame_rest(frame, x, y, ROLE_LABEL, start) : width - x;
	else {
		x += frame_rest(frame, x, y, ROLE_LABEL, "written by ");
		x += frame_name(
			frame, x, y, SMALLER(width - x, width / 3), ROLE_TEXT, graph->op[tensor->writer].name);
		int source = view_source(frame, x + 2, y, width - x - BEHIND_SOURCE, &graph->op[tensor->writer]);
		source = source > 0 ? source : view_source(frame, x + 2, y, width - x - 2 - USERS, &graph->op[tensor->writer]);
		x += source > 0 ? source + 2 : 0;
	}
	uint32_t users = csr_length(&graph->users, tensor->storage);
	char text[48];
	PRINT_TO(text, ", used by %u", users);
	if (users == 0 || width - x < text_cells(text))
		return;
	x += frame_rest(frame, x, y, ROLE_LABEL, text);
	if (width - x < 12)
		return;
	x += frame_rest(frame, x, y, ROLE_LABEL, ", last ");
	uint32_t last = csr_at(&graph->users, tensor->storage, 0);
	FOR_ITEMS(user, &graph->users, tensor->storage)
		if (model->plan->ordered->position[user] > model->plan->ordered->position[last])
			last = user;
	x += frame_name(frame, x, y, width - x, ROLE_TEXT, graph->op[last].name);
	if (tensor->writer == NONE)
		view_source(frame, x + 2, y, width - x - 2, &graph->op[last]);
}

/* The marked tensors' sum, in all and at the peak. */
static void draw_marks(struct frame *frame, int y, const struct tensors *tensors, const struct plan *plan)
{
	int64_t sum = 0, peak = 0;
	FOR(s, plan->graph->storages)
		if (tensors->marked[s] && plan->laid_out->first[s] != NONE) {
			sum += plan->laid_out->bytes[s];
			peak += alive_at(plan, s, plan->ordered->peak_position) ? plan->laid_out->bytes[s] : 0;
		}
	frame_print(frame, 0, y, ROLE_TITLE, "%u marked: %s, of which %s at the peak", tensors->marks,
		BYTES(sum), BYTES(peak));
}

/* Counts by the field that was asked for; false where that is not so. */
static bool count_rows(struct tensors *tensors, const struct model *model)
{
	struct row_filter filter;
	struct error error;
	if (tensors->frequency.field == ROW_NAME)
		return false;
	row_filter_read(model->filter, &filter, &error);
	bool counted = frequency_count(&tensors->frequency, model->plan, &filter, model->filter);
	row_filter_free(&filter);
	return counted;
}

static void tensors_draw(void *state, struct model *model, struct frame *frame)
{
	struct tensors *tensors = state;
	if (count_rows(tensors, model)) {
		frequency_draw(&tensors->frequency, model->plan, frame);
		return;
	}
	struct column_layout layout;
	int height = frame->window.height;
	columns_arrange(tensors_columns(model), frame->window.width, &layout);
	tensors->page = height - 2;
	tensors->width = frame->window.width;
	if (!tensors_make_rows(tensors, model)) {
		frame_no_memory(frame);
		return;
	}
	tensors_select_storage(tensors, model);
	tensors_draw_header(frame, tensors, &layout);
	tensors->top = scroll_to(tensors->top, tensors->selected, tensors->rows, tensors->page);
	uint32_t position = model_position(model);
	for (int i = 0; i < tensors->page && tensors->top + (uint32_t)i < tensors->rows; i++) {
		uint32_t row = tensors->top + (uint32_t)i;
		tensors_draw_row(frame, 1 + i, model, tensors->row[row], &layout);
		if (row == tensors->selected)
			frame_select(frame, 1 + i);
		if (tensors->marks && tensors->marks_of == model->plan->graph->fingerprint &&
			tensors->marked[model->plan->graph->tensor[tensors->row[row]].storage])
			frame_glyph(frame, layout.width[0], 1 + i, GLYPH_BULLET, ROLE_KEY);
		if (row != tensors->selected &&
			alive_at(model->plan, model->plan->graph->tensor[tensors->row[row]].storage, position))
			frame_mark(frame, (struct rect){ 0, 1 + i, frame->window.width, 1 }, MARK_BOLD);
	}
	if (tensors->rows == 0)
		frame_print(frame, 0, 1, ROLE_FAINT, "no tensor passes the filter \"%s\"", tensors->filter);
	else if (tensors->marks && tensors->marks_of == model->plan->graph->fingerprint)
		draw_marks(frame, height - 1, tensors, model->plan);
	else
		draw_detail(frame, height - 1, model, tensors->row[tensors->selected], &layout);
}

/* ---- commands ---- */

static void tensors_sort_by(struct tensors *tensors, enum column column)
{
	tensors->reversed = column == tensors->sort && !tensors->reversed;
	tensors->sort = column;
	tensors->stale = true;
}

/* A click on a title sorts, on the sorted one in reverse; on a row it selects. */
static void tensors_click(struct tensors *tensors, struct model *model)
{
	struct column_layout layout;
	columns_arrange(tensors_columns(model), tensors->width, &layout);
	uint32_t row = tensors->top + (uint32_t)(model->click_y - 1);
	if (model->click_y > 0 && model->click_y <= tensors->page && row < tensors->rows) {
		tensors->selected = row;
		model->storage = model->plan->graph->tensor[tensors->row[row]].storage;
	}
	for (int i = 0; i < layout.count && model->click_y == 0; i++)
		if (model->click_x >= layout.x[i] && model->click_x < layout.x[i] + layout.width[i] + 2)
			tensors_sort_by(tensors, layout.column[i]);
}

/* By the next column that is shown, from left to right; by the first where the sorted one is hidden. */
static void sort_next(struct tensors *tensors, const struct model *model)
{
	struct column_layout layout;
	int next = 0;
	columns_arrange(tensors_columns(model), tensors->width, &layout);
	FOR_INT(i, layout.count)
		if (layout.column[i] == tensors->sort)
			next = (i + 1) % layout.count;
	tensors->reversed = false;
	tensors->sort = layout.column[next];
	tensors->stale = true;
}

/* Marks or unmarks the selected tensor, and goes on to the next. Marks stay while the graph does. */
static void tensors_mark(struct tensors *tensors, struct model *model)
{
	const struct graph *graph = model->plan->graph;
	if (tensors->rows == 0)
		return;
	if (!tensors->marked || tensors->marks_of != graph->fingerprint) {
		mem_free(tensors->marked);
		MAKE(tensors->marked, graph->storages);
		tensors->marks_of = graph->fingerprint;
		tensors->marks = 0;
	}
	if (!tensors->marked)
		return;
	bool *at = &tensors->marked[graph->tensor[tensors->row[tensors->selected]].storage];
	*at = !*at;
	tensors->marks += *at ? 1 : -1u;
	row_command(COMMAND_DOWN, &tensors->selected, tensors->rows, tensors->page);
	model->storage = graph->tensor[tensors->row[tensors->selected]].storage;
}

/* While tensors are counted; false for commands that the list has, too. */
static bool frequency_command(struct tensors *tensors, struct model *model, enum command_id command)
{
	struct frequency *frequency = &tensors->frequency;
	char word[120];
	if (command == COMMAND_GROUP) {
		frequency->field = (enum row_field)((frequency->field + 1) % ROW_FIELD_COUNT);
		frequency_free(frequency);
		frequency->selected = 0;
		if (frequency->field == ROW_NAME)
			view_say(model, "the tensors one by one");
		else
			view_say(model, "tensors by %s", row_field_names[frequency->field]);
		return true;
	}
	if (frequency->field == ROW_NAME)
		return false;
	if (command == COMMAND_ACTIVATE) {
		struct words filter = { model->filter, sizeof model->filter, strlen(model->filter) };
		if (*frequency_word(frequency, word, sizeof word))
			words_add(&filter, "%s%s", filter.at ? " " : "", word);
		frequency->field = ROW_NAME;
		view_say(model, "filter: %s", model->filter);
		return true;
	}
	return row_command(command, &frequency->selected, frequency->rows, tensors->page);
}

static bool tensors_command(void *state, struct model *model, enum command_id command)
{
	struct tensors *tensors = state;
	if (frequency_command(tensors, model, command))
		return true;
	if (!tensors_make_rows(tensors, model))
		return true;
	switch (command) {
	case COMMAND_SORT: sort_next(tensors, model); break;
	case COMMAND_CLICK: tensors_click(tensors, model); break;
	case COMMAND_MARK: tensors_mark(tensors, model); break;
	case COMMAND_REVERSE:
		tensors->reversed = !tensors->reversed;
		tensors->stale = true;
		break;
	case COMMAND_BACKGROUND:
		tensors->aliases = !tensors->aliases;
		tensors->stale = true;
		break;
	case COMMAND_ACTIVATE:
		if (tensors->rows == 0)
			return true;
		model->storage = model->plan->graph->tensor[tensors->row[tensors->selected]].storage;
		if (model->plan->laid_out->first[model->storage] != NONE) {
			model_go(model, model->plan->laid_out->first[model->storage]);
			view_request(model, false, "view step");
		}
		break;
	default:
		if (row_command(command, &tensors->selected, tensors->rows, tensors->page)) {
			if (tensors->rows > 0)
				model->storage = model->plan->graph->tensor[tensors->row[tensors->selected]].storage;
			return true;
		}
		return view_command(model, command);
	}
	return true;
}

const struct view_ops view_tensors = {
	"Tensors", IN_TENSORS, sizeof(struct tensors), tensors_draw, tensors_command, tensors_free, NULL
};
