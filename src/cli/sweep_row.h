/* sweep_row.h: a line of `tidemark sweep`: one scenario's plan as JSON, CSV, or a table for people. */
#pragma once

#include <stdio.h>

#include "src/plan/plan.h"

enum sweep_form { SWEEP_JSON, SWEEP_CSV, SWEEP_TABLE };

struct sweep_row {
	const char *const *varied;       /* [count]: the knobs and figures that are varied */
	int count;
	enum sweep_form form;
	uint64_t sweep;                  /* fingerprint of all that the sweep's rows have in common */
	uint64_t number;                 /* of the scenario */
	const struct scenario *scenario;
	const struct plan *plan;         /* NULL: there is none */
	const char *reason;              /* why there is none; of a plan, what is guessed in it, "" where nothing is */
};

/* The line of names above the rows; nothing for JSON. */
void sweep_row_names(const struct sweep_row *row, FILE *stream);
/* One line. */
void sweep_row_write(const struct sweep_row *row, FILE *stream);
/* Scenario and fingerprint of a line, JSON or CSV. BAD_INPUT: it has none. */
enum status sweep_row_read(const char *line, uint64_t *number, uint64_t *sweep, struct error *error);
/* Whether the line, newline included, is a whole one of this sweep, for row->number; row->scenario NULL: CSV's line of
 * names. plan and reason aren't read. OK, BAD_INPUT or NO_MEMORY. */
enum status sweep_row_check(const struct sweep_row *row, const char *line, struct error *error);
