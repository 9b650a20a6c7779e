/* loss_chunks.c: writes the step with its loss in chunks. */
#include <stdio.h>

#include "build.h"
#include "loss_chunks.h"

struct chunking {
	const struct graph *graph;
	const struct rules *rules;
	const struct factors *factors;
	struct loss_region region;
	struct build build;
	uint32_t chunks;
	int64_t rows, size, at; /* of the cut factor: all, of a chunk but the last, of the chunk that is written */
	uint32_t *whole;        /* [tensors] the draft's tensor, NONE where each chunk has its own */
	uint32_t *chunk;        /* [tensors] the draft's tensor of the chunk that is written */
	uint32_t *part; /* [tensors * chunks] of those that are cut: their parts; of those that are joined or summed: what
					   chunks made */
	uint32_t *op;           /* [ops] the draft's op */
	uint32_t *count;        /* [chunks] labels of a chunk that count */
	uint32_t total, weight; /* all of them; as the loss's dtype */
	uint32_t loss;          /* the chunks' terms so far */
	struct arena arena;
};

static bool fine(const struct chunking *chunking)
{
	return chunking->build.status == OK;
}

/* A shape in which the region's factors have other sizes. */
static struct shape shape_with(const struct chunking *chunking, uint32_t tensor, int64_t rows)
{
	const struct factors *factors = chunking->factors;
	const struct tensor *from = &chunking->graph->tensor[tensor];
	struct shape shape = { .dims = from->dims };
	FOR_INT(d, from->dims) {
		const struct factor_term *term = &factors->dim[factors->dim_start[tensor] + (uint32_t)d];
		shape.dim[d] = 1;
		FOR(p, term->count) {
			uint32_t factor = factors->part[term->first + p];
			bool cut = factor == chunking->region.cut || factor == chunking->region.longer;
			shape.dim[d] *= cut ? rows : factors->factor[factor].size;
		}
	}
	return shape;
}

/* The same with the factor that is cut as a dim of its own: [batch * rows, h] as [batch, rows, h]. *dim: that one. */
static struct shape shape_apart(const struct chunking *chunking, uint32_t tensor, int64_t rows, int *dim)
{
	const struct factors *factors = chunking->factors;
	struct shape whole = shape_with(chunking, tensor, rows), apart = { 0 };
	uint32_t factor = NONE, place = 0;
	*dim = -1;
	int at = loss_region_dim(&chunking->region, factors, chunking->graph, tensor, &factor, &place);
	for (int d = 0; d < whole.dims && apart.dims + 3 < DIMS_MAX; d++) {
		const struct factor_term *term = &factors->dim[factors->dim_start[tensor] + (uint32_t)d];
		int64_t before = 1, behind = 1;
		FOR_WHILE(p, term->count, d == at)
			*(p < place ? &before : &behind) *= p == place ? 1 : factors->factor[factors->part[term->first + p]].size;
		if (d == at && place > 0)
			apart.dim[apart.dims++] = before;
		if (d == at)
			*dim = apart.dims;
		apart.dim[apart.dims++] = d == at ? rows : whole.dim[d];
		if (d == at && place + 1 < term->count)
			apart.dim[apart.dims++] = behind;
	}
	return apart;
}

static void loss_chunks_describe(struct chunking *chunking, uint32_t op)
{
	build_beside(&chunking->build, &chunking->graph->op[op]);
}

/* Of the last op, which may have more operands than FLOPs are counted from. */
static void set_flops(struct chunking *chunking, int64_t flops)
{
	if (!fine(chunking))
		return;
	draft_op_at(chunking->build.draft, chunking->build.op)->flops = flops;
	chunking->build.counts = false;
}

static uint32_t reshaped(struct chunking *chunking, uint32_t tensor, struct shape shape)
{
	struct shape now = build_shape(&chunking->build, tensor);
	return shape_equal(&now, &shape) ? tensor : build_reshape(&chunking->build, "aten.view.default", tensor, shape);
}

/* ---- what is cut ---- */

static int64_t chunk_rows(const struct chunking *chunking, uint32_t chunk)
{
	int64_t left = chunking->rows - (int64_t)chunk * chunking->size;
	return SMALLER(left, chunking->size);
}

/* An op of the region that is moved out of it: on what is as long as the tensor, with another number of rows. */
static uint32_t moved(struct chunking *chunking, uint32_t op, uint32_t operand, struct shape shape)
{
	struct build *build = &chunking->build;
	const struct op *from = &chunking->graph->op[op];
	bool view = chunking->graph->tensor[graph_result(chunking->graph, op, 0)].alias != NONE;
	return view ? build_reshape(build, from->type, operand, shape) : build_to_shape(build, from->type, operand, shape);
}

/* Cuts a tensor into views, one for each chunk. op: its first reader. */
static void loss_chunks_cut(struct chunking *chunking, uint32_t op, uint32_t tensor)
{
	struct build *build = &chunking->build;
	uint32_t factor = NONE, place, of = chunking->whole[tensor];
	int dim;
	loss_region_dim(&chunking->region, chunking->factors, chunking->graph, tensor, &factor, &place);
	loss_chunks_describe(chunking, op);
	of = reshaped(chunking, of, shape_apart(chunking, tensor, chunking->factors->factor[factor].size, &dim));
	if (factor != chunking->region.cut)
		of = moved(chunking, chunking->region.shorten, of, shape_apart(chunking, tensor, chunking->rows, &dim));
	build_op(build, "aten.split.Tensor", IN(of));
	FOR_WHILE(c, chunking->chunks, fine(chunking)) {
		struct shape shape = shape_apart(chunking, tensor, chunk_rows(chunking, c), &dim);
		chunking->part[tensor * (size_t)chunking->chunks + c] = build_view(build, of, shape);
	}
	set_flops(chunking, 0);
}

static void loss_chunks_cut_all(struct chunking *chunking)
{
	const struct graph *graph = chunking->graph;
	bool *done;
	if (!ROOM(&chunking->arena, done, graph->tensors))
		chunking->build.status = NO_MEMORY;
	FOR_FROM(op, chunking->region.first, chunking->region.last + 1) {
		if (!chunking->region.inside[op])
			continue;
		FOR_ITEMS(tensor, &graph->reads, op) {
			if (!fine(chunking) || chunking->region.role[tensor] != LOSS_CUT || done[tensor])
				continue;
			done[tensor] = true;
			loss_chunks_cut(chunking, op, tensor);
		}
	}
}

/* A chunk's part of a tensor in the tensor's own dims: a copy where the rows of several samples are cut apart. */
static uint32_t loss_chunks_part_of(struct chunking *chunking, uint32_t op, uint32_t tensor, uint32_t chunk)
{
	struct build *build = &chunking->build;
	uint32_t part = chunking->part[tensor * (size_t)chunking->chunks + chunk];
	struct shape apart = build_shape(build, part), shape = shape_with(chunking, tensor, chunking->at);
	int dim;
	int64_t before = 1;
	shape_apart(chunking, tensor, chunking->at, &dim);
	FOR_INT(d, dim)
		before *= apart.dim[d];
	loss_chunks_describe(chunking, op);
	if (!shape_equal(&apart, &shape) && before > 1)
		part = build_map(build, "aten.clone.default", IN(part));
	return reshaped(chunking, part, shape);
}

/* ---- the loss ---- */

/* How many labels of each chunk count, and how many do in all: gradients of the first chunk need that before the loss
 * of the last. */
static void count_labels(struct chunking *chunking)
{
	struct build *build = &chunking->build;
	const struct graph *graph = chunking->graph;
	uint32_t loss = chunking->region.loss, labels = chunking->region.labels;
	uint32_t results = graph_results(graph, loss),
			 weight = results > 1 ? graph_result(graph, loss, 1) : NONE;
	chunking->total = NONE;
	FOR_WHILE(c, chunking->chunks, fine(chunking)) {
		uint32_t own = chunking->part[labels * (size_t)chunking->chunks + c];
		loss_chunks_describe(chunking, loss);
		build_op(build, "aten.ne.Scalar", IN(own));
		uint32_t counts = build_output(build, DTYPE_BOOL, build_shape(build, own));
		build_op(build, "aten.sum.default", IN(counts));
		chunking->count[c] = build_output(build, DTYPE_I64, SCALAR);
		chunking->total = c == 0 ? chunking->count[c]
			: build_map(build, "aten.add.Tensor", IN(chunking->total, chunking->count[c]));
	}
	build_op(build, "aten._to_copy.default", IN(chunking->total));
	chunking->weight = build_output(build, weight == NONE ? DTYPE_F32 : graph->tensor[weight].dtype, SCALAR);
}

/* A chunk's share of the labels that count. */
static uint32_t loss_chunks_share(struct chunking *chunking, uint32_t chunk)
{
	build_op(&chunking->build, "aten.div.Tensor", IN(chunking->count[chunk], chunking->total));
	return build_output(&chunking->build, DTYPE_F32, SCALAR);
}

static void add_loss(struct chunking *chunking, uint32_t chunk, uint32_t loss)
{
	struct build *build = &chunking->build;
	loss_chunks_describe(chunking, chunking->region.loss);
	if (chunking->region.mean) {
		uint32_t part = loss_chunks_share(chunking, chunk);
		build_op(build, "aten.mul.Tensor", IN(loss, part));
		loss = build_output(build, DTYPE_F32, SCALAR);
	}
	chunking->loss = chunk == 0 ? loss : build_map(build, "aten.add.Tensor", IN(chunking->loss, loss));
}

/* ---- a chunk ---- */

static uint32_t loss_chunks_root_of(const struct chunking *chunking, uint32_t tensor)
{
	const struct tensor *record = draft_tensor_at(chunking->build.draft, tensor);
	return record->alias == NONE ? tensor : record->alias;
}

/* The name with the chunk's number, made unique. */
static void name_in_chunk(
	const struct chunking *chunking, const char *name, uint32_t chunk, bool op, char *text, size_t size)
{
	snprintf(text, size, "%.400s.chunk%u", name, chunk);
	for (int i = 2;
		op ? graph_find_op(chunking->graph, text) != NONE : graph_find_tensor(chunking->graph, text) != NONE; i++)
		snprintf(text, size, "%.400s.chunk%u.%d", name, chunk, i);
}

static uint32_t loss_chunks_add_tensor(struct chunking *chunking, uint32_t op, uint32_t tensor, uint32_t chunk)
{
	const struct graph *graph = chunking->graph;
	struct tensor copy = graph->tensor[tensor];
	struct shape shape = shape_with(chunking, tensor, chunking->at);
	char name[450];
	name_in_chunk(chunking, copy.name, chunk, false, name, sizeof name);
	copy.name = name;
	copy.shape = shape.dim;
	copy.bytes = (shape_elements(&shape) * dtype_bits[copy.dtype] + 7) / 8;
	tensor_forget(&copy);
	copy.kind = copy.kind == KIND_OUTPUT ? KIND_ACTIVATION : copy.kind;
	if (copy.alias != NONE)
		FOR_ITEMS(operand, &graph->reads, op)
			if (graph->tensor[operand].storage == graph->tensor[tensor].storage)
				copy.alias = loss_chunks_root_of(chunking, chunking->chunk[operand]);
	return build_add_tensor(&chunking->build, &copy);
}

/* An amount of all rows as one of a chunk's. */
static int64_t loss_chunks_scaled(const struct chunking *chunking, int64_t amount)
{
	return amount <= 0
		? amount
		: amount / chunking->rows * chunking->at + amount % chunking->rows * chunking->at / chunking->rows;
}

static void loss_chunks_copy_op(struct chunking *chunking, uint32_t op, uint32_t chunk)
{
	const struct graph *graph = chunking->graph;
	struct build *build = &chunking->build;
	struct op copy = graph->op[op];
	char name[450];
	name_in_chunk(chunking, copy.name, chunk, true, name, sizeof name);
	copy.name = name;
	copy.extra = NULL;
	copy.flops = loss_chunks_scaled(chunking, copy.flops);
	copy.workspace = loss_chunks_scaled(chunking, copy.workspace);
	FOR_ITEMS(written, &graph->writes, op)
		if (fine(chunking))
			chunking->chunk[written] = loss_chunks_add_tensor(chunking, op, written, chunk);
	if (fine(chunking) && draft_copy_op(build->draft, &copy, graph, op, chunking->chunk) == NONE)
		build->status = NO_MEMORY;
}

static bool loss_chunks_has_rows(const struct chunking *chunking, uint32_t tensor)
{
	uint32_t factor, place;
	return loss_region_dim(&chunking->region, chunking->factors, chunking->graph, tensor, &factor, &place) >= 0;
}

/* A gradient of a weight is added to what earlier chunks made: the product does so itself. */
static bool loss_chunks_add_product(struct chunking *chunking, uint32_t op, uint32_t chunk)
{
	const struct graph *graph = chunking->graph;
	struct build *build = &chunking->build;
	const struct rule *rule = rules_find(chunking->rules, graph->op[op].type);
	uint32_t result = graph_result(graph, op, 0);
	if (chunk == 0 || !rule || strcmp(rule->factors, "m k+, k+ n -> m n") != 0 || graph_operands(graph, op) != 2 ||
		graph_results(graph, op) != 1 || !loss_region_leaves(chunking->graph, &chunking->region, result) ||
		loss_chunks_has_rows(chunking, result))
		return false;
	uint32_t *sum = &chunking->part[result * (size_t)chunking->chunks];
	uint32_t a = chunking->chunk[graph_operand(graph, op, 0)],
			 b = chunking->chunk[graph_operand(graph, op, 1)];
	loss_chunks_describe(chunking, op);
	build_op(build, "aten.addmm_.default", IN(*sum, a, b));
	*sum = build_inplace(build, *sum);
	set_flops(chunking, loss_chunks_scaled(chunking, graph->op[op].flops));
	return true;
}

/* Keeps what a chunk made for what comes behind the region: parts to be joined, sums, the loss. */
static void keep_results(struct chunking *chunking, uint32_t op, uint32_t chunk)
{
	const struct graph *graph = chunking->graph;
	struct build *build = &chunking->build;
	FOR_ROW(i, &graph->writes, op) {
		uint32_t tensor = graph->writes.item[i];
		uint32_t *part = &chunking->part[tensor * (size_t)chunking->chunks], own = chunking->chunk[tensor];
		if (op == chunking->region.loss && i == graph->writes.start[op]) {
			add_loss(chunking, chunk, own);
		} else if (loss_region_leaves(chunking->graph, &chunking->region, tensor) && loss_chunks_has_rows(chunking, tensor)) {
			int dim;
			loss_chunks_describe(chunking, op);
			part[chunk] = reshaped(chunking, own, shape_apart(chunking, tensor, chunking->at, &dim));
		} else if (loss_region_leaves(chunking->graph, &chunking->region, tensor)) {
			loss_chunks_describe(chunking, op);
			part[0] = chunk == 0 ? own : build_map_inplace(build, "aten.add_.Tensor", IN(part[0], own));
		}
	}
}

/* The gradient that the loss's backward op begins with, as a chunk needs it: means are divided by all labels, not by
 * the chunk's. */
static void begin_backward(struct chunking *chunking, uint32_t chunk)
{
	const struct graph *graph = chunking->graph;
	struct build *build = &chunking->build;
	uint32_t op = chunking->region.backward, loss = chunking->region.loss;
	uint32_t weight = graph_results(graph, loss) > 1 ? graph_result(graph, loss, 1) : NONE;
	if (!chunking->region.mean)
		return;
	FOR_ITEMS(read, &graph->reads, op)
		if (weight != NONE && read == weight) {
			chunking->chunk[weight] = chunking->weight;
			return;
		}
	uint32_t gradient = graph_operand(graph, op, 0);
	loss_chunks_describe(chunking, op);
	uint32_t part = loss_chunks_share(chunking, chunk);
	chunking->chunk[gradient] = build_map(build, "aten.mul.Tensor", IN(chunking->whole[gradient], part));
}

static void write_chunk(struct chunking *chunking, uint32_t chunk)
{
	const struct graph *graph = chunking->graph;
	const struct loss_region *region = &chunking->region;
	chunking->at = chunk_rows(chunking, chunk);
	FILL_NONE(chunking->chunk, graph->tensors);
	for (uint32_t op = region->first; op <= region->last && fine(chunking); op++) {
		if (!region->inside[op])
			continue;
		FOR_ITEMS(tensor, &graph->reads, op)
			if (chunking->chunk[tensor] == NONE && region->role[tensor] != LOSS_INSIDE)
				chunking->chunk[tensor] = region->role[tensor] == LOSS_CUT
					? loss_chunks_part_of(chunking, op, tensor, chunk)
					: chunking->whole[tensor];
		if (region->moved[op]) {
			chunking->chunk[graph_result(graph, op, 0)] =
				chunking->chunk[graph_operand(graph, op, 0)];
			continue;
		}
		if (op == region->backward)
			begin_backward(chunking, chunk);
		if (loss_chunks_add_product(chunking, op, chunk))
			continue;
		loss_chunks_copy_op(chunking, op, chunk);
		if (fine(chunking))
			keep_results(chunking, op, chunk);
	}
}

/* ---- what comes behind the chunks ---- */

/* The last op's result, under the name and with the kind that the given graph has. */
static uint32_t loss_chunks_named(struct chunking *chunking, uint32_t tensor, uint32_t view_of)
{
	struct tensor copy = chunking->graph->tensor[tensor];
	copy.alias = view_of == NONE ? NONE : loss_chunks_root_of(chunking, view_of);
	tensor_forget(&copy);
	struct build *build = &chunking->build;
	uint32_t id = build_add_tensor(build, &copy);
	THEN(build->status, draft_write(build->draft, build->op, id));
	build->argument[build->inputs + build->outputs++] = id; /* FLOPs are counted from it */
	return id;
}

/* What chunks made of their rows, in one tensor. */
static uint32_t loss_chunks_joined(struct chunking *chunking, uint32_t op, uint32_t tensor)
{
	struct build *build = &chunking->build;
	const uint32_t *part = &chunking->part[tensor * (size_t)chunking->chunks];
	uint32_t factor = NONE, place;
	int dim;
	loss_region_dim(&chunking->region, chunking->factors, chunking->graph, tensor, &factor, &place);
	loss_chunks_describe(chunking, op);
	build_op(build, "aten.cat.default", part, chunking->chunks);
	struct shape shape = shape_apart(chunking, tensor, chunking->rows, &dim);
	uint32_t all = build_output(build, build_dtype(build, part[0]), shape);
	set_flops(chunking, shape_elements(&shape));
	if (factor != chunking->region.cut)
		all = moved(chunking, chunking->region.lengthen, all,
			shape_apart(chunking, tensor, chunking->factors->factor[factor].size, &dim));
	build_op(build, "aten.view.default", IN(all));
	return fine(chunking) ? loss_chunks_named(chunking, tensor, all) : NONE;
}

static uint32_t loss_chunks_summed(struct chunking *chunking, uint32_t op, uint32_t tensor)
{
	struct build *build = &chunking->build;
	uint32_t sum = chunking->part[tensor * (size_t)chunking->chunks];
	loss_chunks_describe(chunking, op);
	build_op(build, "aten.view.default", IN(sum));
	return fine(chunking) ? loss_chunks_named(chunking, tensor, sum) : NONE;
}

static void loss_chunks_write_results(struct chunking *chunking)
{
	const struct graph *graph = chunking->graph;
	const struct loss_region *region = &chunking->region;
	FOR_FROM(op, region->first, region->last + 1)
		FOR_ROW(i, &graph->writes, op) {
			uint32_t tensor = graph->writes.item[i];
			if (!region->inside[op] || !fine(chunking) || (op == region->loss && i > graph->writes.start[op]))
				continue;
			if (op == region->loss) {
				loss_chunks_describe(chunking, op);
				build_op(&chunking->build, "aten._to_copy.default", IN(chunking->loss));
				chunking->whole[tensor] = fine(chunking) ? loss_chunks_named(chunking, tensor, NONE) : NONE;
			} else if (loss_region_leaves(chunking->graph, &chunking->region, tensor)) {
				chunking->whole[tensor] = loss_chunks_has_rows(chunking, tensor)
					? loss_chunks_joined(chunking, op, tensor)
					: loss_chunks_summed(chunking, op, tensor);
			}
		}
}

/* ---- the graph ---- */

/* A tensor that the region doesn't make; a view of what it made lies where that is now. */
static void loss_chunks_copy_tensor(struct chunking *chunking, uint32_t tensor, uint32_t alias)
{
	struct tensor copy = chunking->graph->tensor[tensor];
	copy.alias = alias;
	chunking->whole[tensor] = build_add_tensor(&chunking->build, &copy);
}

static void copy_outside(struct chunking *chunking, uint32_t op)
{
	const struct graph *graph = chunking->graph;
	struct build *build = &chunking->build;
	FOR_ITEMS(tensor, &graph->writes, op) {
		uint32_t alias = graph->tensor[tensor].alias;
		if (chunking->whole[tensor] != NONE || !fine(chunking))
			continue;
		FOR_ITEMS(operand, &graph->reads, op) {
			if (alias != NONE && graph->tensor[operand].storage == graph->tensor[tensor].storage) {
				loss_chunks_copy_tensor(chunking, tensor, loss_chunks_root_of(chunking, chunking->whole[operand]));
				break;
			}
		}
		if (chunking->whole[tensor] == NONE && fine(chunking))
			loss_chunks_copy_tensor(chunking, tensor, alias == NONE ? NONE : chunking->whole[alias]);
	}
	if (!fine(chunking))
		return;
	if (chunking->region.seed[op]) {
		struct op ones = graph->op[op];
		ones.type = "aten.ones.default";
		ones.extra = NULL;
		ones.arguments = NULL;
		uint32_t id = chunking->op[op] = build_add_op(build, &ones);
		THEN(build->status, draft_write(build->draft, id, chunking->whole[graph_result(graph, op, 0)]));
		return;
	}
	chunking->op[op] = build_copy_op(build, graph, op, chunking->whole);
}

/* What no op writes; first its roots. */
static void loss_chunks_copy_given(struct chunking *chunking)
{
	const struct graph *graph = chunking->graph;
	FOR_INT(views, 2)
		FOR_WHILE(t, graph->tensors, fine(chunking)) {
			uint32_t alias = graph->tensor[t].alias, of = alias == NONE ? NONE : chunking->whole[alias];
			if (graph->tensor[t].writer == NONE && (alias != NONE) == views && (!views || of != NONE))
				loss_chunks_copy_tensor(chunking, t, of);
		}
}

static void write(struct chunking *chunking)
{
	const struct graph *graph = chunking->graph;
	const struct loss_region *region = &chunking->region;
	struct build *build = &chunking->build;
	FILL_NONE(chunking->whole, graph->tensors);
	FILL_NONE(chunking->op, graph->ops);
	loss_chunks_copy_given(chunking);
	for (uint32_t op = 0; op <= region->last && fine(chunking); op++)
		if (!region->inside[op] && !region->behind[op])
			copy_outside(chunking, op);
	if (fine(chunking))
		loss_chunks_cut_all(chunking);
	if (fine(chunking))
		count_labels(chunking);
	FOR_WHILE(c, chunking->chunks, fine(chunking))
		write_chunk(chunking, c);
	if (fine(chunking))
		loss_chunks_write_results(chunking);
	for (uint32_t op = region->first; op < graph->ops && fine(chunking); op++)
		if (!region->inside[op] && (region->behind[op] || op > region->last))
			copy_outside(chunking, op);
	build_copy_control(build, graph, chunking->op);
	build_finish(build);
}

static bool loss_chunks_allocate(struct chunking *chunking)
{
	const struct graph *graph = chunking->graph;
	struct arena *arena = &chunking->arena;
	chunking->build.draft = draft_new();
	return ROOMS(arena, graph->tensors, chunking->whole, chunking->chunk) &&
		ROOM(arena, chunking->part, graph->tensors * (size_t)chunking->chunks) &&
		ROOM(arena, chunking->op, graph->ops) && ROOM(arena, chunking->count, chunking->chunks) &&
		chunking->build.draft;
}

static struct graph *chunked(struct chunking *chunking, struct loss_chunks_report *report, struct error *error)
{
	const struct graph *graph = chunking->graph;
	chunking->rows = chunking->factors->factor[chunking->region.cut].size;
	chunking->size = (chunking->rows + chunking->chunks - 1) / chunking->chunks;
	chunking->chunks = (uint32_t)((chunking->rows + chunking->size - 1) / chunking->size);
	if (loss_chunks_allocate(chunking))
		write(chunking);
	else
		chunking->build.status = NO_MEMORY;
	report->chunks = chunking->chunks;
	report->ops = chunking->region.ops;
	report->logits = graph->tensor[graph_operand(graph, chunking->region.loss, 0)].name;
	return build_like(&chunking->build, graph, error);
}

/* One loss. */
static struct graph *step_loss_chunks_apply(struct graph *graph, const struct rules *rules,
	const struct factors *factors, uint32_t chunks, struct loss_chunks_report *report, struct error *error)
{
	struct chunking chunking = { .graph = graph, .rules = rules, .factors = factors, .chunks = chunks,
		.build = { .source = graph, .op = NONE, .rules = rules } };
	struct graph *result = NULL;
	*report = (struct loss_chunks_report) { 0 };
	enum status status = loss_region_find(graph, rules, factors, &chunking.region);
	if (status == INFEASIBLE || chunks <= 1) {
		PRINT_TO(report->why, "%s", chunking.region.why);
		result = graph_retain(graph);
	} else if (status == OK) {
		result = chunked(&chunking, report, error);
	} else {
		fail_memory(error);
	}
	arena_free(&chunking.arena);
	loss_region_free(&chunking.region);
	return result;
}

/* Another loss of a step in which some are in chunks; takes the step. */
static struct graph *apply_again(struct graph *graph, const struct rules *rules, uint32_t chunks,
	struct loss_chunks_report *report, struct error *error)
{
	OWN(factors) factors;
	struct loss_chunks_report other;
	struct graph *result = NULL;
	if (factors_find(graph, rules, &factors) == OK)
		result = step_loss_chunks_apply(graph, rules, &factors, chunks, &other, error);
	else
		fail_memory(error);
	report->ops += result ? other.ops : 0;
	graph_release(graph);
	return result;
}

struct graph *loss_chunks_apply(struct graph *graph, const struct rules *rules, const struct factors *factors,
	uint32_t chunks, struct loss_chunks_report *report, struct error *error)
{
	struct graph *result = step_loss_chunks_apply(graph, rules, factors, chunks, report, error);
	uint32_t losses = loss_region_losses(graph, rules);
	for (uint32_t i = 1; i < losses && result && report->chunks > 0; i++) /* those in chunks have smaller logits now */
		result = apply_again(result, rules, chunks, report, error);
	return result;
}
