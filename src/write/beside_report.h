/* beside_report.h: two plans laid over each other, as text, JSON, a table and a figure. */
#pragma once

#include "export.h"
#include "src/plan/beside.h"

/* plan[0] is what ran, or the first; name: of the files that they are of. */
struct beside_report {
	const struct plan *plan[2];
	const char *name[2];
	const struct beside *beside;
};

/* What both come to, by phase, and who holds the difference at the peaks. */
void beside_text(const struct beside_report *report, FILE *stream);
/* The same as an object. */
void beside_json(const struct beside_report *report, FILE *stream);
/* Live bytes of both over the first one's step: the second one's highest of what stands there. kind: svg, pdf, png or
 * tikz; csv: a table of position, and live bytes of both. O(ops). */
enum status beside_timeline(const struct beside_report *report, const struct export_options *options,
	enum export_kind_id kind, FILE *stream, struct error *error);
