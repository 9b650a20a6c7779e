/* sweep_figures.c: a sweep's file as a figure. */
#include "caption.h"

bool sweep_figure_view(const char *view)
{
	return view && (strcmp(view, "pareto") == 0 || strcmp(view, "sweep") == 0);
}

enum status sweep_figure_write(
	const char *path, const struct export_options *options, enum export_kind_id kind, FILE *stream, struct error *error)
{
	struct sweep_table table;
	char name[200];
	const char *begin = strrchr(path, '/');
	PRINT_TO(name, "%s", strcmp(path, "-") == 0 ? "sweep" : begin ? begin + 1 : path);
	name[strcspn(name, ".")] = '\0';
	enum status status = sweep_file_read(path, &table, error);
	if (status == OK)
		status = (strcmp(options->view, "pareto") == 0 ? figure_pareto : figure_sweep)(
			&table, name, export_paper(options, kind), stream, error);
	sweep_table_done(&table);
	return status;
}

enum status sweep_figure_refuse(const struct export_job *job)
{
	return refuse(job->error,
		"the view %s is drawn of what `tidemark sweep` wrote: tidemark export SWEEP.jsonl --view %s",
		job->options->view, job->options->view);
}
