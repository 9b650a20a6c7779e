/* slowdown_plot.c: extra time over memory: a table and a figure. */
#include <inttypes.h>

#include "data.h"
#include "src/draw/figure.h"

#define ROWS 120

static void csv_row(
	const struct slowdown *slowdown, const char *what, const struct slowdown_point *point, FILE *stream)
{
	fprintf(stream, "%s,%s,%" PRId64 ",%.9g,%.6g,", what, point->name, point->bytes, (double)point->extra * 1e-12,
		100 * (double)point->extra / (double)(slowdown->total > 0 ? slowdown->total : 1));
}

enum status export_slowdown(const struct export_job *job)
{
	FILE *stream = job->stream;
	struct slowdown slowdown;
	struct slowdown_point front[SLOWDOWN_FRONT], none = { "none", 0, 0 };
	TRY(slowdown_find(job->plan, job->options->rules_file, NULL, NULL, &slowdown, job->error));
	if (job->kind != EXPORT_csv)
		return figure_slowdown(job->plan, &slowdown, export_paper(job->options, job->kind), stream, job->error);
	fputs("what,name,memory_bytes,extra_seconds,extra_percent,milliseconds_per_gb\n", stream);
	for (int i = 0; i <= ROWS; i++) {
		struct slowdown_point point = { "", slowdown.least + (slowdown.most - slowdown.least) / ROWS * i, 0 };
		double price;
		point.extra = slowdown_bound(&slowdown, point.bytes, &price);
		csv_row(&slowdown, "bound", &point, stream);
		fprintf(stream, "%.6g\n", price);
	}
	none.bytes = slowdown.most;
	for (uint32_t i = 0; i <= slowdown.strategies; i++) {
		csv_row(&slowdown, "strategy", i > 0 ? &slowdown.strategy[i - 1] : &none, stream);
		putc('\n', stream);
	}
	for (uint32_t i = 0, plans = slowdown_front(&slowdown, job->plan, front); i < plans; i++) {
		csv_row(&slowdown, "plan", &front[i], stream);
		putc('\n', stream);
	}
	return OK;
}
