/* segments.c: writes ROAM's segments and branches as CSV. */
#include <inttypes.h>

#include "data.h"

enum status segments_csv(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	const struct order_roam *roam = &plan->ordered->result.roam;
	if (!roam->segments)
		return refuse(job->error, "only plans of order=roam have segments");
	fputs("record,number,op,ops,first,last,phase,peak_bytes,exact,earliest,segment,latest,why\n", stream);
	FOR(i, roam->segments) {
		const struct order_segment *segment = &roam->segment[i];
		fprintf(stream, "segment,%u,", i);
		csv_text(stream, segment->waist == NONE ? "" : plan->graph->op[segment->waist].name);
		fprintf(stream, ",%u,%u,%u,%s,%" PRId64 ",%d,,,,\n", segment->last - segment->first + 1, segment->first,
			segment->last, phase_names[segment->phase], segment->peak, segment->exact);
	}
	FOR(i, roam->branches) {
		const struct order_branch *branch = &roam->branch[i];
		fprintf(stream, "branch,%u,", i);
		csv_text(stream, plan->graph->op[branch->op].name);
		fprintf(stream, ",%u,,,%s,,,%u,%u,%u,", branch->ops, phase_names[plan->graph->op[branch->op].phase], branch->earliest,
			branch->segment, branch->latest);
		csv_text(stream, order_branch_reasons[branch->why]);
		fputc('\n', stream);
	}
	return OK;
}
