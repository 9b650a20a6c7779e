/* made.c: one row for each stage that makes a graph of a graph. */

#include "solver/graph/growth.h"
#include "state.h"
#include "src/scenario/knobs.h"
#include "src/base/words.h"

/* chunks: what each tensor of the step in chunks is of the step in one.
 *
 * Every tensor of the new step is the whole of an old one, its chunk c, or a sum of what chunks 0 to c made of it. Ops
 * of chunks are known by their names (NAME.chunk3); what stands between them cuts, joins, adds or only passes on. */

/* What a tensor is of an old one. */
enum part_kind { PART_NONE, PART_WHOLE, PART_CHUNK, PART_SUM, PART_HELP };
struct portion { enum part_kind kind; uint32_t of, chunk; }; /* HELP: counts of labels, weights, shares */

struct chunks {
	struct check *check;
	const struct graph *before, *after;
	struct portion *part; /* [new tensors] */
	int64_t *made;  /* [old tensors] elements of its chunks so far */
	uint32_t *next; /* [old tensors] chunks that are joined or summed so far */
	uint32_t chunks;
	const struct rules *rules;
	struct binding binding;
};

/* "name.chunk3" is op (or tensor) "name" in chunk 3; NONE: it isn't one. */
static uint32_t chunk_of(const struct chunks *chunks, const char *name, bool op, uint32_t *of)
{
	const char *at = NULL;
	for (const char *next = strstr(name, ".chunk"); next; next = strstr(next + 1, ".chunk"))
		at = next;
	char *end = NULL, text[420];
	unsigned long number = at && at[6] ? strtoul(at + 6, &end, 10) : 0;
	if (!at || !end || (*end && *end != '.') || number > 1u << 20 || (size_t)(at - name) >= sizeof text)
		return NONE;
	PRINT_TO(text, "%.*s", (int)(at - name), name);
	*of = op ? graph_find_op(chunks->before, text) : graph_find_tensor(chunks->before, text);
	return *of == NONE ? NONE : (uint32_t)number;
}

static int64_t chunks_elements_of(const struct tensor *tensor)
{
	int64_t elements = 1;
	FOR_WHILE(d, tensor->dims, tensor->shape)
		if (__builtin_mul_overflow(elements, tensor->shape[d], &elements))
			return -1;
	return elements;
}

static const char *chunks_tensor_name(const struct chunks *chunks, uint32_t tensor)
{
	return chunks->after->tensor[tensor].name;
}

/* Old tensors that hold the same rows in other shapes or with rows left out: views, and what is only one operand passed
 * on. */
static uint32_t base_of(const struct chunks *chunks, uint32_t tensor)
{
	const struct graph *graph = chunks->before;
	FOR(steps, 16) {
		uint32_t writer = graph->tensor[tensor].writer;
		bool alone = writer != NONE && csr_length(&graph->reads, writer) == 1 && csr_length(&graph->writes, writer) == 1;
		if (!alone || graph_find_op(chunks->after, graph->op[writer].name) != NONE)
			return tensor;
		char name[450];
		PRINT_TO(name, "%.400s.chunk0", graph->op[writer].name);
		if (graph_find_op(chunks->after, name) != NONE)
			return tensor;
		tensor = csr_at(&graph->reads, writer, 0); /* an op that runs nowhere any more: its operand stands
																   for it */
	}
	return tensor;
}

/* ---- ops of chunks ---- */

static enum status check_operand(struct chunks *chunks, uint32_t op, uint32_t old, uint32_t tensor, uint32_t chunk)
{
	struct portion part = chunks->part[tensor];
	bool same = part.of == old || (part.of != NONE && base_of(chunks, part.of) == base_of(chunks, old));
	bool number = part.kind == PART_HELP && chunks_elements_of(&chunks->before->tensor[old]) == 1 &&
		chunks_elements_of(&chunks->after->tensor[tensor]) == 1;
	if (number || (same && (part.kind == PART_WHOLE || (part.kind == PART_CHUNK && part.chunk == chunk))))
		return OK;
	return check_wrong(chunks->check, "op \"%.100s\" reads \"%.100s\", which is not its chunk of \"%.100s\"",
		chunks->after->op[op].name, chunks_tensor_name(chunks, tensor), chunks->before->tensor[old].name);
}

static enum status check_chunk_op(struct chunks *chunks, uint32_t op, uint32_t of, uint32_t chunk)
{
	const struct graph *before = chunks->before, *after = chunks->after;
	uint32_t reads = csr_length(&before->reads, of), writes = csr_length(&before->writes, of);
	if (!text_is(after->op[op].type, before->op[of].type) || csr_length(&after->reads, op) != reads ||
		csr_length(&after->writes, op) != writes)
		return check_wrong(
			chunks->check, "op \"%.100s\" is not a chunk of \"%.100s\"", after->op[op].name, before->op[of].name);
	FOR(i, reads)
		TRY(check_operand(chunks, op, csr_at(&before->reads, of, i),
			csr_at(&after->reads, op, i), chunk));
	FOR(i, writes) {
		uint32_t old = csr_at(&before->writes, of, i),
				 tensor = csr_at(&after->writes, op, i);
		chunks->part[tensor] = (struct portion){ PART_CHUNK, old, chunk };
		chunks->made[old] += chunks_elements_of(&after->tensor[tensor]);
	}
	chunks->chunks = chunk >= chunks->chunks ? chunk + 1 : chunks->chunks;
	const struct rule *rule = rules_find(chunks->rules, after->op[op].type);
	struct error why = { 0 };
	if (rule && rule_bind_op(rule, after, op, &chunks->binding, &why) == BAD_INPUT)
		return check_wrong(
			chunks->check, "op \"%.100s\" has operands of different rows: %.200s", after->op[op].name, why.text);
	return OK;
}

/* ---- what stands between them ---- */

/* One more term of a sum: of a chunk's own result, or of a product of its operands. */
static void add_term(struct chunks *chunks, uint32_t op, uint32_t result)
{
	const struct graph *after = chunks->after;
	uint32_t reads = csr_length(&after->reads, op);
	const uint32_t *read = after->reads.item + after->reads.start[op];
	struct portion sum = chunks->part[read[0]], term = chunks->part[read[reads - 1]];
	bool first = sum.kind == PART_CHUNK && sum.chunk == 0;
	if ((!first && sum.kind != PART_SUM) || term.kind != PART_CHUNK || term.chunk != (first ? 1 : sum.chunk + 1) ||
		(reads == 2 && term.of != sum.of))
		return;
	if (reads == 3) { /* the product that made the first term: of the same operands */
		uint32_t writer = chunks->before->tensor[sum.of].writer;
		const struct csr *old = &chunks->before->reads;
		FOR_FROM(i, 1, 3) {
			struct portion operand = chunks->part[read[i]];
			bool chunk = operand.kind == PART_CHUNK && operand.chunk == term.chunk;
			if (writer == NONE || csr_length(old, writer) != 2 || !(chunk || operand.kind == PART_WHOLE) || operand.of == NONE
			    || base_of(chunks, operand.of) != base_of(chunks, old->item[old->start[writer] + i - 1]))
				return;
		}
	}
	chunks->part[result] = (struct portion){ PART_SUM, sum.of, term.chunk };
	if (first)
		chunks->next[sum.of] = 1;
	chunks->next[sum.of]++;
}

/* All chunks of a tensor, in their order. */
static void chunks_join(struct chunks *chunks, uint32_t op, uint32_t result)
{
	const struct graph *after = chunks->after;
	uint32_t of = chunks->part[csr_at(&after->reads, op, 0)].of, chunk = 0;
	FOR_ITEMS(read, &after->reads, op) {
		struct portion part = chunks->part[read];
		if (part.kind != PART_CHUNK || part.of != of || part.chunk != chunk++)
			return;
	}
	chunks->next[of] = chunk;
	chunks->part[result] = (struct portion){ PART_WHOLE, of, 0 };
}

/* A new op: what its results are. */
static void chunks_pass_on(struct chunks *chunks, uint32_t op)
{
	const struct graph *after = chunks->after;
	uint32_t reads = csr_length(&after->reads, op), position = 0;
	const struct rule *rule = rules_find(chunks->rules, after->op[op].type);
	const char *factors = rule ? rule->factors : "";
	struct portion first = reads ? chunks->part[csr_at(&after->reads, op, 0)]
		: (struct portion){ PART_HELP, NONE, 0 };
	FOR_ITEMS(result, &after->writes, op) {
		uint32_t named = graph_find_tensor(chunks->before, after->tensor[result].name);
		bool in_place = after->inplace_start[op] < after->inplace_start[op + 1];
		if (text_is(factors, "@split") && first.kind == PART_WHOLE)
			chunks->part[result] = (struct portion){ PART_CHUNK, first.of, position };
		else if (text_is(factors, "@cat"))
			chunks_join(chunks, op, result);
		else if (in_place && reads >= 2)
			add_term(chunks, op, result);
		else if (reads == 1 && chunks_elements_of(&after->tensor[result]) > 1)
			chunks->part[result] = first;
		else if (first.kind != PART_NONE) /* scalars: labels that count, shares, terms of the loss */
			chunks->part[result] = (struct portion){ PART_HELP, first.of, first.chunk };
		if (named != NONE &&
			(chunks->part[result].kind == PART_SUM
					? chunks->part[result].chunk + 1 == chunks->chunks
					: chunks->part[result].kind == PART_WHOLE || chunks->part[result].kind == PART_HELP))
			if (chunks->part[result].kind == PART_HELP || base_of(chunks, chunks->part[result].of) == base_of(chunks, named))
				chunks->part[result] = (struct portion){ PART_WHOLE, named, 0 };
		position++;
	}
}

/* An op that runs as before. */
static enum status check_whole_op(struct chunks *chunks, uint32_t op, uint32_t of)
{
	const struct graph *before = chunks->before, *after = chunks->after;
	uint32_t reads = csr_length(&after->reads, op);
	bool seed = reads == 0 &&
		csr_length(&before->reads, of) == 1; /* a gradient of ones in the shape of a loss that isn't there yet */
	if (!seed && (!text_is(after->op[op].type, before->op[of].type) || csr_length(&before->reads, of) != reads))
		return check_wrong(chunks->check, "op \"%.100s\" is another one", before->op[of].name);
	FOR(i, reads) {
		struct portion part = chunks->part[csr_at(&after->reads, op, i)];
		if (part.kind != PART_WHOLE || part.of != csr_at(&before->reads, of, i))
			return check_wrong(chunks->check, "op \"%.100s\" reads other values", before->op[of].name);
	}
	FOR_ITEMS(written, &after->writes, op)
		chunks->part[written] = (struct portion){ PART_WHOLE,
			graph_find_tensor(before, chunks_tensor_name(chunks, written)), 0 };
	return OK;
}

/* ---- all of it ---- */

/* Whether an op that leaves rows out, or its reverse, says that so many elements of a tensor are left. */
static bool is_shortened(const struct chunks *chunks, int64_t elements, int64_t made)
{
	const struct graph *graph = chunks->before;
	FOR(op, graph->ops) {
		uint32_t result = csr_length(&graph->writes, op) == 1 ? csr_at(&graph->writes, op, 0) : NONE;
		if (result == NONE || base_of(chunks, result) == result)
			continue;
		int64_t in = chunks_elements_of(&graph->tensor[csr_at(&graph->reads, op, 0)]),
				out = chunks_elements_of(&graph->tensor[result]);
		if (made < elements && (made * in == elements * out || made * out == elements * in))
			return true;
	}
	return false;
}

/* Chunks of a result are its elements but for rows that are left out, or each has as many: terms of a sum. */
static enum status check_elements(struct chunks *chunks)
{
	FOR(t, chunks->before->tensors) {
		int64_t elements = chunks_elements_of(&chunks->before->tensor[t]), made = chunks->made[t];
		bool sum = chunks->next[t] == chunks->chunks || made == elements * chunks->chunks;
		if (made > 0 && made != elements && !sum && !is_shortened(chunks, elements, made))
			return check_wrong(chunks->check, "the chunks of \"%.100s\" are not all of it", chunks->before->tensor[t].name);
	}
	return OK;
}

/* Every old op runs: as it did, in every chunk, or it only passed rows on. */
static enum status check_all_run(struct chunks *chunks)
{
	char name[450];
	FOR(op, chunks->before->ops) {
		const struct op *old = &chunks->before->op[op];
		uint32_t found = 0;
		FOR_WHILE(c, chunks->chunks, graph_find_op(chunks->after, old->name) == NONE) {
			PRINT_TO(name, "%.400s.chunk%u", old->name, c);
			found += graph_find_op(chunks->after, name) != NONE;
		}
		uint32_t result = csr_length(&chunks->before->writes, op)
			? csr_at(&chunks->before->writes, op, 0)
			: NONE;
		bool summed = found == 1 && result != NONE &&
			chunks->next[result] == chunks->chunks; /* the other terms are products that add themselves */
		bool passes = found == 0 && result != NONE && base_of(chunks, result) != result;
		if (graph_find_op(chunks->after, old->name) == NONE && found != chunks->chunks && !summed && !passes)
			return check_wrong(chunks->check, "op \"%.100s\" runs in %u of %u chunks", old->name, found, chunks->chunks);
	}
	return OK;
}

/* Every op that runs in chunks does so once for each, on the same chunk of each operand that is cut and on the whole of
 * the others; parts of a result add up to its elements and are joined in order, sums have a term from every chunk; all
 * other ops read what they read before. How the chunks' losses are weighed is not looked at. INFEASIBLE with the op,
 * NO_MEMORY. O(graph). */
static enum status chunks_check(struct check *check, const struct graph *before, const struct graph *after)
{
	struct chunks chunks = { .check = check, .before = before, .after = after, .rules = check->rules };
	MAKE(chunks.part, after->tensors);
	MAKE(chunks.made, before->tensors);
	MAKE(chunks.next, before->tensors);
	enum status status = chunks.part && chunks.made && chunks.next ? OK : fail_memory(check->error);
	FOR_WHILE(t, after->tensors, status == OK) {
		uint32_t same = after->tensor[t].writer == NONE ? graph_find_tensor(before, after->tensor[t].name) : NONE;
		chunks.part[t] = (struct portion){ same == NONE ? PART_NONE : PART_WHOLE, same, 0 };
	}
	FOR_WHILE(op, after->ops, status == OK) {
		uint32_t of = graph_find_op(before, after->op[op].name), chunk = NONE;
		if (of != NONE)
			status = check_whole_op(&chunks, op, of);
		else if ((chunk = chunk_of(&chunks, after->op[op].name, true, &of)) != NONE)
			status = check_chunk_op(&chunks, op, of, chunk);
		else
			chunks_pass_on(&chunks, op);
	}
	THEN(status, check_elements(&chunks));
	THEN(status, check_all_run(&chunks));
	binding_free(&chunks.binding);
	mem_free(chunks.part);
	mem_free(chunks.made);
	mem_free(chunks.next);
	return status;
}

static enum status check_scale(struct check *check, const struct graph *before, const struct graph *after)
{
	const int64_t *value = check->scenario.value;
	int64_t batch = value[K_batch] == KNOB_GIVEN ? before->about.batch : value[K_batch],
			sequence = value[K_seq] == KNOB_GIVEN ? 0 : value[K_seq];
	bool given = value[K_batch] == KNOB_GIVEN && value[K_microbatches] <= 1;
	int64_t wanted = given || batch <= 0 ? 0 : batch / value[K_microbatches];
	const struct graph *base = growth_base(before);
	bool captured = base && wanted > 0 && wanted != before->about.batch;
	bool other = captured && before->other && before->other->about.batch == wanted;
	const struct graph *of = !captured ? before : other ? before->other : base;
	TRY(values_check(check, of, after, VALUES_COPIES | VALUES_NEEDLESS));
	if (captured && sequence == 0)
		return sizes_check_captured(check, of, after, wanted);
	return sizes_check(check, of, after, wanted, sequence);
}

static enum status check_optimizer(struct check *check, const struct graph *before, const struct graph *after)
{
	bool autocast = text_is(
		knob_text(K_precision, check->scenario.value[K_precision], TEXT(32)), "autocast");
	return values_check(check, before, after, (autocast ? VALUES_TWINS | VALUES_FORMATS : 0) |
		VALUES_CASTS | VALUES_UPDATES | (check->scenario.value[K_accumulation] > 1 ? VALUES_SUMS : 0));
}

/* Names in src/stages/table.c's table. check NULL: values_check() with what is allowed; -1: another part of the checker
 * looks at it, or nobody. */
static const struct {
	const char *step;
	enum status (*check)(struct check *check, const struct graph *before, const struct graph *after);
	const char *held, *trusted;
	int allowed;
} made[] = {
	{ "train", NULL,
		"the training step: the forward pass computes what the graph given computes, through casts and copies alone",
		"the backward pass and the weight update that rules made of the forward pass: that they compute gradients",
		VALUES_CASTS | VALUES_COPIES | VALUES_UPDATES | VALUES_GRADIENTS },
	{ "scale", check_scale,
		"another batch or sequence: every op reads the values that it read; weights stay, and shapes, bytes and FLOPs "
		"fit the operators' rules, "
		"or are those of a capture, or have grown by what each sample adds",
		"workspaces that are known at one batch, at another, and, of captures at one batch, which extents of equal "
		"size are "
		"samples", 0 },
	{ "optimizer", check_optimizer,
		"another precision, optimizer or accumulation: forward and backward ops read the values that they read, "
		"through casts alone",
		"the update that rules made, and in which format each tensor is computed", 0 },
	{ "loss chunks", chunks_check,
		"the loss in chunks: every op of it runs on every chunk, parts are all rows in their order, sums have a term "
		"from each",
		"how the chunks' losses are weighed", 0 },
	{ "host states", NULL,
		"optimizer state in the host: every op reads the values that it read, and what an update leaves is copied back",
		NULL, VALUES_STATES },
	{ "host states of a device", NULL, NULL, NULL, VALUES_STATES },
	{ "recompute", NULL, NULL, NULL, -1 }, /* recompute.c */
	{ "recompute to fit", NULL, NULL, NULL, -1 },
	{ "recompute a device's to fit", NULL, NULL, NULL, -1 },
	{ "float8", NULL, "8-bit products: every op reads the values that it read, through casts alone", NULL,
		VALUES_CASTS | VALUES_TWINS },
	{ "group heads", NULL, NULL, "attention that reads keys and values by groups, without copies of their heads", -1 },
	{ "late casts", NULL, "gradients summed before they are cast: every op reads the values that it read",
		NULL, VALUES_TWINS },
	{ "device form", NULL,
		"sums of gradients in another order: each has the same summands, and every other op reads the values that it "
		"read",
		NULL, VALUES_TWINS | VALUES_REGROUPED },
	{ "share views", NULL, "views that are left out: each has a twin that is the same", NULL, VALUES_TWINS },
	{ "shard", NULL, NULL, NULL, -1 },    /* device_graph_check() */
	{ "pipeline", NULL, NULL, NULL, -1 }, /* pipeline_check_ranks() */
	{ "late reruns", NULL, NULL, NULL, 0 },
	{ "in_place", NULL, "without writes in place: every op reads the values that it read",
		"without writes in place: that nothing is read under an older name once its memory was written over",
		VALUES_SEPARATE },
};

enum { STAGES = COUNT_OF(made) };

enum status made_check(void *context, const char *step, const struct graph *before, const struct graph *after)
{
	struct check *check = context;
	FOR(i, STAGES) {
		if (!text_is(made[i].step, step))
			continue;
		check->made |= before == after ? 0 : 1u << i;
		enum status status = before == after || made[i].allowed < 0 ? OK
			: made[i].check ? made[i].check(check, before, after)
			: values_check(check, before, after, (unsigned)made[i].allowed);
		if (status == INFEASIBLE) {
			char text[500];
			PRINT_TO(text, "%.480s", check->error->text);
			return check_wrong(check, "stage \"%s\": %.350s", step, text);
		}
		return status;
	}
	return check_wrong(check, "nothing is known of stage \"%.50s\"", step);
}

void made_report(const struct check *check)
{
	FOR(i, STAGES) {
		if ((check->made >> i & 1) == 0)
			continue;
		if (made[i].held)
			check_passed(check, made[i].held);
		if (made[i].trusted)
			check_trusted(check, made[i].trusted);
	}
}
