/* slowdown_plot.c: extra time over memory: a table, and sources of a figure. */
#include <inttypes.h>

#include "data.h"
#include "src/draw/figure_slowdown.h"

#define ROWS 120

/* Calls write with the curve of the plan's step. */
static enum status with_curve(const struct plan *plan, const struct export_options *options, FILE *stream, struct error *error,
	void (*write)(const struct export_options *options, const struct slowdown *slowdown, FILE *stream))
{
	struct slowdown slowdown;
	enum status status = slowdown_find(plan, options->rules_file, NULL, NULL, &slowdown, error);
	if (status == OK)
		write(options, &slowdown, stream);
	return status;
}

static double percent_of(const struct slowdown *slowdown, int64_t extra)
{
	return 100 * (double)extra / (double)(slowdown->total > 0 ? slowdown->total : 1);
}

static void for_bound(const struct slowdown *slowdown, FILE *stream, void (*row)(FILE *stream, int64_t bytes, double seconds, double percent, double price))
{
	for (int i = 0; i <= ROWS; i++) {
		int64_t bytes = slowdown->least + (slowdown->most - slowdown->least) / ROWS * i;
		double price;
		int64_t bound = slowdown_bound(slowdown, bytes, &price);
		row(stream, bytes, (double)bound * 1e-12, percent_of(slowdown, bound), price);
	}
}

/* ---- CSV ------------------------------------------------------------------------------------------------------------------ */

static void csv_bound(FILE *stream, int64_t bytes, double seconds, double percent, double price)
{
	fprintf(stream, "bound,,%" PRId64 ",%.9g,%.6g,%.6g\n", bytes, seconds, percent, price);
}

static void csv_point(const struct slowdown *slowdown, const char *what, const struct slowdown_point *point, FILE *stream)
{
	fprintf(stream, "%s,%s,%" PRId64 ",%.9g,%.6g,\n", what, point->name, point->bytes, (double)point->extra * 1e-12, percent_of(slowdown, point->extra));
}

static void write_csv(const struct export_options *options, const struct slowdown *slowdown, FILE *stream)
{
	(void)options;
	fputs("what,name,memory_bytes,extra_seconds,extra_percent,milliseconds_per_gb\n", stream);
	for_bound(slowdown, stream, csv_bound);
	csv_point(slowdown, "strategy", &(struct slowdown_point){ "none", slowdown->most, 0 }, stream);
	for (uint32_t i = 0; i < slowdown->strategies; i++)
		csv_point(slowdown, "strategy", &slowdown->strategy[i], stream);
	for (uint32_t i = 0; i < slowdown->plans; i++)
		csv_point(slowdown, "plan", &slowdown->plan[i], stream);
}

enum status slowdown_csv(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	(void)kind;
	return with_curve(plan, options, stream, error, write_csv);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------------------- */

enum status slowdown_picture(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	struct slowdown slowdown;
	enum status status = slowdown_find(plan, options->rules_file, NULL, NULL, &slowdown, error);
	return status == OK ? figure_slowdown(plan, &slowdown, export_paper(options, kind), stream, error) : status;
}

/* ---- sources ------------------------------------------------------------------------------------------------------------------ */

static void table_row(FILE *stream, int64_t bytes, double seconds, double percent, double price)
{
	(void)seconds;
	(void)price;
	fprintf(stream, "%.6g %.6g\n", (double)bytes / 1e9, percent);
}

static void table_points(const struct slowdown *slowdown, FILE *stream)
{
	fprintf(stream, "%.6g 0\n", (double)slowdown->most / 1e9);
	for (uint32_t i = 0; i < slowdown->plans; i++)
		fprintf(stream, "%.6g %.6g\n", (double)slowdown->plan[i].bytes / 1e9, percent_of(slowdown, slowdown->plan[i].extra));
}

static void write_gnuplot(const struct export_options *options, const struct slowdown *slowdown, FILE *stream)
{
	gnuplot_begin(options, stream);
	fprintf(stream, "set xlabel \"memory [GB]\" offset 0,0.4\nset ylabel \"extra time [%%]\"\n"
		"set yrange [0:%.4g]\nset offsets graph 0.02, graph 0.2, 0, 0\nset grid ytics\n%s\n$bound << END\n", slowdown_top(slowdown), options->no_legend ? "unset key" : "set key below");
	for_bound(slowdown, stream, table_row);
	fputs("END\n$plans << END\n", stream);
	table_points(slowdown, stream);
	fputs("END\n$strategies << END\n", stream);
	for (uint32_t i = 0; i < slowdown->strategies; i++)
		fprintf(stream, "%.6g %.6g %s\n", (double)slowdown->strategy[i].bytes / 1e9, percent_of(slowdown, slowdown->strategy[i].extra), slowdown->strategy[i].name);
	fputs("END\nplot $bound with filledcurves y1=0 lc rgb \"#DDDDDD\" title \"no plan in any order\", $plans with linespoints lc rgb \"#0072B2\" title \"plans found\", \\\n"
		"  $strategies with points pt 5 lc rgb \"#D55E00\" title \"strategies\", $strategies using 1:2:3 with labels offset 1,0.5 left font \",8\" notitle\n", stream);
}

enum status slowdown_gnuplot(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	(void)kind;
	return with_curve(plan, options, stream, error, write_gnuplot);
}
