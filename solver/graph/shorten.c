/* shorten.c: a graph with fewer of its equal layers. */
#include "shorten.h"

struct shortening {
	const struct graph *graph;
	const struct fold *fold;
	const uint32_t *copies;
	uint32_t *op, *tensor; /* [ops], [tensors] of the long graph: in the short one; NONE: left out */
	struct draft *draft;
	struct shortened *result;
};

static const struct fold_segment *segment_of(const struct shortening *run, uint32_t op)
{
	return run->fold->segment_of[op] == NONE ? NULL : &run->fold->segment[run->fold->segment_of[op]];
}

/* Copies from head to tail - 1 of an op's segment are left out. */
static uint32_t head_of(const struct shortening *run, uint32_t op)
{
	return (run->copies[run->fold->segment_of[op]] + 1) / 2;
}

static uint32_t tail_of(const struct shortening *run, uint32_t op)
{
	return segment_of(run, op)->copies - run->copies[run->fold->segment_of[op]] / 2;
}

static bool shorten_stays(const struct shortening *run, uint32_t op)
{
	return !segment_of(run, op) || run->fold->copy_of[op] < head_of(run, op) || run->fold->copy_of[op] >= tail_of(run, op);
}

/* The op that replaces one that is left out, where an op of the copy next to it asks; NONE: for nobody else. */
static uint32_t stand_in(const struct shortening *run, uint32_t out, uint32_t reader)
{
	const struct fold *fold = run->fold;
	const struct fold_segment *segment = segment_of(run, out);
	uint32_t copy = fold->copy_of[out], head = head_of(run, out), tail = tail_of(run, out);
	if (fold->segment_of[reader] != fold->segment_of[out])
		return NONE;
	if (copy == head && fold->copy_of[reader] + 1 == head)
		return segment->op[tail * segment->ops + fold->index_of[out]];
	if (copy + 1 == tail && fold->copy_of[reader] == tail)
		return segment->op[(head - 1) * segment->ops + fold->index_of[out]];
	return NONE;
}

/* What an op that stays has in the place of a tensor, in the long graph; NONE: nothing can stand there. */
static uint32_t shorten_operand(const struct shortening *run, uint32_t reader, uint32_t tensor)
{
	const struct csr *writes = &run->graph->writes;
	uint32_t writer = run->graph->tensor[tensor].writer, place = 0;
	if (writer == NONE || shorten_stays(run, writer))
		return tensor;
	uint32_t other = stand_in(run, writer, reader);
	while (writes->item[writes->start[writer] + place] != tensor)
		place++;
	return other == NONE || place >= csr_length(writes, other) ? NONE : writes->item[writes->start[other] + place];
}

/* Marks what is kept with 0: ops and what they read, write and have views of, and what no op touches. The others are
 * NONE. */
static void shorten_mark(const struct shortening *run)
{
	const struct graph *graph = run->graph;
	FOR(tensor, graph->tensors)
		run->tensor[tensor] = csr_length(&graph->users, graph->tensor[tensor].storage) == 0 ? 0 : NONE;
	FOR(op, graph->ops) {
		run->op[op] = shorten_stays(run, op) ? 0 : NONE;
		uint32_t arguments = csr_length(&graph->reads, op) + csr_length(&graph->writes, op);
		for (uint32_t k = 0; k < arguments && run->op[op] == 0; k++)
			for (uint32_t at = graph_argument(graph, op, k); at != NONE; at = graph->tensor[at].alias) {
				uint32_t writer = graph->tensor[at].writer;
				if (writer == NONE || shorten_stays(run, writer))
					run->tensor[at] = 0;
			}
	}
}

/* The alias of a tensor that stays. */
static enum status alias_of(const struct shortening *run, uint32_t id, uint32_t *alias)
{
	const struct tensor *tensor = &run->graph->tensor[id];
	if (tensor->alias == NONE || tensor->writer == NONE)
		*alias = tensor->alias == NONE ? NONE : run->tensor[tensor->alias];
	else
		*alias = shorten_operand(run, tensor->writer, tensor->alias);
	if (tensor->alias != NONE && tensor->writer != NONE && *alias != NONE)
		*alias = run->tensor[*alias];
	return tensor->alias != NONE && *alias == NONE ? INFEASIBLE : OK;
}

static enum status shorten_add_tensors(const struct shortening *run)
{
	const struct graph *graph = run->graph;
	uint32_t count = 0;
	FOR(id, graph->tensors)
		if (run->tensor[id] != NONE) {
			run->result->tensor[count] = id;
			run->tensor[id] = count++;
		}
	FOR(i, count) {
		struct tensor tensor = graph->tensor[run->result->tensor[i]];
		TRY(alias_of(run, run->result->tensor[i], &tensor.alias));
		if (draft_tensor(run->draft, &tensor) == NONE)
			return NO_MEMORY;
	}
	return OK;
}

static enum status add_after(const struct shortening *run, uint32_t op)
{
	enum status status = OK;
	FOR_ITEMS(before, &run->graph->after, op) {
		before = shorten_stays(run, before) ? before : stand_in(run, before, op);
		if (status == OK)
			status = before == NONE ? INFEASIBLE : draft_after(run->draft, run->op[op], run->op[before]);
	}
	return status;
}

static enum status shorten_add_op(const struct shortening *run, uint32_t op)
{
	const struct graph *graph = run->graph;
	TRY(draft_op(run->draft, &graph->op[op]) == NONE ? NO_MEMORY : add_after(run, op));
	FOR_ROW(i, &graph->reads, op) {
		uint32_t tensor = shorten_operand(run, op, graph->reads.item[i]);
		TRY(tensor == NONE ? INFEASIBLE : draft_read(run->draft, run->op[op], run->tensor[tensor]));
	}
	FOR_ROW(i, &graph->writes, op)
		TRY(draft_write(run->draft, run->op[op], run->tensor[graph->writes.item[i]]));
	FOR_SPAN(i, graph->inplace_start, op) {
		const struct inplace *pair = &graph->inplace[i];
		uint32_t in = shorten_operand(run, op, pair->in);
		TRY(in == NONE ? INFEASIBLE
			: draft_inplace(run->draft, run->op[op], pair->out == NONE ? NONE : run->tensor[pair->out],
								  run->tensor[in]));
	}
	return OK;
}

static enum status shorten_add_ops(const struct shortening *run)
{
	uint32_t count = 0;
	FOR(op, run->graph->ops)
		if (run->op[op] != NONE) {
			run->result->op[count] = op;
			run->op[op] = count++;
		}
	FOR(i, count)
		TRY(shorten_add_op(run, run->result->op[i]));
	return OK;
}

static enum status shorten_shorten(const struct shortening *run, struct error *error)
{
	const struct graph *graph = run->graph;
	shorten_mark(run);
	enum status status = draft_describe(run->draft, graph->name, graph->source, graph->extra, &graph->about);
	status = status == OK ? shorten_add_tensors(run) : status;
	status = status == OK ? shorten_add_ops(run) : status;
	if (status != OK)
		return status == INFEASIBLE ? fail(error, INFEASIBLE, "a layer that is left out is read from outside")
			: fail_status(error, status);
	run->result->graph = graph_build(run->draft, error);
	if (!run->result->graph)
		return error->status;
	return run->result->graph->repaired
		? fail(error, INFEASIBLE, "the order of the layers that are left is another one")
		: OK;
}

enum status graph_shorten(const struct graph *graph, const struct fold *fold, const uint32_t *copies,
	struct shortened *shortened, struct error *error)
{
	struct shortening run = { .graph = graph, .fold = fold, .copies = copies, .result = shortened, .draft = draft_new(),
		.op = mem_alloc(graph->ops, sizeof *run.op), .tensor = mem_alloc(graph->tensors, sizeof *run.tensor) };
	*shortened = (struct shortened){ .op = mem_alloc(graph->ops, sizeof *shortened->op),
		.tensor = mem_alloc(graph->tensors, sizeof *shortened->tensor) };
	enum status status = run.draft && run.op && run.tensor && shortened->op && shortened->tensor
		? shorten_shorten(&run, error)
		: fail_memory(error);
	draft_free(run.draft);
	mem_free(run.op);
	mem_free(run.tensor);
	return status;
}

void shortened_free(struct shortened *shortened)
{
	graph_release(shortened->graph);
	mem_free(shortened->op);
	mem_free(shortened->tensor);
	*shortened = (struct shortened) { 0 };
}
