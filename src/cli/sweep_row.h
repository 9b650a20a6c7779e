/* sweep_row.h: a line of `tidemark sweep`: one scenario's plan as JSON, CSV, or a table for people. */
#pragma once

#include <stdio.h>

#include "src/plan/plan.h"

enum sweep_form { SWEEP_JSON, SWEEP_CSV, SWEEP_TABLE };

struct sweep_row {
	const enum knob_id *varied;      /* [count]: the knobs that are varied */
	int count;
	enum sweep_form form;
	uint64_t number;                 /* of the scenario */
	const struct scenario *scenario;
	const struct plan *plan;         /* NULL: there is none */
	const char *reason;              /* why there is none */
};

/* The line of names above the rows; nothing for JSON. */
void sweep_row_names(const struct sweep_row *row, FILE *stream);
/* One line. */
void sweep_row_write(const struct sweep_row *row, FILE *stream);
/* Which scenario a line of an earlier run is of: true and *number; *number is NONE where it is the line of names. False: neither. */
bool sweep_row_number(const struct sweep_row *row, const char *line, uint64_t *number);
