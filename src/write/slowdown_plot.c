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

static void tikz_strategies(const struct slowdown *slowdown, FILE *stream)
{
	for (uint32_t i = 0; i < slowdown->strategies; i++) {
		fprintf(stream, "\\node[inner sep=1pt, fill=red!70!black, label={[font=\\tiny]right:");
		for (const char *at = slowdown->strategy[i].name; *at; at++)
			fprintf(stream, *at == '%' ? "\\%c" : "%c", *at);
		fprintf(stream, "}] at (axis cs:%.6g,%.6g) {};\n", (double)slowdown->strategy[i].bytes / 1e9, percent_of(slowdown, slowdown->strategy[i].extra));
	}
}

enum status slowdown_tikz(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	struct slowdown slowdown;
	enum status status = slowdown_find(plan, options->rules_file, NULL, NULL, &slowdown, error);
	(void)kind;
	if (status != OK)
		return status;
	fprintf(stream, "%% lualatex or pdflatex; \\input it after removing the first lines and the last.\n\\documentclass[border=2pt]{standalone}\n\\usepackage{pgfplots}\n"
		"\\pgfplotsset{compat=1.16}\n\\begin{document}\n\\begin{tikzpicture}\n\\begin{axis}[width=%.4gcm, height=7cm, xlabel={memory [GB]}, ylabel={extra time [\\%%]}, "
		"ymin=0, ymax=%.4g, clip mode=individual, legend pos=north east, legend style={draw=none, font=\\footnotesize}]\n", export_centimetres(options, 0.4),
		slowdown_top(&slowdown));
	fputs("\\addplot[draw=gray, dashed, fill=gray!20] coordinates {\n", stream);
	for (int i = 0; i <= ROWS; i++) {
		double price;
		int64_t bytes = slowdown.least + (slowdown.most - slowdown.least) / ROWS * i;
		fprintf(stream, "(%.6g,%.6g)\n", (double)bytes / 1e9, percent_of(&slowdown, slowdown_bound(&slowdown, bytes, &price)));
	}
	fputs(options->no_legend ? "} \\closedcycle;\n" : "} \\closedcycle; \\addlegendentry{no plan in any order}\n", stream);
	fputs("\\addplot[blue, thick, mark=*, mark size=1pt] coordinates {\n", stream);
	fprintf(stream, "(%.6g,0)\n", (double)slowdown.most / 1e9);
	for (uint32_t i = 0; i < slowdown.plans; i++)
		fprintf(stream, "(%.6g,%.6g)\n", (double)slowdown.plan[i].bytes / 1e9, percent_of(&slowdown, slowdown.plan[i].extra));
	fputs(options->no_legend ? "};\n" : "}; \\addlegendentry{plans found}\n", stream);
	tikz_strategies(&slowdown, stream);
	fputs("\\end{axis}\n\\end{tikzpicture}\n\\end{document}\n", stream);
	return OK;
}

static void write_gnuplot(const struct export_options *options, const struct slowdown *slowdown, FILE *stream)
{
	fprintf(stream, "# gnuplot FILE shows it; or first: set terminal pdfcairo; set output \"figure.pdf\"\nset xlabel \"memory [GB]\"\nset ylabel \"extra time [%%]\"\n"
		"set yrange [0:%.4g]\nset grid ytics\n%s$bound << END\n", slowdown_top(slowdown), options->no_legend ? "unset key\n" : "");
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
