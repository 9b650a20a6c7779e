/* play.h: how long a step takes in the order of a line: what step_time.h finds, without its starts and sums, and many
 * times in a row.
 *
 * Not for steps with copies to the host: these hold computation back by their places. */
#pragma once

#include "lineup.h"

struct play {
	const struct overlap_request *request;
	const struct lineup *line;
	uint32_t nodes;            /* the line's ops, then the collectives that ops make themselves */
	uint32_t *tail;            /* [ops] the last node that stands for it */
	uint32_t *of;              /* [nodes] the line's op */
	uint8_t *stream;           /* [nodes] */
	int64_t *time;             /* [nodes] */
	bool *computes, *sends, *early;  /* [ops] as solver/cost/step_time.h has it */
	uint32_t *layer;           /* [ops] */
	struct csr succ;           /* [nodes] */
	struct csr data;           /* [ops] what the data go to: succ of the line without what pins and memory ask for */
	uint32_t *needs;           /* [nodes] how many it waits for */
	int64_t computed;          /* picoseconds of all that computes */

	uint32_t *missing, *ended; /* [nodes] scratch */
	uint32_t *release, *first_released,
		*next_released; /* [ops] of a collective: what begins before it, and the lists of these */
	uint32_t *use;             /* [ops] the first place that computes with it */
	uint32_t *gather, gathers; /* [ops] early collectives by their use */
	uint32_t *heap[STREAMS_MAX], waiting[STREAMS_MAX]; /* collectives that could begin; by key: */
	uint64_t *key;             /* [nodes] */
	int64_t *gap; /* [ops] picoseconds that computation waits before it, as of the last play that came to its end */
	struct arena arena;
};

/* Whether steps of this graph can be played. */
bool play_can(const struct graph *graph);
/* Free it in any case. OK or NO_MEMORY. O(graph). */
enum status play_new(const struct overlap_request *request, const struct lineup *line, struct play *play);
void play_free(struct play *play);
#define play_drop play_free
/* Picoseconds; more than most, which may be less than the step takes, as soon as that is sure. O(nodes log nodes +
 * dependencies). */
int64_t play_step(struct play *play, int64_t most);
