/* graph.c: builds the immutable graph of a draft and checks every rule on the way.
 *
 * The work is a line of small passes over a struct build; each fills a part of the
 * graph, and the first that fails sets the error. Passes before order_ops() use the
 * draft's op numbers; from then on ops are numbered in program order. */

#include "draft.h"
#include "growth.h"

#define X(id, name) name,
const char *const kind_names[KIND_COUNT] = { KINDS(X) };
const char *const phase_names[PHASE_COUNT] = { PHASES(X) };
#undef X
#define X(id, name, bits) name,
const char *const dtype_names[DTYPE_COUNT] = { DTYPES(X) };
#undef X
#define X(id, name, bits) bits,
const uint8_t dtype_bits[DTYPE_COUNT] = { DTYPES(X) };
#undef X

#define X(id, type) type,
const char *const added_types[ADDED_COUNT] = { ADDITIONS(X) };
#undef X

int name_index(const char *const *names, int count, const char *name)
{
	FOR_INT(i, count)
		if (names[i] && strcmp(names[i], name) == 0)
			return i;
	return -1;
}

struct edges { uint32_t *op, *pred, count; };

struct build {
	struct draft *draft;
	struct graph *graph;
	struct error *error;
	struct arena scratch;
	uint32_t *root;     /* tensor -> root of its alias group */
	uint32_t *place;    /* draft op -> position in program order */
	struct csr writes;  /* draft op -> tensors */
	struct edges data;  /* data and declared control dependencies, by draft op */
	struct pairs edges; /* all dependencies (op, predecessor), in program numbers */
};

static enum status graph_bad(struct build *build, unsigned line, enum status status)
{
	if (build->error)
		build->error->line = line;
	return status;
}

/* ---- records ---- */

/* The graph takes over what the draft holds: its texts, records and names. */
static enum status take_tensors(struct build *build)
{
	struct graph *graph = build->graph;
	struct draft *draft = build->draft;
	graph->arena = draft->arena;
	draft->arena = (struct arena){ 0 };
	graph->lender = draft->lender;
	draft->lender = NULL;
	graph->tensors = draft->tensors;
	graph->tensor = draft->tensor;
	graph->tensor_names = draft->tensor_names;
	draft->tensor_names = (struct names){ 0 };
	bool twice = graph->tensor_names.used < graph->tensors;
	FOR(id, graph->tensors) {
		struct tensor *tensor = &graph->tensor[id];
		tensor->writer = NONE;
		if (twice && names_find(&graph->tensor_names, tensor->name) != id)
			return graph_bad(build, tensor->line,
				refuse(build->error, "there are two tensors named \"%.100s\"", tensor->name));
	}
	return OK;
}

/* What an op's type says of it, found here once. Every op of a type "comm.KIND" has a collective of that kind, and no
 * other op has one. */
static bool graph_read_type(struct graph *graph, struct op *op)
{
	int added = name_index(added_types, ADDED_COUNT, op->type);
	op->added = added < 0 ? ADDED_NOTHING : (uint8_t)added;
	if (op->added == ADDED_FLUSH)
		graph->flush = (uint32_t)(op - graph->op);
	enum collective_kind kind = collective_of_type(op->type);
	if (kind == COLLECTIVE_KINDS)
		op->collective = NULL;
	else if (!op->collective || op->collective->kind != kind) {
		struct collective collective = op->collective ? *op->collective : collective_unsaid();
		collective.kind = kind;
		op->collective = arena_copy(&graph->arena, &collective, sizeof collective);
	}
	return op->collective || kind == COLLECTIVE_KINDS;
}

/* The ops at their places in program order. */
static enum status graph_place_ops(struct build *build)
{
	struct graph *graph = build->graph;
	struct draft *draft = build->draft;
	bool there = true;
	FOR(i, graph->ops)
		there &= build->place[i] == i;
	if (there)
		return OK;
	struct op *MAKE(placed, graph->ops);
	if (!placed)
		return fail_memory(build->error);
	FOR(i, graph->ops)
		placed[build->place[i]] = draft->op[i];
	mem_free(draft->op);
	draft->op = graph->op = placed;
	names_renumber(&graph->op_names, build->place);
	return OK;
}

static enum status take_ops(struct build *build)
{
	struct graph *graph = build->graph;
	struct draft *draft = build->draft;
	graph->ops = draft->ops;
	graph->op = draft->op;
	graph->op_names = draft->op_names;
	draft->op_names = (struct names){ 0 };
	graph->flush = NONE;
	bool twice = graph->op_names.used < graph->ops;
	TRY(graph_place_ops(build));
	FOR(id, graph->ops) {
		struct op *op = &graph->op[id];
		if (!op->type)
			op->type = "op";
		if (!op->module)
			op->module = "";
		if (!graph_read_type(graph, op))
			return fail_memory(build->error);
		if (twice && names_find(&graph->op_names, op->name) != id)
			return graph_bad(build, op->line, refuse(build->error, "there are two ops named \"%.100s\"", op->name));
	}
	return OK;
}

static enum status check_bytes(
	struct build *build, unsigned line, const char *what, const char *name, int64_t bytes, int64_t *sum)
{
	if (bytes < 0 || bytes > BYTES_MAX)
		return graph_bad(build, line, refuse(build->error, "%s of \"%.100s\" is %lld bytes: not between 0 and 2^60",
			what, name, (long long)bytes));
	if (*sum > BYTES_MAX - bytes)
		return graph_bad(
			build, line, refuse(build->error, "sizes add up to more than 2^60 bytes at \"%.100s\"", name));
	*sum += bytes;
	return OK;
}

static enum status graph_check_sizes(struct build *build)
{
	const struct draft *draft = build->draft;
	int64_t tensors = 0, workspaces = 0;
	FOR(id, draft->tensors)
		TRY(check_bytes(
			build, draft->tensor[id].line, "the size", draft->tensor[id].name, draft->tensor[id].bytes, &tensors));
	FOR(id, draft->ops)
		TRY(check_bytes(
			build, draft->op[id].line, "the workspace", draft->op[id].name, draft->op[id].workspace, &workspaces));
	return OK;
}

/* ---- aliases and writers ---- */

/* Follows every alias to its root, halving paths. A chain longer than the number of tensors is a cycle. */
static enum status find_roots(struct build *build)
{
	const struct draft *draft = build->draft;
	if (!ROOM(&build->scratch, build->root, draft->tensors))
		return fail_memory(build->error);
	FOR(id, draft->tensors) {
		uint32_t alias = draft->tensor[id].alias;
		if (alias != NONE && alias >= draft->tensors)
			return graph_bad(build, draft->tensor[id].line, refuse(build->error, "\"%.100s\" is an alias of nothing",
				draft->tensor[id].name));
		build->root[id] = alias == NONE ? id : alias;
	}
	FOR(id, draft->tensors) {
		uint32_t at = id;
		for (uint32_t steps = 0; build->root[at] != at; steps++) {
			if (steps > draft->tensors)
				return graph_bad(build, draft->tensor[id].line, refuse(build->error, "\"%.100s\" is an alias of itself",
					draft->tensor[id].name));
			uint32_t parent = build->root[at];
			if (build->root[parent] == at && parent != at)
				return graph_bad(build, draft->tensor[id].line, refuse(build->error,
					"\"%.100s\" and \"%.100s\" are aliases of each other", draft->tensor[at].name, draft->tensor[parent].name));
			build->root[at] = build->root[parent];
			at = build->root[at];
		}
		build->root[id] = at;
	}
	return OK;
}

/* Bytes of a view, by its shape: of its own format, of its root's where that is unknown; all of the root where the
 * shape is unknown. INT64_MAX: too many. */
static int64_t view_bytes(const struct tensor *view, const struct tensor *root)
{
	int64_t bits = dtype_bits[view->dtype], elements = 1;
	for (int d = 0; d < root->dims && root->shape && elements > 0; d++)
		if (__builtin_mul_overflow(elements, root->shape[d], &elements))
			return root->bytes;
	if (bits == 0 && root->shape && elements > 0 && root->bytes % elements == 0)
		bits = root->bytes / elements * 8;
	if (!view->shape || bits == 0)
		return root->bytes;
	FOR_INT(d, view->dims)
		if (__builtin_mul_overflow(bits, view->shape[d], &bits) || bits > INT64_MAX - 7)
			return INT64_MAX;
	return (bits + 7) / 8;
}

/* Sizes of views that state no bytes: they take no memory, but moving them between devices takes time. */
static enum status size_views(struct build *build)
{
	struct graph *graph = build->graph;
	int64_t sum = 0;
	FOR(id, graph->tensors) {
		struct tensor *tensor = &graph->tensor[id];
		if (tensor->alias != NONE && !tensor->has_bytes && tensor->bytes == 0)
			tensor->bytes = view_bytes(tensor, &graph->tensor[build->root[id]]);
		TRY(check_bytes(build, tensor->line, "the size", tensor->name, tensor->bytes, &sum));
	}
	return OK;
}

static enum status find_writers(struct build *build)
{
	struct graph *graph = build->graph;
	const struct pairs *writes = &build->draft->writes;
	FOR(i, writes->count) {
		struct tensor *tensor = &graph->tensor[writes->other[i]];
		const struct op *op = &build->draft->op[writes->op[i]];
		if (tensor->writer == writes->op[i])
			return graph_bad(build, op->line,
				refuse(build->error, "op \"%.100s\" writes tensor \"%.100s\" twice", op->name, tensor->name));
		if (tensor->writer != NONE)
			return graph_bad(build, op->line,
				refuse(build->error, "tensor \"%.100s\" has two writers: \"%.100s\" and \"%.100s\"",
					tensor->name, build->draft->op[tensor->writer].name, op->name));
		tensor->writer = writes->op[i];
	}
	return OK;
}

/* So that FLOPs twice and FLOPs beside bytes never overflow. Sums over ops may, and who adds up looks. */
static enum status check_flops(struct build *build)
{
	FOR(id, build->draft->ops) {
		const struct op *op = &build->draft->op[id];
		if (op->flops > INT64_MAX / 2)
			return graph_bad(build, op->line,
				refuse(build->error,
					"op \"%.100s\" has more than 2^62 FLOPs: too many to count. A smaller batch has "
					"fewer, and microbatches=N cuts one",
					op->name));
	}
	return OK;
}

/* What an op makes isn't there before it runs, nor are views of it. */
static enum status check_own(struct build *build)
{
	const struct pairs *reads = &build->draft->reads;
	FOR(i, reads->count) {
		const struct op *op = &build->draft->op[reads->op[i]];
		const struct tensor *read = &build->graph->tensor[reads->other[i]],
							*made = read->writer == NONE ? &build->graph->tensor[build->root[reads->other[i]]] : read;
		if (made->writer == reads->op[i])
			return graph_bad(build, op->line,
				refuse(build->error, "op \"%.100s\" reads \"%.100s\", which it writes itself", op->name,
					read->name));
	}
	return OK;
}

static bool row_has(const struct csr *csr, uint32_t row, uint32_t item)
{
	FOR_ITEMS(each, csr, row)
		if (each == item)
			return true;
	return false;
}

/* The result of an in-place pair is an output of its op and an alias of the storage that is written. */
static enum status check_inplace(struct build *build)
{
	const struct draft *draft = build->draft;
	FOR(i, draft->inplace_in.count) {
		uint32_t id = draft->inplace_in.op[i], in = draft->inplace_in.other[i], out = draft->inplace_out.other[i];
		const struct op *op = &draft->op[id];
		if (out == NONE)
			continue;
		if (!row_has(&build->writes, id, out))
			return graph_bad(build, op->line,
				refuse(build->error, "in-place result \"%.100s\" is not an output of op \"%.100s\"",
					draft->tensor[out].name, op->name));
		if (build->root[out] != build->root[in])
			return graph_bad(build, op->line,
				refuse(build->error,
					"in-place result \"%.100s\" of op \"%.100s\" is not an alias of \"%.100s\": its tensor needs "
					"\"alias\"",
					draft->tensor[out].name, op->name, draft->tensor[in].name));
	}
	return OK;
}

static enum status index_arguments(struct build *build)
{
	const struct draft *draft = build->draft;
	const struct pairs *writes = &draft->writes;
	return csr_of_pairs(&build->scratch, draft->ops, writes->count, writes->op, writes->other, &build->writes) == OK ? OK
		: fail_memory(build->error);
}

/* ---- program order ---- */

/* Data and declared control dependencies by draft numbers: a tensor's writer before its readers,
 * the allocator of a storage before everybody who touches it. */
static enum status data_edges(struct build *build)
{
	const struct draft *draft = build->draft;
	struct edges *edges = &build->data;
	const struct pairs *lists[] = { &draft->reads, &draft->writes, &draft->inplace_in };
	size_t most = 2 * ((size_t)draft->reads.count + draft->writes.count + draft->inplace_in.count) + draft->after.count;
	if (most >= NONE)
		return refuse(build->error, "more than 2^32 dependencies");
	if (!ROOMS(&build->scratch, most, edges->op, edges->pred))
		return fail_memory(build->error);
	FOR_INT(list, 3)
		FOR(i, lists[list]->count) {
			uint32_t op = lists[list]->op[i], tensor = lists[list]->other[i];
			uint32_t writers[] = { build->graph->tensor[tensor].writer, build->graph->tensor[build->root[tensor]].writer };
			FOR_INT(w, 2)
				if (writers[w] != NONE && writers[w] != op) {
					edges->op[edges->count] = op;
					edges->pred[edges->count++] = writers[w];
				}
		}
	FOR(i, draft->after.count) {
		edges->op[edges->count] = draft->after.op[i];
		edges->pred[edges->count++] = draft->after.other[i];
	}
	return OK;
}

/* Names the ops on one cycle: every op that waits has a predecessor that waits, so a walk along those ends in one. */
static enum status report_cycle(struct build *build, const struct csr *pred, const uint32_t *waiting)
{
	const struct draft *draft = build->draft;
	uint32_t *MAKE_IN(&build->scratch, path, draft->ops);
	uint32_t *MAKE_IN(&build->scratch, seen, draft->ops); /* 1 + index in path */
	if (!(path && seen))
		return fail_memory(build->error);
	uint32_t at = 0, steps = 0;
	while (!waiting[at])
		at++;
	while (!seen[at]) {
		path[steps++] = at;
		seen[at] = steps;
		uint32_t i = pred->start[at];
		while (!waiting[pred->item[i]])
			i++;
		at = pred->item[i];
	}
	char text[400];
	size_t used = 0;
	uint32_t begin = seen[at] - 1, length = steps - begin;
	for (uint32_t i = begin; i < steps && used < sizeof text - 64; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "\"%.40s\" waits for ", draft->op[path[i]].name);
	return graph_bad(build, draft->op[at].line, refuse(build->error, "a cycle of %u op%s: %s%s\"%.40s\"", length,
		length == 1 ? "" : "s", text, used < sizeof text - 64 ? "" : "... ", draft->op[at].name));
}

/* A min-heap of op numbers. */
static void heap_push(uint32_t *heap, uint32_t *count, uint32_t value)
{
	uint32_t i = (*count)++;
	for (; i && heap[(i - 1) / 2] > value; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = value;
}

static uint32_t heap_pop(uint32_t *heap, uint32_t *count)
{
	uint32_t top = heap[0], value = heap[--*count], i = 0;
	for (uint32_t child; (child = 2 * i + 1) < *count; i = child) {
		if (child + 1 < *count && heap[child + 1] < heap[child])
			child++;
		if (heap[child] >= value)
			break;
		heap[i] = heap[child];
	}
	heap[i] = value;
	return top;
}

/* place[] of the topological order that takes the first ready op of the file each time: the
 * file's own order where that is one. */
static enum status order_ops(struct build *build)
{
	uint32_t ops = build->draft->ops;
	struct csr pred, succ;
	TRY(data_edges(build));
	uint32_t *waiting, *heap;
	if (!ROOMS(&build->scratch, ops, build->place, waiting, heap) ||
		csr_of_pairs(&build->scratch, ops, build->data.count, build->data.op, build->data.pred, &pred) != OK)
		return fail_memory(build->error);
	csr_unique(&pred, ops);
	if (csr_transpose(&build->scratch, &pred, ops, ops, &succ) != OK)
		return fail_memory(build->error);
	uint32_t ready = 0, done = 0;
	FOR(op, ops) {
		waiting[op] = csr_length(&pred, op);
		if (waiting[op] && pred.item[pred.start[op + 1] - 1] > op)
			build->graph->repaired++;
		if (!waiting[op])
			heap_push(heap, &ready, op);
	}
	while (ready) {
		uint32_t op = heap_pop(heap, &ready);
		build->place[op] = done++;
		FOR_ITEMS(after, &succ, op)
			if (--waiting[after] == 0)
				heap_push(heap, &ready, after);
	}
	return done == ops ? OK : report_cycle(build, &pred, waiting);
}

/* ---- rows in program order ---- */

/* Rows of pairs, with op numbers (and where both are ops, both) turned into program order. */
static enum status graph_rows_of(struct build *build, const struct pairs *pairs, bool both, struct csr *rows)
{
	uint32_t *op, *other;
	NEED(ROOMS(&build->scratch, pairs->count, op, other));
	FOR(i, pairs->count) {
		op[i] = build->place[pairs->op[i]];
		other[i] = both ? build->place[pairs->other[i]] : pairs->other[i];
	}
	return csr_of_pairs(&build->graph->arena, build->draft->ops, pairs->count, op, other, rows);
}

static enum status argument_rows(struct build *build)
{
	struct graph *graph = build->graph;
	const struct draft *draft = build->draft;
	struct csr out, in;
	if (graph_rows_of(build, &draft->reads, false, &graph->reads) != OK ||
		graph_rows_of(build, &draft->writes, false, &graph->writes) != OK ||
		graph_rows_of(build, &draft->after, true, &graph->after) != OK ||
		graph_rows_of(build, &draft->inplace_out, false, &out) != OK ||
		graph_rows_of(build, &draft->inplace_in, false, &in) != OK)
		return fail_memory(build->error);
	graph->inplace_start = in.start;
	if (!ROOM(&graph->arena, graph->inplace, draft->inplace_in.count))
		return fail_memory(build->error);
	FOR(i, draft->inplace_in.count)
		graph->inplace[i] = (struct inplace){ out.item[i], in.item[i] };
	FOR(id, graph->tensors)
		if (graph->tensor[id].writer != NONE)
			graph->tensor[id].writer = build->place[graph->tensor[id].writer];
	return OK;
}

static enum status make_storages(struct build *build)
{
	struct graph *graph = build->graph;
	uint32_t *number;
	if (!ROOM(&build->scratch, number, graph->tensors))
		return fail_memory(build->error);
	FOR(id, graph->tensors)
		if (build->root[id] == id)
			number[id] = graph->storages++;
	if (!ROOM(&graph->arena, graph->storage, graph->storages))
		return fail_memory(build->error);
	uint32_t *one, *two;
	if (!ROOMS(&build->scratch, graph->tensors, one, two))
		return fail_memory(build->error);
	FOR(id, graph->tensors) {
		struct tensor *tensor = &graph->tensor[id];
		tensor->storage = one[id] = number[build->root[id]];
		two[id] = id;
		struct storage *storage = &graph->storage[tensor->storage];
		storage->live_out |= tensor->kind == KIND_OUTPUT;
		if (build->root[id] != id)
			continue;
		storage->bytes = tensor->bytes;
		storage->root = id;
		storage->allocator = tensor->writer;
		storage->kind = tensor->kind;
		storage->persistent = kind_persistent(tensor->kind) && !tensor->replaced;
		storage->phase = tensor->writer == NONE ? PHASE_FORWARD : graph->op[tensor->writer].phase;
		if (storage->persistent) {
			storage->live_out = true;
			graph->persistent_bytes += storage->bytes;
		}
	}
	return csr_of_pairs(&graph->arena, graph->storages, graph->tensors, one, two, &graph->members) == OK
		? OK
		: fail_memory(build->error);
}

static enum status touch_rows(struct build *build)
{
	struct graph *graph = build->graph;
	uint32_t ops = graph->ops, count = 0;
	uint32_t total = graph->reads.start[ops] + graph->writes.start[ops] + graph->inplace_start[ops];
	uint32_t *op, *storage;
	if (!ROOMS(&build->scratch, total, op, storage))
		return fail_memory(build->error);
	FOR(id, graph->ops) {
		FOR_ITEMS(read, &graph->reads, id) {
			op[count] = id;
			storage[count++] = graph->tensor[read].storage;
		}
		FOR_ITEMS(written, &graph->writes, id) {
			op[count] = id;
			storage[count++] = graph->tensor[written].storage;
		}
		FOR_SPAN(i, graph->inplace_start, id) {
			op[count] = id;
			storage[count++] = graph->tensor[graph->inplace[i].in].storage;
		}
	}
	if (csr_of_pairs(&graph->arena, graph->ops, count, op, storage, &graph->touches) != OK)
		return fail_memory(build->error);
	csr_unique(&graph->touches, graph->ops);
	if (csr_transpose(&graph->arena, &graph->touches, graph->ops, graph->storages, &graph->users) != OK)
		return fail_memory(build->error);
	return OK;
}

/* Who writes a storage in place keeps its place relative to all others that touch it: read after write,
 * write after read, write after write. Linear in the users of the storage. */
static enum status inplace_edges(struct build *build, uint32_t storage)
{
	struct graph *graph = build->graph;
	uint32_t last_write = NONE, first_reader = graph->users.start[storage];
	FOR_ROW(i, &graph->users, storage) {
		uint32_t op = graph->users.item[i];
		if (last_write != NONE && pairs_add(&build->edges, op, last_write) != OK)
			return NO_MEMORY;
		if (!graph_writes_in_place(graph, op, storage))
			continue;
		FOR_FROM(j, first_reader, i)
			NEED(pairs_add(&build->edges, op, graph->users.item[j]) == OK);
		last_write = op;
		first_reader = i + 1;
	}
	return OK;
}

static enum status dependency_rows(struct build *build)
{
	struct graph *graph = build->graph;
	enum status status = OK;
	FOR_WHILE(i, build->data.count, status == OK)
		status = pairs_add(&build->edges, build->place[build->data.op[i]], build->place[build->data.pred[i]]);
	FOR_WHILE(storage, graph->storages, status == OK)
		status = inplace_edges(build, storage);
	if (status != OK ||
		csr_of_pairs(
			&graph->arena, graph->ops, build->edges.count, build->edges.op, build->edges.other, &graph->pred) != OK)
		return fail_memory(build->error);
	csr_unique(&graph->pred, graph->ops);
	return csr_transpose(&graph->arena, &graph->pred, graph->ops, graph->ops, &graph->succ) == OK
		? OK
		: fail_memory(build->error);
}

/* ---- fingerprint and life ---- */

static uint64_t hash_name(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash_mix(hash);
}

static uint64_t hash_row(uint64_t hash, const struct csr *csr, uint32_t row)
{
	hash = hash_join(hash, csr_length(csr, row));
	FOR_ITEMS(item, csr, row)
		hash = hash_join(hash, item);
	return hash;
}

static uint64_t graph_fingerprint(const struct graph *graph)
{
	uint64_t hash = hash_join(graph->ops, graph->tensors);
	FOR(id, graph->tensors) {
		const struct tensor *tensor = &graph->tensor[id];
		hash = hash_join(hash_name(hash, tensor->name), (uint64_t)tensor->bytes);
		hash = hash_join(hash_join(hash, tensor->alias),
			(uint64_t)tensor->replaced << 24 | (uint64_t)tensor->kind << 16 | tensor->dtype << 8 | tensor->dims);
		for (int d = 0; tensor->shape && d < tensor->dims; d++)
			hash = hash_join(hash, (uint64_t)tensor->shape[d]);
	}
	FOR(id, graph->ops) {
		const struct op *op = &graph->op[id];
		hash = hash_name(hash_name(hash_name(hash, op->name), op->type), op->module);
		hash = hash_join(hash_join(hash_join(hash, op->phase), (uint64_t)op->workspace), (uint64_t)op->flops);
		hash = hash_row(hash_row(hash_row(hash, &graph->reads, id), &graph->writes, id), &graph->pred, id);
	}
	return hash;
}

static enum status graph_describe(struct build *build)
{
	struct graph *graph = build->graph;
	graph->name = build->draft->name ? build->draft->name : "graph";
	graph->source = build->draft->source;
	graph->extra = build->draft->extra;
	graph->about = build->draft->about;
	memcpy(graph->line, build->draft->line, sizeof graph->line);
	graph->fingerprint = growth_hash(graph, graph_fingerprint(graph));
	return OK;
}

/* The records belong to one of both. */
static void graph_part(struct draft *draft, struct graph *graph)
{
	if (graph && graph->tensor == draft->tensor)
		draft->tensor = NULL;
	if (graph && graph->op == draft->op)
		draft->op = NULL;
}

struct graph *graph_build(struct draft *draft, struct error *error)
{
	static enum status (*const passes[])(struct build *) = {
		graph_check_sizes,
		check_flops,
		take_tensors,
		find_roots,
		size_views,
		find_writers,
		check_own,
		index_arguments,
		check_inplace,
		order_ops,
		take_ops,
		argument_rows,
		make_storages,
		touch_rows,
		dependency_rows,
		graph_describe,
	};
	enum status status = OK;
	struct build build = { .draft = draft, .error = error };
	MAKE(build.graph, 1);
	if (!build.graph)
		status = fail_memory(build.error);
	for (size_t i = 0; i < COUNT_OF(passes) && status == OK; i++)
		status = passes[i](&build);
	arena_free(&build.scratch);
	mem_free(build.edges.op);
	mem_free(build.edges.other);
	graph_part(draft, build.graph);
	if (build.graph)
		atomic_store(&build.graph->references, 1);
	if (status != OK) {
		graph_release(build.graph);
		build.graph = NULL;
	}
	error_set(error, status);
	return build.graph;
}

size_t graph_bytes(const struct graph *graph)
{
	size_t slots = (size_t)graph->op_names.mask + graph->tensor_names.mask;
	return sizeof *graph + graph->arena.bytes + graph->ops * sizeof *graph->op +
		graph->tensors * sizeof *graph->tensor + slots * sizeof *graph->op_names.slot;
}

struct graph *graph_retain(struct graph *graph)
{
	atomic_fetch_add(&graph->references, 1);
	return graph;
}

void graph_release(struct graph *graph)
{
	if (!graph || atomic_fetch_sub(&graph->references, 1) > 1)
		return;
	names_free(&graph->op_names);
	names_free(&graph->tensor_names);
	mem_free(graph->tensor);
	mem_free(graph->op);
	arena_free(&graph->arena);
	graph_release(graph->other);
	graph_release(graph->lender);
	mem_free(graph);
}

uint32_t graph_find_op(const struct graph *graph, const char *name)
{
	return names_find(&graph->op_names, name);
}

uint32_t graph_find_tensor(const struct graph *graph, const char *name)
{
	return names_find(&graph->tensor_names, name);
}

bool graph_in_host(const struct graph *graph, uint32_t tensor)
{
	const struct tensor *of = &graph->tensor[tensor];
	return of->bytes == 0 && of->writer != NONE && graph->op[of->writer].added == ADDED_OFFLOAD;
}
