/* read.c: nodes become tensors and ops, edges become arguments.
 *
 * libcgraph keeps nodes in the order of their first mention. Ops are ordered by step=, those without one following
 * the op before them. */
#include <ctype.h>

#include "attributes.h"
#include "read.h"
#include "src/base/dot_text.h"

/* What a node is, bound to it. */
struct record {
	Agrec_t header;
	uint32_t op, tensor; /* of the draft; a teaching node is both */
	const char *name, *module; /* module: the path of the clusters around it, NULL where there are none */
	int64_t step;
	uint32_t sequence;
	Agnode_t *node;
	unsigned line; /* where its name is first met, 0: unknown */
};

/* libcgraph takes names as char *. */
static char record_name[] = "tidemark", order_name[] = "order", source_name[] = "source", extra_name[] = "extra";

struct reader {
	Agraph_t *dot;
	const char *text;
	struct draft *draft;
	struct error *error;
	struct arena arena; /* decoded texts */
	struct attributes attributes;
	Agsym_t *order;   /* of edges */
	uint32_t missing; /* results of teaching nodes without bytes= */
	uint32_t told, assumed, unknown; /* whose labels tell it; without a dtype; with None in it */
	bool full;
};

static struct record *record_of(Agnode_t *node)
{
	return (struct record *)node->base.data; /* bound first and locked there */
}

/* The end of the comment, or of the word, or of the string behind its first quote, that begins there; at itself: none.
 */
static char *read_token_end(char *at, bool string, unsigned *line)
{
	const char *end = string ? "\"" : at[0] == '/' && at[1] == '*' ? "*/" : at[0] == '/' && at[1] == '/' ? "\n" : NULL;
	for (; *at && (end ? strncmp(at, end, strlen(end)) != 0 : isalnum(*at & 0xff) || strchr("_.", *at) || *at & 0x80);
		at++) {
		at += string && at[0] == '\\' && at[1];
		*line += *at == '\n';
	}
	return at;
}

/* libcgraph knows no lines: a node's is that of the first word or string that is its name, where it has no escapes. */
static void dot_lines(struct record **list, struct names *names, char *at)
{
	unsigned line = 1;
	while (*at) {
		bool string = *at == '"';
		unsigned begins = line;
		char *word = at + string, *end = read_token_end(word, string, &line), after = *end;
		*end = '\0';
		uint32_t id = end > word ? names_find(names, word) : NONE;
		if (id != NONE && !list[id]->line)
			list[id]->line = begins;
		*end = after;
		line += !string && end == word && after == '\n';
		at = end + (after && (string || end == word));
	}
}

static enum status dot_find_lines(struct reader *reader, struct record **list)
{
	struct names names = { 0 };
	uint32_t count = 0;
	char *text = arena_text(&reader->arena, reader->text, strlen(reader->text));
	bool kept = text != NULL;
	for (Agnode_t *node = agfstnode(reader->dot); node; node = agnxtnode(reader->dot, node), count++) {
		kept &= names_add(&names, agnameof(node), count) != NONE;
		list[count] = record_of(node);
	}
	if (kept)
		dot_lines(list, &names, text);
	names_free(&names);
	return kept ? OK : fail_memory(reader->error);
}

static enum status read_bad(struct reader *reader, Agnode_t *node, const char *what, const char *value)
{
	reader->error->line = record_of(node)->line;
	return refuse(reader->error, "node \"%.100s\": %s%s%.60s%s", agnameof(node), what,
		value ? " \"" : "", value ? value : "", value ? "\"" : "");
}

static char *decoded(struct reader *reader, const char *text)
{
	char *copy = arena_text(&reader->arena, text, strlen(text));
	if (copy)
		dot_decode(copy);
	return copy;
}

/* ---- values ---- */

static enum status bytes_value(
	struct reader *reader, Agnode_t *node, enum attribute attribute, const char *what, int64_t *bytes, bool *there)
{
	const char *text = attribute_of(&reader->attributes, node, attribute);
	*there = text != NULL;
	if (!text || (parse_bytes(text, bytes) && *bytes <= BYTES_MAX))
		return OK;
	return read_bad(reader, node, what, text);
}

static enum status word_value(struct reader *reader, Agnode_t *node, enum attribute attribute, const char *what,
	const char *const *words, int count, uint8_t *value, bool *there)
{
	const char *text = attribute_of(&reader->attributes, node, attribute);
	*there = text != NULL;
	if (!text)
		return OK;
	int index = name_index(words, count, text);
	if (index < 0)
		return read_bad(reader, node, what, text);
	*value = (uint8_t)index;
	return OK;
}

static enum status extra_value(struct reader *reader, Agnode_t *node, enum record_kind record, const char **extra)
{
	char *text;
	enum status status = unknown_keys(&reader->attributes, node, record, &reader->arena, &text, reader->error);
	if (status == BAD_INPUT)
		reader->error->line = record_of(node)->line;
	*extra = text;
	return status == NO_MEMORY ? fail_memory(reader->error) : status;
}

/* ---- nodes ---- */

static bool is_tensor(const struct reader *reader, Agnode_t *node)
{
	return attribute_of(&reader->attributes, node, ATTRIBUTE_KIND) != NULL;
}

static enum status bind_node(struct reader *reader, Agnode_t *node)
{
	struct record *record = agbindrec(node, record_name, sizeof *record, 1);
	record->op = record->tensor = NONE;
	record->module = NULL;
	record->step = 0;
	record->sequence = 0;
	record->node = node;
	record->line = 0;
	const char *name = attribute_of(&reader->attributes, node, ATTRIBUTE_NAME);
	record->name = decoded(reader, name ? name : agnameof(node));
	if (!record->name)
		return fail_memory(reader->error);
	return *record->name ? OK : read_bad(reader, node, "the name is empty", NULL);
}

static enum status read_add_tensor(struct reader *reader, Agnode_t *node)
{
	struct record *record = record_of(node);
	struct tensor tensor = { .name = record->name, .alias = NONE, .dtype = DTYPE_OPAQUE, .line = record_of(node)->line };
	int64_t shape[DIMS_MAX];
	bool there;
	TRY(word_value(reader, node, ATTRIBUTE_KIND, "unknown kind", kind_names, KIND_COUNT, &tensor.kind, &there));
	TRY(bytes_value(reader, node, ATTRIBUTE_BYTES, "not a size in bytes:", &tensor.bytes, &tensor.has_bytes));
	TRY(word_value(
		reader, node, ATTRIBUTE_DTYPE, "unknown dtype", dtype_names, DTYPE_COUNT, &tensor.dtype, &tensor.has_dtype));
	TRY(extra_value(reader, node, RECORD_TENSOR, &tensor.extra));
	const char *dims = attribute_of(&reader->attributes, node, ATTRIBUTE_DIMS);
	if (dims && !parse_dims(dims, shape, &tensor.dims))
		return read_bad(reader, node, "not a list of sizes:", dims);
	tensor.has_shape = dims != NULL;
	tensor.shape = dims ? shape : NULL;
	if (!tensor.has_bytes && !attribute_of(&reader->attributes, node, ATTRIBUTE_ALIAS_OF)) {
		int64_t bits = dtype_bits[tensor.dtype];
		if (!tensor.has_shape || bits == 0)
			return read_bad(reader, node, "a tensor needs bytes=, or dims= and dtype=", NULL);
		FOR_INT(i, tensor.dims)
			if (__builtin_mul_overflow(bits, shape[i], &bits) || bits > BYTES_MAX)
				return read_bad(reader, node, "the size overflows", NULL);
		tensor.bytes = (bits + 7) / 8;
	}
	record->tensor = draft_tensor(reader->draft, &tensor);
	return record->tensor == NONE ? fail_memory(reader->error) : OK;
}

static enum status read_add_op(struct reader *reader, Agnode_t *node)
{
	struct record *record = record_of(node);
	struct op op = { .name = record->name, .type = "op", .module = "", .flops = -1, .line = record_of(node)->line };
	TRY(word_value(reader, node, ATTRIBUTE_PHASE, "unknown phase", phase_names, PHASE_COUNT, &op.phase, &op.has_phase));
	TRY(bytes_value(reader, node, ATTRIBUTE_WORKSPACE, "not a size in bytes:", &op.workspace, &op.has_workspace));
	TRY(extra_value(reader, node, RECORD_OP, &op.extra));
	const char *flops = attribute_of(&reader->attributes, node, ATTRIBUTE_FLOPS);
	if (flops && !parse_integer(flops, &op.flops))
		return read_bad(reader, node, "not a number of operations:", flops);
	const char *type = attribute_of(&reader->attributes, node, ATTRIBUTE_OP);
	const char *label = reader->full ? NULL : attribute_of(&reader->attributes, node, ATTRIBUTE_LABEL);
	if (!type && label && !strchr(label, '\\') && !aghtmlstr(agxget(node, reader->attributes.symbol[ATTRIBUTE_LABEL])))
		type = label;
	if (type && !(op.type = decoded(reader, type)))
		return fail_memory(reader->error);
	const char *module = attribute_of(&reader->attributes, node, ATTRIBUTE_MODULE);
	op.has_module = module || record->module;
	if (module && !(op.module = decoded(reader, module)))
		return fail_memory(reader->error);
	if (!module && record->module)
		op.module = record->module;
	if (reader->full && attribute_of(&reader->attributes, node, ATTRIBUTE_BYTES))
		return read_bad(reader, node, "bytes= on an op: a tensor needs kind=", NULL);
	record->op = draft_op(reader->draft, &op);
	return record->op == NONE ? fail_memory(reader->error) : OK;
}

/* The size of a node without bytes= is what another tool's label says of it. */
static enum status read_label_size(struct reader *reader, Agnode_t *node, int64_t *bytes)
{
	const char *label = attribute_of(&reader->attributes, node, ATTRIBUTE_LABEL);
	char *text = label ? arena_text(&reader->arena, label, strlen(label)) : NULL;
	struct label_size size;
	if (label && !text)
		return fail_memory(reader->error);
	bool told = label && label_size(text, aghtmlstr(agxget(node, reader->attributes.symbol[ATTRIBUTE_LABEL])), &size);
	reader->missing += !told;
	reader->told += told;
	if (!told)
		return OK;
	reader->assumed += size.assumed;
	reader->unknown += size.unknown;
	*bytes = size.bytes;
	return OK;
}

/* The one result of a teaching node, and what it keeps for itself. */
static enum status read_add_result(struct reader *reader, Agnode_t *node)
{
	struct record *record = record_of(node);
	enum phase phase = draft_op_at(reader->draft, record->op)->phase;
	struct tensor result = { .name = record->name, .alias = NONE, .dtype = DTYPE_OPAQUE, .line = record_of(node)->line,
		.kind = phase == PHASE_BACKWARD ? KIND_GRADIENT : KIND_ACTIVATION, .has_bytes = true };
	struct tensor kept = result;
	bool there;
	TRY(bytes_value(reader, node, ATTRIBUTE_BYTES, "not a size in bytes:", &result.bytes, &there));
	TRY(bytes_value(reader, node, ATTRIBUTE_PERSISTENT, "not a size in bytes:", &kept.bytes, &there));
	if (!attribute_of(&reader->attributes, node, ATTRIBUTE_BYTES))
		TRY(read_label_size(reader, node, &result.bytes));
	record->tensor = draft_tensor(reader->draft, &result);
	if (record->tensor == NONE || draft_write(reader->draft, record->op, record->tensor) != OK)
		return fail_memory(reader->error);
	if (!there)
		return OK;
	char name[600];
	PRINT_TO(name, "%.500s.persistent", record->name);
	kept.name = name;
	kept.kind = KIND_PARAMETER;
	uint32_t id = draft_tensor(reader->draft, &kept);
	return id == NONE || draft_read(reader->draft, record->op, id) != OK ? fail_memory(reader->error) : OK;
}

static int read_by_step(const void *a, const void *b)
{
	const struct record *one = *(struct record *const *)a, *two = *(struct record *const *)b;
	if (one->step != two->step)
		return one->step < two->step ? -1 : 1;
	return one->sequence < two->sequence ? -1 : 1;
}

/* Tensors as they come; ops are collected into list and sorted. */
static enum status read_add_nodes(struct reader *reader, struct record **list, uint32_t *ops)
{
	int64_t step = 0;
	uint32_t sequence = 0;
	enum status status = OK;
	for (Agnode_t *node = agfstnode(reader->dot); node && status == OK; node = agnxtnode(reader->dot, node)) {
		struct record *record = record_of(node);
		record->sequence = sequence++;
		if (reader->full && is_tensor(reader, node)) {
			status = read_add_tensor(reader, node);
			continue;
		}
		const char *text = attribute_of(&reader->attributes, node, ATTRIBUTE_STEP);
		if (text && !parse_integer(text, &step))
			return read_bad(reader, node, "not a step:", text);
		record->step = step;
		list[(*ops)++] = record;
	}
	if (*ops)
		qsort(list, *ops, sizeof *list, read_by_step);
	for (uint32_t i = 0; i < *ops && status == OK; i++) {
		status = read_add_op(reader, list[i]->node);
		if (status == OK && !reader->full)
			status = read_add_result(reader, list[i]->node);
	}
	return status;
}

/* ---- edges ---- */

static bool is_control(const struct reader *reader, Agedge_t *edge)
{
	const char *order = reader->order ? agxget(edge, reader->order) : NULL;
	return order && *order && strcmp(order, "0") != 0;
}

static enum status bad_edge(struct reader *reader, Agnode_t *from, Agnode_t *to, const char *what)
{
	reader->error->line = record_of(from)->line;
	return refuse(reader->error, "edge \"%.60s\" -> \"%.60s\": %s", agnameof(from), agnameof(to), what);
}

/* An edge into an op: something that it reads, or an op that it waits for. */
static enum status read_add_argument(struct reader *reader, Agnode_t *from, Agnode_t *to, bool control)
{
	const struct record *source = record_of(from), *op = record_of(to);
	enum status status;
	if (control && source->op == NONE)
		return bad_edge(reader, from, to, "order=1 belongs between two ops");
	if (!control && source->tensor == NONE)
		return bad_edge(reader, from, to, "from op to op: there must be a tensor between them, or order=1 on the edge");
	if (control)
		status = draft_after(reader->draft, op->op, source->op);
	else
		status = draft_read(reader->draft, op->op, source->tensor);
	return status == OK ? OK : fail_memory(reader->error);
}

static enum status read_add_edge(struct reader *reader, Agedge_t *edge)
{
	Agnode_t *from = agtail(edge), *to = aghead(edge);
	if (record_of(to)->op != NONE)
		return read_add_argument(reader, from, to, is_control(reader, edge));
	if (record_of(from)->op == NONE)
		return bad_edge(reader, from, to, "from tensor to tensor: there must be an op between them, or alias_of=");
	enum status status = draft_write(reader->draft, record_of(from)->op, record_of(to)->tensor);
	return status == OK ? OK : fail_memory(reader->error);
}

static int by_sequence(const void *a, const void *b)
{
	uint32_t one = AGSEQ(*(Agedge_t *const *)a), two = AGSEQ(*(Agedge_t *const *)b);
	return one < two ? -1 : one > two;
}

/* libcgraph lists a node's edges by neighbour: sorted, they are in the order of the file, which is that of the
 * arguments. */
static enum status read_add_edges(struct reader *reader)
{
	uint32_t edges = (uint32_t)agnedges(reader->dot), count = 0;
	Agedge_t **list;
	if (!ROOM(&reader->arena, list, edges))
		return fail_memory(reader->error);
	for (Agnode_t *node = agfstnode(reader->dot); node; node = agnxtnode(reader->dot, node))
		for (Agedge_t *edge = agfstout(reader->dot, node); edge; edge = agnxtout(reader->dot, edge))
			list[count++] = edge;
	if (count)
		qsort(list, count, sizeof *list, by_sequence);
	FOR(i, count)
		TRY(read_add_edge(reader, list[i]));
	return OK;
}

/* The tensor of a name in alias_of= or inplace=, NONE where there is none. */
static uint32_t find_tensor(struct reader *reader, const char *text, size_t length)
{
	char *name = arena_text(&reader->arena, text, length);
	if (!name)
		return NONE;
	dot_decode(name);
	return draft_find_tensor(reader->draft, name);
}

static enum status read_add_alias(struct reader *reader, Agnode_t *node)
{
	const char *text = attribute_of(&reader->attributes, node, ATTRIBUTE_ALIAS_OF);
	if (!text || !reader->full || record_of(node)->tensor == NONE)
		return OK;
	uint32_t alias = find_tensor(reader, text, strlen(text));
	if (alias == NONE)
		return read_bad(reader, node, "alias_of: unknown tensor", text);
	draft_tensor_at(reader->draft, record_of(node)->tensor)->alias = alias;
	return OK;
}

/* One pair "out:in" or ":in". Names may hold colons: the first split into two known names counts. */
static enum status read_add_pair(struct reader *reader, Agnode_t *node, const char *text, size_t length)
{
	for (const char *colon = text; (colon = memchr(colon, ':', (size_t)(text + length - colon))); colon++) {
		uint32_t out = colon == text ? NONE : find_tensor(reader, text, (size_t)(colon - text));
		uint32_t in = find_tensor(reader, colon + 1, (size_t)(text + length - colon - 1));
		if (in == NONE || (out == NONE && colon > text))
			continue;
		return draft_inplace(reader->draft, record_of(node)->op, out, in) == OK ? OK : fail_memory(reader->error);
	}
	return read_bad(reader, node, "inplace must be \"out:in\" with names of tensors, not", text);
}

static enum status add_inplace(struct reader *reader, Agnode_t *node)
{
	const char *text = attribute_of(&reader->attributes, node, ATTRIBUTE_INPLACE);
	if (!text || record_of(node)->op == NONE)
		return OK;
	enum status status = OK;
	while (*text && status == OK) {
		size_t length = strcspn(text, ",");
		status = read_add_pair(reader, node, text, length);
		text += length;
		text += strspn(text, ", ");
	}
	return status;
}

/* ---- the graph ---- */

/* The subgraph after this one in the order parent, children; NULL at the end. */
static Agraph_t *next_subgraph(Agraph_t *root, Agraph_t *subgraph)
{
	Agraph_t *next = agfstsubg(subgraph);
	while (!next && subgraph != root) {
		next = agnxtsubg(subgraph);
		subgraph = agparent(subgraph);
	}
	return next;
}

/* Clusters are modules: `subgraph cluster_encoder { subgraph cluster_0 {` is encoder.0. Inner ones come
 * later and overwrite. */
static enum status name_modules(struct reader *reader)
{
	for (Agraph_t *sub = next_subgraph(reader->dot, reader->dot); sub; sub = next_subgraph(reader->dot, sub)) {
		const char *name = agnameof(sub);
		if (!name || strncmp(name, "cluster", 7) != 0)
			continue;
		name += 7 + (name[7] == '_');
		const char *path = NULL;
		for (Agnode_t *node = agfstnode(sub); node; node = agnxtnode(sub, node)) {
			struct record *record = record_of(node);
			if (!path) {
				const char *outer = agparent(sub) == reader->dot ? NULL : record->module;
				char text[600];
				PRINT_TO(text, "%.290s%s%.290s", outer ? outer : "", outer ? "." : "", name);
				if (!(path = decoded(reader, text)))
					return fail_memory(reader->error);
			}
			record->module = path;
		}
	}
	return OK;
}

/* What is said of the file: nodes without a size, and attributes that look like misspelled ones of ours. */
static enum status describe_intake(struct reader *reader)
{
	char assumed[2000] = "";
	size_t used = 0;
	for (uint32_t i = 0; i < reader->attributes.foreigns && used + 200 < sizeof assumed; i++) {
		const char *name = reader->attributes.foreign[i]->name, *meant = attribute_meant(name);
		if (meant)
			used += (size_t)snprintf(assumed + used, sizeof assumed - used,
				"%sthe attribute %.60s= means nothing here and is kept as it is: did you mean %s=?", used ? "\n" : "",
				name, meant);
	}
	if (reader->assumed)
		used += (size_t)snprintf(assumed + used, sizeof assumed - used,
			"%s%u size%s in labels without a dtype count as float32",
			used ? "\n" : "", reader->assumed, reader->assumed == 1 ? "" : "s");
	if (reader->unknown)
		used += (size_t)snprintf(assumed + used, sizeof assumed - used, "%sNone in the shapes of %u label%s counts as 1",
			used ? "\n" : "", reader->unknown, reader->unknown == 1 ? "" : "s");
	struct about about = { .intake = { .said = true,
							   .format = "DOT graph",
							   .inferred = reader->told,
							   .missing = reader->missing,
							   .assumed = used ? assumed : NULL,
							   .advice = reader->missing
								   ? "give each node its size: NODE [bytes=\"4MiB\"] (bytes=0 where it makes nothing)"
								: NULL } };
	if (!used && !reader->missing && !reader->told)
		return OK;
	return draft_describe(reader->draft, NULL, NULL, NULL, &about) == OK ? OK : fail_memory(reader->error);
}

static enum status read_describe(struct reader *reader)
{
	const char *name = agnameof(reader->dot), *source = agget(reader->dot, source_name),
			   *extra = agget(reader->dot, extra_name);
	char *texts[3] = { NULL };
	if (name && *name && *name != '%' && !(texts[0] = decoded(reader, name)))
		return fail_memory(reader->error);
	if (source && *source && !(texts[1] = decoded(reader, source)))
		return fail_memory(reader->error);
	if (extra && *extra && !(texts[2] = decoded(reader, extra)))
		return fail_memory(reader->error);
	TRY(texts[2] ? check_extra(texts[2], RECORD_GRAPH, reader->error) : OK);
	if (draft_describe(reader->draft, texts[0], texts[1], texts[2], NULL) != OK)
		return fail_memory(reader->error);
	return OK;
}

static enum status for_nodes(struct reader *reader, enum status (*visit)(struct reader *, Agnode_t *))
{
	enum status status = OK;
	for (Agnode_t *node = agfstnode(reader->dot); node && status == OK; node = agnxtnode(reader->dot, node))
		status = visit(reader, node);
	return status;
}

static enum status dot_read_all(struct reader *reader)
{
	if (!agisdirected(reader->dot))
		return refuse(reader->error, "the edges have no direction: write digraph and ->");
	uint32_t nodes = (uint32_t)agnnodes(reader->dot), ops = 0;
	struct record **list;
	if (!ROOM(&reader->arena, list, nodes) || attributes_find(reader->dot, &reader->arena, &reader->attributes) != OK)
		return fail_memory(reader->error);
	reader->order = agattr(reader->dot, AGEDGE, order_name, NULL);
	for (Agnode_t *node = agfstnode(reader->dot); node; node = agnxtnode(reader->dot, node)) {
		TRY(bind_node(reader, node));
		reader->full |= is_tensor(reader, node);
	}
	TRY(dot_find_lines(reader, list));
	TRY(read_describe(reader));
	TRY(name_modules(reader));
	TRY(read_add_nodes(reader, list, &ops));
	TRY(read_add_edges(reader));
	TRY(for_nodes(reader, read_add_alias));
	if (!agget(reader->dot, extra_name))
		TRY(describe_intake(reader));
	return for_nodes(reader, add_inplace);
}

struct graph *read_dot(Agraph_t *dot, const char *text, struct error *error)
{
	struct error unused = { 0 };
	struct reader reader = { .dot = dot, .text = text, .error = error ? error : &unused };
	reader.draft = draft_new();
	enum status status = reader.draft ? dot_read_all(&reader) : fail_memory(reader.error);
	struct graph *graph = NULL;
	if (status == OK)
		graph = graph_build(reader.draft, reader.error);
	else
		error_set(error, status);
	draft_free(reader.draft);
	arena_free(&reader.arena);
	return graph;
}
