/* strategy_stage.c: recomputation by published strategies. */

#include "solver/recompute/apply.h"
#include "solver/recompute/strategies.h"
#include "stage.h"

/* rerun_names: what recompute=ops names: types of ops, modules, and the words of RERUN_WORDS. */

struct naming {
	const struct graph *graph;
	const struct rules *rules;
	const struct activations *activations;
	bool *inside;          /* [ops] of what is named */
	bool *drop;            /* [storages] */
	struct names scopes;   /* paths of modules that hold experts, or are latent attention */
	struct arena arena;
};

static bool is_forward_op(const struct naming *naming, uint32_t op)
{
	return naming->graph->op[op].phase == PHASE_FORWARD;
}

/* ---- modules by what they hold ---- */

/* Notes the path before a part of that name. */
static enum status note_scope(struct naming *naming, const char *module, const char *name)
{
	size_t end = module_part(module, name), length = strlen(name);
	if (end == 0)
		return OK;
	const char *scope = arena_text(&naming->arena, module, end - length > 0 ? end - length - 1 : 0);
	return scope && names_add(&naming->scopes, scope, 0) != NONE ? OK : NO_MEMORY;
}

static enum status note_scopes(struct naming *naming, const char *const *names)
{
	enum status status = OK;
	FOR(op, naming->graph->ops)
		for (const char *const *name = names; *name && status == OK && is_forward_op(naming, op); name++)
			status = note_scope(naming, naming->graph->op[op].module, *name);
	return status;
}

/* Whether a module, or one around it, was noted. */
static bool in_scope(struct naming *naming, const char *module)
{
	char path[400];
	size_t length = strlen(module);
	if (length >= sizeof path)
		return false;
	for (size_t end = length;; end--) {
		if (end == length || module[end] == '.' || end == 0) {
			memcpy(path, module, end);
			path[end] = '\0';
			if (names_find(&naming->scopes, path) != NONE)
				return true;
		}
		if (end == 0)
			return false;
	}
}

static bool named_any(const char *module, const char *const *names)
{
	for (; *names; names++)
		if (module_is_named(module, *names))
			return true;
	return false;
}

/* ---- what each word means ---- */

static enum rule_cost rerun_names_cost_of(const struct naming *naming, uint32_t op)
{
	const struct rule *rule = rules_find(naming->rules, naming->graph->op[op].type);
	return rule ? rule->cost : COST_NONE;
}

static bool contracts(const struct naming *naming, uint32_t op)
{
	const struct rule *rule = rules_find(naming->rules, naming->graph->op[op].type);
	return rule && rule_contracts(rule);
}

static bool writes_scores(const struct naming *naming, uint32_t op)
{
	const struct graph *graph = naming->graph;
	FOR_ITEMS(written, &graph->writes, op)
		if (naming->activations->attention[graph->tensor[written].storage])
			return true;
	return false;
}

static enum status mark_mixtures(struct naming *naming, bool mixtures)
{
	static const char *const experts[] = { "experts", NULL };
	TRY(note_scopes(naming, experts));
	FOR(op, naming->graph->ops) {
		const char *module = naming->graph->op[op].module;
		naming->inside[op] = in_scope(naming, module) ? mixtures : !mixtures && module_is_named(module, "mlp");
	}
	return OK;
}

static enum status mark_shared(struct naming *naming)
{
	static const char *const shared[] = { "shared_experts", "shared_expert", NULL };
	FOR(op, naming->graph->ops)
		naming->inside[op] = named_any(naming->graph->op[op].module, shared);
	return OK;
}

/* From the products of experts back, up to those before. */
static enum status mark_activations(struct naming *naming)
{
	const struct graph *graph = naming->graph;
	HELD bool *MAKE(wanted, graph->storages);
	for (uint32_t op = graph->ops; op-- > 0 && wanted;) {
		bool product = contracts(naming, op), used = false;
		if (!is_forward_op(naming, op) || !module_is_named(graph->op[op].module, "experts"))
			continue;
		FOR_ITEMS(written, &graph->writes, op)
			used |= wanted[graph->tensor[written].storage];
		naming->inside[op] = used && !product && rerun_names_cost_of(naming, op) == COST_ELEMENT &&
			!(rules_traits(naming->rules, graph->op[op].type) & TRAIT_COPY);
		FOR_ITEMS(read, &graph->reads, op)
			wanted[graph->tensor[read].storage] |= product || naming->inside[op] ||
				(used && rerun_names_cost_of(naming, op) == COST_NONE);
	}
	return wanted ? OK : NO_MEMORY;
}

static enum status mark_attention(struct naming *naming)
{
	FOR(op, naming->graph->ops)
		naming->inside[op] = rerun_names_cost_of(naming, op) == COST_ATTENTION;
	FOR(s, naming->graph->storages)
		naming->drop[s] |= naming->activations->attention[s];
	return OK;
}

/* What leads from the low ranks to attention: all of its module but the projections down and out and what attention
 * makes. */
static enum status mark_up(struct naming *naming)
{
	static const char *const up[] = { "kv_b_proj", "linear_kv_up_proj", NULL };
	static const char *const others[] = { "q_a_proj", "kv_a_proj_with_mqa", "linear_q_down_proj", "linear_kv_down_proj",
		"o_proj", "linear_proj", NULL };
	const struct graph *graph = naming->graph;
	HELD bool *MAKE(behind, graph->storages);
	NEED(behind);
	TRY(note_scopes(naming, up));
	FOR(op, graph->ops) {
		const char *module = graph->op[op].module;
		if (!is_forward_op(naming, op) || !in_scope(naming, module))
			continue;
		bool after = rerun_names_cost_of(naming, op) == COST_ATTENTION || writes_scores(naming, op);
		FOR_ITEMS(read, &graph->reads, op)
			after |= behind[graph->tensor[read].storage];
		FOR_ITEMS(written, &graph->writes, op)
			behind[graph->tensor[written].storage] |= after;
		naming->inside[op] = !after && !named_any(module, others);
	}
	return OK;
}

static enum status mark_norms(struct naming *naming)
{
	FOR(op, naming->graph->ops)
		naming->inside[op] = op_is_named(&naming->graph->op[op], "layernorm");
	return OK;
}

/* A type of ops, without what they give, where there is one of that name; else a module. */
static enum status mark_other(struct naming *naming, const char *name, bool *without)
{
	const struct graph *graph = naming->graph;
	*without = false;
	FOR(op, graph->ops)
		*without |= naming->inside[op] = op_is_named(&graph->op[op], name);
	FOR_WHILE(op, graph->ops, !*without)
		naming->inside[op] = module_is_named(graph->op[op].module, name);
	return OK;
}

/* ---- what isn't kept ---- */

/* What is named gives; without: also what other ops read of it. */
static enum status drop_inside(struct naming *naming, bool without)
{
	const struct graph *graph = naming->graph;
	HELD bool *MAKE(outside, graph->storages);
	NEED(outside);
	FOR(op, graph->ops)
		FOR_ITEMS(item, &graph->reads, op)
			outside[graph->tensor[item].storage] |= !without && is_forward_op(naming, op) && !naming->inside[op];
	FOR(s, graph->storages) {
		uint32_t maker = graph->storage[s].allocator;
		naming->drop[s] |= maker != NONE && naming->inside[maker] && is_forward_op(naming, maker) && !outside[s];
	}
	return OK;
}

static enum status rerun_names_mark(struct naming *naming, const char *name, bool *without)
{
	int word = rerun_word(name);
	*without = word == RERUN_NORMS || word == RERUN_MOE_ACT || word == RERUN_MLA_UP_PROJ;
	switch (word) {
	case RERUN_CORE_ATTENTION: return mark_attention(naming);
	case RERUN_NORMS: return mark_norms(naming);
	case RERUN_MLP: return mark_mixtures(naming, false);
	case RERUN_MOE: return mark_mixtures(naming, true);
	case RERUN_SHARED_EXPERTS: return mark_shared(naming);
	case RERUN_MOE_ACT: return mark_activations(naming);
	case RERUN_MLA_UP_PROJ: return mark_up(naming);
	default: return mark_other(naming, name, without);
	}
}

/* Marks in drop [storages] what isn't kept where an op's type, a module or one of the words is named so. Structure and
 * parts of module paths tell: experts are in a module "experts", latent attention has kv_b_proj (or Megatron's
 * linear_kv_up_proj). Nothing where the step has no such thing. OK or NO_MEMORY. O(graph). */
static enum status rerun_named(const struct graph *graph, const struct rules *rules,
	const struct activations *activations, const char *name, bool *drop)
{
	struct naming naming = { .graph = graph, .rules = rules, .activations = activations, .drop = drop };
	bool without;
	enum status status = ROOM(&naming.arena, naming.inside, graph->ops) ? rerun_names_mark(&naming, name, &without)
			: NO_MEMORY;
	THEN(status, drop_inside(&naming, without));
	names_free(&naming.scopes);
	arena_free(&naming.arena);
	return status;
}

/* keep [storages]: all but what named types, modules and words of Megatron's make. */
static enum status keep_but_named(const struct stage_context *stage, const struct recompute_step *step,
	const struct activations *activations, const struct recompute_options *options, bool *keep)
{
	HELD bool *MAKE(drop, step->storages);
	NEED(drop);
	FOR(i, options->types)
		TRY(rerun_named(step->graph, stage->rules, activations, options->type[i], drop));
	FOR(s, step->storages)
		keep[s] = !drop[s];
	return OK;
}

/* What a strategy after RECOMPUTE_AUTO keeps of a step: keep [storages]. */
static enum status strategy_keep(struct stage_context *stage, const struct recompute_step *step,
	const struct activations *activations, const struct recompute_options *options, bool *keep, struct error *error)
{
	enum status status = OK;
	if (options->mode == RECOMPUTE_KNAPSACK) {
		status = recompute_keep_knapsack(step, activations, stage->rules, &options->number, 1, stage->control, keep);
	} else if (options->mode == RECOMPUTE_OPS) {
		status = keep_but_named(stage, step, activations, options, keep);
	} else if (options->mode == RECOMPUTE_EVERY) {
		recompute_keep_every(step, activations, (uint32_t)options->number, keep);
	} else {
		bool root = options->mode == RECOMPUTE_SQRT;
		recompute_keep_groups(
			step, activations, root ? recompute_root_of_layers(activations) : (uint32_t)options->number, keep);
	}
	return fail_status(error, status);
}

/* States along the program order, as a graph. */
static struct graph *strategy_stage_play(
	const struct recompute_step *step, struct control *control, const bool *keep, struct error *error)
{
	struct recompute_base base = { 0 };
	OWN(recompute_replay) replay = { 0 };
	struct graph *graph = NULL;
	HELD uint8_t *MAKE(state, step->storages);
	HELD uint32_t *MAKE(order, step->ops);
	enum status status = state && order ? recompute_states_keeping(step, keep, control, state) : NO_MEMORY;
	FOR_WHILE(op, step->ops, status == OK)
		order[op] = op;
	status = status == OK ? recompute_base_of(step, order, &base) : status;
	status = status == OK ? recompute_replay_new(step, &replay) : status;
	status = status == OK ? recompute_play_all(&replay, &base, state) : status;
	if (status != OK)
		fail_status(error, status);
	else if (!replay.valid)
		refuse(error,
			"what this strategy computes again reads memory that is overwritten before; recompute=auto finds another "
			"way");
	else
		graph = recompute_build(&replay, state, error);
	recompute_base_free(&base);
	return graph;
}

struct graph *strategy_apply(struct stage_context *stage, const struct recompute_input *input,
	const struct activations *activations, const struct recompute_options *options, struct error *error)
{
	OWN(recompute_step) step;
	struct graph *graph = NULL;
	HELD bool *MAKE(keep, input->graph->storages);
	enum status status = recompute_step_find(input, &step);
	if (status != OK || !keep)
		fail_memory(error);
	else if (strategy_keep(stage, &step, activations, options, keep, error) == OK)
		graph = strategy_stage_play(&step, stage->control, keep, error);
	return graph;
}
