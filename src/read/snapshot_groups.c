/* snapshot_groups.c: the allocations of a long trace in groups, few where memory is near its peak and many where it is
 * far away.
 *
 * What is alive somewhere within a group counts in all of it; what comes and goes within it lies in a workspace, for
 * which a layout is found. So a group takes more than the trace does at any moment. Groups begin equally long and are
 * halved until none takes more than the trace's peak, which is thereby the peak of the groups, too. A group of one
 * allocation takes what is alive then, and never more. */
#include "snapshot.h"

#define GROUPS 4096 /* to begin with */

struct grouping {
	const struct buffers *buffers;
	const struct snapshot *snapshot;
	struct snapshot_groups *groups;
	size_t group_room, workspace_room;
};

static int64_t snapshot_groups_rounded(const struct grouping *grouping, uint32_t buffer)
{
	return align_up(grouping->buffers->size[buffer], SNAPSHOT_ALIGNMENT);
}

/* The first event behind a group that ends before that allocation. */
static int64_t snapshot_groups_end_of(const struct grouping *grouping, uint32_t alloc)
{
	const struct snapshot_groups *groups = grouping->groups;
	return alloc < groups->allocs ? grouping->buffers->lower[groups->alloc[alloc]] : grouping->snapshot->events;
}

bool snapshot_within(const struct buffers *buffers, const struct snapshot *snapshot, uint32_t buffer, int64_t end)
{
	bool at_peak = buffers->lower[buffer] <= snapshot->peak_event && snapshot->peak_event < buffers->upper[buffer];
	return buffers->upper[buffer] < snapshot->events && buffers->upper[buffer] <= end && !at_peak;
}

/* A memory for what comes and goes within a group. */
static enum status snapshot_groups_find_workspace(
	const struct grouping *grouping, uint32_t from, uint32_t to, int64_t *bytes)
{
	const struct buffers *all = grouping->buffers;
	int64_t end = snapshot_groups_end_of(grouping, to);
	OWN(arena) arena = { 0 };
	uint32_t room = to - from;
	struct buffers within = { .lower = arena_alloc(&arena, room, sizeof(int64_t)),
		.upper = arena_alloc(&arena, room, sizeof(int64_t)),
		.size = arena_alloc(&arena, room, sizeof(int64_t)) };
	NEED(within.lower && within.upper && within.size);
	FOR_FROM(i, from, to) {
		uint32_t buffer = grouping->groups->alloc[i];
		if (!snapshot_within(all, grouping->snapshot, buffer, end))
			continue;
		within.lower[within.n] = all->lower[buffer];
		within.upper[within.n] = all->upper[buffer];
		within.size[within.n++] = all->size[buffer];
	}
	*bytes = 0;
	if (within.n) {
		OWN(layout) layout;
		struct control control = { 0 };
		TRY(layout_solve(&within,
			&(struct layout_options){ .strategy = LAYOUT_BEST, .alignment = SNAPSHOT_ALIGNMENT, .first = true },
			&control, &layout, NULL));
		*bytes = layout.arena;
	}
	return OK;
}

/* Bytes that a group takes, its workspace among them. */
static enum status snapshot_groups_weigh(
	const struct grouping *grouping, uint32_t from, uint32_t to, int64_t *bytes, int64_t *workspace)
{
	int64_t end = snapshot_groups_end_of(grouping, to);
	*bytes = grouping->snapshot->alive[grouping->groups->alloc[from]];
	*workspace = 0;
	FOR_FROM(i, from, to)
		if (to - from == 1 || !snapshot_within(grouping->buffers, grouping->snapshot, grouping->groups->alloc[i], end))
			*bytes += snapshot_groups_rounded(grouping, grouping->groups->alloc[i]);
	if (to - from == 1 || *bytes > grouping->snapshot->peak)
		return OK;
	enum status status = snapshot_groups_find_workspace(grouping, from, to, workspace);
	*bytes += *workspace;
	return status;
}

static enum status snapshot_groups_add(struct grouping *grouping, uint32_t from, int64_t workspace)
{
	struct snapshot_groups *groups = grouping->groups;
	if (!mem_reserve(&groups->first, &grouping->group_room, (size_t)groups->groups + 2, sizeof *groups->first)
		|| !mem_reserve(&groups->workspace, &grouping->workspace_room, (size_t)groups->groups + 1, sizeof *groups->workspace))
		return NO_MEMORY;
	groups->first[groups->groups] = from;
	groups->workspace[groups->groups++] = workspace;
	return OK;
}

/* As deep as a group can be halved. */
static enum status snapshot_groups_halve(struct grouping *grouping, uint32_t from, uint32_t to)
{
	int64_t bytes, workspace;
	TRY(snapshot_groups_weigh(grouping, from, to, &bytes, &workspace));
	if (to - from == 1 || bytes <= grouping->snapshot->peak)
		return snapshot_groups_add(grouping, from, workspace);
	uint32_t middle = from + (to - from) / 2;
	TRY(snapshot_groups_halve(grouping, from, middle));
	return snapshot_groups_halve(grouping, middle, to);
}

enum status snapshot_group(
	const struct buffers *buffers, const struct snapshot *snapshot, uint32_t most, struct snapshot_groups *groups)
{
	struct grouping grouping = { .buffers = buffers, .snapshot = snapshot, .groups = groups };
	*groups = (struct snapshot_groups){ .alloc = mem_alloc(buffers->n, sizeof *groups->alloc) };
	for (uint32_t i = 0; groups->alloc && i < buffers->n; i++)
		if (snapshot->says[i] >= 0)
			groups->alloc[groups->allocs++] = i;
	uint32_t begin = SMALLER(most, GROUPS),
			 each = groups->allocs > most ? (groups->allocs + begin - 1) / begin : 1;
	NEED(groups->alloc && mem_reserve(&groups->first, &grouping.group_room, 1, sizeof *groups->first));
	for (uint32_t from = 0; from < groups->allocs; from += each)
		TRY(each == 1
			? snapshot_groups_add(&grouping, from, 0)
			: snapshot_groups_halve(&grouping, from, groups->allocs - from > each ? from + each : groups->allocs));
	groups->first[groups->groups] = groups->allocs;
	return OK;
}

void snapshot_groups_free(struct snapshot_groups *groups)
{
	mem_free(groups->alloc);
	mem_free(groups->first);
	mem_free(groups->workspace);
	*groups = (struct snapshot_groups){ 0 };
}
