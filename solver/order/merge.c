/* merge.c: series-parallel parts of a problem, ordered by hill-valley merging.
 *
 * A set of ops falls apart into branches that don't depend on each other (its connected components), and a connected
 * set at its waists, one part after the other. Taken down to single ops this finds every series-parallel part between
 * single ops. An op is a segment with a hill (bytes above the state it starts from) and a growth (its valley). A
 * sequence keeps its segments in the order in which they'd best run: first those that shrink the state, by rising
 * hill, then those that grow it, by falling hill above their valley. A segment that would best run before the one it
 * follows is joined with it; so the sequence is an optimal order of its part beside whatever runs in between, and
 * branches are merged by sorting their segments.
 *
 * Which branch closes an item that several of them use may depend on the merge (and which one opens it, in a reversed
 * model). Such an item is closed in equal parts by all of them: one alone would be favoured for nothing.
 *
 * A connected set without waist is not series-parallel. Its first ops run as in the base order, until the rest falls
 * apart or hangs off one op. So branches off an entangled main path are merged too; those that only join it are seen
 * in the reversed model.
 */
#include <stdlib.h>
#include <string.h>

#include "merge.h"
#include "waists.h"

#define WORK 16                /* limit of work: so many times (ops + arcs + touches) log2 ops, */
#define MOST_WORK 40000000     /* and never more than this: a small part of the default effort */
#define WORK_PER_TICK 4        /* most accesses hit the cache */

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
};

struct merge {
	const struct order_model *model;
	uint32_t *set;             /* the ops; every part is a range of it, in base order */
	uint32_t *place;           /* op -> place within the range at work */
	struct task *task;
	uint32_t tasks;
	/* bytes */
	int64_t *opening, *closing; /* entry of users -> how much of the item its op opens and closes */
	int64_t *need, *growth;    /* op -> hill and valley */
	/* sequences */
	struct segment *segment, *sorted;
	uint32_t segments, start;  /* start: of the sequence at work */
	uint32_t *next;            /* op -> the one behind it in its segment */
	/* scratch */
	uint32_t *branch;          /* place -> branch */
	uint32_t *stack, *grouped, *count, *lowest, *parent;
	bool *waist;
	uint32_t *seen_at, *seen_by; /* item -> number of the split that last saw it, and the branch (NONE: shared) */
	uint32_t splits;
	bool exact;
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

/* Merges the sequences from segment `first` on, and appends the result to the sequence that starts at `start`. */
static void merge_branches(struct merge *merge, uint32_t first, uint32_t start)
{
	uint32_t count = merge->segments - first;
	memcpy(merge->sorted, merge->segment + first, count * sizeof *merge->sorted);
	for (uint32_t i = 0; i < count; i++)
		merge->sorted[i].place = i;
	qsort(merge->sorted, count, sizeof *merge->sorted, compare_to_sort);
	merge->segments = first;
	merge->start = start;
	for (uint32_t i = 0; i < count; i++)
		append(merge, merge->sorted[i]);
	merge->work += 4 * (uint64_t)count;
}

/* ---- taking a set apart ------------------------------------------------------------- */

static void push(struct merge *merge, enum task_kind kind, uint32_t first, uint32_t last)
{
	merge->task[merge->tasks++] = (struct task) { kind, first, last };
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
static uint32_t flood(struct merge *merge, const struct csr *arcs, const uint32_t *path, uint32_t count, uint32_t op, uint32_t depth)
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
			depth = flood(merge, &merge->model->pred, path, count, op, depth);
			depth = flood(merge, &merge->model->succ, path, count, op, depth);
		}
	}
	return branches;
}

/* Adds a part of an item's opening or closing to an op. */
static void weigh(struct merge *merge, uint32_t op, int64_t bytes, bool closing)
{
	merge->need[op] += closing ? 0 : bytes;
	merge->growth[op] += closing ? -bytes : bytes;
}

/* Spreads what the range has of an item's opening or closing over its branches, where they first or last touch it. */
static void share_item(struct merge *merge, const uint32_t *path, uint32_t count, uint32_t item, bool closing)
{
	const struct csr *users = &merge->model->users;
	int64_t *part = closing ? merge->closing : merge->opening, total = 0;
	uint32_t branches = 0;
	merge->work += 3 * (uint64_t)csr_length(users, item);
	FOR_ROW(i, users, item)
		if (order_on_path(path, count, merge->place, users->item[i])) {
			merge->count[merge->branch[merge->place[users->item[i]]]] = NONE;
			total += part[i];
		}
	if (total == 0)
		return;
	merge->exact = false;
	FOR_ROW(i, users, item) {
		if (!order_on_path(path, count, merge->place, users->item[i]))
			continue;
		uint32_t place = merge->place[users->item[i]], *end = &merge->count[merge->branch[place]];
		branches += *end == NONE;
		if (*end == NONE || (place > *end) == closing)
			*end = place;
	}
	FOR_ROW(i, users, item) {
		uint32_t op = users->item[i];
		if (!order_on_path(path, count, merge->place, op))
			continue;
		bool ends = merge->count[merge->branch[merge->place[op]]] == merge->place[op];
		int64_t share = ends ? total / branches-- : 0;
		total -= share;
		weigh(merge, op, share - part[i], closing);
		part[i] = share;
	}
}

/* Which branch opens or closes an item that several of them touch may depend on the merge. */
static void share_items(struct merge *merge, const uint32_t *path, uint32_t count)
{
	const struct order_model *model = merge->model;
	uint32_t split = ++merge->splits;
	for (uint32_t i = 0; i < count; i++)
		FOR_ROW(j, &model->touch, path[i]) {
			uint32_t item = model->touch.item[j];
			if (merge->seen_at[item] != split) {
				merge->seen_at[item] = split;
				merge->seen_by[item] = merge->branch[i];
			} else if (merge->seen_by[item] != NONE && merge->seen_by[item] != merge->branch[i]) {
				share_item(merge, path, count, item, false);
				share_item(merge, path, count, item, true);
				merge->seen_by[item] = NONE;
			}
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
			uint32_t top = set_root(merge->parent, merge->place[succ]);
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
	share_items(merge, path, count);
	group_branches(merge, path, count, branches);
	for (uint32_t b = branches; b-- > 0;)
		push(merge, BRANCH, first + (b ? merge->count[b - 1] : 0), first + merge->count[b]);
}

static void work_on(struct merge *merge, const struct task *task)
{
	if (task->kind == MERGE) {
		merge_branches(merge, task->first, task->last);
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
	uint32_t ops = model->ops, touches = model->touch.start[ops], log = 1;
	while (ops >> log)
		log++;
	*merge = (struct merge) { .model = model, .exact = true };
	merge->limit = (uint64_t)WORK * log * ((uint64_t)ops + 2 * (uint64_t)model->pred.start[ops] + touches);
	merge->limit = merge->limit < MOST_WORK ? merge->limit : MOST_WORK;
	uint32_t **by_op[] = { &merge->set, &merge->place, &merge->next, &merge->branch, &merge->stack, &merge->grouped,
		&merge->count, &merge->parent };
	bool fine = true;
	for (size_t i = 0; i < sizeof by_op / sizeof *by_op; i++)
		fine &= (*by_op[i] = arena_alloc(arena, ops, sizeof **by_op[i])) != NULL;
	merge->lowest = arena_alloc(arena, (size_t)ops + 1, sizeof *merge->lowest);
	merge->waist = arena_alloc(arena, ops, sizeof *merge->waist);
	merge->seen_at = arena_alloc(arena, model->items, sizeof *merge->seen_at);
	merge->seen_by = arena_alloc(arena, model->items, sizeof *merge->seen_by);
	merge->opening = arena_alloc(arena, touches, sizeof *merge->opening);
	merge->closing = arena_alloc(arena, touches, sizeof *merge->closing);
	merge->need = arena_alloc(arena, ops, sizeof *merge->need);
	merge->growth = arena_alloc(arena, ops, sizeof *merge->growth);
	merge->segment = arena_alloc(arena, ops, sizeof *merge->segment);
	merge->sorted = arena_alloc(arena, ops, sizeof *merge->sorted);
	/* Ranges waiting are disjoint, and each merge waiting has a range less than the one around it. */
	merge->task = arena_alloc(arena, 2 * (size_t)ops + 1, sizeof *merge->task);
	fine &= merge->lowest && merge->waist && merge->seen_at && merge->seen_by && merge->opening && merge->closing;
	fine &= merge->need && merge->growth && merge->segment && merge->sorted && merge->task;
	return fine ? OK : NO_MEMORY;
}

/* What each op opens and closes in the base order. */
static void weigh_ops(struct merge *merge)
{
	const struct order_model *model = merge->model;
	const struct csr *users = &model->users;
	for (uint32_t i = 0; i < model->ops; i++) {
		merge->place[merge->set[i]] = i;
		merge->need[merge->set[i]] = model->workspace[merge->set[i]];
	}
	for (uint32_t item = 0; item < model->items; item++) {
		uint32_t first = users->start[item], last = first;
		FOR_ROW(i, users, item) {
			first = merge->place[users->item[i]] < merge->place[users->item[first]] ? i : first;
			last = merge->place[users->item[i]] > merge->place[users->item[last]] ? i : last;
		}
		if (csr_length(users, item) == 0)
			continue;
		merge->opening[first] = model->from_start[item] ? 0 : model->size[item];
		merge->closing[last] = model->to_end[item] ? 0 : model->size[item];
		weigh(merge, users->item[first], merge->opening[first], false);
		weigh(merge, users->item[last], merge->closing[last], true);
	}
}

enum status order_merge(const struct order_model *model, const uint32_t *base, uint32_t *order, bool *exact, uint64_t *ticks)
{
	struct merge merge;
	enum status status = merge_init(&merge, model);
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
	*ticks = merge.work / WORK_PER_TICK;
	arena_free(&merge.arena);
	return status;
}
