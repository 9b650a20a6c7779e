/* plan_time.h: how long a plan's step takes on a device that computes and communicates at once, simulated in the plan's
 * order. */
#pragma once

#include "solver/overlap/overlap.h"
#include "solver/overlap/step_bound.h"
#include "src/stages/shard/sharded.h"

struct plan_time {
	struct step_model model;       /* one pass and the update */
	struct step_time time;
	struct step_bound bound;       /* of every order of the graph; no station where it was not asked for */
	int64_t passes;                /* accumulation: how often forward and backward pass run in a step */
	struct step_model pass_model;  /* of passes > 1: a pass that no update follows; what runs once a step takes no time */
	struct step_time pass;
	/* Of the whole step, picoseconds as in step_time: passes - 1 without an update, then one with it. INT64_MAX: more
	 * than can be said. */
	struct step_whole { int64_t total, busy[STREAMS_MAX], exposed[STREAMS_MAX]; } whole;
};

/* The planned graph of a device in an order: ops by the roofline of their local tensors, collectives by the mesh's
 * links. What is gathered ahead is memory that the plan doesn't count: at most model.ahead bytes. sharded: NULL where
 * one device runs the whole step. NULL when out of memory. O(size). */
struct plan_time *plan_time_of(const struct graph *graph, const uint32_t *order, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules);
void plan_time_free(struct plan_time *time);
DROP(plan_time, plan_time_free)
/* When each position of an order begins, in picoseconds, [ops], and the step's end: with the computation of its op, or
 * of the next op that computes. */
void plan_time_places(const struct plan_time *time, const uint32_t *order, uint32_t ops, int64_t *at);
/* What the ops of a device's graph take, into an arena that is freed in any case. OK or NO_MEMORY. O(size). */
enum status plan_costs_find(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules, struct arena *arena, struct step_costs *costs);
/* Picoseconds that computation waits for copies to the host and back, in one pass and the update. */
int64_t plan_time_host_waits(const struct plan_time *time, const struct sharded *sharded);
/* Fills in the bound, of one pass and the update. OK or NO_MEMORY. */
enum status plan_time_bound(struct plan_time *time);
/* Whether a step, in picoseconds, is no slower than another one but for such a part that memory decides. */
static inline bool is_as_fast(int64_t time, int64_t than)
{
	return time - than <= than / 1000;
}
/* Orders of a shorter step are sought: in what, and with what. */
struct plan_time_search {
	const struct graph *graph;
	const struct problem *problem;
	const uint32_t *order;         /* that of the least peak; the program's is tried, too */
	const struct sharded *sharded;
	const struct scenario *scenario;
	const struct rules *rules;
	int64_t limit;                 /* bytes that a peak keeps */
	/* How: by a few passes alone; within the peak of the program's order; so, and then within the limit; limits are
	 * climbed (overlap.h), with more effort. */
	enum { TIME_GLANCES, TIME_COMPARES, TIME_CLIMBS } how;
};
/* Orders that keep the limit, the slowest first. Statuses as overlap_climb_orders(). */
enum status plan_time_orders(
	const struct plan_time_search *search, struct control *control, struct overlap_climb *climb);
/* Picoseconds that no order of the graph goes below in a whole step: what the busiest stream has to do, or the longest
 * way through dependencies. -1 when out of memory. O(arguments). */
int64_t plan_time_least(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules);
/* Picoseconds of every op of a graph, full [ops], and of what can't hide behind computation alone, sure [ops]. sharded
 * as above. OK or NO_MEMORY. O(arguments). */
enum status plan_op_times(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules, int64_t *full, int64_t *sure);
/* A step's time by phase and by what sets it. Resharding: a device cuts its share out of what it
 * has. Waiting is what computation waits for: collectives, copies to the host and back, other ranks of a pipeline. */
enum step_part { STEP_FORWARD, STEP_BACKWARD, STEP_RECOMPUTED, STEP_UPDATE, STEP_RESHARDING, STEP_WAITING, STEP_PARTS };
enum { STEP_LINK = LIMIT_COUNT, STEP_HOST, STEP_RANKS, STEP_LIMITS };   /* behind enum machine_limit */
extern const char *const step_part_names[STEP_PARTS], *const step_limit_names[STEP_LIMITS];
struct step_shares {
	int64_t time[STEP_PARTS][STEP_LIMITS];   /* picoseconds; they add up to total, without waiting to computed */
	uint32_t ops[STEP_PARTS][STEP_LIMITS];   /* that take time; of waiting: all collectives or copies, hidden ones too */
	int64_t total, computed;
};
/* Of a simulated step: plan_time_of() with the same arguments. OK or NO_MEMORY. O(size). */
enum status plan_time_shares(const struct graph *graph, const struct sharded *sharded, const struct scenario *scenario,
	const struct rules *rules, const struct plan_time *time, struct step_shares *shares);
/* Adds what is computed; of a pipeline's rank, whose graph is one microbatch and the update, in passes microbatches;
 * passes 0: of a step in one piece. in_passes: of that without the update. OK or NO_MEMORY. O(size). */
enum status plan_step_shares(const struct graph *graph, const struct sharded *sharded, uint32_t passes,
	const struct scenario *scenario, const struct rules *rules, struct step_shares *shares, int64_t *in_passes);
/* "computation", an axis of the mesh, or "host" and "host back": the two directions of the link over which tensors are
 * offloaded and fetched. */
const char *plan_time_stream(const struct sharded *sharded, uint32_t stream);
/* The op moves a tensor to the host's memory or back: how many bytes. */
bool plan_time_host(const struct graph *graph, uint32_t op, int64_t *bytes);

/* passes: what a step that accumulates gradients does in each of its passes, and what once. */

/* The op that adds a pass's gradient to the sum that lives from step to step. O(its reads). */
bool passes_sums(const struct graph *graph, uint32_t op);
/* once[op]: it runs once a step, behind the last pass: the update, and collectives that wait for it or for sums of
 * gradients. All else, sums too, runs in every pass. once: [ops]. O(graph). */
void passes_find(const struct graph *graph, bool *once);

/* traffic: what each device sends in a step. */

/* The collectives of one kind over one axis, summed over the step. */
struct traffic {
	uint32_t count;
	int64_t bytes;              /* that each device sends */
	int64_t time;               /* picoseconds, one after another */
};

struct traffic_sum {
	struct traffic of[MESH_AXES][COLLECTIVE_COUNT];
	int64_t bytes, time;        /* of all */
};

/* Sums over a graph that a device runs: its collectives, and those inside its ops; what is computed again sends again.
 * O(ops). */
void traffic_find(const struct sharded *sharded, const struct graph *graph, struct traffic_sum *sum);

/* What an op of a device's graph sends: its axis, and bytes as collective_time() takes them. False: it is no
 * collective. */
bool traffic_collective(const struct mesh *mesh, const struct graph *graph, uint32_t op, uint32_t *axis,
	enum collective_kind *collective, int64_t *bytes);
