/* segments.c: writes ROAM's segments and branches as text, CSV and DOT. */
#include <inttypes.h>

#include "src/base/dot_text.h"
#include "src/base/safe_text.h"
#include "data.h"
#include "segments.h"

static enum status need_segments(const struct plan *plan, struct error *error)
{
	if (plan->ordered->result.roam.segments)
		return OK;
	return fail(error, BAD_INPUT, "only plans of order=roam have segments");
}

static const char *waist_name(const struct plan *plan, const struct order_segment *segment)
{
	return segment->waist == NONE ? "" : plan->graph->op[segment->waist].name;
}

enum status segments_text(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	const struct order_roam *roam = &plan->ordered->result.roam;
	char text[32], name[400];
	TRY(need_segments(plan, job->error));
	fprintf(stream, "%u segments, %u branches\n\nsegment  ops          phase            peak  leaves     ends at the waist\n", roam->segments,
		roam->branches);
	for (uint32_t i = 0; i < roam->segments; i++) {
		const struct order_segment *segment = &roam->segment[i];
		fprintf(stream, "%7u  %5u-%-5u  %-8s  %11s  %-9s  %s\n", i, segment->first, segment->last, phase_names[segment->phase],
			bytes_text(segment->peak, text, sizeof text), segment->exact ? "exact" : "heuristic",
			text_clean(waist_name(plan, segment), name, sizeof name));
	}
	fputs("\nbranch of                       ops  ready in  runs in  latest  why there\n", stream);
	for (uint32_t i = 0; i < roam->branches; i++) {
		const struct order_branch *branch = &roam->branch[i];
		fprintf(stream, "%-30.30s %4u  %8u  %7u  %6u  %s\n", text_clean(plan->graph->op[branch->op].name, name, sizeof name), branch->ops, branch->earliest,
			branch->segment, branch->latest, order_branch_reasons[branch->why]);
	}
	return OK;
}

enum status segments_csv(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	FILE *stream = job->stream;
	const struct order_roam *roam = &plan->ordered->result.roam;
	TRY(need_segments(plan, job->error));
	fputs("record,number,op,ops,first,last,phase,peak_bytes,exact,earliest,segment,latest,why\n", stream);
	for (uint32_t i = 0; i < roam->segments; i++) {
		const struct order_segment *segment = &roam->segment[i];
		fprintf(stream, "segment,%u,", i);
		csv_text(stream, waist_name(plan, segment));
		fprintf(stream, ",%u,%u,%u,%s,%" PRId64 ",%d,,,,\n", segment->last - segment->first + 1, segment->first, segment->last,
			phase_names[segment->phase], segment->peak, segment->exact);
	}
	for (uint32_t i = 0; i < roam->branches; i++) {
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

/* ---- DOT: the segments in columns, in each the branches that run in it -------------------------------------- */

#define COLUMN 24   /* segments in a column of the picture */

/* A line of a segment's node for all branches that run in it for the same reason. */
static void branch_lines(const struct plan *plan, uint32_t segment, FILE *stream)
{
	const struct order_roam *roam = &plan->ordered->result.roam;
	for (int why = 0; why < 4; why++) {
		uint32_t branches = 0, ops = 0, earliest = NONE;
		for (uint32_t i = 0; i < roam->branches; i++) {
			const struct order_branch *branch = &roam->branch[i];
			if (branch->segment != segment || (int)branch->why != why)
				continue;
			branches++;
			ops += branch->ops;
			earliest = branch->earliest < earliest ? branch->earliest : earliest;
		}
		if (branches == 0)
			continue;
		fprintf(stream, "<br/><font color=\"#00664f\" point-size=\"9\">%u branch%s (%u op%s)", branches, branches == 1 ? "" : "es", ops,
			ops == 1 ? "" : "s");
		if (earliest < segment)
			fprintf(stream, " ready from %u", earliest);
		fprintf(stream, "<br/>%s</font>", order_branch_reasons[why]);
	}
}

static void segment_node(const struct plan *plan, uint32_t number, FILE *stream)
{
	static const char *const fill[PHASE_COUNT] = { "#dcecf7", "#f7e6ef", "#ddf3ea", "#fff4d6" };
	const struct order_segment *segment = &plan->ordered->result.roam.segment[number];
	bool peak = plan->ordered->peak_position >= segment->first && plan->ordered->peak_position <= segment->last;
	char text[32], name[400];
	fprintf(stream, "  s%u [label=<<b>%u</b>: ops %u&#8211;%u<br/>%s<br/><font point-size=\"9\">", number, number, segment->first,
		segment->last, bytes_text(segment->peak, text, sizeof text));
	dot_write_part(stream, segment->waist == NONE ? "end" : text_clean(waist_name(plan, segment), name, sizeof name), "<>");
	fputs("</font>", stream);
	branch_lines(plan, number, stream);
	fprintf(stream, "> fillcolor=\"%s\" color=\"%s\" penwidth=%d style=\"rounded,filled%s\"];\n", fill[segment->phase],
		peak ? "#d55e00" : "#555555", peak ? 3 : 1, segment->exact ? "" : ",dashed");
}

enum status segments_dot(const struct plan *plan, FILE *stream, struct error *error)
{
	const struct order_roam *roam = &plan->ordered->result.roam;
	char name[400];
	TRY(need_segments(plan, error));
	fputs("digraph segments {\n  graph [rankdir=TB ranksep=0.25 nodesep=0.3 fontname=Helvetica];\n"
	      "  node [shape=box style=\"rounded,filled\" fontname=Helvetica fontsize=11];\n  edge [arrowsize=0.6];\n  label=<<font point-size=\"11\"><b>", stream);
	dot_write_part(stream, text_clean(plan->input->name, name, sizeof name), "<>");
	fprintf(stream, "</b>: %u segments, %u branches; the thick frame holds the peak, dashed frames were not solved exactly<br/>"
		"below a segment's peak: the waist that ends it; in green: the branches that run in it</font>>;\n", roam->segments, roam->branches);
	for (uint32_t i = 0; i < roam->segments; i++) {
		segment_node(plan, i, stream);
		if (i)
			fprintf(stream, "  s%u -> s%u%s;\n", i - 1, i, i % COLUMN ? "" : " [constraint=false]");
	}
	fputs("}\n", stream);
	return OK;
}
