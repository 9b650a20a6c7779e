/* state.h: what the parts of the plan checker share. For this folder only. */
#ifndef TIDEMARK_CHECK_STATE_H
#define TIDEMARK_CHECK_STATE_H

#include <jansson.h>

#include "src/scenario/scenario.h"
#include "src/plan/transform.h"

struct check {
	const struct graph *input;
	struct graph *graph;          /* as planned */
	struct pipelined *pipelined;  /* NULL where the step is not cut into microbatches or ranks, or the graph given is a rank's */
	struct sharded *sharded;      /* NULL where the step is not split, or the graph given is a device's */
	const char *rules_file;
	struct rules *rules;
	const json_t *plan;
	struct scenario scenario;
	FILE *report;
	struct error *error;
	uint32_t *position;           /* [ops] */
	uint32_t *order;              /* [ops] */
	uint32_t *first, *last;       /* [storages], NONE: never there */
	int64_t *bytes, *offset;      /* [storages] */
	int64_t peak;
	struct arena arena;
};

/* INFEASIBLE, with what is wrong. */
enum status check_wrong(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports what holds. */
void check_passed(const struct check *check, const char *what);
/* The member at a path of two keys, or NULL; an integer there, else BAD_INPUT; compared with what it must be. */
const json_t *check_member(const struct check *check, const char *part, const char *key);
enum status check_integer(struct check *check, const char *part, const char *key, int64_t *value);
enum status check_expect(struct check *check, const char *part, const char *key, int64_t expected);

#endif
