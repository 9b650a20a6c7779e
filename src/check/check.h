/* check.h: the independent, slow, simple checker of plan files: `tidemark check GRAPH PLAN.json`.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     check     the run; order and peaks
 *     state     members of a plan file, and what is said of them
 *     asked     the graph, the scenario, and whether the plan keeps its cap
 *     streams   memory by time, while copies to the host run
 *     layout    buffers, arena and its bound
 *     savings   what the plan is compared with; the peak by kinds
 *     allocator PyTorch's caching allocator once more
 *     made      what each stage made of the graph
 *     values    two graphs, run on symbols
 *     sizes     another batch or sequence
 *     recompute what runs again, its time and the bound
 *     shard     placements, costs and bounds
 *     shard_sums  collectives by kind, words of frameworks
 *     pipeline  ranks, schedule and memory
 *     speed     how fast the step is
 *     members   a file has no members that nobody looks at
 *     plan_members  which ones plan files have
 *     again     the scenario is planned anew, and compared
 *     compare   two files, member by member
 *     buffers   results of `tidemark layout`: places of any buffers, pair by pair */
#pragma once

#include "solver/graph/graph.h"
#include "src/read/problems/buffers_csv.h"

struct check_options {
	const char *rules_file; /* a user's operator rules, or NULL */
	bool planned; /* the graph may be the planned one (`export --as native --stage device`): the scenario's stages are
					 then not looked at */
	bool numbers; /* nothing is planned again: claims of how the plan was searched for are not looked at */
	FILE *report; /* a line for each part that holds, or that was not looked at; may be NULL */
};

/* Of a file in which nothing is wrong. */
struct check_outcome {
	bool partly;  /* it says that it was cut short, or is another version's: what only its search explains can't be
					 looked at */
	int64_t over; /* bytes that the plan needs above its memory limit; <= 0: it fits, or there is none */
};

/* Reads a plan file and verifies all of it against the graph that was planned.
 *
 * Independent of the solvers, by other and slower code: graph and scenario, the order's dependencies and pins,
 * lifetimes and peaks, overlaps and pins of the layout, the simulated allocator, the host's buffers, what collectives
 * add up to, bounds by their certificates in integers. The graph that is planned is made by the same stages as the
 * planner's (src/stages/table.h), with the file's own sharding in the place of the search; what each stage made is
 * then held against what it was given, op by op, by code that shares nothing with the stage (state.h, device_check,
 * pipeline check). What that can't show is told as taken on trust. Not independent: bounds without a certificate are
 * searched again, and at the end the scenario is planned again, which binds what only the search explains (state.h).
 *
 * OK: nothing in it is wrong, see *outcome; INFEASIBLE: something is: error says what; BAD_INPUT: not a plan file of
 * this graph. */
enum status plan_check(const struct graph *graph, const char *path, const struct check_options *options,
	struct check_outcome *outcome, struct error *error);

/* buffers: the independent, slow checker of what `tidemark layout` wrote: offsets of any buffers.
 *
 * It takes the file of the buffers and the places that the result gives them, and shares no code with the solvers:
 * every pair that is alive together is compared, and sums are made anew. */

/* Where a result puts each buffer. */
struct buffers_places {
	const int64_t *offset; /* [n] */
	int64_t alignment;     /* >= 1 */
};

/* What the places come to: the highest byte; the most that is live at one step. */
struct buffers_sums { int64_t arena, load; };

/* Everything lies where it may: pins, alignments, no overlap. OK with *sums; INFEASIBLE with the culprits by their ids;
 * NO_MEMORY. O(n log n + pairs alive together). */
enum status buffers_check(
	const struct buffers_csv *csv, const struct buffers_places *places, struct buffers_sums *sums, struct error *error);
