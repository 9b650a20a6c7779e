/* fsdp.c: PyTorch's caching allocator where fully_shard runs the step. */

#include "fsdp.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"

enum { COMPUTES, GATHERS, REDUCES };   /* streams */

/* A gathered parameter is computed with: where, where it is let go of, and in which unit. NONE as its group: it is
 * there already. */
struct gather { int64_t use, end; uint32_t unit, parameter, result, group; bool backward; };

/* Parameters that are gathered in one go: a layer's, in one pass. */
struct group { uint32_t unit; int64_t start, end, bytes, shards; bool backward; };

/* A unit's gradients: where the last one is there, and how long what is kept of the sums stays. */
struct sums { int64_t there, end, bytes, kept; };

struct fsdp {
	const struct fsdp_step *step;
	const struct graph *graph;       /* of a device */
	const uint32_t *position;
	uint32_t *unit, layers;          /* unit [ops]: 0 for the root, layers from 1 on */
	struct gather *gather;
	struct group *group;
	struct sums *sums;               /* [layers + 1] */
	uint32_t gathers, groups, *seen; /* seen [storages]: the group, from 1 on, that has gathered this parameter last */
	int64_t *lower, *upper;          /* [storages] where they are; upper 0: PyTorch has none */
	struct buffers buffers;
	bool *stays;                     /* [storages] a parameter in full precision */
	int64_t shift;                   /* of the step's positions */
	int64_t turn, end;               /* positions at which the backward pass begins and all gradients are reduced */
	struct arena *arena;
};

/* Layers as module paths tell them. */
static enum status find_units(struct fsdp *fsdp)
{
	struct names index = { 0 };
	enum status status = OK;
	FOR_WHILE(op, fsdp->graph->ops, status == OK) {
		const char *module = fsdp->graph->op[op].module;
		size_t length = module_layer_length(module);
		const char *name = length ? arena_text(fsdp->arena, module, length) : NULL;
		uint32_t found = name ? names_find(&index, name) : NONE;
		if (length && (!name || (found == NONE && names_add(&index, name, fsdp->layers) == NONE)))
			status = NO_MEMORY;
		fsdp->unit[op] = length == 0 ? 0 : found == NONE ? ++fsdp->layers : 1 + found;
	}
	names_free(&index);
	return status;
}

/* NONE for what the model doesn't compute. */
static uint32_t fsdp_unit_of(const struct fsdp *fsdp, uint32_t op)
{
	return fsdp->graph->op[op].collective || fsdp->graph->op[op].added ? NONE : fsdp->unit[op];
}

static uint32_t only_read(const struct graph *graph, uint32_t op)
{
	return csr_length(&graph->reads, op) == 1 ? csr_at(&graph->reads, op, 0) : NONE;
}

static uint32_t only_write(const struct graph *graph, uint32_t op)
{
	return csr_length(&graph->writes, op) == 1 ? csr_at(&graph->writes, op, 0) : NONE;
}

/* A collective of that kind, COLLECTIVE_KINDS for any, reads one tensor and writes another: their storages. */
static bool moves(const struct graph *graph, uint32_t op, enum collective_kind kind, uint32_t *from, uint32_t *to)
{
	const struct collective *collective = graph->op[op].collective;
	uint32_t read = only_read(graph, op), written = only_write(graph, op);
	if (!collective || (kind != COLLECTIVE_KINDS && collective->kind != kind) || read == NONE || written == NONE)
		return false;
	*from = graph->tensor[read].storage;
	*to = graph->tensor[written].storage;
	return !graph->storage[*to].persistent;
}

static int64_t fsdp_bytes_of(const struct graph *graph, uint32_t storage)
{
	return graph->storage[storage].bytes;
}

/* ---- what is gathered ---- */

COMPARATOR(by_use, struct gather, COMPARE(a->use, b->use, COMPARE(a->result, b->result, 0)))

/* What a plan runs again before the backward pass begins, such as statistics of norms, belongs to the forward pass. */
static bool runs_backward(const struct fsdp *fsdp, uint32_t op)
{
	const struct op *at = &fsdp->graph->op[op];
	return at->recomputed ? fsdp->position[op] > fsdp->turn : at->phase == PHASE_BACKWARD;
}

/* Where the backward pass begins. */
static void fsdp_find_turn(struct fsdp *fsdp)
{
	fsdp->turn = fsdp->graph->ops;
	FOR(op, fsdp->graph->ops)
		if (!fsdp->graph->op[op].recomputed && fsdp->graph->op[op].phase == PHASE_BACKWARD && fsdp->position[op] < fsdp->turn)
			fsdp->turn = fsdp->position[op];
}

/* What the storage is made of, collective by collective: where that begins. */
static uint32_t fsdp_origin_of(const struct graph *graph, uint32_t storage)
{
	uint32_t op, from, to;
	while ((op = graph->storage[storage].allocator) != NONE && moves(graph, op, COLLECTIVE_KINDS, &from, &to))
		storage = from;
	return storage;
}

/* The parameter, or NONE. Where it is gathered over one axis after the other, or cut otherwise in between, PyTorch
 * gathers at once. */
static uint32_t gathered_from(struct fsdp *fsdp, uint32_t storage)
{
	const struct graph *graph = fsdp->graph;
	uint32_t origin = fsdp_origin_of(graph, storage), from, to;
	if (graph->storage[origin].kind != KIND_PARAMETER || !graph->storage[origin].persistent)
		return NONE;
	for (uint32_t at = storage;
		at != origin && moves(graph, graph->storage[at].allocator, COLLECTIVE_KINDS, &from, &to); at = from)
		fsdp->upper[from] = from == origin ? fsdp->upper[from] : 0;
	return origin;
}

/* Each use of what was gathered, by itself: between two of a layer's PyTorch reshards it where another layer computes.
 * Unless it is told not to: then the first use gathers for all. */
static void add_uses(struct fsdp *fsdp, uint32_t gather, uint32_t result)
{
	bool kept = fsdp->step->scenario->value[K_reshard_after_forward] == 0;
	uint32_t parameter = NONE;
	struct gather first = { .use = INT64_MAX };
	FOR_ITEMS(op, &fsdp->graph->users, result) {
		if (op == gather || fsdp_unit_of(fsdp, op) == NONE ||
			(parameter == NONE && (parameter = gathered_from(fsdp, result)) == NONE))
			continue;
		struct gather use = { fsdp->position[op], kept ? fsdp->upper[result] : fsdp->position[op] + INT64_C(1),
			fsdp_unit_of(fsdp, op), parameter, result, NONE, runs_backward(fsdp, op) };
		first = use.use < first.use ? use : first;
		if (!kept)
			fsdp->gather[fsdp->gathers++] = use;
	}
	if (kept && parameter != NONE)
		fsdp->gather[fsdp->gathers++] = first;
	fsdp->upper[result] = parameter == NONE ? fsdp->upper[result] : 0;
}

static void find_gathers(struct fsdp *fsdp)
{
	FOR(op, fsdp->graph->ops) {
		uint32_t from, to;
		if (moves(fsdp->graph, op, COLLECTIVE_ALL_GATHER, &from, &to) && fsdp->upper[to] > 0)
			add_uses(fsdp, op, to);
	}
	qsort(fsdp->gather, fsdp->gathers, sizeof *fsdp->gather, by_use);
}

/* The wider one that the optimizer updates and rounds into the parameter; NONE. */
static uint32_t master_of(const struct graph *graph, uint32_t parameter)
{
	uint32_t master = NONE;
	FOR_ITEMS(op, &graph->users, parameter) {
		if (graph->op[op].phase != PHASE_UPDATE || csr_length(&graph->touches, op) != 2 ||
			graph->inplace_start[op] == graph->inplace_start[op + 1])
			continue;
		uint32_t first = csr_at(&graph->touches, op, 0),
				 other = first != parameter ? first : csr_at(&graph->touches, op, 1);
		if (graph->tensor[graph->inplace[graph->inplace_start[op]].in].storage == parameter &&
			graph->storage[other].kind == KIND_OPTIMIZER &&
			fsdp_bytes_of(graph, other) > fsdp_bytes_of(graph, parameter))
			master = other;
	}
	return master;
}

static void add_to_group(struct fsdp *fsdp, struct gather *gather)
{
	struct group *group = &fsdp->group[fsdp->groups - 1];
	gather->group = fsdp->groups - 1;
	fsdp->seen[gather->parameter] = fsdp->groups;
	group->bytes += fsdp_bytes_of(fsdp->graph, gather->result);
	group->shards += master_of(fsdp->graph, gather->parameter) != NONE ? fsdp_bytes_of(fsdp->graph, gather->parameter) : 0;
	group->end = LARGER(gather->end, group->end);
}

/* Layers by their uses. The root is one group, the first; its parameters are gathered once, and so are those of the
 * last layer, whose backward pass follows at once. */
static void fsdp_find_groups(struct fsdp *fsdp)
{
	fsdp->group[0] = (struct group){ .end = fsdp->end };
	fsdp->groups = 1;
	FOR(i, fsdp->gathers) {
		struct gather *gather = &fsdp->gather[i];
		if (gather->unit == 0 && !fsdp->seen[gather->parameter])
			add_to_group(fsdp, gather);
	}
	FOR(i, fsdp->gathers) {
		struct gather *gather = &fsdp->gather[i];
		struct group *last = &fsdp->group[fsdp->groups - 1];
		if (gather->unit == 0)
			continue;
		if (last->unit == gather->unit && fsdp->seen[gather->parameter] == fsdp->groups) {
			last->end = LARGER(gather->end, last->end);
			continue;
		}
		if (last->unit != gather->unit)
			fsdp->group[fsdp->groups++] = (struct group){
				.unit = gather->unit, .start = gather->use, .backward = gather->backward
			};
		add_to_group(fsdp, gather);
	}
	FOR(i, fsdp->gathers) {
		const struct gather *gather = &fsdp->gather[i];
		uint32_t master = master_of(fsdp->graph, gather->parameter);
		if (master != NONE) {
			fsdp->upper[gather->parameter] = 0;
			fsdp->stays[master] = true;
		}
	}
}

/* ---- what is reduced ---- */

static bool read_by_update(const struct graph *graph, uint32_t storage)
{
	FOR_ITEMS(user, &graph->users, storage)
		if (graph->op[user].phase == PHASE_UPDATE)
			return true;
	return false;
}

/* The gradient as the backward pass makes it, before it is cast to the format of sums. */
static uint32_t made_as(const struct graph *graph, uint32_t summed)
{
	uint32_t op = graph->storage[summed].allocator, read = op == NONE ? NONE : only_read(graph, op),
			 written = op == NONE ? NONE : only_write(graph, op);
	if (read == NONE || written == NONE || graph->op[op].collective ||
		graph->tensor[read].dtype == graph->tensor[written].dtype)
		return summed;
	uint32_t from = graph->tensor[read].storage;
	return graph->storage[from].persistent ? summed : from;
}

static bool fsdp_reduces(struct fsdp *fsdp, uint32_t op, uint32_t *from, uint32_t *to, uint32_t *unit)
{
	const struct graph *graph = fsdp->graph;
	if (!moves(graph, op, COLLECTIVE_REDUCE_SCATTER, from, to) || graph->storage[*from].persistent ||
		!read_by_update(graph, *to))
		return false;
	for (uint32_t before = graph->storage[*from].allocator, first, ignored;
		before != NONE && moves(graph, before, COLLECTIVE_REDUCE_SCATTER, &first, &ignored);
		before = graph->storage[*from].allocator) {
		fsdp->upper[*from] = 0;
		*from = first;
	}
	uint32_t made = made_as(graph, *from), by = graph->storage[made].allocator;
	*unit = by == NONE ? NONE : fsdp_unit_of(fsdp, by);
	*unit = *unit == NONE ? 0 : *unit;
	return true;
}

/* When each unit's gradients are all there. The root's come last. */
static void fsdp_find_sums(struct fsdp *fsdp)
{
	FOR(op, fsdp->graph->ops) {
		uint32_t from, to, unit;
		if (!fsdp_reduces(fsdp, op, &from, &to, &unit))
			continue;
		struct sums *sums = &fsdp->sums[unit];
		int64_t here = fsdp->position[op];
		sums->there = LARGER(here, sums->there);
		sums->end = LARGER(fsdp->upper[to], sums->end);
		sums->bytes += fsdp_bytes_of(fsdp->graph, from);
		sums->kept += fsdp_bytes_of(fsdp->graph, to);
		fsdp->end = LARGER(here + 1, fsdp->end);
	}
	if (fsdp->end > 0)
		fsdp->sums[0].there = fsdp->end - 1;
}

static void replace_gradients(struct fsdp *fsdp)
{
	FOR(op, fsdp->graph->ops) {
		uint32_t from, to, unit;
		if (!fsdp_reduces(fsdp, op, &from, &to, &unit))
			continue;
		uint32_t made = made_as(fsdp->graph, from);
		if (made != from)
			fsdp->upper[from] = 0;
		fsdp->upper[to] = 0;
		if (fsdp->upper[made] > 0 && fsdp->upper[made] < fsdp->sums[unit].there + 1)
			fsdp->upper[made] = fsdp->sums[unit].there + 1;
	}
}

/* ---- what eager checkpointing keeps ---- */

#define PRODUCT_FLOPS 64   /* of an element: fewer than any product's, more than those of any other op */

static bool reads_parameter(const struct graph *graph, uint32_t op)
{
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->storage[fsdp_origin_of(graph, graph->tensor[read].storage)].kind == KIND_PARAMETER)
			return true;
	return false;
}

/* The op's result where the policy names it, or NONE: attention's, and of each layer's products with a weight those of
 * the first, third, ... */
static uint32_t named_result(const struct fsdp *fsdp, uint32_t op, uint32_t *products)
{
	const struct graph *graph = fsdp->graph;
	uint32_t result = only_write(graph, op), unit = fsdp_unit_of(fsdp, op);
	if (result == NONE || unit == NONE || unit == 0 || runs_backward(fsdp, op) || graph->op[op].phase != PHASE_FORWARD)
		return NONE;
	int64_t bits = dtype_bits[graph->tensor[result].dtype], elements = bits ? graph->tensor[result].bytes * 8 / bits : 0;
	if (elements <= 0 || graph->op[op].flops / elements < PRODUCT_FLOPS ||
		(reads_parameter(graph, op) && products[unit]++ % 2 == 1))
		return NONE;
	return graph->tensor[result].storage;
}

/* torch.utils.checkpoint keeps the results of the ops that its policy names, whether they are read again or not, until
 * their layer has run again. A compiler drops these. */
static void keep_products(struct fsdp *fsdp)
{
	const struct graph *graph = fsdp->graph;
	int64_t *until = arena_alloc(fsdp->arena, fsdp->layers + (size_t)1, sizeof *until);
	uint32_t *products = arena_alloc(fsdp->arena, fsdp->layers + (size_t)1, sizeof *products);
	for (uint32_t op = 0; until && op < graph->ops; op++) {
		uint32_t unit = graph->op[op].recomputed ? fsdp_unit_of(fsdp, op) : NONE;
		if (unit != NONE && fsdp->position[op] + INT64_C(1) > until[unit])
			until[unit] = fsdp->position[op] + INT64_C(1);
	}
	for (uint32_t op = 0; until && products && op < graph->ops; op++) {
		uint32_t storage = named_result(fsdp, op, products);
		char again[400];
		PRINT_TO(again, "%s.again", graph->op[op].name);
		if (storage != NONE && graph_find_op(graph, again) == NONE && fsdp->upper[storage] > 0 &&
			fsdp->upper[storage] < until[fsdp->unit[op]])
			fsdp->upper[storage] = until[fsdp->unit[op]];
	}
}

/* ---- the run ---- */

static void fsdp_add(struct fsdp *fsdp, uint8_t stream, int64_t lower, int64_t upper, int64_t bytes)
{
	struct buffers *buffers = &fsdp->buffers;
	if (upper <= lower || bytes == 0)
		return;
	buffers->lower[buffers->n] = lower + fsdp->shift;
	buffers->upper[buffers->n] = upper + fsdp->shift;
	buffers->size[buffers->n] = bytes;
	buffers->stream[buffers->n++] = stream;
}

static int64_t start_before(const struct fsdp *fsdp, uint32_t group, int64_t by)
{
	return fsdp->group[by < group ? group - (uint32_t)by : 0].start;
}

/* The flat tensors that are gathered into, and those that hold a unit's own shards; and what is copied out of them. */
static void add_gathered(struct fsdp *fsdp)
{
	int64_t ahead = fsdp->step->scenario->value[K_prefetch];
	FOR(i, fsdp->gathers) {
		const struct gather *gather = &fsdp->gather[i];
		if (gather->group != NONE)
			fsdp_add(fsdp, COMPUTES, fsdp->group[gather->group].start, fsdp->group[gather->group].end,
				fsdp_bytes_of(fsdp->graph, gather->result));
	}
	FOR(g, fsdp->groups) {
		const struct group *group = &fsdp->group[g];
		int64_t lower = start_before(fsdp, g, group->backward ? ahead : ahead > 1 ? ahead - 1 : 0);
		int64_t upper = group->backward || g + 1 == fsdp->groups ? group->start : fsdp->group[g + 1].start + 1;
		fsdp_add(fsdp, GATHERS, lower, lower + 1, group->shards);
		fsdp_add(fsdp, GATHERS, lower, upper > lower ? upper : lower + 1, group->bytes);
	}
}

/* The flat tensors of gradients, each until the next unit's is there; and what stays of their sums. */
static void add_reduced(struct fsdp *fsdp)
{
	for (uint32_t unit = 0; unit <= fsdp->layers; unit++) {
		const struct sums *sums = &fsdp->sums[unit];
		int64_t next = sums->there + 1;
		for (uint32_t other = 0; other <= fsdp->layers; other++)
			if (fsdp->sums[other].there > sums->there && (next == sums->there + 1 || fsdp->sums[other].there < next))
				next = fsdp->sums[other].there;
		fsdp_add(fsdp, COMPUTES, sums->there, next, sums->bytes);
		fsdp_add(fsdp, REDUCES, sums->there, sums->end, sums->kept);
	}
}

static bool fsdp_prepare(struct fsdp *fsdp)
{
	const struct graph *graph = fsdp->graph;
	size_t storages = graph->storages, gathers = 0;
	for (uint32_t op = 0, from, to; op < graph->ops; op++)
		gathers += moves(graph, op, COLLECTIVE_ALL_GATHER, &from, &to) ? csr_length(&graph->users, to) : 0;
	size_t most = 2 * (storages + graph->ops + 3 * (gathers + 1) + 2 * (fsdp->layers + (size_t)1));
	if (!(ROOMS(fsdp->arena, gathers + 1, fsdp->gather, fsdp->group) &&
		ROOM(fsdp->arena, fsdp->sums, fsdp->layers + (size_t)1) && ROOMS(fsdp->arena, storages, fsdp->seen, fsdp->stays,
		fsdp->lower, fsdp->upper) && ROOMS(fsdp->arena, most, fsdp->buffers.lower, fsdp->buffers.upper,
		fsdp->buffers.size, fsdp->buffers.stream)))
		return false;
	FOR(s, graph->storages)
		if (fsdp->step->first[s] != NONE) {
			fsdp->lower[s] = fsdp->step->first[s];
			fsdp->upper[s] = (int64_t)fsdp->step->last[s] + 1;
		}
	return true;
}

/* Two steps, one after the other: what is there from the start stays, and the optimizer makes its moments in its first
 * update. */
static void fsdp_add_storage(struct fsdp *fsdp, uint32_t s, int64_t bytes)
{
	const struct graph *graph = fsdp->graph;
	const struct storage *storage = &graph->storage[s];
	if (!storage->persistent) {
		fsdp_add(fsdp, COMPUTES, fsdp->lower[s], fsdp->upper[s], bytes);
		return;
	}
	int64_t first = 0;
	if (storage->kind == KIND_OPTIMIZER && !fsdp->stays[s] && csr_length(&graph->users, s) > 0) {
		first = graph->ops;
		FOR_ITEMS(user, &graph->users, s)
			first = SMALLER(fsdp->position[user], first);
	}
	if (fsdp->shift == 0 && fsdp->upper[s] > 0)
		fsdp_add(fsdp, COMPUTES, first, 2 * (int64_t)graph->ops, bytes);
}

static enum status find_buffers(struct fsdp *fsdp)
{
	NEED(fsdp_prepare(fsdp));
	fsdp_find_turn(fsdp);
	fsdp_find_sums(fsdp);
	find_gathers(fsdp);
	fsdp_find_groups(fsdp);
	if (fsdp->groups < 2)
		return OK;
	replace_gradients(fsdp);
	const struct scenario *scenario = fsdp->step->scenario;
	if (scenario->device.eager_kernels && scenario->value[K_recompute] == RECOMPUTE_PRODUCTS)
		keep_products(fsdp);
	for (int steps = 0; steps < 2; steps++, fsdp->shift += fsdp->graph->ops) {
		FOR(s, fsdp->graph->storages)
			fsdp_add_storage(fsdp, s, fsdp->step->bytes[s]);
		FOR(op, fsdp->graph->ops)
			fsdp_add(fsdp, COMPUTES, fsdp->position[op], fsdp->position[op] + INT64_C(1),
				fsdp->step->bytes[fsdp->graph->storages + op]);
		add_gathered(fsdp);
		add_reduced(fsdp);
	}
	return OK;
}

enum status fsdp_buffers(const struct fsdp_step *step, struct arena *arena, struct buffers *buffers)
{
	struct fsdp fsdp = { .step = step, .graph = step->graph, .position = step->position, .arena = arena };
	*buffers = (struct buffers){ 0 };
	if (scenario_zero(step->scenario) < 3)
		return OK;
	NEED(ROOM(arena, fsdp.unit, step->graph->ops));
	TRY(find_units(&fsdp));
	if (fsdp.layers > 0)
		TRY(find_buffers(&fsdp));
	*buffers = fsdp.buffers;
	return OK;
}
