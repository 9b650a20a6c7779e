/* sweep_row.h: a line of `tidemark sweep`: one scenario's plan as JSON, CSV, or a table for people. */
#pragma once

#include "src/plan/plan.h"

enum sweep_form { SWEEP_JSON, SWEEP_CSV, SWEEP_TABLE };

struct sweep_row {
	const char *const *varied; /* [count]: the knobs and figures that are varied */
	int count;
	enum sweep_form form;
	uint64_t sweep;  /* fingerprint of all that the sweep's rows have in common */
	uint64_t number; /* of the scenario */
	const struct scenario *scenario;
	const struct plan *plan; /* NULL: there is none */
	const char *reason;      /* why there is none; of a plan, what is guessed in it, "" where nothing is */
	const char *graph;       /* of several graphs: its name, the value of SWEEP_GRAPH */
	bool assumed;            /* of the line of names: no row has a device of its own */
};
#define SWEEP_GRAPH "graph"

/* The line of names above the rows; nothing for JSON. */
void sweep_row_names(const struct sweep_row *row, FILE *stream);
/* One line. */
void sweep_row_write(const struct sweep_row *row, FILE *stream);
/* Scenario and fingerprint of a line, JSON or CSV. BAD_INPUT: it has none. */
enum status sweep_row_read(const char *line, uint64_t *number, uint64_t *sweep, struct error *error);
/* Whether the line, newline included, is a whole one of this sweep, for row->number; row->scenario NULL: CSV's line of
 * names. plan and reason aren't read. OK, BAD_INPUT or NO_MEMORY. */
enum status sweep_row_check(const struct sweep_row *row, const char *line, struct error *error);

/* sweep_merge: the pieces of one sweep, put together. */

/* Writes the lines of all files to output (NULL: standard output), one for each scenario, in the order of their
 * numbers. The files are all JSON lines or all CSV, plain or gz. A last line without its end is told and left out;
 * equal lines for one scenario are one. total: of the sweep's scenarios, 0 where it isn't known. EXIT_FINE;
 * EXIT_CONSTRAINT: written, but scenarios are missing, standard error says which; EXIT_INPUT: a line is none of a
 * sweep, or two lines differ for one scenario, and nothing is written; EXIT_LIMIT. O(n log n) time for n lines, and
 * memory for all of them. */
int sweep_merge(char *const *path, int count, uint64_t total, const char *output);
