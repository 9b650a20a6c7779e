/* plan_file.h: plan files as JSON. */
#pragma once

#include <jansson.h>

#include "input.h"

/* The JSON object of a plan file, plain or gz, "-" for standard input; nothing in it was looked at. NULL and *error: it
 * can't be read (BAD_INPUT with the line), or memory ends. Give it back with json_decref(). */
json_t *plan_file_read(const char *path, struct error *error);
/* The same of an input that is open; it stays open. */
json_t *plan_file_take(struct input *input, struct error *error);

/* sweep_file: what `tidemark sweep` wrote, JSON Lines, as a table. */

#define SWEEP_KNOBS 8u /* that are varied */
#define SWEEP_ROWS  100000u

struct swept {
	double number;               /* of the scenario */
	uint32_t value[SWEEP_KNOBS]; /* of each varied knob: its place in sweep_knob.value */
	bool fits;                   /* status "ok" */
	double bytes;                /* the arena; < 0: there is no plan */
	double seconds;              /* the simulated step; < 0: unknown */
};

struct sweep_knob {
	char name[64];
	char (*value)[64]; /* numbers ascending; words as the sweep has them */
	uint32_t values;
	size_t room;
};

struct sweep_table {
	struct sweep_knob knob[SWEEP_KNOBS];
	uint32_t knobs;
	struct swept *row; /* by their numbers, in whatever order jobs wrote them */
	uint32_t rows;
	size_t room;
};

/* Reads the lines of a file, plain or gz, "-" for standard input. BAD_INPUT with the line: no line of a sweep, other
 * knobs than the line before, more than fits the table. The table must be given back with sweep_table_done() in any
 * case. O(bytes * values). */
enum status sweep_file_read(const char *path, struct sweep_table *table, struct error *error);
void sweep_table_done(struct sweep_table *table);
