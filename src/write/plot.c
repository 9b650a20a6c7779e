/* plot.c: gnuplot sources of figures, for authors who restyle them. They hold the data. */

#include "data.h"
#include "src/base/safe_text.h"
#include "src/draw/figure.h"
#include "src/plan/timeline.h"

#define POINTS_MOST 2000u
#define BOX_LEAST   0.0002 /* of the arena's height and of the order's length: smaller boxes are left out */
#define GNUPLOT_HIGH 230.0 /* points */
#define GNUPLOT_LETTERS 8.0
#define GNUPLOT_SCALE   0.75 /* pdfcairo's letters are two thirds of what is asked for otherwise */

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

/* Calls write for each buffer that can be seen. */
static void gnuplot_boxes(const struct plan *plan, enum timeline_group group, int64_t unit, FILE *stream)
{
	const struct laid_out *laid_out = plan->laid_out;
	for (uint32_t item = 0; item < laid_out->items; item++) {
		if (laid_out->first[item] == NONE || group_of_kind(item_kind(plan, item)) != group)
			continue;
		double width = laid_out->last[item] + 1.0 - laid_out->first[item];
		if (width < BOX_LEAST * plan->graph->ops
			|| (double)laid_out->bytes[item] < BOX_LEAST * (double)plan_arena(plan))
			continue;
		double y = (double)laid_out->offset[item] / (double)unit;
		fprintf(stream, "%.10g %.8g %.10g %.8g\n", (double)laid_out->first[item], y, laid_out->first[item] + width,
			y + (double)laid_out->bytes[item] / (double)unit);
	}
}

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
		fprintf(stream, "%.6g with lines lw 2 lc rgb \"black\" title \"memory limit\", \\\n  ", (double)limit / (double)unit);
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
	fprintf(stream, "%.6g with lines dt 2 lc rgb \"black\" title \"no order needs less\"\n",
		(double)plan_bound(plan) / (double)unit);
	return status;
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
		gnuplot_boxes(plan, (enum timeline_group)group, unit, stream);
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
