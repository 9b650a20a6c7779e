/* plot.c: sources of figures, for authors who restyle them: pgfplots and gnuplot. Both hold the data. */

#include "data.h"
#include "src/base/safe_text.h"
#include "src/draw/figure.h"
#include "src/plan/timeline.h"

#define POINTS_MOST 2000u
#define BOX_LEAST   0.0002 /* of the arena's height and of the order's length: smaller boxes are left out */
#define BOX_THIN    0.01   /* smaller boxes have no border */
#define TIKZ_LEFT   38.0   /* points beside the plot: numbers and their name */
#define TIKZ_RIGHT  12.0   /* half of the last number */
#define NARROW      300.0  /* a column, not a page */
#define LETTERS     8.0    /* points: of legends */
#define SIGN        24.0   /* points of a legend beside a name */
#define GNUPLOT_HIGH 230.0 /* points */
#define GNUPLOT_LETTERS 8.0
#define GNUPLOT_SCALE   0.75 /* pdfcairo's letters are two thirds of what is asked for otherwise */
#define FEW         8u  /* so many ops have a number each */
#define ROOM_ABOVE  1.1 /* of the highest value, for what is written there */

/* Which groups the figure shows. */
static enum status write_plot_find_groups(
	const struct plan *plan, bool map, bool there[GROUP_COUNT], struct error *error)
{
	memset(there, 0, GROUP_COUNT * sizeof *there);
	if (plan->ordered->peak_position == NONE)
		return fail(error, BAD_INPUT, "a graph without ops has no timeline");
	for (uint32_t item = 0; map && item < plan->laid_out->items; item++)
		if (plan->laid_out->first[item] != NONE)
			there[group_of_kind(item_kind(plan, item))] = true;
	int64_t (*bytes)[GROUP_COUNT] = map ? NULL : timeline_groups(plan);
	if (!map && !bytes)
		return fail_memory(error);
	for (uint32_t i = 0; !map && i < plan->graph->ops; i++)
		for (int group = 0; group < GROUP_COUNT; group++)
			there[group] |= bytes[i][group] > 0;
	mem_free(bytes);
	return OK;
}

/* One line for each position that is drawn: position, sums of the groups from below, in units. */
static enum status write_plot_write_table(const struct plan *plan, int64_t unit, FILE *stream, struct error *error)
{
	int64_t (*bytes)[GROUP_COUNT] = timeline_groups(plan);
	uint32_t *keep = mem_alloc(POINTS_MOST, sizeof *keep);
	if (!bytes || !keep) {
		mem_free(bytes);
		mem_free(keep);
		return fail_memory(error);
	}
	uint32_t count = timeline_thin(plan->ordered->live, plan->graph->ops, POINTS_MOST, keep);
	for (uint32_t i = 0; i < count; i++) {
		double sum = 0;
		fprintf(stream, "%u", keep[i]);
		for (int group = 0; group < GROUP_COUNT; group++) {
			sum += (double)bytes[keep[i]][group];
			fprintf(stream, " %.6g", sum / (double)unit);
		}
		putc('\n', stream);
	}
	mem_free(bytes);
	mem_free(keep);
	return OK;
}

enum { BOXES_THIN = 1, BOXES_THICK = 2, BOXES_ALL = 3 };

/* Calls write for each buffer that can be seen, of those that a border would swallow (thin), of the others, or of all.
 */
static void for_boxes(const struct plan *plan, enum timeline_group group, int which, FILE *stream,
	void (*write)(FILE *stream, double x, double y, double width, double height), int64_t unit)
{
	const struct laid_out *laid_out = plan->laid_out;
	for (uint32_t item = 0; item < laid_out->items; item++) {
		if (laid_out->first[item] == NONE || group_of_kind(item_kind(plan, item)) != group)
			continue;
		double width = laid_out->last[item] + 1.0 - laid_out->first[item];
		if (width < BOX_LEAST * plan->graph->ops
			|| (double)laid_out->bytes[item] < BOX_LEAST * (double)plan_arena(plan))
			continue;
		bool thin = width < BOX_THIN * plan->graph->ops
			|| (double)laid_out->bytes[item] < BOX_THIN * (double)plan_arena(plan);
		if (!(which & (thin ? BOXES_THIN : BOXES_THICK)))
			continue;
		write(stream, laid_out->first[item], (double)laid_out->offset[item] / (double)unit, width,
			(double)laid_out->bytes[item] / (double)unit);
	}
}

/* ---- pgfplots ---- */

#define NO_LESS "no order needs less"
#define LIMIT   "memory limit"

/* In a row if all names fit, else as many below each other as make columns that do. */
static int legend_columns(const bool there[GROUP_COUNT], bool bound, bool limit, double width)
{
	double widest = bound ? SIGN + canvas_text_width(LETTERS, NO_LESS) : 0;
	double whole = widest + (limit ? SIGN + canvas_text_width(LETTERS, LIMIT) : 0);
	for (int group = 0; group < GROUP_COUNT; group++) {
		double wide = there[group] ? SIGN + canvas_text_width(LETTERS, group_names[group]) : 0;
		widest = wide > widest ? wide : widest;
		whole += wide;
	}
	return whole < width ? -1 : width < 2 * widest ? 1 : (int)(width / widest);
}

static void axis_head(const struct plan *plan, const struct export_options *options, const char *label, int64_t bytes,
	const bool there[GROUP_COUNT], FILE *stream)
{
	const char *unit;
	int64_t one = axis_unit(bytes, &unit), limit = timeline_limit(plan, bytes);
	char text[32];
	double width = options->width > 0 ? options->width : CANVAS_PAGE;
	tikz_head(stream, "\\usepackage{pgfplots}\n\\usepgfplotslibrary{fillbetween}\n\\pgfplotsset{compat=1.16}");
	fputs("\\begin{tikzpicture}\n", stream);
	for (int group = 0; group < GROUP_COUNT; group++)
		fprintf(stream, "\\definecolor{group%d}{HTML}{%s}\n", group, group_colours[group] + 1);
	fputs("\\definecolor{alarm}{HTML}{D55E00}\n\\begin{axis}[name=plot, scale only axis, ", stream);
	fprintf(stream, "width=%.4gbp, height=%.4gbp, xlabel={position in the order}, ylabel={%s [%s]},\n",
		width - TIKZ_LEFT - TIKZ_RIGHT, width < NARROW ? 115.0 : 170.0, label, unit);
	if (!options->no_title) {
		fputs("  title={", stream);
		tikz_text(stream, plan->graph->name);
		fprintf(stream, ": %s}, title style={text width=%.4gbp, align=center, font=\\footnotesize},\n",
			bytes_text(bytes, text, sizeof text), width - TIKZ_LEFT - TIKZ_RIGHT);
	}
	fprintf(stream,
		"  xmin=0, xmax=%u, ymin=0, ymax=%.6g, axis on top, clip=false, scaled ticks=false, tick align=outside, tick "
		"pos=left,\n"
		"  %smax space between ticks=%d, tick label style={font=\\footnotesize, /pgf/number format/.cd, fixed, 1000 "
		"sep={}}, label style={font=\\footnotesize},\n"
		"  legend style={at={(axis description cs:0.5,0)}, yshift=-30bp, anchor=north, legend columns=%d, legend cell "
		"align=left, draw=none, font=\\footnotesize, "
		"/tikz/every even column/.style={column sep=6pt}}]\n",
		plan->graph->ops, ROOM_ABOVE * (double)(limit > bytes ? limit : bytes) / (double)one,
		plan->graph->ops <= FEW ? "xtick distance=1, " : "", width < NARROW ? 30 : 40,
		legend_columns(there, label[0] == 'l' && plan_bound(plan) > 0, limit >= 0, width));
}

/* From below upwards, as they are stacked. */
static void tikz_legend(const struct export_options *options, const bool there[GROUP_COUNT], FILE *stream)
{
	for (int group = 0; group < GROUP_COUNT && !options->no_legend; group++)
		if (there[group])
			fprintf(stream,
				"\\addlegendimage{legend image code/.code={\\fill[group%d] (0cm,-0.08cm) rectangle "
				"(0.35cm,0.12cm);}}\\addlegendentry{%s}\n",
				group, group_names[group]);
}

/* The memory limit, if the figure up to so many bytes has a line for it. */
static void tikz_limit(const struct export_job *job, int64_t bytes, int64_t unit)
{
	int64_t limit = timeline_limit(job->plan, bytes);
	double y = (double)limit / (double)unit;
	if (limit >= 0 && !job->options->no_legend)
		fputs("\\addlegendimage{thick}\\addlegendentry{" LIMIT "}\n", job->stream);
	if (limit >= 0)
		fprintf(job->stream, "\\draw[thick] (axis cs:0,%.6g) -- (axis cs:%u,%.6g);\n", y, job->plan->graph->ops, y);
}

/* The picture is as wide as asked, whatever its labels are. */
static void axis_end(FILE *stream)
{
	fprintf(stream,
		"\\end{axis}\n\\coordinate (low) at (current bounding box.south);\n\\coordinate (high) at (current bounding "
		"box.north);\n\\pgfresetboundingbox\n"
		"\\path[use as bounding box] ([xshift=-%gbp]low -| plot.south west) rectangle ([xshift=%gbp]high -| plot.south "
		"east);\n\\end{tikzpicture}\n",
		TIKZ_LEFT, TIKZ_RIGHT);
	tikz_end(stream);
}

enum status tikz_timeline(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	uint32_t peak = plan->ordered->peak_position;
	const char *name;
	int64_t unit = axis_unit(plan_peak(plan), &name);
	bool there[GROUP_COUNT];
	TRY(write_plot_find_groups(plan, false, there, job->error));
	axis_head(plan, job->options, "live memory", plan_peak(plan), there, stream);
	fputs("\\pgfplotstableread{\n", stream);
	enum status status = write_plot_write_table(plan, unit, stream, job->error);
	fputs("}\\live\n", stream);
	for (int group = GROUP_COUNT - 1; group >= 0; group--) /* sums: each area covers the larger one behind it */
		if (there[group])
			fprintf(stream,
				"\\addplot[const plot, draw=none, fill=group%d, forget plot] table[x index=0, y index=%d] {\\live} "
				"\\closedcycle;\n",
				group, group + 1);
	tikz_legend(job->options, there, stream);
	if (plan_bound(plan) > 0 && !job->options->no_legend)
		fputs("\\addlegendimage{dashed}\\addlegendentry{" NO_LESS "}\n", stream);
	tikz_limit(job, plan_peak(plan), unit);
	fprintf(stream,
		"\\draw[thick] (axis cs:%u,0) -- (axis cs:%u,%.6g) node[anchor=south%s, inner xsep=0pt, font=\\scriptsize] "
		"{peak};\n",
		peak, peak, (double)plan_peak(plan) / (double)unit, peak > plan->graph->ops / 2 ? " east" : " west");
	if (plan_bound(plan) > 0)
		fprintf(stream, "\\draw[dashed] (axis cs:0,%.6g) -- (axis cs:%u,%.6g);\n",
			(double)plan_bound(plan) / (double)unit, plan->graph->ops, (double)plan_bound(plan) / (double)unit);
	axis_end(stream);
	return status;
}

static void tikz_box(FILE *stream, double x, double y, double width, double height)
{
	fprintf(stream, "(axis cs:%.10g,%.8g) rectangle (axis cs:%.10g,%.8g)\n", x, y, x + width, y + height);
}

enum status tikz_map(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	const char *name;
	int64_t unit = axis_unit(plan_arena(plan), &name);
	bool there[GROUP_COUNT];
	TRY(write_plot_find_groups(plan, true, there, job->error));
	axis_head(plan, job->options, "address", plan_arena(plan), there, stream);
	tikz_legend(job->options, there, stream);
	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(stream, "\\path[fill=group%d, draw=white, line width=0.1pt]\n", group);
		for_boxes(plan, (enum timeline_group)group, BOXES_THICK, stream, tikz_box, unit);
		fprintf(stream, ";\n\\path[fill=group%d]\n", group);
		for_boxes(plan, (enum timeline_group)group, BOXES_THIN, stream, tikz_box, unit);
		fputs(";\n", stream);
	}
	tikz_limit(job, plan_arena(plan), unit);
	fprintf(stream, "\\draw[alarm] (axis cs:0,%.6g) -- (axis cs:%u,%.6g);\n", (double)plan_arena(plan) / (double)unit,
		plan->graph->ops, (double)plan_arena(plan) / (double)unit);
	axis_end(stream);
	return OK;
}

/* ---- gnuplot ---- */

#define APOSTROPHE 0x2019u

/* In single quotes nothing is special to gnuplot but the quote itself, and two of them are a quote but at the
 * beginning: another sign stands for it. In double quotes gnuplot would run what is in backticks. */
static void gnuplot_text(FILE *stream, const char *text)
{
	putc('\'', stream);
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		if (character == '\'')
			text_put(stream, APOSTROPHE);
		else
			text_put(stream, character < 0x20 ? ' ' : text_hidden(character) ? UNREADABLE : character);
	}
	putc('\'', stream);
}

void gnuplot_begin(const struct export_options *options, FILE *stream)
{
	if (options->width > 0)
		fprintf(stream,
			"# gnuplot FILE > figure.pdf\nset terminal pdfcairo size %.6gin,%.6gin font \",%g\" fontscale %g\n",
			options->width / 72, GNUPLOT_HIGH / 72, GNUPLOT_LETTERS, GNUPLOT_SCALE);
	else
		fputs("# gnuplot FILE shows it; or first: set terminal pdfcairo; set output \"figure.pdf\"\n", stream);
}

static void gnuplot_head(
	const struct plan *plan, const struct export_options *options, const char *unit, const char *label, FILE *stream)
{
	gnuplot_begin(options, stream);
	if (!options->no_title) {
		fputs("set title ", stream);
		gnuplot_text(stream, plan->graph->name);
		fputs(" noenhanced\n", stream);
	}
	fprintf(stream, "set xlabel \"position in the order\" offset 0,0.4\nset ylabel \"%s [%s]\"\n", label, unit);
	fprintf(stream, "set xrange [0:%u]\nset yrange [0:*]\n%s\nset grid ytics\nset style fill solid noborder\n",
		plan->graph->ops, options->no_legend ? "unset key" : GNUPLOT_KEY);
}

static void gnuplot_limit(const struct plan *plan, int64_t bytes, int64_t unit, FILE *stream)
{
	int64_t limit = timeline_limit(plan, bytes);
	if (limit >= 0)
		fprintf(stream, "%.6g with lines lw 2 lc rgb \"black\" title \"" LIMIT "\", \\\n  ", (double)limit / (double)unit);
}

enum status gnuplot_timeline(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	const char *name;
	int64_t unit = axis_unit(plan_peak(plan), &name);
	bool there[GROUP_COUNT];
	TRY(write_plot_find_groups(plan, false, there, job->error));
	gnuplot_head(plan, job->options, name, "live memory", stream);
	fputs("$live << END\n", stream);
	enum status status = write_plot_write_table(plan, unit, stream, job->error);
	fprintf(stream, "END\nset arrow 1 from %u,0 to %u,%.6g nohead front lc rgb \"black\" lw 2\n",
		plan->ordered->peak_position, plan->ordered->peak_position, (double)plan_peak(plan) / (double)unit);
	fputs("plot ", stream);
	for (int group = GROUP_COUNT - 1; group >= 0; group--)
		if (there[group])
			fprintf(stream, "$live using 1:%d with fillsteps lc rgb \"%s\" title \"%s\", \\\n  ", group + 2,
				group_colours[group], group_names[group]);
	gnuplot_limit(plan, plan_peak(plan), unit, stream);
	fprintf(stream, "%.6g with lines dt 2 lc rgb \"black\" title \"" NO_LESS "\"\n",
		(double)plan_bound(plan) / (double)unit);
	return status;
}

static void gnuplot_box(FILE *stream, double x, double y, double width, double height)
{
	fprintf(stream, "%.10g %.8g %.10g %.8g\n", x, y, x + width, y + height);
}

enum status gnuplot_map(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	const char *name;
	int64_t unit = axis_unit(plan_arena(plan), &name);
	bool there[GROUP_COUNT];
	TRY(write_plot_find_groups(plan, true, there, job->error));
	gnuplot_head(plan, job->options, name, "address", stream);
	/* the box without area keeps gnuplot from refusing an empty group */
	for (int group = 0; group < GROUP_COUNT; group++) {
		fprintf(stream, "$group%d << END\n0 0 0 0\n", group);
		for_boxes(plan, (enum timeline_group)group, BOXES_ALL, stream, gnuplot_box, unit);
		fputs("END\n", stream);
	}
	fputs("plot ", stream);
	for (int group = 0; group < GROUP_COUNT; group++)
		if (there[group])
			fprintf(stream, "$group%d using 1:2:1:3:2:4 with boxxyerror lc rgb \"%s\" title \"%s\", \\\n  ", group,
				group_colours[group], group_names[group]);
	gnuplot_limit(plan, plan_arena(plan), unit, stream);
	fprintf(stream, "%.6g with lines lc rgb \"#D55E00\" title \"arena\"\n", (double)plan_arena(plan) / (double)unit);
	return OK;
}
