/* factors.c: factor propagation over a whole graph.
 *
 * Ops are visited in program order. Each binds its rule; the rule's factors are joined with the classes that its
 * tensors' dims already have. The batch and the sequence are labelled at the inputs first, so that extents of 1
 * that carry them are followed through views and broadcasts. What a view does with an extent of 1 shapes don't
 * say: a labelled one takes a dim of its own where there is one, else it goes into the next dim, but never into
 * the last (the features) if another is before it. A broadcast's extent of 1 is left open until some operand
 * turns out to have the batch. */

#include "form.h"
#include "terms.h"

const char *const factor_role_names[ROLE_COUNT] = {
#define X(id, name) name,
	FACTOR_ROLES(X)
#undef X
};

/* A link while classes still change: nodes, not terms. */
struct open_link { enum link_kind kind; uint32_t op, operand, from, to; };

struct search {
	const struct graph *graph;
	const struct rules *rules;
	struct terms terms;
	struct binding binding;
	uint32_t *dim_start;       /* [tensors + 1] */
	uint32_t *dim;             /* node of each dim, NONE: not seen yet */
	bool *made;                /* tensor: made from nothing for each sample, it seems */
	struct gradient_flow flow; /* what goes into weight updates only can't carry the batch */
	uint32_t *local;           /* node of each factor of the current binding, NONE: none yet */
	struct open_link *link;
	uint32_t links, issues;
	size_t room_links, room_issues, locals;
	struct factor_issue *issue;
	struct arena *arena;
};

static bool add_issue(struct search *search, enum factor_issue_kind kind, uint32_t op, uint32_t operand)
{
	if (!GROWN(search->issue, search->room_issues, search->issues + 1))
		return false;
	if (search->issues > 0) {
		const struct factor_issue *last = &search->issue[search->issues - 1];
		if (last->kind == kind && last->op == op && last->operand == operand)
			return true;
	}
	search->issue[search->issues++] = (struct factor_issue) { kind, op, operand };
	return true;
}

/* ---- the inputs ---- */

static bool is_index(const struct tensor *tensor)
{
	return tensor->dtype == DTYPE_I64 || tensor->dtype == DTYPE_I32;
}

/* The dim of an input that counts samples, of which the graph says that there are `batch`, NONE: none. Where captures
 * tell what a sample adds, it is the one that grows; else one of as many, or dim 0 where rows are samples times tokens.
 */
static uint32_t sample_dim(const struct graph *graph, const struct tensor *tensor, int64_t batch)
{
	FOR(d, tensor->dims)
		if (graph->line[0] ? tensor->grows && tensor->grows[d]
			: tensor->shape[d] == batch && (d == 0 || d + 1u < tensor->dims))
			return tensor->shape[d] % batch == 0 ? d : NONE;
	return !graph->line[0] && tensor->dims > 0 && tensor->shape[0] % batch == 0 ? 0 : NONE;
}

/* The samples that a graph says it has, if an input has such a dim; 0: nobody says. A device's graph says the whole
 * batch. */
static int64_t stated_batch(const struct graph *graph)
{
	const struct about *about = &graph->about;
	FOR_WHILE(t, graph->tensors, about->batch > 0 && about->axes == 0 && about->ranks == 0)
		if (graph_is_input(graph, t) && sample_dim(graph, &graph->tensor[t], about->batch) != NONE)
			return about->batch;
	return 0;
}

/* The class of a dim that counts samples, or rows of each. */
static uint32_t rules_factors_samples_of(struct terms *terms, uint32_t batch, int64_t extent)
{
	int64_t rows = extent / terms->node[batch].size;
	uint32_t part[2] = { batch, rows > 1 ? term_new(terms, rows, LABEL_FREE) : NONE };
	return rows <= 1 ? batch : part[1] == NONE ? NONE : term_product(terms, part, 2);
}

/* The terms of batch and sequence: *batch is NONE where the graph doesn't say it. */
static void factors_find_terms(struct search *search, int64_t stated, uint32_t *batch, uint32_t *sequence)
{
	const struct graph *graph = search->graph;
	struct terms *terms = &search->terms;
	bool wide = false;
	FOR_WHILE(t, graph->tensors, !wide)
		wide = graph_is_input(graph, t) && graph->tensor[t].dims > 1;
	FOR_WHILE(t, graph->tensors, *sequence == NONE && !terms->failed)
		if (graph_is_input(graph, t)) {
			const struct tensor *tensor = &graph->tensor[t];
			if (*batch == NONE && tensor->dims > (wide ? 1 : 0))
				*batch = term_new(terms, tensor->shape[0], LABEL_BATCH);
			if (tensor->dims == 2 && is_index(tensor))
				*sequence = term_new(terms, tensor->shape[stated > 0 && sample_dim(graph, tensor, stated) == 1 ? 0 : 1],
					LABEL_SEQUENCE);
		}
}

/* Of a graph that doesn't say its batch, it is dim 0 of the inputs, where they agree with the first that has more dims
 * than one (lengths of sequences say nothing). The other dim of integer inputs of two dims, and what equals it in other
 * inputs of two, is the sequence. */
static bool label_inputs(struct search *search)
{
	const struct graph *graph = search->graph;
	struct terms *terms = &search->terms;
	int64_t stated = stated_batch(graph);
	uint32_t batch = stated > 0 ? term_new(terms, stated, LABEL_BATCH) : NONE, sequence = NONE;
	factors_find_terms(search, stated, &batch, &sequence);
	FOR_WHILE(t, graph->tensors, !terms->failed) {
		const struct tensor *tensor = &graph->tensor[t];
		if (!graph_is_input(graph, t))
			continue;
		uint32_t *dim = &search->dim[search->dim_start[t]], samples = stated > 0 ? sample_dim(graph, tensor, stated) : 0;
		if (batch != NONE && samples != NONE && (stated > 0 || tensor->shape[0] == terms->node[batch].size))
			dim[samples] = rules_factors_samples_of(terms, batch, tensor->shape[samples]);
		uint32_t rest = samples == 1 ? 0 : 1;
		if (tensor->dims == 2 && sequence != NONE && tensor->shape[rest] == terms->node[sequence].size)
			dim[rest] = sequence;
	}
	return !terms->failed;
}

/* Classes for the dims of tensors that nothing writes. */
static bool label_sources(struct search *search)
{
	const struct graph *graph = search->graph;
	if (!label_inputs(search))
		return false;
	FOR(t, graph->tensors) {
		const struct tensor *tensor = &graph->tensor[t];
		if (tensor->writer != NONE || !tensor->shape)
			continue;
		FOR(d, tensor->dims) {
			uint32_t *dim = &search->dim[search->dim_start[t] + d];
			bool fixed = tensor->kind == KIND_PARAMETER || tensor->kind == KIND_OPTIMIZER || (kind_persistent(tensor->kind)
				&& tensor->kind != KIND_INPUT && tensor->shape[d] == 1);
			if (*dim == NONE && (*dim = term_new(&search->terms, tensor->shape[d], fixed ? LABEL_FIXED : LABEL_FREE)) == NONE)
				return false;
		}
	}
	return true;
}

/* ---- one op ---- */

static uint32_t local_node(struct search *search, uint32_t factor)
{
	const struct binding_factor *at = &search->binding.factor[factor];
	if (search->local[factor] == NONE) {
		search->local[factor] = term_new(&search->terms, at->size, LABEL_FREE);
		if (search->local[factor] != NONE && at->marks & FACTOR_UNIT && at->size == 1)
			search->terms.node[search->local[factor]].unit = true;
		if (search->local[factor] != NONE && at->marks & FACTOR_OPEN && at->size == 1)
			search->terms.node[search->local[factor]].open = true;
	}
	return search->local[factor];
}

/* A constant 1 of the rule against whatever the dim has: only the batch matters. */
static bool meet_unit(struct search *search, uint32_t *dim, uint32_t op, uint32_t position)
{
	struct terms *terms = &search->terms;
	uint32_t atom[TERM_ATOMS], count = *dim == NONE ? 0 : term_atoms(terms, dim, 1, atom);
	if (*dim == NONE) {
		*dim = term_new(terms, 1, LABEL_FREE);
		if (*dim != NONE)
			terms->node[*dim].unit = true;
		return *dim != NONE;
	}
	FOR(i, count)
		if (label_scales(terms->node[atom[i]].label))
			return add_issue(search, ISSUE_CLASH, op, position);
	return true;
}

/* An operand's extent 1 that carries the batch into a parameter's gradient: at a larger batch it is summed before. */
static bool carries_batch_into_gradient(struct search *search, uint32_t dim, uint32_t op, uint32_t position)
{
	const struct graph *graph = search->graph;
	const struct term_node *node = &search->terms.node[term_find(&search->terms, dim)];
	return position < graph_operands(graph, op) && graph->op[op].phase == PHASE_BACKWARD && node->size == 1 &&
		label_scales(node->label) && graph_results(graph, op) == 1 &&
		search->flow.gradient[graph_result(graph, op, 0)] &&
		graph_pairs(graph, op) == 0 &&
		((rules_traits(search->rules, graph->op[op].type) & TRAIT_ADDITION) ||
			(search->flow.data[graph_argument(graph, op, position)] && gradient_flow_is_derivative(&search->flow, op)));
}

/* Joins one dim of a tensor with what the rule says of it. */
static bool rules_factors_meet(
	struct search *search, const struct binding_dim *at, uint32_t *dim, uint32_t op, uint32_t position)
{
	struct terms *terms = &search->terms;
	const uint32_t *part = search->binding.part + at->first;
	uint32_t node[TERM_ATOMS];
	if (at->count == 1 && search->binding.factor[part[0]].marks & FACTOR_UNIT && at->size == 1)
		return meet_unit(search, dim, op, position);
	if (*dim != NONE && carries_batch_into_gradient(search, *dim, op, position))
		return add_issue(search, ISSUE_REDUCTION, op, position);
	if (at->count == 1 && search->local[part[0]] == NONE && *dim != NONE) {
		search->local[part[0]] = *dim;
		return true;
	}
	if (at->count > TERM_ATOMS)
		return add_issue(search, ISSUE_MISFIT, op, position);
	FOR(i, at->count)
		if ((node[i] = local_node(search, part[i])) == NONE)
			return false;
	if (*dim == NONE) {
		*dim = at->count == 1 ? node[0] : term_product(terms, node, at->count);
		return *dim != NONE;
	}
	if (at->count == 1 && term_find(terms, *dim) == term_find(terms, node[0]))
		return true;
	if (!term_unify(terms, dim, 1, node, at->count))
		return !terms->failed && add_issue(search, ISSUE_CLASH, op, position);
	return true;
}

/* A broadcast's open 1: the result has the batch if an operand has it. A parameter's 1 can't: at a larger batch
 * the other operand is summed first. */
static bool rules_factors_settle(struct search *search, const struct open_link *link)
{
	struct terms *terms = &search->terms;
	uint32_t from = term_find(terms, link->from), to = term_find(terms, link->to);
	if (from == to || !label_scales(terms->node[from].label))
		return true;
	return term_join(terms, to, from) || add_issue(search, ISSUE_REDUCTION, link->op, link->operand);
}

static bool keep_links(struct search *search, uint32_t op)
{
	const struct binding *binding = &search->binding;
	FOR(i, binding->links) {
		const struct binding_link *at = &binding->link[i];
		uint32_t from = local_node(search, at->from), to = local_node(search, at->to), operand = 0;
		if (from == NONE || to == NONE)
			return false;
		FOR(t, binding->operands)
			FOR_SPAN(d, binding->dim_start, t)
				if (binding->dim[d].count == 1 && binding->part[binding->dim[d].first] == at->from)
					operand = t;
		struct open_link link = { at->kind, op, operand, from, to };
		if (at->kind == LINK_BROADCAST && !rules_factors_settle(search, &link))
			return false;
		if (!GROWN(search->link, search->room_links, search->links + 1))
			return false;
		search->link[search->links++] = link;
	}
	return true;
}

/* ---- views: by atoms, not by extents ---- */

/* Distributes the operand's atoms over the result's dims. */
struct view {
	struct search *search;
	uint32_t atom[TERM_ATOMS], atoms, next;
	int64_t home[TERM_ATOMS]; /* the extent of the operand's dim that an atom is in */
	const int64_t *shape;
	int dims;
	uint32_t part[DIMS_MAX][TERM_ATOMS], parts[DIMS_MAX];
};

static bool rules_factors_put(struct view *view, int dim, uint32_t atom)
{
	if (atom == NONE || view->parts[dim] == TERM_ATOMS)
		return false;
	view->part[dim][view->parts[dim]++] = atom;
	return true;
}

/* Extents of 1 before result dim `dim`: labelled atoms get dims of extent 1, the rest goes to the next dim, or to
 * the one before if the next is the last and not just the dim that the atom was in. Returns the first dim left. */
static int place_ones(struct view *view, int dim, int before)
{
	const struct term_node *node = view->search->terms.node;
	int ones = 0;
	while (dim + ones < view->dims && view->shape[dim + ones] == 1)
		ones++;
	int next = dim + ones, used = 0;
	for (; view->next < view->atoms && node[view->atom[view->next]].size == 1; view->next++) {
		uint32_t atom = view->atom[view->next];
		bool labelled = label_scales(node[atom].label) || node[atom].open;
		uint32_t waiting = 0;
		for (uint32_t i = view->next + 1; i < view->atoms && node[view->atom[i]].size == 1; i++)
			waiting += label_scales(node[view->atom[i]].label);
		if (used < ones && (labelled || waiting < (uint32_t)(ones - used))) {
			rules_factors_put(view, dim + used++, atom);
		} else if (labelled) {
			bool kept = next < view->dims && view->shape[next] == view->home[view->next];
			int host = next < view->dims && (kept || next + 1 < view->dims || before < 0) ? next : before;
			if (host >= 0)
				rules_factors_put(view, host, atom);
		}
	}
	return next;
}

/* Fills one dim of an extent above 1. False when the atoms don't divide it. */
static bool rules_factors_fill(struct view *view, int dim)
{
	struct terms *terms = &view->search->terms;
	int64_t rest = view->shape[dim];
	while (rest > 1) {
		if (view->next == view->atoms)
			return false;
		uint32_t atom = term_find(terms, view->atom[view->next]);
		int64_t size = terms->node[atom].size;
		if (size > 0 && rest % size == 0) {
			rules_factors_put(view, dim, atom);
			view->next++;
			rest /= size;
		} else if (size > rest && size % rest == 0) {
			uint32_t outer = term_new(terms, rest, LABEL_FREE), inner = outer == NONE ? NONE : term_split(terms, atom, outer);
			if (inner == NONE)
				return false;
			rules_factors_put(view, dim, outer);
			view->atom[view->next] = inner;
			rest = 1;
		} else {
			return false;
		}
	}
	return true;
}

/* Atoms and dims that share no refinement (8 x 7 as 7 x 8), up to where both have as many elements: these dims get
 * atoms of their own, as long as no batch is among the old ones. Returns the last such dim, or -1. */
static int fill_apart(struct view *view, int dim)
{
	struct terms *terms = &view->search->terms;
	int64_t in = 1, out = view->shape[dim];
	int last = dim;
	while (in != out)
		if (in > out) {
			if (++last == view->dims)
				return -1;
			out *= view->shape[last];
		} else {
			uint32_t atom[TERM_ATOMS],
				count = view->next < view->atoms ? term_atoms(terms, &view->atom[view->next++], 1, atom) : 0;
			FOR(i, count) {
				if (label_scales(terms->node[atom[i]].label))
					return -1;
				in *= terms->node[atom[i]].size;
			}
			if (count == 0)
				return -1;
		}
	for (int d = dim; d <= last; d++)
		if (!rules_factors_put(view, d, term_new(terms, view->shape[d], LABEL_FREE)))
			return -1;
	return last;
}

/* *apart: some dims have nothing to do with the operand's. */
static bool rules_factors_spread(struct view *view, bool *apart)
{
	int before = -1;
	for (int dim = place_ones(view, 0, before); dim < view->dims; dim = place_ones(view, dim, before)) {
		struct view start = *view;
		if (!rules_factors_fill(view, dim)) {
			*view = start;
			*apart = true;
			dim = fill_apart(view, dim);
			if (dim < 0)
				return false;
		}
		before = dim++;
	}
	return view->next == view->atoms;
}

/* A view that folds the batch's extent 1 into other dims of a parameter's gradient: at a larger batch a sum comes
 * before it. */
static bool sum_first(struct search *search, struct view *view, uint32_t op)
{
	uint32_t kept = 0, ones = 0;
	FOR_INT(d, view->dims)
		ones += view->shape[d] == 1;
	FOR(i, view->atoms) {
		const struct term_node *node = &search->terms.node[view->atom[i]];
		if (node->size != 1 || !label_scales(node->label) || ones > 0) {
			view->home[kept] = view->home[i];
			view->atom[kept++] = view->atom[i];
		}
	}
	bool summed = kept < view->atoms;
	view->atoms = kept;
	return !summed || add_issue(search, ISSUE_REDUCTION, op, 0);
}

/* A view's result from its operand. */
static bool view_op(struct search *search, uint32_t op)
{
	const struct graph *graph = search->graph;
	uint32_t in = graph_argument(graph, op, 0), out = graph_result(graph, op, 0);
	const struct tensor *result = &graph->tensor[out];
	struct view view = { .search = search, .shape = result->shape, .dims = result->dims };
	uint32_t *operand = search->dim + search->dim_start[in];
	for (int d = 0; d < graph->tensor[in].dims && view.atoms < TERM_ATOMS; d++) {
		uint32_t atom[TERM_ATOMS], count = term_atoms(&search->terms, operand + d, 1, atom);
		FOR_WHILE(i, count, view.atoms < TERM_ATOMS) {
			view.home[view.atoms] = graph->tensor[in].shape[d];
			view.atom[view.atoms++] = atom[i];
		}
	}
	if (search->flow.gradient[out] && !sum_first(search, &view, op))
		return false;
	bool apart = false, fine = rules_factors_spread(&view, &apart);
	if (search->terms.failed || ((apart || !fine) && !add_issue(search, ISSUE_MISFIT, op, 0)))
		return false;
	FOR_INT(d, result->dims) {
		uint32_t *dim = &search->dim[search->dim_start[out] + (uint32_t)d];
		if (*dim != NONE)
			continue;
		*dim = !fine ? term_new(&search->terms, result->shape[d], LABEL_FREE)
			: view.parts[d] == 1 ? view.part[d][0] : term_product(&search->terms, view.part[d], view.parts[d]);
		if (*dim == NONE)
			return false;
	}
	return true;
}

/* ---- the walk ---- */

/* Dims of an op's tensors that no rule has reached. */
static bool finish_tensor(struct search *search, uint32_t tensor)
{
	const struct tensor *at = &search->graph->tensor[tensor];
	FOR_WHILE(d, at->dims, at->shape) {
		uint32_t *dim = &search->dim[search->dim_start[tensor] + d];
		if (*dim == NONE && (*dim = term_new(&search->terms, at->shape[d], LABEL_FREE)) == NONE)
			return false;
	}
	return true;
}

/* A mask or a first state, [1, n, ..]: programs write the batch there. What is the same for all samples is written with
 * dims of its own, and gets its 1 by a view. The gradient of a sum over everything is one number, repeated for what was
 * summed. */
static bool is_made_for_batch(const struct graph *graph, const struct rule *rule, uint32_t op)
{
	if (graph_operands(graph, op) == 1 && graph_results(graph, op) == 1 && graph->op[op].phase == PHASE_BACKWARD
		&& ((const struct parsed_rule *)rule)->structure == EXPAND) {
		const struct tensor *from = &graph->tensor[graph_operand(graph, op, 0)],
							*to = &graph->tensor[graph_result(graph, op, 0)];
		return from->shape && from->dims == 0 && to->shape && to->dims > 0 && to->shape[0] == 1;
	}
	if (!(rule->traits & TRAIT_SOURCE) || graph_results(graph, op) != 1 || graph->op[op].phase != PHASE_FORWARD)
		return false;
	const struct tensor *result = &graph->tensor[graph_result(graph, op, 0)];
	return result->shape && result->dims > 1 && result->shape[0] == 1 && result->shape[1] > 1;
}

/* Numbers that come out of a generator, what is_made_for_batch(), and what ops make of them alone or with parameters.
 */
static void mark_made(struct search *search, const struct rule *rule, uint32_t op)
{
	const struct graph *graph = search->graph;
	bool made = rule->traits & TRAIT_NOISE || is_made_for_batch(graph, rule, op), all = true, any = false;
	FOR_ITEMS(read, &graph->reads, op) {
		const struct tensor *operand = &graph->tensor[read];
		any |= search->made[read];
		all &= search->made[read] || operand->kind == KIND_PARAMETER;
	}
	FOR_ITEMS(written, &graph->writes, op)
		search->made[written] = made || (any && all);
}

/* A reduction whose result is a parameter's gradient was over the batch as well, though its extent 1 hides it. */
static bool reduce_ones(struct search *search, uint32_t op)
{
	struct binding *binding = &search->binding;
	FOR_FROM(t, binding->operands, binding->tensors)
		FOR_SPAN(d, binding->dim_start, t) {
			if (binding->dim[d].size != 1 || !search->flow.gradient[graph_argument(search->graph, op, t)])
				continue;
			uint32_t unit = binding_new_factor(binding, 1, FACTOR_UNIT);
			binding->dim[d].count = 0;
			if (!binding_append(binding, d, unit))
				return false;
		}
	return true;
}

static bool rules_factors_apply(struct search *search, uint32_t op)
{
	const struct binding *binding = &search->binding;
	if (!GROWN(search->local, search->locals, binding->factors))
		return false;
	FILL_NONE(search->local, binding->factors);
	FOR(t, binding->tensors) {
		uint32_t tensor = graph_argument(search->graph, op, t);
		FOR_SPAN(d, binding->dim_start, t)
			if (!rules_factors_meet(search, &binding->dim[d],
					&search->dim[search->dim_start[tensor] + d - binding->dim_start[t]], op, t))
				return false;
		/* results join after the operands have told the batch */
		if (t + 1 == binding->operands && !keep_links(search, op))
			return false;
	}
	if (binding->operands == 0)
		return keep_links(search, op);
	return true;
}

static enum status rules_factors_visit(struct search *search, uint32_t op)
{
	const struct graph *graph = search->graph;
	const struct rule *rule = rules_find(search->rules, graph->op[op].type);
	const struct parsed_rule *parsed = (const struct parsed_rule *)rule;
	bool fine = true;
	if (!rule || parsed->structure == OPAQUE) {
		fine = add_issue(search, ISSUE_OPAQUE, op, 0);
	} else {
		enum status status = rule_bind_op(rule, graph, op, &search->binding, NULL);
		if (status != OK && status != BAD_INPUT)
			return status;
		if (status == BAD_INPUT)
			fine = add_issue(search, ISSUE_MISFIT, op, 0);
		else if (parsed->structure == RESHAPE)
			fine = view_op(search, op);
		else if (parsed->structure == REDUCE_SUM)
			fine = reduce_ones(search, op) && rules_factors_apply(search, op);
		else
			fine = rules_factors_apply(search, op);
		if (search->binding.ambiguous && status == OK)
			fine = fine && add_issue(search, ISSUE_AMBIGUOUS, op, 0);
		mark_made(search, rule, op);
	}
	FOR_ITEMS(written, &graph->writes, op)
		fine = fine && finish_tensor(search, written);
	return fine ? OK : NO_MEMORY;
}

/* Broadcasts whose operand got the batch only later; what is made for each sample and nothing but its use connects with
 * the batch gets it in dim 0. */
static bool settle_all(struct search *search)
{
	struct terms *terms = &search->terms;
	for (bool changed = true; changed;) {
		changed = false;
		FOR(i, search->links) {
			const struct open_link *link = &search->link[i];
			if (link->kind != LINK_BROADCAST)
				continue;
			uint32_t from = term_find(terms, link->from), to = term_find(terms, link->to);
			if (from == to || terms->node[to].label == LABEL_FIXED)
				continue;
			uint32_t tensor = graph_argument(search->graph, link->op, link->operand);
			bool made = terms->node[to].label == LABEL_BATCH && terms->node[from].label == LABEL_FREE && search->made[tensor]
				&& term_find(terms, search->dim[search->dim_start[tensor]]) == from;
			if (!made && (!label_scales(terms->node[from].label) || label_scales(terms->node[to].label)))
				continue;
			if (!term_join(terms, to, from))
				return add_issue(search, ISSUE_CLASH, link->op, link->operand);
			if (made && !add_issue(search, ISSUE_AMBIGUOUS, link->op, link->operand))
				return false;
			changed = true;
		}
	}
	return true;
}

/* ---- the result ---- */

struct writer {
	struct search *search;
	struct factors *factors;
	uint32_t *id; /* node -> factor, NONE: none yet */
	uint32_t parts;
	size_t room_parts, room_factors;
	struct factor *factor;
	uint32_t *part;
};

static bool write_term(struct writer *writer, uint32_t node, bool count, struct factor_term *term)
{
	struct terms *terms = &writer->search->terms;
	uint32_t atom[TERM_ATOMS], atoms = term_atoms(terms, &node, 1, atom);
	if (terms->failed || !GROWN(writer->part, writer->room_parts, writer->parts + atoms))
		return false;
	*term = (struct factor_term) { writer->parts, atoms };
	FOR(i, atoms) {
		uint32_t *id = &writer->id[atom[i]];
		if (*id == NONE) {
			if (!GROWN(writer->factor, writer->room_factors, writer->factors->factors + 1))
				return false;
			*id = writer->factors->factors++;
			const struct term_node *from = &terms->node[atom[i]];
			writer->factor[*id] = (struct factor) { .size = from->size, .fixed = from->label == LABEL_FIXED,
				.role = from->label == LABEL_BATCH ? ROLE_BATCH : from->label == LABEL_SEQUENCE ? ROLE_SEQUENCE : ROLE_NONE };
		}
		writer->factor[*id].dims += count;
		writer->part[writer->parts++] = *id;
	}
	return true;
}

static bool copy_out(struct arena *arena, void *to, const void *from, uint32_t count, size_t size)
{
	void **copy = to;
	*copy = arena_alloc(arena, count, size);
	if (*copy && count > 0)
		memcpy(*copy, from, count * size);
	return *copy != NULL;
}

static bool write_all(struct writer *writer)
{
	struct search *search = writer->search;
	struct factors *factors = writer->factors;
	uint32_t dims = search->dim_start[search->graph->tensors];
	if (!(ROOM(&factors->arena, factors->dim, dims) && ROOM(&factors->arena, factors->link, search->links)))
		return false;
	FOR(d, dims)
		if (search->dim[d] != NONE && !write_term(writer, search->dim[d], true, &factors->dim[d]))
			return false;
	FOR(i, search->links) {
		struct factor_link *link = &factors->link[factors->links];
		*link = (struct factor_link) { .kind = search->link[i].kind, .op = search->link[i].op };
		if (link->kind == LINK_BROADCAST)
			continue;
		if (!write_term(writer, search->link[i].from, false, &link->from) ||
			!write_term(writer, search->link[i].to, false, &link->to))
			return false;
		factors->links++;
	}
	factors->issues = search->issues;
	return copy_out(&factors->arena, &factors->factor, writer->factor, factors->factors, sizeof *writer->factor) &&
		copy_out(&factors->arena, &factors->part, writer->part, writer->parts, sizeof *writer->part) &&
		copy_out(&factors->arena, &factors->issue, search->issue, search->issues, sizeof *search->issue);
}

static bool write_result(struct search *search, struct factors *factors)
{
	struct writer writer = { .search = search, .factors = factors };
	bool fine = ROOM(search->arena, writer.id, search->terms.nodes);
	if (fine)
		FILL_NONE(writer.id, search->terms.nodes);
	fine = fine && write_all(&writer);
	mem_free(writer.part);
	mem_free(writer.factor);
	return fine;
}

static bool rules_factors_begin(struct search *search, struct factors *factors)
{
	const struct graph *graph = search->graph;
	if (!(ROOM(&factors->arena, factors->dim_start, graph->tensors + (size_t)1) &&
		ROOM(search->arena, search->made, graph->tensors) &&
		gradient_flow_find(graph, search->rules, search->arena, &search->flow) == OK))
		return false;
	search->dim_start = factors->dim_start;
	FOR(t, graph->tensors)
		search->dim_start[t + 1] = search->dim_start[t] + (graph->tensor[t].shape ? graph->tensor[t].dims : 0);
	uint32_t dims = search->dim_start[graph->tensors];
	if (!ROOM(search->arena, search->dim, dims))
		return false;
	FILL_NONE(search->dim, dims);
	return label_sources(search);
}

static void rules_factors_finish(struct search *search)
{
	terms_free(&search->terms);
	binding_free(&search->binding);
	mem_free(search->local);
	mem_free(search->link);
	mem_free(search->issue);
}

enum status factors_find(const struct graph *graph, const struct rules *rules, struct factors *factors)
{
	OWN(arena) arena = { 0 };
	struct search search = { .graph = graph, .rules = rules, .arena = &arena };
	*factors = (struct factors) { 0 };
	enum status status = rules_factors_begin(&search, factors) ? OK : NO_MEMORY;
	FOR_WHILE(op, graph->ops, status == OK)
		status = rules_factors_visit(&search, op);
	if (status == OK && (!settle_all(&search) || !write_result(&search, factors)))
		status = NO_MEMORY;
	THEN(status, factor_roles_find(graph, rules, factors));
	rules_factors_finish(&search);
	if (status != OK)
		factors_free(factors);
	return status;
}

void factors_free(struct factors *factors)
{
	arena_free(&factors->arena);
	*factors = (struct factors) { 0 };
}

uint32_t factors_of_role(const struct factors *factors, enum factor_role role)
{
	uint32_t found = NONE;
	FOR(i, factors->factors)
		if (factors->factor[i].role == role) {
			if (found != NONE)
				return NONE;
			found = i;
		}
	return found;
}
