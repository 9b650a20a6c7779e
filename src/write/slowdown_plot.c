/* slowdown_plot.c: extra time over memory: a table, and sources of a figure. */
#include <inttypes.h>
#include <math.h>

#include "data.h"
#include "src/draw/figure.h"

#define ROWS 120

/* Calls write with the curve of the plan's step. */
static enum status with_curve(
	const struct export_job *job, void (*write)(const struct export_job *job, const struct slowdown *slowdown))
{
	struct slowdown slowdown;
	enum status status = slowdown_find(job->plan, job->options->rules_file, NULL, NULL, &slowdown, job->error);
	if (status == OK)
		write(job, &slowdown);
	return status;
}

static double percent_of(const struct slowdown *slowdown, int64_t extra)
{
	return 100 * (double)extra / (double)(slowdown->total > 0 ? slowdown->total : 1);
}

static void for_bound(const struct slowdown *slowdown, FILE *stream,
	void (*row)(FILE *stream, int64_t bytes, double seconds, double percent, double price))
{
	for (int i = 0; i <= ROWS; i++) {
		int64_t bytes = slowdown->least + (slowdown->most - slowdown->least) / ROWS * i;
		double price;
		int64_t bound = slowdown_bound(slowdown, bytes, &price);
		row(stream, bytes, (double)bound * 1e-12, percent_of(slowdown, bound), price);
	}
}

/* ---- CSV ---- */

static void csv_bound(FILE *stream, int64_t bytes, double seconds, double percent, double price)
{
	fprintf(stream, "bound,,%" PRId64 ",%.9g,%.6g,%.6g\n", bytes, seconds, percent, price);
}

static void csv_point(
	const struct slowdown *slowdown, const char *what, const struct slowdown_point *point, FILE *stream)
{
	fprintf(stream, "%s,%s,%" PRId64 ",%.9g,%.6g,\n", what, point->name, point->bytes, (double)point->extra * 1e-12,
		percent_of(slowdown, point->extra));
}

static void slowdown_plot_write_csv(const struct export_job *job, const struct slowdown *slowdown)
{
	FILE *stream = job->stream;
	struct slowdown_point front[SLOWDOWN_FRONT];
	fputs("what,name,memory_bytes,extra_seconds,extra_percent,milliseconds_per_gb\n", stream);
	for_bound(slowdown, stream, csv_bound);
	csv_point(slowdown, "strategy", &(struct slowdown_point){ "none", slowdown->most, 0 }, stream);
	for (uint32_t i = 0; i < slowdown->strategies; i++)
		csv_point(slowdown, "strategy", &slowdown->strategy[i], stream);
	for (uint32_t i = 0, plans = slowdown_front(slowdown, job->plan, front); i < plans; i++)
		csv_point(slowdown, "plan", &front[i], stream);
}

enum status slowdown_csv(const struct export_job *job)
{
	return with_curve(job, slowdown_plot_write_csv);
}

/* ---- pictures ---- */

enum status slowdown_picture(const struct export_job *job)
{
	struct slowdown slowdown;
	TRY(slowdown_find(job->plan, job->options->rules_file, NULL, NULL, &slowdown, job->error));
	return figure_slowdown(job->plan, &slowdown, export_paper(job->options, job->kind), job->stream, job->error);
}

/* ---- sources ---- */

#define CLOSE 0.06 /* of both axes: of points that near to each other one has a name */

static bool is_knapsack(const struct slowdown_point *point)
{
	return strchr(point->name, ':') && point->name[strlen(point->name) - 1] == '%';
}

static void table_bound(const struct slowdown *slowdown, double unit, FILE *stream)
{
	double price;
	for (int i = 0; i <= ROWS; i++) {
		int64_t bytes = slowdown->least + (slowdown->most - slowdown->least) / ROWS * i;
		fprintf(stream, "%.6g %.6g\n", (double)bytes / unit, percent_of(slowdown, slowdown_bound(slowdown, bytes, &price)));
	}
}

static void table_points(const struct slowdown *slowdown, const struct plan *plan, double unit, FILE *stream)
{
	struct slowdown_point front[SLOWDOWN_FRONT];
	for (uint32_t i = 0, plans = slowdown_front(slowdown, plan, front); i < plans; i++)
		fprintf(stream, "%.6g %.6g\n", (double)front[i].bytes / unit, percent_of(slowdown, front[i].extra));
}

/* An earlier point stands so near that both names would lie on each other. */
static bool is_crowded(const struct slowdown *slowdown, uint32_t i)
{
	double wide = CLOSE * (double)(slowdown->most - slowdown->least), high = CLOSE * slowdown_top(slowdown);
	for (uint32_t k = 0; k < i; k++)
		if (fabs((double)(slowdown->strategy[k].bytes - slowdown->strategy[i].bytes)) < 3 * wide &&
			fabs(percent_of(slowdown, slowdown->strategy[k].extra) - percent_of(slowdown, slowdown->strategy[i].extra)) < high)
			return true;
	return false;
}

static void table_strategies(const struct slowdown *slowdown, bool knapsack, double unit, FILE *stream)
{
	for (uint32_t i = 0; i < slowdown->strategies; i++) {
		const struct slowdown_point *point = &slowdown->strategy[i];
		if (is_knapsack(point) == knapsack)
			fprintf(stream, "%.6g %.6g \"%s\"\n", (double)point->bytes / unit, percent_of(slowdown, point->extra),
				is_crowded(slowdown, i) ? ""
				: knapsack ? strchr(point->name, ':') + 1
				: point->name);
	}
}

static bool has_strategy(const struct slowdown *slowdown, bool knapsack)
{
	for (uint32_t i = 0; i < slowdown->strategies; i++)
		if (is_knapsack(&slowdown->strategy[i]) == knapsack)
			return true;
	return false;
}

static void write_gnuplot(const struct export_job *job, const struct slowdown *slowdown)
{
	FILE *stream = job->stream;
	static const struct {
		const char *table, *colour, *title;
	} kind[] = { { "strategies", "#D55E00", "strategies" }, { "knapsack", "#009E73", "knapsack at % of saved bytes" } };
	const char *name;
	double unit = (double)axis_unit(slowdown->most, &name);
	gnuplot_begin(job->options, stream);
	fprintf(stream,
		"set xlabel \"memory [%s]\" offset 0,0.4\nset ylabel \"extra time [%%]\"\n"
		"set yrange [0:%.4g]\nset offsets graph 0.02, graph 0.2, 0, 0\nset grid ytics\n%s\n$bound << END\n",
		name, slowdown_top(slowdown), job->options->no_legend ? "unset key" : GNUPLOT_KEY);
	table_bound(slowdown, unit, stream);
	fputs("END\n$plans << END\n", stream);
	table_points(slowdown, job->plan, unit, stream);
	fputs("END\n", stream);
	for (int k = 0; k < 2; k++) {
		fprintf(stream, "$%s << END\n", kind[k].table);
		table_strategies(slowdown, k == 1, unit, stream);
		fputs("END\n", stream);
	}
	fputs("plot $bound with filledcurves y1=0 lc rgb \"#DDDDDD\" title \"no plan in any order\", $plans with fsteps lc "
		  "rgb \"#0072B2\" title \"plans found\", $plans with points pt 7 ps 0.3 lc rgb \"#0072B2\" notitle",
		stream);
	for (int k = 0; k < 2; k++) /* gnuplot refuses tables without rows */
		if (has_strategy(slowdown, k == 1))
			fprintf(stream,
				", \\\n  $%s with points pt 5 ps 0.6 lc rgb \"%s\" title \"%s\", $%s using 1:2:3 with labels offset "
				"0.7,0.4 left font \",7\" notitle",
				kind[k].table, kind[k].colour, kind[k].title, kind[k].table);
	putc('\n', stream);
}

enum status slowdown_gnuplot(const struct export_job *job)
{
	return with_curve(job, write_gnuplot);
}
