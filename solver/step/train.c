/* train.c: a training step from a forward graph, by reverse accumulation. */

#include "train.h"
#include "solver/graph/draft.h"

#define OPAQUE_MOST 12

struct train {
	const struct graph *forward;
	const struct train_options *options;
	struct build build;
	struct arena arena;
	bool *trained;      /* [tensors] a parameter that is updated */
	bool *needs;        /* [tensors] a gradient flows to it */
	uint32_t *tensor;   /* [tensors] the draft's tensor */
	uint32_t *gradient; /* [tensors] its gradient so far, the draft's; or NONE */
	uint32_t *op;       /* [ops] the draft's op */
	uint32_t *copy;     /* [ops] the copy of operand 0 that an in-place op keeps, or NONE */
	uint32_t *first_reader; /* [tensors] the first op that reads it, or NONE */
	const char *opaque[OPAQUE_MOST]; /* types of ops without a rule, the first ones */
	uint32_t opaques;
};

bool train_has_step(const struct graph *graph)
{
	FOR(op, graph->ops)
		if (graph->op[op].phase == PHASE_BACKWARD || graph->op[op].phase == PHASE_UPDATE)
			return true;
	return false;
}

static bool train_floating(enum dtype dtype)
{
	return dtype <= DTYPE_F8E5M2 || dtype == DTYPE_C64 || dtype == DTYPE_C128;
}

/* Marks what the step's update writes, by storage. Returns whether it has an update. */
static bool find_written(const struct graph *step, bool *written)
{
	bool updates = false;
	FOR(op, step->ops) {
		updates |= step->op[op].phase == PHASE_UPDATE;
		FOR_SPAN(i, step->inplace_start, op)
			written[step->tensor[step->inplace[i].in].storage] |= step->op[op].phase == PHASE_UPDATE;
	}
	return updates;
}

static bool find_trained(struct train *train)
{
	const struct graph *like = train->options->like;
	bool *MAKE_IN(&train->arena, written, like ? like->storages : 0);
	if (!written)
		return false;
	like = like && find_written(like, written) ? like : NULL;
	FOR(t, train->forward->tensors) {
		const struct tensor *tensor = &train->forward->tensor[t];
		uint32_t own = like ? graph_find_tensor(like, tensor->name) : NONE;
		train->trained[t] = tensor->kind == KIND_PARAMETER && tensor->alias == NONE && tensor->writer == NONE &&
			train_floating(tensor->dtype) && (!train->options->adapters || adapter_name(tensor->name)) &&
			(own == NONE || written[like->tensor[own].storage]);
	}
	return true;
}

static void note_opaque(struct train *train, const char *type)
{
	FOR(i, train->opaques)
		if (strcmp(train->opaque[i], type) == 0)
			return;
	if (train->opaques < OPAQUE_MOST)
		train->opaque[train->opaques++] = type;
}

/* Which tensors a gradient flows to: from the parameters down the forward pass. */
static void train_find_needs(struct train *train)
{
	const struct graph *graph = train->forward;
	FOR(t, graph->tensors)
		train->needs[t] = train->trained[t];
	FOR(op, graph->ops) {
		bool needed = false;
		FOR_ITEMS(tensor, &graph->reads, op) {
			needed |= train->needs[tensor];
			if (train->first_reader[tensor] == NONE)
				train->first_reader[tensor] = op;
		}
		if (!needed || !gradient_passes(train->options->rules, graph->op[op].type))
			continue;
		if (!rules_find(train->options->rules, graph->op[op].type))
			note_opaque(train, graph->op[op].type);
		FOR_ITEMS(written, &graph->writes, op)
			train->needs[written] = train_floating(graph->tensor[written].dtype);
	}
}

/* ---- forward ---- */

static bool overwrites_first(const struct graph *graph, uint32_t op)
{
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph_operands(graph, op) > 0 && graph->inplace[i].in == graph_operand(graph, op, 0))
			return true;
	return false;
}

/* The rule "in place" of train.h. */
static void keep_copy(struct train *train, uint32_t op)
{
	const struct graph *graph = train->forward;
	bool needed[16] = { false };
	uint32_t count = graph_operands(graph, op), start = graph->reads.start[op];
	if (!overwrites_first(graph, op) || graph_results(graph, op) == 0 ||
		!train->needs[graph_result(graph, op, 0)])
		return;
	FOR_WHILE(i, count, i < 16)
		needed[i] = train->needs[graph->reads.item[start + i]];
	if (gradient_keeps_input(train->options->rules, graph->op[op].type, needed, SMALLER(count, 16)))
		train->copy[op] = build_map(&train->build, "aten.clone.default", IN(train->tensor[graph->reads.item[start]]));
}

static void forward_ops(struct train *train)
{
	const struct graph *graph = train->forward;
	FOR_WHILE(op, graph->ops, train->build.status == OK) {
		build_beside(&train->build, &graph->op[op]);
		train->build.phase = PHASE_FORWARD;
		keep_copy(train, op);
		train->op[op] = build_copy_op(&train->build, graph, op, train->tensor);
	}
	build_copy_control(&train->build, graph, train->op);
}

/* ---- backward ---- */

static void accumulate(struct train *train, uint32_t tensor, uint32_t gradient)
{
	if (gradient == NONE)
		return;
	uint32_t *sum = &train->gradient[tensor];
	*sum = *sum == NONE ? gradient : build_map(&train->build, "aten.add.Tensor", IN(*sum, gradient));
}

/* Gradients of one start at the results. Returns how many start. */
static uint32_t seed_gradients(struct train *train)
{
	const struct graph *graph = train->forward;
	uint32_t seeds = 0;
	for (int outputs = 1; outputs >= 0 && seeds == 0; outputs--)
		FOR(t, graph->tensors) {
			const struct tensor *tensor = &graph->tensor[t];
			if (!train->needs[t] || tensor->writer == NONE ||
			    (outputs ? tensor->kind != KIND_OUTPUT : train->first_reader[t] != NONE))
				continue;
			train->build.module = graph->op[tensor->writer].module;
			train->build.src = graph->op[tensor->writer].src;
			train->gradient[t] = build_map(&train->build, "aten.ones_like.default", IN(train->tensor[t]));
			seeds++;
		}
	return seeds;
}

/* Attention that skips what a mask hides does so in the backward pass, too. */
static void find_skipped(const struct train *train, uint32_t op, struct gradient *gradient)
{
	const struct rule *rule = rules_find(train->options->rules, gradient->type);
	OWN(binding) binding = { 0 };
	struct error ignored;
	if (rule && rule->cost == COST_ATTENTION && rule_bind_op(rule, train->forward, op, &binding, &ignored) == OK) {
		gradient->done = train->forward->op[op].flops;
		gradient->whole = rule_flops(rule, &binding);
	}
}

/* Autograd lets go of what it saved for an op, and of the op's gradient, where all of its backward ops have run. */
static void hold_operands(struct train *train, const struct gradient *gradient, uint32_t count, uint32_t begun)
{
	const struct rule *rule = rules_find(train->options->rules, gradient->type);
	struct draft *draft = train->build.draft;
	uint32_t ops = draft->ops;
	FOR_WHILE(i, count, rule && rule->cost == COST_ELEMENT && train->build.status == OK) {
		uint32_t tensor = gradient->in[i], reader = NONE;
		for (uint32_t k = begun; k < draft->reads.count && tensor != NONE; k++)
			if (draft->reads.other[k] == tensor)
				reader = draft->reads.op[k];
		if (reader != NONE && reader + 1 < ops && draft_tensor_at(draft, tensor)->kind != KIND_PARAMETER)
			build_op(&train->build, RELEASE_TYPE, IN(tensor));
	}
}

static void expand_op(struct train *train, uint32_t op)
{
	const struct graph *graph = train->forward;
	uint32_t ins = graph_operands(graph, op), outs = graph_results(graph, op);
	const uint32_t *read = graph->reads.item + graph->reads.start[op],
				   *written = graph->writes.item + graph->writes.start[op];
	HELD uint32_t *MAKE(ids, (size_t)(ins + outs) * 2);
	HELD bool *MAKE(needs, ins);
	bool arrived = false;
	if (!ids || !needs)
		train->build.status = NO_MEMORY;
	struct gradient gradient = {
		.build = &train->build, .rules = train->options->rules, .type = graph->op[op].type, .ins = ins, .outs = outs,
		.in = ids, .to = ids + ins, .out = ids + 2 * (size_t)ins, .from = ids + 2 * (size_t)ins + outs, .needs = needs,
		.policy = train->options->policy,
	};
	find_skipped(train, op, &gradient);
	FOR_WHILE(i, ins, train->build.status == OK) {
		ids[i] = i == 0 && train->copy[op] != NONE ? train->copy[op] : train->tensor[read[i]];
		ids[ins + i] = NONE;
		needs[i] = train->needs[read[i]];
	}
	FOR_WHILE(i, outs, train->build.status == OK) {
		ids[2 * ins + i] = train->tensor[written[i]];
		ids[2 * ins + outs + i] = train->gradient[written[i]];
		arrived |= train->gradient[written[i]] != NONE;
	}
	if (train->build.status == OK && arrived && gradient_passes(train->options->rules, gradient.type)) {
		train->build.module = graph->op[op].module;
		train->build.src = graph->op[op].src;
		uint32_t begun = train->build.draft->reads.count;
		gradient_expand(&gradient);
		if (train->options->update.held)
			hold_operands(train, &gradient, 2 * (ins + outs), begun);
		FOR(i, ins)
			if (needs[i])
				accumulate(train, read[i], gradient.to[i]);
	}
}

static void backward_ops(struct train *train)
{
	const struct graph *graph = train->forward;
	for (uint32_t op = graph->ops; op-- > 0 && train->build.status == OK;) {
		expand_op(train, op);
		FOR_ROW(i, &graph->reads, op) {
			uint32_t tensor = graph->reads.item[i];
			bool last = train->first_reader[tensor] == op && train->trained[tensor];
			for (uint32_t j = graph->reads.start[op]; j < i && last; j++)
				last = graph->reads.item[j] != tensor;
			if (last && train->gradient[tensor] != NONE)
				train->gradient[tensor] = update_gradient(&train->build, &train->options->update, train->tensor[tensor],
					train->gradient[tensor]);
		}
	}
}

/* ---- update ---- */

/* One parameter behind the other, then zero_grad(). */
static void update_as_pytorch(struct train *train, const uint32_t *parameter, uint32_t *gradient, uint32_t count)
{
	const struct update_options *options = &train->options->update;
	struct eager_parameter *MAKE_IN(&train->arena, each, count);
	if (!each) {
		train->build.status = NO_MEMORY;
		return;
	}
	if (options->loss_scaling)
		update_unscale(&train->build, parameter, gradient, count);
	FOR(i, count)
		each[i] = (struct eager_parameter){ parameter[i], gradient[i], i, UPDATE_EACH };
	eager_update_all(&train->build, options, each, count);
	train->build.module = "";
	FOR(i, count)
		build_op(&train->build, RELEASE_TYPE, IN(gradient[i]));
}

/* Returns how many parameters have a gradient. */
static uint32_t update_ops(struct train *train)
{
	const struct graph *graph = train->forward;
	uint32_t *parameter, *gradient, count = 0;
	if (!ROOMS(&train->arena, graph->tensors, parameter, gradient)) {
		train->build.status = NO_MEMORY;
		return 0;
	}
	FOR(t, graph->tensors)
		if (train->trained[t] && train->gradient[t] != NONE) {
			parameter[count] = train->tensor[t];
			gradient[count++] = train->gradient[t];
		}
	train->build.phase = PHASE_UPDATE;
	if (train->options->update.held && eager_update_known(train->options->update.optimizer))
		update_as_pytorch(train, parameter, gradient, count);
	else
		update_all(&train->build, &train->options->update, parameter, gradient, count);
	return count;
}

/* ---- the whole ---- */

static enum status train_describe(struct train *train)
{
	const struct graph *graph = train->forward;
	struct about about = graph->about;
	if (!about.synthesised)
		about.synthesised = train->options->policy == GRADIENT_EAGER ? "backward and update by rules, eager"
			: "backward and update by rules, ideal";
	if (about.opaques == 0) {
		about.opaque = train->opaque;
		about.opaques = train->opaques;
	}
	return draft_describe(train->build.draft, graph->name, graph->source, graph->extra, &about);
}

static bool train_prepare(struct train *train)
{
	uint32_t tensors = train->forward->tensors, ops = train->forward->ops;
	train->build = (struct build){ .draft = draft_new(), .op = NONE, .source = train->forward,
		.rules = train->options->rules };
	if (!(ROOMS(&train->arena, tensors, train->needs, train->trained, train->tensor, train->gradient,
		train->first_reader) && ROOMS(&train->arena, ops, train->op, train->copy) && train->build.draft))
		return false;
	FILL_NONE(train->gradient, tensors);
	FILL_NONE(train->first_reader, tensors);
	FILL_NONE(train->op, ops);
	FILL_NONE(train->copy, ops);
	return true;
}

static enum status train_run(struct train *train, struct error *error)
{
	if (!train_prepare(train) || !find_trained(train))
		return fail_memory(error);
	train_find_needs(train);
	build_copy_tensors(&train->build, train->forward, train->tensor);
	forward_ops(train);
	train->build.phase = PHASE_BACKWARD;
	uint32_t seeds = seed_gradients(train);
	backward_ops(train);
	uint32_t updated = update_ops(train);
	build_finish(&train->build);
	if (train->build.status == OK && (!seeds || !updated))
		return refuse(error,
			"no gradient reaches a parameter: the graph has no floating-point parameter before a result");
	THEN(train->build.status, train_describe(train));
	if (train->build.status == BAD_INPUT)
		return refuse(error, "a tensor of the training step is too large");
	return train->build.status == OK ? OK : fail_memory(error);
}

struct graph *train_step(const struct graph *forward, const struct train_options *options, struct error *error)
{
	struct train train = { .forward = forward, .options = options };
	struct graph *step = error_set(error, train_run(&train, error)) == OK ? graph_build(train.build.draft, error) : NULL;
	draft_free(train.build.draft);
	binding_free(&train.build.binding);
	arena_free(&train.arena);
	return step;
}

/* ---- the forward part of a step ---- */

/* A copy that only backward ops read was made for them: train_step() makes its own. */
static bool kept_for_backward(const struct graph *graph, const struct rules *rules, uint32_t op)
{
	if ((rules_traits(rules, graph->op[op].type) & (TRAIT_COPY | TRAIT_CAST)) != TRAIT_COPY ||
		graph_results(graph, op) != 1)
		return false;
	uint32_t storage = graph->tensor[graph_result(graph, op, 0)].storage;
	FOR_ITEMS(user, &graph->users, storage)
		if (user != op && graph->op[user].phase == PHASE_FORWARD)
			return false;
	return !graph->storage[storage].live_out;
}

/* An op whose results need an update: of a second pass, an average of parameters. NONE: there is none. */
static uint32_t behind_update(const struct graph *step)
{
	FOR(op, step->ops)
		FOR_ITEMS(before, &step->pred, op)
			if (step->op[op].phase == PHASE_FORWARD && step->op[before].phase == PHASE_UPDATE &&
				!op_releases(&step->op[op]))
				return op;
	return NONE;
}

/* A tensor, and the root that its storage belongs to. */
static void train_want(const struct graph *step, uint32_t tensor, bool wish, bool *wanted)
{
	wanted[tensor] |= wish;
	wanted[graph_home(step, tensor)->root] |= wish;
}

static void copy_forward(struct build *build, const struct graph *step, const struct rules *rules, uint32_t *tensor,
	uint32_t *op, bool *wanted)
{
	FOR(i, step->ops) {
		bool keep = step->op[i].phase == PHASE_FORWARD && !kept_for_backward(step, rules, i);
		op[i] = keep ? 0 : NONE;
		FOR_ITEMS(read, &step->reads, i)
			train_want(step, read, keep, wanted);
		FOR_ITEMS(written, &step->writes, i)
			train_want(step, written, keep, wanted);
	}
	FOR_WHILE(t, step->tensors, build->status == OK) {
		const struct tensor *record = &step->tensor[t];
		bool leaf = record->writer == NONE && record->alias == NONE && record->kind < KIND_OPTIMIZER;
		if (wanted[t] || leaf)
			tensor[t] = build_add_tensor(build, record);
	}
	FOR_WHILE(t, step->tensors, build->status == OK)
		if (wanted[t] && step->tensor[t].alias != NONE)
			draft_tensor_at(build->draft, tensor[t])->alias = tensor[graph_home(step, t)->root];
	FOR_WHILE(i, step->ops, build->status == OK)
		if (op[i] != NONE)
			op[i] = build_copy_op(build, step, i, tensor);
	build_copy_control(build, step, op);
}

struct graph *train_forward_part(const struct graph *step, const struct rules *rules, struct error *error)
{
	OWN(arena) arena = { 0 };
	struct build build = { 0 };
	uint32_t *tensor, *op, behind = behind_update(step);
	bool *wanted = NULL;
	if (behind != NONE) {
		refuse(error, "train can't make the step anew: forward op \"%.100s\" comes behind the update",
			step->op[behind].name);
		return NULL;
	}
	build_copy_begin(&build, step, &arena, &tensor, &op);
	THEN(build.status, ROOM(&arena, wanted, step->tensors) ? OK : NO_MEMORY);
	if (build.status == OK)
		copy_forward(&build, step, rules, tensor, op, wanted);
	return build_like(&build, step, error);
}
