/* pipeline.h: pipeline schedules, microbatch by microbatch: when every rank does what, how long a step takes, what is
 * in flight.
 *
 * A rank holds chunks pieces of the model; piece s (0 to ranks * chunks - 1, in data-flow order) is chunk s / ranks of
 * its rank. Pieces lie on the ranks in turn, rank s % ranks, or in a V: every second chunk goes back from the last rank
 * to the first.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     pipeline       schedules: when every rank does what
 *     schedules      the named schedules as orders of passes
 *     timetable      a played schedule with bytes
 *     blocks         where a step can be cut
 *     weights        which ops of a backward pass only make gradients of parameters
 *     block_work     what ops are for blocks, however split
 *     block_costs    times and bytes of blocks
 *     exposed        collectives of states that computation doesn't hide
 *     across         what ops reduce inside over the data axis
 *     host_share     what of a configuration waits in the host's memory
 *     fullest        gradients of a single microbatch, and the fullest moment then
 *     configuration  memory and time of a whole configuration
 *     partial        recomputation of some layers of every piece
 *     cut            which rank runs which op of a device's graph
 *     flow           what goes between ranks
 *     making         a rank's graph while it is made
 *     waiting        what a rank holds between passes
 *     rank           the graph of one rank
 *     check          checks ranks' graphs and schedules */
#pragma once

#include "solver/base/base.h"

/* X(id, name, in a V, backward passes are split, what it does). GPipe (arXiv 1811.06965): all forward passes, then all
 * backward ones. 1F1B (PipeDream-flush, arXiv 2006.09503): one forward, one backward after a warm-up. Interleaved
 * (Megatron, arXiv 2104.04473): 1F1B over several chunks per rank. ZB1P (ZB-H1) and ZB2P (ZB-H2) (Qi et al., arXiv
 * 2401.10241): gradients of weights fill the bubble, in the memory of 1F1B and in twice as much. ZBV, V-Half, V-Min (Qi
 * et al., arXiv 2405.15362): two chunks a rank in a V, in the memory of 1F1B, half and a third of it. DualPipeV
 * (DeepSeek-V3, arXiv 2412.19437; the V of its DualPipe): forward passes beside backward ones. */
#define SCHEDULES(X) \
	X(GPIPE, "gpipe", 0, 0, "all forward passes, then all backward passes") \
	X(1F1B, "1f1b", 0, 0, "a backward pass as soon as it can run: no more microbatches in flight than ranks") \
	X(INTERLEAVED, "interleaved", 0, 0, "1f1b with several pieces of the model on each rank: a shorter bubble, more " \
		"messages") \
	X(ZB1P, "zb1p", 0, 1, "gradients of weights fill a part of the bubble: a third of it is left, in the memory of 1f1b") \
	X(ZB2P, "zb2p", 0, 1, "as zb1p without a bubble, in up to twice the memory") \
	X(ZBV, "zbv", 1, 1, "two pieces on each rank in a V, no bubble, the memory of 1f1b") \
	X(V_HALF, "v-half", 1, 1, "in a V: half the bubble and half the memory of 1f1b") \
	X(V_MIN, "v-min", 1, 1, "in a V: two thirds of the bubble and a third of the memory of 1f1b") \
	X(DUALPIPEV, "dualpipev", 1, 1, "in a V, forward passes beside backward ones (DeepSeek-V3)")
#define X(id, name, folded, split, help) SCHEDULE_##id,
enum schedule { SCHEDULES(X) SCHEDULE_COUNT, SCHEDULE_FILE = SCHEDULE_COUNT, SCHEDULE_AUTO };
#undef X
extern const char *const schedule_names[SCHEDULE_COUNT + 2];
bool schedule_folded(enum schedule schedule);   /* two chunks in a V */
bool schedule_split(enum schedule schedule);    /* gradients of inputs and of weights are passes of their own */

/* What a rank does with a piece and a microbatch. A backward pass is one, or gradients of the piece's input first,
 * those of its weights later. */
enum pass { PASS_FORWARD, PASS_BACKWARD, PASS_INPUT, PASS_WEIGHT, PASS_COUNT };
extern const char *const pass_names[PASS_COUNT];

struct pipeline_slot {
	int64_t begin, end;                  /* picoseconds */
	uint32_t piece, microbatch;
	uint8_t pass;
	bool joined; /* PASS_INPUT: the same microbatch's PASS_WEIGHT follows, and what is sent leaves behind that: one
					backward pass in all but memory */
	bool overlapped; /* a pass and the next one at the same time: both are done in the end; as long as both, less what
						each hides of the other */
};

/* The order of every rank's passes. */
struct pipeline_order {
	uint32_t ranks, chunks, microbatches;
	bool folded, split;
	uint32_t slots;                      /* of one rank: 2, or split 3, for every piece and microbatch */
	struct pipeline_slot *slot;          /* [ranks * slots], without times */
};

struct pipeline {
	enum schedule schedule;
	uint32_t ranks, chunks;              /* chunks > 1: interleaved, or 2 in a V */
	uint32_t microbatches;
	const int64_t *forward, *backward;   /* [ranks * chunks] picoseconds of a piece for one microbatch */
	const int64_t *weight; /* [ranks * chunks] of backward, what gradients of weights take; NULL: half of it */
	const int64_t *forward_link, *backward_link; /* [ranks * chunks] of these, collectives: an overlapped pass computes
													meanwhile (DualPipe); NULL: none */
	const int64_t *send; /* [ranks * chunks] from piece s to s + 1, and its gradient back; the last one is not used, nor
							between pieces of a rank */
	const struct pipeline_order *order;  /* of SCHEDULE_FILE */
	bool blocking;                       /* a rank waits while it sends; else it goes on */
};

/* The most microbatches of a piece at once: those whose forward pass has begun and whose backward pass, gradients of
 * the input, or of the weights aren't done; and those between the two. */
struct in_flight { uint32_t input, weight, between; };

struct pipeline_plan {
	int64_t time;                        /* until the last rank is done */
	int64_t ideal;                       /* the busiest rank's work: time - ideal is the bubble */
	bool folded, split;
	struct pipeline_slot *slot;          /* [ranks * slots], rank by rank, in order of time */
	uint32_t slots;                      /* of one rank */
	uint32_t *in_flight; /* [ranks] the most pieces' activations that a rank holds at once, until gradients of weights
							are done */
	struct in_flight *piece_in_flight;   /* [ranks * chunks] */
	struct in_flight *at_most;           /* [ranks * chunks] when its rank holds the most pieces */
	struct arena arena;
};

static inline uint32_t piece_rank(uint32_t piece, uint32_t ranks, bool folded)
{
	return folded && piece / ranks % 2 ? ranks - 1 - piece % ranks : piece % ranks;
}

static inline uint32_t rank_piece(uint32_t rank, uint32_t chunk, uint32_t ranks, bool folded)
{
	return chunk * ranks + (folded && chunk % 2 ? ranks - 1 - rank : rank);
}

/* What goes from a piece to the next, or back, takes no time on one rank. */
static inline int64_t pipeline_send(const struct pipeline *pipeline, bool folded, uint32_t piece)
{
	return piece_rank(piece, pipeline->ranks, folded) == piece_rank(piece + 1, pipeline->ranks, folded)
		? 0
		: pipeline->send[piece];
}

/* Picoseconds of a slot's pass. */
int64_t pipeline_duration(const struct pipeline *pipeline, const struct pipeline_slot *slot);

/* Picoseconds of two passes at a time, of each the whole and its collectives. */
int64_t pipeline_together(int64_t one, int64_t one_link, int64_t other, int64_t other_link);

/* How many slots from this one on are one action: a backward pass in two parts, passes that overlap: what they send
 * leaves when all are done. */
uint32_t slots_together(const struct pipeline_slot *slot);

/* Whether a schedule can be played: OK, or BAD_INPUT says what it needs: ranks, chunks, microbatches. */
enum status schedule_possible(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, struct error *error);

/* Pieces of a rank that searches try of interleaved schedules: up to six, and beyond these, up to the most in NVIDIA's
 * published recipes (Qwen3 30B on two ranks), numbers that share the layers out evenly. layers 0: none repeat. */
enum { SCHEDULE_CHUNKS_MAX = 24 };
bool schedule_tries_chunks(uint32_t layers, uint32_t ranks, uint32_t chunks);

/* BAD_INPUT: as schedule_possible(), or ranks of an order wait for each other. O(slots), where gradients of weights
 * fill gaps O(slots * ranks). */
enum status pipeline_run(const struct pipeline *pipeline, struct pipeline_plan *plan, struct error *error);
/* The same, and where ranks wait for each other what the first of them waits to do. */
struct pipeline_stuck { uint32_t rank, piece, microbatch; enum pass pass; };
enum status pipeline_play(
	const struct pipeline *pipeline, struct pipeline_plan *plan, struct pipeline_stuck *stuck, struct error *error);
void pipeline_free(struct pipeline_plan *plan);
#define pipeline_plan_drop pipeline_free

/* No order of these pieces' passes takes less, under any memory: a rank begins when the first microbatch comes to it
 * and does all its work, and a microbatch goes through all pieces and back. O(pieces). */
int64_t pipeline_bound(const struct pipeline *pipeline, bool folded);

/* The most that a rank idles between its first pass and its last: the bubble of schedules whose ranks need not end
 * together. O(slots). */
int64_t pipeline_idle(const struct pipeline_plan *plan, uint32_t ranks);

/* schedules: the named schedules as orders of passes. */

/* Fills slot[ranks * slots] with the passes of a named schedule, in order; slots of one rank. Where gradients of
 * weights fill gaps, which are left depends on the pipeline's times. OK or NO_MEMORY. */
enum status schedule_list(const struct pipeline *pipeline, uint32_t slots, struct pipeline_slot *slot);

/* What a piece has in flight when its rank holds the most pieces, without playing: for a model of memory. O(1). */
struct in_flight schedule_in_flight(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, uint32_t rank, uint32_t chunk);
