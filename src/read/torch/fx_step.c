/* fx_step.c: from FX graphs to a step: forward and backward of one compilation are joined by the names of what is
 * saved. */
#include <stdlib.h>

#include "fx.h"
#include "solver/rules/rules.h"
#include "src/base/words.h"

/* A step that a log offers: first the forward, joint or only graph, then its backward graph or NULL. */
struct offer { const struct fx_graph *first, *backward; };

/* What of a step that is. */
enum part { PART_FORWARD, PART_BACKWARD, PART_UPDATE, PART_BOTH, PART_UNKNOWN };

#define STRANGERS 6 /* types without a rule that are named */

struct making {
	struct draft *draft;
	struct rules *rules;
	struct error *error;
	struct arena arena;
	const struct fx_log *log;
	const struct fx_graph *forward; /* with a backward graph: the forward one */
	uint32_t *of_forward;           /* [its values]: tensors */
	uint32_t missing, unknown, tangents, convolutions;
	struct { const char *type; uint32_t ops; } stranger[STRANGERS];
	struct names groups; /* of collectives: sizes by name */
	uint32_t axes;       /* of the mesh of the step's DTensors */
	uint32_t ranks, unsized; /* the largest group of a collective; collectives of a group whose size nobody says */
	const char *group; /* the first of those */
	enum phase phase;
	bool unphased; /* of no op is said which */
	bool split;    /* one graph holds several */
};

/* ---- which graphs are a step ---- */

/* The offers of a log, at most as many as it has graphs. A joint graph gives way to the partitioned ones of its
 * compilation, which follow it. */
static uint32_t find_offers(const struct fx_log *log, struct offer *offer)
{
	uint32_t count = 0;
	FOR(i, log->graphs) {
		const struct fx_graph *graph = &log->graph[i];
		struct offer *open = NULL;
		for (uint32_t o = count; o-- > 0 && !open;)
			if (strcmp(offer[o].first->id, graph->id) == 0)
				open = &offer[o];
		if (graph->kind == FX_BACKWARD && open && open->first->kind == FX_FORWARD && !open->backward)
			open->backward = graph;
		else if (graph->kind == FX_FORWARD && open && open->first->kind == FX_JOINT)
			*open = (struct offer){ graph, NULL };
		else
			offer[count++] = (struct offer){ graph, NULL };
	}
	return count;
}

/* "aten.add_.Tensor" writes into its first argument. */
static bool writes_argument(const char *type)
{
	const char *first = strchr(type, '.'), *dot = first ? strchr(first + 1, '.') : NULL;
	return dot && dot > first + 1 && dot[-1] == '_' && !(dot - first > 2 && dot[-2] == '_');
}

/* Of a graph that has no partner: whether it gives nothing back and writes over what it was given, as an optimizer's
 * step does. */
static bool updates(const struct fx_graph *graph)
{
	uint32_t given = 0, written = 0;
	FOR(i, graph->results)
		given += graph->result[i] != NONE;
	FOR(n, graph->nodes) {
		const struct fx_node *node = &graph->node[n];
		written += node->reads > 0 && writes_argument(node->type) && graph->value[graph->argument[node->read]].input;
	}
	return given == 0 && written > 0;
}

static bool differentiates(const struct fx_graph *graph)
{
	FOR(n, graph->nodes)
		if (rules_named_backward(graph->node[n].type))
			return true;
	return false;
}

static bool takes_gradients(const struct fx_graph *graph)
{
	FOR(n, graph->nodes)
		if (graph->node[n].gradient)
			return true;
	return false;
}

static enum part part_of_graph(const struct fx_graph *graph)
{
	if (graph->kind == FX_JOINT)
		return PART_BOTH;
	if (graph->kind == FX_BACKWARD || graph->autograd)
		return PART_BACKWARD;
	return takes_gradients(graph) ? PART_BOTH
		: updates(graph) ? PART_UPDATE
		: differentiates(graph) ? PART_UNKNOWN
		: PART_FORWARD;
}

static enum part fx_step_part_of(const struct offer *offer)
{
	return offer->backward ? PART_BOTH : part_of_graph(offer->first);
}

static const char *offer_kind(const struct offer *offer)
{
	static const char *const kinds[] = { [PART_FORWARD] = "forward only",
		[PART_BACKWARD] = "backward only",
		[PART_UPDATE] = "update only",
		[PART_BOTH] = "joint",
		[PART_UNKNOWN] = "forward and backward in one" };
	enum part part = fx_step_part_of(offer);
	if (part == PART_BOTH && offer->first->kind != FX_JOINT && !offer->backward)
		return "forward and backward in one";
	return offer->backward ? "forward and backward"
		: part == PART_FORWARD && offer->first->kind == FX_INFERENCE ? "inference"
		: kinds[part];
}

static uint32_t offer_nodes(const struct offer *offer)
{
	return offer->first->nodes + (offer->backward ? offer->backward->nodes : 0);
}

/* ---- names ---- */

static const char *fx_step_unique(
	struct making *making, const char *text, uint32_t (*find)(const struct draft *, const char *))
{
	char name[400];
	PRINT_TO(name, "%.300s%s", text,
		making->phase == PHASE_BACKWARD && find(making->draft, text) != NONE ? ".bw" : "");
	draft_unique(making->draft, name, strnlen(text, 300), find);
	return arena_text(&making->arena, name, strlen(name));
}

/* ---- tensors ---- */

/* Of every axis of the DTensors' mesh. */
static bool mesh_known(const struct making *making)
{
	FOR(a, making->axes)
		if (making->log->mesh[a] == 0)
			return false;
	return making->axes > 0;
}

/* Axes of the mesh of a graph's DTensors; 0: it has none. Others of the log may have some. */
static uint32_t mesh_axes(const struct fx_graph *graph)
{
	uint32_t axes = 0;
	for (uint32_t v = 0; graph && v < graph->values; v++)
		axes = LARGER(graph->value[v].places.axes, axes);
	return axes;
}

/* Bits of a value's elements; false where they are more than 2^60. */
static bool bits_of(const struct fx_value *value, int64_t *bits)
{
	*bits = value->typed ? dtype_bits[value->dtype] : 0;
	FOR_INT(i, value->dims)
		if (__builtin_mul_overflow(*bits, value->dim[i], bits) || *bits > BYTES_MAX)
			return false;
	return true;
}

/* like: a value whose memory it keeps, where that is larger; NULL: none. */
static uint32_t fx_step_add_tensor(
	struct making *making, const struct fx_value *value, const struct fx_value *like, enum kind kind, uint32_t alias)
{
	struct tensor tensor = { .name = fx_step_unique(making, value->name, draft_find_tensor),
		.alias = alias,
		.kind = (uint8_t)kind,
		.dtype = value->dtype,
		.dims = value->dims,
		.shape = value->dim,
		.has_shape = value->typed && !value->unsized,
		.has_dtype = value->typed,
		.has_bytes = true,
		.line = value->line };
	if (mesh_known(making))
		tensor.places = value->places.axes == making->axes && value->places.axes ? &value->places : NULL;
	int64_t bits, kept;
	if (!bits_of(value, &bits)) {
		making->error->line = value->line;
		refuse(making->error, "the size of \"%.60s\" overflows", value->name);
		return NONE;
	}
	if (like && !like->unsized && bits_of(like, &kept))
		bits = LARGER(kept, bits);
	if (!tensor.has_shape)
		tensor.shape = NULL, tensor.dims = 0;
	tensor.bytes = value->unsized ? 0 : (bits + 7) / 8;
	making->missing += value->unsized;
	uint32_t id = tensor.name ? draft_tensor(making->draft, &tensor) : NONE;
	if (id == NONE)
		fail_memory(making->error);
	return id;
}

/* Which inputs the step gives a gradient for: those are its parameters. Of a graph with gradients the results behind
 * are in the inputs' order. */
static void find_trained(const struct fx_graph *graph, const struct fx_graph *gradients, bool *trained)
{
	uint32_t inputs = 0, skip = 0;
	FOR(i, graph->values)
		inputs += graph->value[i].input && text_begins(graph->value[i].name, "primals_");
	if (!gradients || gradients->results < inputs)
		return;
	skip = gradients->results - inputs; /* of a joint graph, its own results */
	for (uint32_t i = 0, k = 0; i < graph->values; i++)
		if (graph->value[i].input && text_begins(graph->value[i].name, "primals_"))
			trained[i] = gradients->result[skip + k++] != NONE;
}

static enum kind input_kind(const struct fx_value *value, bool trained)
{
	if (value->role == FX_PARAMETER)
		return KIND_PARAMETER;
	if (value->role == FX_BUFFER)
		return KIND_BUFFER;
	if (trained)
		return KIND_PARAMETER;
	return text_begins(value->name, "tangents_") ? KIND_GRADIENT : KIND_INPUT;
}

/* ---- ops ---- */

static const struct { const char *word, *type;
} collectives[] = {
	{ "all_reduce", "comm.all_reduce" },
	{ "all_gather_into_tensor", "comm.all_gather" },
	{ "reduce_scatter_tensor", "comm.reduce_scatter" },
	{ "all_to_all_single", "comm.all_to_all" },
};

/* How many devices take part: as the op says it, or another one of the same group. */
static enum status fx_step_find_groups(struct making *making)
{
	const struct fx_log *log = making->log;
	FOR(g, log->graphs)
		FOR(n, log->graph[g].nodes) {
			const struct fx_node *node = &log->graph[g].node[n];
			bool lists = text_begins(node->type, "_c10d_functional.all_to_all_single");
			int64_t size = lists ? node->listed : node->group;
			if (!node->text || !text_begins(node->type, "_c10d_functional.") || size < 1 || size >= NONE ||
				names_find(&making->groups, node->text) != NONE)
				continue;
			if (names_add(&making->groups, node->text, (uint32_t)size) == NONE)
				return fail_memory(making->error);
		}
	return OK;
}

/* "group5=4" among the sizes given; 0: nobody gives one. */
static uint32_t given_size(const struct fx_log *log, const char *group)
{
	FOR(i, log->dims) {
		const char *equals = strchr(log->dim[i], '=');
		if (text_begins(log->dim[i], "group") && equals && (size_t)(equals - log->dim[i]) == strlen(group) + 5 &&
			text_begins(log->dim[i] + 5, group)) {
			long long size = strtoll(equals + 1, NULL, 10);
			return size > 0 && size < 1 << 20 ? (uint32_t)size : 0;
		}
	}
	return 0;
}

static uint32_t group_size(struct making *making, const struct fx_node *node)
{
	uint32_t size = node->text ? names_find(&making->groups, node->text) : NONE;
	if (size == NONE)
		size = text_begins(node->type, "_c10d_functional.") && node->group > 0 && node->group < NONE
			? (uint32_t)node->group
			: 0;
	if (size == 0 && node->text) {
		size = given_size(making->log, node->text);
		making->unsized += size == 0;
		making->group = size == 0 && !making->group ? node->text : making->group;
	}
	making->ranks = LARGER(size, making->ranks);
	return size;
}

/* "prim.redistribute.default", under whichever namespace a version has it. */
static bool redistributes(const char *called)
{
	return strstr(called, "redistribute") != NULL;
}

/* A DTensor that is given another placement: the collective that does it, NULL where each device cuts its own piece. */
static const char *redistribution(
	const struct making *making, const struct fx_graph *graph, uint32_t n, struct collective *said)
{
	const struct fx_node *node = &graph->node[n];
	const struct fx_value *from = node->reads ? &graph->value[graph->argument[node->read]] : NULL, *to = NULL;
	for (uint32_t v = 0; v < graph->values && !to; v++)
		to = graph->value[v].node == n ? &graph->value[v] : NULL;
	uint32_t axes = from && to && from->places.axes == to->places.axes ? to->places.axes : 0;
	FOR(a, axes) {
		const char *type = place_move(from->places.on[a], to->places.on[a]);
		if (!type)
			continue;
		said->from = from->places;
		said->to = to->places;
		said->size = making->log->mesh[a];
		PRINT_TO(said->axis, "mesh%u", a % 10);
		return type;
	}
	return axes ? "aten.slice.Tensor" : NULL;
}

static const char *fx_step_op_type(const struct fx_node *node)
{
	if (text_begins(node->type, "_dtensor.shard_dim_alltoall"))
		return "comm.all_to_all";
	if (text_begins(node->type, "_c10d_functional."))
		FOR(i, COUNT_OF(collectives))
			if (text_begins(node->type + strlen("_c10d_functional."), collectives[i].word))
				return collectives[i].type;
	return node->type;
}

static bool fx_step_is_view(const struct making *making, const char *type)
{
	const struct rule *rule = rules_find(making->rules, type);
	return (rule && rule->cost == COST_NONE) || text_begins(type, "_c10d_functional.wait_tensor");
}

/* Of types without a rule the first ones are kept, to be named. */
static void count_type(struct making *making, const struct op *op)
{
	const struct rule *rule = rules_find(making->rules, op->type);
	making->convolutions += rule && rules_traits(making->rules, op->type) & TRAIT_CONVOLUTION;
	if (rule || op->collective || text_begins(op->type, "_c10d_functional.wait_tensor"))
		return;
	making->unknown++;
	FOR(i, STRANGERS) {
		if (making->stranger[i].ops && strcmp(making->stranger[i].type, op->type) != 0)
			continue;
		making->stranger[i].type = op->type;
		making->stranger[i].ops++;
		return;
	}
}

/* The op of a node with its values, which follow it in the list; *tensor is of the graph's values. */
static enum status fx_step_add_op(struct making *making, const struct fx_graph *graph, uint32_t n,
	uint32_t *first_value, uint32_t *tensor, const bool *late)
{
	const struct fx_node *node = &graph->node[n];
	struct collective said = collective_unsaid();
	struct op op = { .name = fx_step_unique(making, node->name, draft_find_op),
		.type = fx_step_op_type(node),
		.module = "",
		.src = node->src,
		.flops = -1,
		.has_phase = !making->unphased,
		.phase = (uint8_t)making->phase,
		.line = node->line };
	if (!op.name)
		return fail_memory(making->error);
	const char *moved = redistributes(node->type) ? redistribution(making, graph, n, &said) : NULL;
	op.type = moved ? moved : op.type;
	if (collective_of_type(op.type) != COLLECTIVE_KINDS) {
		said.size = moved ? said.size : group_size(making, node);
		op.collective = &said;
	}
	count_type(making, &op);
	uint32_t id = draft_op(making->draft, &op), source = NONE;
	enum status status = id == NONE ? NO_MEMORY : OK;
	for (uint32_t k = 0; k < node->reads && status == OK; k++) {
		uint32_t read = tensor[graph->argument[node->read + k]];
		source = source == NONE ? read : source;
		if (read != NONE)
			status = draft_read(making->draft, id, read);
	}
	bool view = fx_step_is_view(making, moved ? moved : node->type), inplace = writes_argument(node->type),
		 roomy = node->reads && !making->log->fused && rules_keeps_room(making->rules, node->type);
	const struct fx_value *like = roomy ? &graph->value[graph->argument[node->read]] : NULL;
	for (; *first_value < graph->values &&
		(graph->value[*first_value].input || graph->value[*first_value].node <= n ||
			graph->value[*first_value].node == NONE) &&
		status == OK;
		++*first_value) {
		const struct fx_value *value = &graph->value[*first_value];
		if (value->node != n || !value->typed)
			continue;
		uint32_t out = fx_step_add_tensor(making, value, like,
			late[*first_value] ? KIND_OUTPUT
			: making->phase == PHASE_BACKWARD ? KIND_GRADIENT
			: KIND_ACTIVATION,
			view || inplace ? source : NONE);
		if (out == NONE)
			return making->error->status;
		tensor[*first_value] = out;
		status = draft_write(making->draft, id, out);
		if (status == OK && inplace && source != NONE)
			status = draft_inplace(making->draft, id, out, source);
	}
	return status == OK ? OK : fail_memory(making->error);
}

/* What stands for the loss: it reads the forward graph's result and makes its gradient. */
static enum status add_tangent(struct making *making, const struct fx_value *value, uint32_t *tensor)
{
	const struct fx_graph *forward = making->forward;
	struct op op = { .name = fx_step_unique(making, value->name, draft_find_op),
		.type = "aten.ones_like.default",
		.module = "",
		.flops = 0,
		.phase = PHASE_BACKWARD,
		.has_phase = true };
	uint32_t number = making->tangents++;
	uint32_t result = forward && number < forward->results ? forward->result[number] : NONE;
	*tensor = fx_step_add_tensor(making, value, NULL, KIND_GRADIENT, NONE);
	if (*tensor == NONE)
		return making->error->status;
	uint32_t id = op.name ? draft_op(making->draft, &op) : NONE;
	if (id == NONE || draft_write(making->draft, id, *tensor) != OK)
		return fail_memory(making->error);
	if (result != NONE && making->of_forward[result] != NONE &&
		draft_read(making->draft, id, making->of_forward[result]) != OK)
		return fail_memory(making->error);
	return OK;
}

static enum status add_input(struct making *making, const struct fx_value *value, bool trained, uint32_t *tensor)
{
	if (text_begins(value->name, "tangents_"))
		return add_tangent(making, value, tensor);
	for (uint32_t i = 0; making->forward && making->phase == PHASE_BACKWARD && i < making->forward->values; i++)
		if (strcmp(making->forward->value[i].name, value->name) == 0 && making->of_forward[i] != NONE) {
			*tensor = making->of_forward[i];
			return OK;
		}
	*tensor = fx_step_add_tensor(making, value, NULL, input_kind(value, trained), NONE);
	return *tensor == NONE ? making->error->status : OK;
}

/* The step returns what its last graph does, and keeps the numbers of its first graph of which there are gradients:
 * losses, which programs hold. */
static void fx_step_find_late(const struct fx_graph *graph, const struct fx_graph *backward, bool *late)
{
	uint32_t results = graph->results;
	if (backward) {
		results = 0;
		FOR(i, backward->values)
			results += backward->value[i].input && text_begins(backward->value[i].name, "tangents_");
	}
	for (uint32_t i = 0; i < results && i < graph->results; i++)
		if (graph->result[i] != NONE)
			late[graph->result[i]] = !backward ||
				(graph->value[graph->result[i]].typed && graph->value[graph->result[i]].dims == 0);
}

/* The tensors of a graph's values, in *result; NULL with *error. backward: the graph of its backward pass, where
 * another one follows. */
static uint32_t *fx_step_add_graph(
	struct making *making, const struct fx_graph *graph, const bool *trained, const struct fx_graph *backward)
{
	uint32_t *tensor;
	bool *late;
	uint8_t *phase;
	if (!(ROOM(&making->arena, tensor, (size_t)graph->values + 1) &&
		ROOM(&making->arena, late, (size_t)graph->values + 1) && fx_phases(&making->arena, graph, &phase) == OK)) {
		fail_memory(making->error);
		return NULL;
	}
	FOR(i, graph->values)
		tensor[i] = NONE;
	fx_step_find_late(graph, backward, late);
	FOR(i, graph->values)
		if (graph->value[i].input && graph->value[i].typed && !text_begins(graph->value[i].name, "tangents_") &&
			add_input(making, &graph->value[i], trained && trained[i], &tensor[i]) != OK)
			return NULL;
	uint32_t value = 0;
	FOR(n, graph->nodes) {
		/* The gradient of a result comes when the first op needs it. */
		FOR(k, graph->node[n].reads) {
			uint32_t read = graph->argument[graph->node[n].read + k];
			if (tensor[read] == NONE && graph->value[read].input && graph->value[read].typed &&
				add_input(making, &graph->value[read], false, &tensor[read]) != OK)
				return NULL;
		}
		if (phase && making->split)
			making->phase = phase[n];
		if (fx_step_add_op(making, graph, n, &value, tensor, late) != OK)
			return NULL;
	}
	return tensor;
}

/* ---- the step ---- */

/* A line on each step that the log has; "" for one alone. */
static void list_offers(const struct offer *offers, uint32_t count, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	*text = '\0';
	for (uint32_t i = 0; i < count && count > 1; i++)
		words_add(&words, "%s[%.70s] %s, %u ops", i ? "\n" : "", offers[i].first->id, offer_kind(&offers[i]),
			offer_nodes(&offers[i]));
}

/* Of many symbols, as a mixture of experts has them, one option gives all whose names begin alike. */
static char *advice_on_sizes(const struct fx_log *log, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	words_add(&words, "give symbolic sizes:");
	if (log->symbols == FX_SYMBOLS)
		words_add(&words, " --dim '%c*=64' (of all that begin so), or", *log->symbol[0]);
	for (uint32_t i = 0; i < log->symbols && i + 1 < FX_SYMBOLS; i++)
		words_add(&words, " --dim %s=64", log->symbol[i]);
	words_add(&words, "%s", log->symbols == FX_SYMBOLS ? " ..." : "");
	return text;
}

/* What is assumed of the graph that the log doesn't say, a line each. */
static void list_assumptions(const struct making *making, const struct fx_graph *first, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	uint32_t named = 0;
	words_add(&words,
		making->split && first->kind != FX_JOINT
			? "ops where torch.func takes a gradient are backward; which inputs are parameters isn't said"
			: making->phase == PHASE_UPDATE
			? "an optimizer's step: which of its inputs are parameters, gradients and state isn't said"
			: "inputs with a gradient are parameters; the log has no optimizer");
	if (making->unphased)
		words_add(&words, "\nforward and backward are one graph: which op is of which isn't said");
	if (*first->hints)
		words_add(&words, "\nsymbolic sizes as they were when it was compiled: %s; --dim takes others", first->hints);
	if (making->tangents)
		words_add(&words, "\nthe gradient of each result comes from one op in place of what follows the graph");
	if (making->convolutions)
		words_add(&words,
			"\nwhat kernels take for themselves isn't in the log: on a CPU up to three times its result in each of %u "
			"convolution%s and its gradient",
			making->convolutions, making->convolutions == 1 ? "" : "s");
	if (making->log->fused)
		words_add(&words,
			"\nInductor fuses these ops: results inside of a kernel of its own take no memory then, so that its peak "
			"may be lower");
	if (!making->unknown)
		return;
	words_add(&words, "\n%u op%s of a type without a rule (", making->unknown, making->unknown == 1 ? " is" : "s are");
	for (uint32_t i = 0; i < STRANGERS && making->stranger[i].ops; i++) {
		named += making->stranger[i].ops;
		words_add(&words, "%s%.60s %u", i ? ", " : "", making->stranger[i].type, making->stranger[i].ops);
	}
	if (named < making->unknown)
		words_add(&words, ", %u of others", making->unknown - named);
	words_add(&words, "): results are taken as new memory; --rules FILE gives rules");
}

static enum status fx_step_describe(
	struct making *making, const struct offer *offers, uint32_t count, uint32_t chosen, bool asked)
{
	const struct offer *offer = &offers[chosen];
	char assumed[2000], version[120], graphs[8000], advice[300];
	list_assumptions(making, offer->first, assumed, sizeof assumed);
	PRINT_TO(version, "%s%.70s%s%s", *offer->first->id ? "[" : "", offer->first->id,
		*offer->first->id ? "] " : "", offer_kind(offer));
	list_offers(offers, count, graphs, sizeof graphs);
	struct about about = { .intake = { .said = true,
							   .graphs = *graphs ? graphs : NULL,
							   .graph = chosen + 1,
							   .graph_asked = asked,
							   .format = "PyTorch FX text",
							   .version = version,
							   .missing = making->missing,
							   .assumed = assumed,
							   .advice = making->missing && making->log->symbols
								   ? advice_on_sizes(making->log, advice, sizeof advice)
								: NULL } };
	if (mesh_known(making)) {
		about.axes = making->axes;
		FOR(a, about.axes) {
			snprintf(about.axis[a].name, sizeof about.axis[a].name, "mesh%u", a % 10);
			about.axis[a].size = making->log->mesh[a];
		}
	} else if (making->axes) {
		about.intake.advice = "DTensors count whole: --dim mesh0=8 (mesh1, ...) gives the devices on each axis of their mesh";
	} else if (making->ranks > 1) {
		about.axes = 1;
		about.axis[0].size = making->ranks;
		memcpy(about.axis[0].name, "ranks", 6);
	}
	if (making->unsized && !about.intake.advice) {
		PRINT_TO(advice,
			"how many devices take part in %u collective%s isn't in the log: --dim group%.60s=8 says it of group %.60s",
			making->unsized, making->unsized == 1 ? "" : "s", making->group, making->group);
		about.intake.advice = advice;
	}
	return draft_describe(making->draft, "step", NULL, NULL, &about) == OK ? OK : fail_memory(making->error);
}

static enum status fx_step_make(struct making *making, const struct offer *offer)
{
	const struct fx_graph *first = offer->first;
	bool *trained;
	if (!ROOM(&making->arena, trained, (size_t)first->values + 1))
		return fail_memory(making->error);
	find_trained(first, offer->backward ? offer->backward : first->kind == FX_JOINT ? first : NULL, trained);
	enum part part = fx_step_part_of(offer);
	making->phase = part == PART_BACKWARD ? PHASE_BACKWARD : part == PART_UPDATE ? PHASE_UPDATE : PHASE_FORWARD;
	making->unphased = part == PART_UNKNOWN;
	making->split = part == PART_BOTH && !offer->backward;
	making->forward = first->kind == FX_JOINT ? first : NULL;
	if (!ROOM(&making->arena, making->of_forward, (size_t)first->values + 1))
		return fail_memory(making->error);
	FOR(i, first->values)
		making->of_forward[i] = NONE;
	making->forward = NULL;
	uint32_t *tensor = fx_step_add_graph(making, first, trained, offer->backward);
	if (!tensor || !offer->backward)
		return tensor ? OK : making->error->status;
	making->forward = first;
	making->of_forward = tensor;
	making->phase = PHASE_BACKWARD;
	return fx_step_add_graph(making, offer->backward, NULL, NULL) ? OK : making->error->status;
}

struct graph *fx_step(const struct fx_log *log, uint32_t wanted, struct error *error)
{
	struct making making = { .error = error, .log = log, .draft = draft_new(), .rules = rules_new() };
	struct offer *offer = NULL;
	enum status status = ROOM(&making.arena, offer, (size_t)log->graphs + 1) && making.draft &&
		making.rules ? OK : fail_memory(making.error);
	struct graph *graph = NULL;
	*error = (struct error){ .status = status };
	uint32_t count = status == OK ? find_offers(log, offer) : 0, chosen = wanted ? wanted - 1 : 0;
	for (uint32_t i = 0; i < count && !wanted; i++)
		if (offer_nodes(&offer[i]) > offer_nodes(&offer[chosen]))
			chosen = i;
	if (status == OK && count == 0)
		status = refuse(error,
			"it has no graph of torch.compile; TORCH_LOGS=aot_graphs,aot_joint_graph prints them");
	else if (status == OK && chosen >= count)
		status = refuse(error, "--graph %u: it has %u step%s", wanted, count, count == 1 ? "" : "s");
	if (status == OK)
		status = fx_step_find_groups(&making);
	if (status == OK) {
		uint32_t first = mesh_axes(offer[chosen].first), second = mesh_axes(offer[chosen].backward);
		making.axes = LARGER(first, second);
		status = fx_step_make(&making, &offer[chosen]);
	}
	if (status == OK)
		status = fx_step_describe(&making, offer, count, chosen, wanted > 0);
	if (status == OK)
		graph = graph_build(making.draft, error);
	else
		error_set(error, status);
	draft_free(making.draft);
	rules_free(making.rules);
	names_free(&making.groups);
	arena_free(&making.arena);
	return graph;
}
