/* order_merge.c: series-parallel parts of a problem, ordered by hill-valley merging.
 *
 * A set of ops falls apart into branches that don't depend on each other (its connected components), and a connected
 * set at its waists, one part after the other. Taken down to single ops this finds every series-parallel part between
 * single ops. An op is a segment with a hill (bytes above the state it starts from) and a growth (its valley). A
 * sequence keeps its segments in the order in which they'd best run: first those that shrink the state, by rising
 * hill, then those that grow it, by falling hill above their valley. A segment that would best run before the one it
 * follows is joined with it; so the sequence is an optimal order of its part beside whatever runs in between, and
 * branches are merged by sorting their segments.
 *
 * A connected set without waist is not series-parallel. Its first ops run as in the base order, until the rest falls
 * apart or hangs off one op. So branches off an entangled main path are merged too; those that only join it are seen
 * in the reversed model.
 */
#include <stdlib.h>
#include <string.h>

#include "order_merge.h"
#include "order_waists.h"

#define WORK 16                /* limit of work: so many times (ops + arcs + touches) log2 ops */

struct segment {
	int64_t hill, growth;      /* bytes above the state before it: its highest, and at its end */
	uint32_t first, last;      /* its ops, linked by next */
	uint32_t place;            /* before sorting */
};

enum task_kind {
	SPLIT,                     /* a set of ops: find its branches */
	BRANCH,                    /* a connected set of ops: the beginning of a new sequence */
	RUN,                       /* ops to append as they are */
	MERGE                      /* the sequences from segment `first` on; the sequence before them starts at `last` */
};

struct task {
	enum task_kind kind;
	uint32_t first, last;      /* half-open range of set */
	int64_t opened, closed;    /* MERGE: bytes that its branches share: opened before them, closed behind them */
};

struct merge {
	const struct order_model *model;
	uint32_t *set;             /* the ops; every part is a range of it, in base order */
	uint32_t *place;           /* op -> place within the range at work */
	struct task *task;
	uint32_t tasks;
	/* bytes, with items opened and closed where the base order does */
	uint32_t *opener, *closer; /* item -> op, or NONE */
	int64_t *need, *growth;    /* op -> hill and valley */
	/* sequences */
	struct segment *segment, *sorted;
	uint32_t segments, start;  /* start: of the sequence at work */
	uint32_t *next;            /* op -> the one behind it in its segment */
	/* scratch */
	uint32_t *branch;          /* place -> branch */
	uint32_t *stack, *grouped, *count, *lowest, *parent;
	bool *waist;
	uint32_t *seen_at, *seen_by; /* item -> number of the split that last saw it, and the branch */
	uint32_t splits;
	bool hold, exact;
	uint64_t work, limit;
	struct arena arena;
};

/* ---- sequences of hill-valley segments -------------------------------------------- */

/* < 0: a should run before b; > 0: behind; 0: either. */
static int compare_segments(const struct segment *a, const struct segment *b)
{
	bool grows = a->growth >= 0;
	if (grows != (b->growth >= 0))
		return grows ? 1 : -1;
	int64_t left = grows ? b->hill - b->growth : a->hill, right = grows ? a->hill - a->growth : b->hill;
	return left < right ? -1 : left > right;
}

static int compare_to_sort(const void *a, const void *b)
{
	const struct segment *left = a, *right = b;
	int order = compare_segments(left, right);
	return order ? order : left->place < right->place ? -1 : left->place > right->place;
}

/* Appends a segment to the sequence at work, joined with those that it should not run behind. */
static void append(struct merge *merge, struct segment segment)
{
	while (merge->segments > merge->start && compare_segments(&merge->segment[merge->segments - 1], &segment) >= 0) {
		struct segment before = merge->segment[--merge->segments];
		int64_t hill = before.growth + segment.hill;
		merge->next[before.last] = segment.first;
		segment.hill = hill > before.hill ? hill : before.hill;
		segment.growth += before.growth;
		segment.first = before.first;
		merge->work++;
	}
	merge->segment[merge->segments++] = segment;
}

static void run_ops(struct merge *merge, uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i < last; i++) {
		uint32_t op = merge->set[i];
		append(merge, (struct segment) { .hill = merge->need[op], .growth = merge->growth[op], .first = op, .last = op });
	}
	merge->work += last - first;
}

/* Merges the sequences from a segment on, and appends the result to the sequence before them. */
static void merge_branches(struct merge *merge, const struct task *task)
{
	uint32_t count = merge->segments - task->first;
	struct segment *sorted = merge->sorted;
	memcpy(sorted, merge->segment + task->first, count * sizeof *sorted);
	for (uint32_t i = 0; i < count; i++)
		sorted[i].place = i;
	qsort(sorted, count, sizeof *sorted, compare_to_sort);
	sorted[0].hill += task->opened;
	sorted[0].growth += task->opened;
	sorted[count - 1].growth -= task->closed;
	merge->segments = task->first;
	merge->start = task->last;
	for (uint32_t i = 0; i < count; i++)
		append(merge, sorted[i]);
	merge->work += 4 * (uint64_t)count;
}

/* ---- taking a set apart ------------------------------------------------------------- */

static void push(struct merge *merge, enum task_kind kind, uint32_t first, uint32_t last)
{
	merge->task[merge->tasks++] = (struct task) { .kind = kind, .first = first, .last = last };
}

/* Places of a range's ops; what a pass over their arcs and items costs is charged. */
static void enter(struct merge *merge, const uint32_t *path, uint32_t count)
{
	const struct order_model *model = merge->model;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t op = path[i];
		merge->place[op] = i;
		merge->work += 1 + csr_length(&model->pred, op) + csr_length(&model->succ, op) + csr_length(&model->touch, op);
	}
}

/* Puts what is connected with the op at place `from` into a branch, by arcs in one direction. */
static uint32_t spread(struct merge *merge, const struct csr *arcs, const uint32_t *path, uint32_t count, uint32_t op, uint32_t depth)
{
	uint32_t branch = merge->branch[merge->place[op]];
	FOR_ROW(i, arcs, op) {
		uint32_t other = arcs->item[i];
		if (order_on_path(path, count, merge->place, other) && merge->branch[merge->place[other]] == NONE) {
			merge->branch[merge->place[other]] = branch;
			merge->stack[depth++] = other;
		}
	}
	return depth;
}

/* Numbers the connected components of a range by their first op, into branch [count]. Returns how many. */
static uint32_t find_branches(struct merge *merge, const uint32_t *path, uint32_t count)
{
	uint32_t branches = 0;
	memset(merge->branch, 0xff, count * sizeof *merge->branch);
	for (uint32_t i = 0; i < count; i++) {
		if (merge->branch[i] != NONE)
			continue;
		uint32_t depth = 0;
		merge->branch[i] = branches++;
		merge->stack[depth++] = path[i];
		while (depth > 0) {
			uint32_t op = merge->stack[--depth];
			depth = spread(merge, &merge->model->pred, path, count, op, depth);
			depth = spread(merge, &merge->model->succ, path, count, op, depth);
		}
	}
	return branches;
}

/* True when the op lies within the path; its share of an item then moves to the ends of the path's branches. */
static bool release(struct merge *merge, const uint32_t *path, uint32_t count, uint32_t *op)
{
	if (*op == NONE || !order_on_path(path, count, merge->place, *op))
		return false;
	merge->exact = false;
	return merge->hold;
}

/* Which branch opens or closes an item that several of them touch may depend on the merge: such items are held over
 * all of the branches, if asked for. */
static void share_items(struct merge *merge, const uint32_t *path, uint32_t count, struct task *task)
{
	const struct order_model *model = merge->model;
	uint32_t split = ++merge->splits;
	for (uint32_t i = 0; i < count; i++)
		FOR_ROW(j, &model->touch, path[i]) {
			uint32_t item = model->touch.item[j], *opener = &merge->opener[item], *closer = &merge->closer[item];
			bool shared = merge->seen_at[item] == split && merge->seen_by[item] != merge->branch[i];
			if (shared && release(merge, path, count, opener)) {
				merge->need[*opener] -= model->size[item];
				merge->growth[*opener] -= model->size[item];
				task->opened += model->size[item];
				*opener = NONE;
			}
			if (shared && release(merge, path, count, closer)) {
				merge->growth[*closer] += model->size[item];
				task->closed += model->size[item];
				*closer = NONE;
			}
			merge->seen_at[item] = split;
			merge->seen_by[item] = merge->branch[i];
		}
}

/* Groups a range by branches, each in base order, and leaves count[b] at the end of branch b. */
static void group_branches(struct merge *merge, uint32_t *path, uint32_t count, uint32_t branches)
{
	memset(merge->count, 0, branches * sizeof *merge->count);
	for (uint32_t i = 0; i < count; i++)
		merge->count[merge->branch[i]]++;
	for (uint32_t b = 0, end = 0; b < branches; b++) {
		uint32_t length = merge->count[b];
		merge->count[b] = end;
		end += length;
	}
	for (uint32_t i = 0; i < count; i++)
		merge->grouped[merge->count[merge->branch[i]]++] = path[i];
	memcpy(path, merge->grouped, count * sizeof *path);
}

static uint32_t root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

/* The first place from which on a connected set without waist falls apart, or hangs off the op there. */
static uint32_t tangled_ops(struct merge *merge, const uint32_t *path, uint32_t count)
{
	uint32_t branches = 0, found = count;
	for (uint32_t i = count; i-- > 0;) {
		merge->parent[i] = i;
		branches++;
		FOR_ROW(j, &merge->model->succ, path[i]) {
			uint32_t succ = merge->model->succ.item[j];
			if (!order_on_path(path, count, merge->place, succ))
				continue;
			uint32_t top = root(merge->parent, merge->place[succ]);
			branches -= top != i;
			merge->parent[top] = i;
		}
		if (branches > 1 || merge->lowest[i + 1] > i)
			found = i;
	}
	return found;
}

/* A connected range, whose places are entered: its waists, and what lies between them. */
static void take_apart(struct merge *merge, uint32_t first, uint32_t last)
{
	const uint32_t *path = merge->set + first;
	uint32_t count = last - first, end = count;
	order_find_waists(merge->model, path, count, merge->place, merge->lowest, merge->waist);
	for (uint32_t i = count; i-- > 0;) {
		if (!merge->waist[i])
			continue;
		if (i + 1 < end)
			push(merge, SPLIT, first + i + 1, first + end);
		push(merge, RUN, first + i, first + i + 1);
		end = i;
	}
	if (end == count) {
		merge->exact = false;
		end = tangled_ops(merge, path, count);
		push(merge, SPLIT, first + end, last);
		push(merge, RUN, first, first + end);
	} else if (end > 0) {
		push(merge, SPLIT, first, first + end);
	}
}

static void split(struct merge *merge, uint32_t first, uint32_t last)
{
	uint32_t *path = merge->set + first, count = last - first;
	enter(merge, path, count);
	uint32_t branches = find_branches(merge, path, count);
	if (branches == 1) {
		take_apart(merge, first, last);
		return;
	}
	push(merge, MERGE, merge->segments, merge->start);
	share_items(merge, path, count, &merge->task[merge->tasks - 1]);
	group_branches(merge, path, count, branches);
	for (uint32_t b = branches; b-- > 0;)
		push(merge, BRANCH, first + (b ? merge->count[b - 1] : 0), first + merge->count[b]);
}

static void work_on(struct merge *merge, const struct task *task)
{
	if (task->kind == MERGE) {
		merge_branches(merge, task);
		return;
	}
	if (task->kind == BRANCH)
		merge->start = merge->segments;
	bool apart = task->kind != RUN && task->last - task->first > 1;
	if (apart && merge->work > merge->limit)
		merge->exact = apart = false;
	if (!apart) {
		run_ops(merge, task->first, task->last);
	} else if (task->kind == SPLIT) {
		split(merge, task->first, task->last);
	} else {
		enter(merge, merge->set + task->first, task->last - task->first);
		take_apart(merge, task->first, task->last);
	}
}

/* ---- the whole ----------------------------------------------------------------------- */

static enum status merge_init(struct merge *merge, const struct order_model *model)
{
	struct arena *arena = &merge->arena;
	uint32_t ops = model->ops, items = model->items, log = 1;
	while (ops >> log)
		log++;
	*merge = (struct merge) { .model = model, .exact = true };
	merge->limit = (uint64_t)WORK * log * ((uint64_t)ops + 2 * (uint64_t)model->pred.start[ops] + model->touch.start[ops]);
	uint32_t **by_op[] = { &merge->set, &merge->place, &merge->next, &merge->branch, &merge->stack, &merge->grouped,
		&merge->count, &merge->parent };
	uint32_t **by_item[] = { &merge->opener, &merge->closer, &merge->seen_at, &merge->seen_by };
	bool fine = true;
	for (size_t i = 0; i < sizeof by_op / sizeof *by_op; i++)
		fine &= (*by_op[i] = arena_alloc(arena, ops, sizeof **by_op[i])) != NULL;
	for (size_t i = 0; i < sizeof by_item / sizeof *by_item; i++)
		fine &= (*by_item[i] = arena_alloc(arena, items, sizeof **by_item[i])) != NULL;
	merge->lowest = arena_alloc(arena, (size_t)ops + 1, sizeof *merge->lowest);
	merge->waist = arena_alloc(arena, ops, sizeof *merge->waist);
	merge->need = arena_alloc(arena, ops, sizeof *merge->need);
	merge->growth = arena_alloc(arena, ops, sizeof *merge->growth);
	merge->segment = arena_alloc(arena, ops, sizeof *merge->segment);
	merge->sorted = arena_alloc(arena, ops, sizeof *merge->sorted);
	/* Ranges waiting are disjoint, and each merge waiting has a range less than the one around it. */
	merge->task = arena_alloc(arena, 2 * (size_t)ops + 1, sizeof *merge->task);
	fine &= merge->lowest && merge->waist && merge->need && merge->growth && merge->segment && merge->sorted && merge->task;
	return fine ? OK : NO_MEMORY;
}

/* Who opens and closes each item in the base order, and what that makes of each op. */
static void weigh_ops(struct merge *merge)
{
	const struct order_model *model = merge->model;
	memset(merge->opener, 0xff, model->items * sizeof *merge->opener);
	memset(merge->closer, 0xff, model->items * sizeof *merge->closer);
	for (uint32_t i = 0; i < model->ops; i++)
		FOR_ROW(j, &model->touch, merge->set[i]) {
			uint32_t item = model->touch.item[j];
			if (!model->from_start[item] && merge->opener[item] == NONE)
				merge->opener[item] = merge->set[i];
			if (!model->to_end[item])
				merge->closer[item] = merge->set[i];
		}
	for (uint32_t op = 0; op < model->ops; op++)
		merge->need[op] = model->workspace[op];
	for (uint32_t item = 0; item < model->items; item++) {
		if (merge->opener[item] != NONE) {
			merge->need[merge->opener[item]] += model->size[item];
			merge->growth[merge->opener[item]] += model->size[item];
		}
		if (merge->closer[item] != NONE)
			merge->growth[merge->closer[item]] -= model->size[item];
	}
}

enum status order_merge(const struct order_model *model, const uint32_t *base, bool hold, uint32_t *order, bool *exact, uint64_t *work)
{
	struct merge merge;
	enum status status = merge_init(&merge, model);
	merge.hold = hold;
	if (status == OK && model->ops > 0) {
		memcpy(merge.set, base, model->ops * sizeof *base);
		weigh_ops(&merge);
		push(&merge, SPLIT, 0, model->ops);
		while (merge.tasks > 0) {
			struct task task = merge.task[--merge.tasks];
			work_on(&merge, &task);
		}
		uint32_t done = 0;
		for (uint32_t i = 0; i < merge.segments; i++) {
			uint32_t op = merge.segment[i].first;
			for (order[done++] = op; op != merge.segment[i].last; order[done++] = op)
				op = merge.next[op];
		}
	}
	*exact = merge.exact;
	*work = merge.work;
	arena_free(&merge.arena);
	return status;
}
