/* details.c: which columns fit, and what is in them. */
#include "details.h"

enum { GAP = 2 };

static bool filled(const struct plan_index *index, enum column column)
{
	switch (column) {
	case COLUMN_SHAPE: return index->shapes;
	case COLUMN_MODULE: return index->modules;
	case COLUMN_SOURCE: return index->sources;
	default: return true;
	}
}

void details_arrange(
	const enum column *wanted, int count, const struct plan_index *index, int from, int end, struct details *details)
{
	*details = (struct details){ .from = end };
	for (int i = 0; i < count && details->count < DETAILS; i++) {
		int width = columns[wanted[i]].width + GAP;
		if (!filled(index, wanted[i]) || details->from - width < from)
			continue;
		details->width[details->count] = columns[wanted[i]].width;
		details->column[details->count++] = wanted[i];
		details->from -= width;
	}
	int spare = details->count ? (details->from - from) / (2 * details->count) : 0,
		x = details->from -= spare * details->count;
	FOR_INT(i, details->count) {
		bool words = !columns[details->column[i]].right;
		details->width[i] += words ? spare : 0;
		details->x[i] = x + GAP;
		x += details->width[i] + GAP + (words ? 0 : spare);
	}
}

void details_titles(struct frame *frame, int y, const struct details *details, bool of_ops)
{
	FOR_INT(i, details->count) {
		const struct column_text *column = &columns[details->column[i]];
		const char *title = of_ops && details->column[i] == COLUMN_MAKER ? "operator"
			: of_ops && details->column[i] == COLUMN_SHAPE ? "makes"
			: column->title;
		if (column->right)
			frame_right(frame, details->x[i] + details->width[i], y, ROLE_LABEL, title);
		else
			frame_text(frame, details->x[i], y, details->width[i], ROLE_LABEL, title);
	}
}

static void details_draw_cell(struct frame *frame, int y, const struct details *details, int i, const char *text)
{
	if (columns[details->column[i]].right)
		frame_right(frame, details->x[i] + details->width[i], y, ROLE_FAINT, text);
	else
		frame_name(frame, details->x[i], y, details->width[i], ROLE_FAINT, text);
}

void details_of_op(struct frame *frame, int y, const struct details *details, const struct plan *plan, uint32_t id)
{
	const struct op *op = &plan->graph->op[id];
	char text[300];
	FOR_INT(i, details->count) {
		enum column column = details->column[i];
		text[0] = '\0';
		if (column == COLUMN_SHAPE && csr_length(&plan->graph->writes, id) > 0)
			tensor_shape_text(&plan->graph->tensor[csr_at(&plan->graph->writes, id, 0)], text, sizeof text);
		else if (column != COLUMN_SHAPE)
			PRINT_TO(text, "%s",
				column == COLUMN_MAKER ? op->type
				: column == COLUMN_MODULE ? op->module
				: op->src ? op->src
				: "");
		details_draw_cell(frame, y, details, i, text);
	}
}
