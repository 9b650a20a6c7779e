/* state.h: what the parts of the plan checker share. For this folder only. */
#pragma once

#include <jansson.h>

#include "src/scenario/scenario.h"
#include "src/plan/transform.h"

struct check {
	const struct graph *input;
	struct graph *graph;          /* as planned */
	struct pipelined
		*pipelined;  /* NULL where the step is not cut into microbatches or ranks, or the graph given is a rank's */
	struct sharded *sharded;      /* NULL where the step is not split, or the graph given is a device's */
	const char *rules_file;
	const char *path;             /* of the plan file */
	bool as_planned;              /* the graph given is the planned one: its scenario's stages aren't looked at */
	bool numbers;                 /* nothing is planned again */
	struct rules *rules;
	uint32_t made;                /* bits: the stages that made the planned graph, in the order of made.c's table */
	const json_t *plan;
	struct scenario scenario;     /* with the pipeline rank that the plan is of */
	struct scenario asked;        /* as the file has it */
	FILE *report;
	struct error *error;
	uint32_t *position;           /* [ops] */
	uint32_t *order;              /* [ops] */
	uint32_t items;               /* what needs an address: storages, then the workspaces of ops */
	uint32_t *first, *last;       /* [items], NONE: never there */
	int64_t *bytes, *offset;      /* [items] */
	int64_t peak;
	uint32_t peak_position;
	int64_t reserved[2];          /* bytes of the caching allocator, without and with expandable segments */
	int64_t ahead;                /* bytes of parameters gathered a layer ahead; -1: not known */
	bool recomputes, recomputes_to_cap, recomputes_on_ranks; /* the scenario makes ops run again; as few as a cap takes,
																in one graph; or on each of a pipeline's ranks */
	uint32_t waiting;             /* buffers of the host */
	bool copies;                  /* offload=on has chosen copies to the host: */
	int64_t reruns, pinned_stall; /* picoseconds of what runs again; of waits for other copies, in the program's order */
	int64_t over;                 /* bytes that the plan needs above its cap; < 0: it fits, or there is no cap */
	const char *notes;            /* what the stages say of the planned graph, in the arena; NULL: not known */
	struct arena arena;
};

/* INFEASIBLE, with what is wrong. */
enum status check_wrong(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports what holds; what was not looked at; what is believed without a proof. */
void check_passed(const struct check *check, const char *what);
void check_skipped(const struct check *check, const char *what);
void check_trusted(const struct check *check, const char *what);
/* The member at a path of two keys, or NULL; an integer there, else BAD_INPUT; compared with what it must be. */
const json_t *check_member(const struct check *check, const char *part, const char *key);
enum status check_integer(struct check *check, const char *part, const char *key, int64_t *value);
enum status check_expect(struct check *check, const char *part, const char *key, int64_t expected);
