/* step.c: a training step of a built-in model. */
#include "hugging_face.h"
#include "solver/step/loss_chunks.h"

const struct model_training model_training_default = { .precision = PRECISION_MIXED, .optimizer = OPTIMIZER_ADAM };

void model_config_default(struct model_config *config, bool eager_loss)
{
	config->fused = !config->from;
	config->eager_loss |= eager_loss &&
		(config->family == FAMILY_LLAMA || config->family == FAMILY_DEEPSEEK || config->from);
}

/* Gives back the old graph; NULL stays NULL. */
static struct graph *replaced(struct graph *old, struct graph *new)
{
	graph_release(old);
	return new;
}

static struct graph *recomputed(const struct graph *step, const struct rules *rules, enum recompute mode,
	struct error *error)
{
	struct activations activations;
	struct recompute_options options = { .mode = mode };
	if (error_set(error, activations_find(step, rules, &activations, error)) != OK)
		return NULL;
	HELD bool *MAKE(drop, step->storages);
	struct graph *result = NULL;
	if (drop) {
		recompute_choose(step, &activations, &options, drop);
		result = recompute_apply(step, &activations, drop, NULL, 0, error);
	} else {
		fail_memory(error);
	}
	activations_free(&activations);
	return result;
}

static struct graph *in_float8(struct graph *step, const struct rules *rules, struct error *error)
{
	uint32_t changed;
	struct graph *shared = graph_share_views(step, rules, error),
				 *result = shared ? float8_apply(shared, rules, &changed, error) : NULL;
	graph_release(shared);
	return result;
}

static struct graph *in_chunks(struct graph *step, const struct rules *rules, uint32_t chunks, struct error *error)
{
	struct factors factors;
	struct loss_chunks_report report;
	if (factors_find(step, rules, &factors) != OK) {
		fail_memory(error);
		return NULL;
	}
	struct graph *result = loss_chunks_apply(step, rules, &factors, chunks, &report, error);
	factors_free(&factors);
	return result;
}

struct graph *model_step(const char *name, const struct model_config *config, const struct model_training *training,
	struct error *error)
{
	struct rules *rules = rules_new();
	if (!rules) {
		fail_memory(error);
		return NULL;
	}
	struct adapter_options adapters = { config->lora, config->target == 1, (enum adapter_base)config->base };
	/* The frozen weights' format is the model's. */
	enum precision precision = !config->lora ? training->precision
		: adapters.base == BASE_FP32 ? PRECISION_GIVEN : PRECISION_BF16;
	enum model_family family = config->family;
	bool decodes = config->from ? !strstr(config->from->name, "bert")
		: family == FAMILY_GPT || family == FAMILY_MOE || family == FAMILY_LLAMA || family == FAMILY_DEEPSEEK;
	struct model_config plain = *config;
	plain.lora = plain.target = plain.base = 0;
	if (config->lora && precision == PRECISION_BF16 && decodes)
		precision = PRECISION_WIDE_LOSS;
	bool mixed = precision == PRECISION_MIXED, brain = precision == PRECISION_BF16 || precision == PRECISION_WIDE_LOSS;
	bool own = config->from && !config->fused && (mixed || brain || precision == PRECISION_FP16); /* with its casts */
	plain.dtype = !own ? NULL : brain ? "bf16" : "f16";
	struct train_options options = { .rules = rules,
		.policy = training->policy,
		.adapters = config->lora > 0,
		.update = { .optimizer = training->optimizer,
			.master = mixed,
			.loss_scaling = mixed,
			.accumulate = training->accumulate,
			.held = config->from && !training->accumulate,
			.narrow_moments = training->narrow_moments } };
	struct graph *graph = NULL;
	if (config->lora == 0 && (config->adapters || config->target || config->base))
		refuse(error, "target and base are those of adapters: lora=RANK");
	else if (config->lora > 0 && training->precision != PRECISION_MIXED && training->precision != PRECISION_BF16)
		refuse(error, "with adapters the precision is that of the frozen weights: base=bf16 or fp32");
	else
		graph = model_build(name, &plain, error);
	bool behind = precision == PRECISION_AUTOCAST && !training->forward_only; /* gradients are cast, too */
	if (graph && precision != PRECISION_GIVEN && !behind && !own)
		graph = replaced(graph, precision_apply(graph, rules, precision, error));
	if (graph && config->lora)
		graph = replaced(graph, adapters_apply(graph, rules, &adapters, false, error));
	if (graph && !training->forward_only)
		graph = replaced(graph, train_step(graph, &options, error));
	if (graph && adapters.base >= BASE_NF4)
		graph = replaced(graph, adapters_apply(graph, rules, &adapters, true, error));
	if (graph && behind)
		graph = replaced(graph, precision_apply(graph, rules, precision, error));
	if (graph && !training->forward_only && training->loss_chunks > 1)
		graph = replaced(graph, in_chunks(graph, rules, training->loss_chunks, error));
	if (graph && !training->forward_only && training->recompute != RECOMPUTE_NONE)
		graph = replaced(graph, recomputed(graph, rules, training->recompute, error));
	if (graph && !training->forward_only && training->float8)
		graph = replaced(graph, in_float8(graph, rules, error));
	rules_free(rules);
	return graph;
}
