/* snapshot.h: PyTorch memory snapshots and profiler traces: what the allocator did, as buffers to be planned. A reader
 * in Python has read the file and followed its events; a buffer's life is counted in these.
 * snapshot.c takes what the reader says of a device, snapshot_groups.c puts the allocations of a long trace together,
 * snapshot_graph.c makes a trace a graph. */
#pragma once

#include "src/base/json.h"

#include "dot_child.h"
#include "src/read/problems/buffers_csv.h"

/* What PyTorch's allocator rounds sizes to and aligns addresses at. */
#define SNAPSHOT_ALIGNMENT 512

/* Of one device. Lists and texts live as long as the CSV with the buffers, whose hint is a buffer's offset in the real
 * memory, -1: none. */
struct snapshot {
	json_t *head;           /* what the reader says; `said`: what the trace says itself, as `layout --json` has it */
	uint32_t events;
	int64_t peak;           /* the largest sum of sizes at once, each rounded up: torch.cuda.memory_allocated() */
	int64_t peak_event;     /* the first with the largest sum as they were asked for */
	const int64_t *alive;   /* [buffers] bytes of what else is alive where the trace allocates each, rounded up */
	const int64_t *says;    /* [buffers] which of the head's `says` is of its stack, from 1; 0: none; -1: there before */
	const char *devices;    /* a line on each, NULL: there is one; number: which of them it is, from 1 */
	uint32_t number;
};

/* Reads a snapshot, the page that torch.cuda._memory_viz makes of it, the same in JSON, or the trace of a profiler with
 * memory events ("kineto"). The device is options' device, or graph, or the one with the most events. BAD_INPUT: what
 * the reader finds wrong; LIMIT: it isn't there, or needs too much. Both are zero before; free them, after an error
 * too. O(events log events). */
enum status snapshot_read(
	const struct python_job *job, struct buffers_csv *csv, struct snapshot *snapshot, struct error *error);
/* The same of what the reader wrote: lines of JSON, then lists. */
enum status snapshot_take(
	const char *text, size_t length, struct buffers_csv *csv, struct snapshot *snapshot, struct error *error);
void snapshot_free(struct snapshot *snapshot);
#define snapshot_drop snapshot_free

/* Makes the buffers as if read from a CSV with columns id, lower, upper and size; ids count from 0. O(buffers). */
enum status snapshot_rows(struct buffers_csv *csv, struct error *error);

/* Allocations in a row that become one op. What comes and goes within such a row lies in a workspace. */
struct snapshot_groups {
	uint32_t groups, allocs;
	uint32_t *alloc;    /* [allocs] buffers that the trace allocates, in its order */
	uint32_t *first;    /* [groups + 1] group i has alloc[first[i]] to alloc[first[i + 1] - 1] */
	int64_t *workspace; /* [groups] bytes */
};
/* One for each allocation where there are at most `most`; else longer ones, of which none takes more than the trace's
 * peak: a longer one takes what is alive anywhere in it, and its workspace. OK or NO_MEMORY. O(n log n). Free with
 * snapshot_groups_free(), after an error too. */
enum status snapshot_group(
	const struct buffers *buffers, const struct snapshot *snapshot, uint32_t most, struct snapshot_groups *groups);
void snapshot_groups_free(struct snapshot_groups *groups);
/* Whether a buffer that a group of several allocates goes into its workspace: it is given back before `end`, the first
 * event behind the group, and isn't alive at the peak. */
bool snapshot_within(const struct buffers *buffers, const struct snapshot *snapshot, uint32_t buffer, int64_t end);

/* More allocations than so many are put together: it is what people and planners can take, and as many as PyTorch's own
 * viewer shows. */
#define SNAPSHOT_ALLOCS_MOST 300000

/* The trace as a graph: an op for each allocation, or for a group of them where there are more than `most`, in the
 * trace's order and no other, named by the place in the source that asks for the largest, and the buffers as tensors;
 * of groups, buffers of the same two groups are one, but for those alive at the peak. asked: the device was asked for.
 * NULL with *error. O(events log events). */
struct graph *snapshot_graph(const struct snapshot *snapshot, const struct buffers_csv *csv, uint32_t most, bool asked,
	struct error *error);
