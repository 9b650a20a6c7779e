/* model_source.c: built-in models and captured steps, of any batch and recomputation. */

#include "model_source.h"
#include "src/base/complain.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/scenario/profiles.h"
#include "src/stages/shard/stage.h"

#define LAYERS_BUILT 3  /* of a built-in model whose layers repeat: the others are copies of one of them */

static struct model_training training_of(const struct model_source *source)
{
	const int64_t *value = source->scenario->value;
	struct model_training training = model_training_default;
	if (value[K_precision] > 0)
		training.precision = (enum precision)value[K_precision];
	if (value[K_optimizer] > 0)
		training.optimizer = (enum optimizer)value[K_optimizer];
	training.float8 = value[K_float8];
	training.loss_chunks = (uint32_t)value[K_loss_chunks];
	training.narrow_moments = value[K_moments] != 0;
	return training;
}

/* Gradients in their narrow format up to the update, where they are asked for so. Takes the graph, NULL stays NULL. */
static struct graph *reduced_as_asked(const struct model_source *source, struct graph *graph, struct error *error)
{
	uint32_t moved;
	if (!graph || source->scenario->value[K_reduce_dtype] == 0)
		return graph;
	struct graph *narrow = late_casts(graph, true, &moved, error);
	graph_release(graph);
	return narrow;
}

/* Whatever steps from graph to graph need. */
static enum status open_stage(struct model_source *source, struct error *error)
{
	if (source->store)
		return OK;
	source->rules = source->rules ? source->rules : rules_new();
	source->store = store_new();
	source->stage = (struct stage_context) { .store = source->store, .rules = source->rules, .control = &source->control };
	NEEDED(error, source->rules && source->store);
	store_begin(source->store, (size_t)1 << 28, NULL);
	return OK;
}

/* The graph of a scenario, and whether it's a guess. Takes the old one, NULL stays NULL. */
static struct graph *transformed_by(struct model_source *source, struct graph *graph, const struct scenario *scenario,
	bool *guess, struct error *error)
{
	char guesses[GUESSES_BYTES];
	struct transformed *transformed = graph
		? stage_transform(&source->stage, graph, scenario, &(struct plan_wish){ 0 }, false, error)
		: NULL;
	struct graph *result = transformed ? graph_retain(transformed->graph) : NULL;
	*guess = transformed && *notes_guesses(transformed->notes, guesses);
	transformed_release(transformed);
	graph_release(graph);
	return result;
}

/* The step with some knobs alone: in which what recompute=ops names runs again, then in 8 bits as asked; or of one
 * sample, which is cut out of more as plans do. All else is in the step. Takes it. */
static struct graph *changed_alone(
	struct model_source *source, struct graph *graph, bool named, int64_t batch, bool *guess, struct error *error)
{
	OWN(scenario) scenario;
	static const enum knob_id apart[] = { K_recompute, K_float8, K_device, K_software };
	scenario_init(&scenario);
	if (error_set(error, scenario_copy(&scenario, source->scenario)) != OK || open_stage(source, error) != OK) {
		graph_release(graph);
		return NULL;
	}
	FOR_INT(knob, KNOB_COUNT)
		scenario.value[knob] = knobs[knob].normal;
	FOR_WHILE(i, COUNT_OF(apart), named)
		scenario_put(&scenario, apart[i], source->scenario->value[apart[i]]);
	scenario.value[K_batch] = batch;
	return transformed_by(source, graph, &scenario, guess, error);
}

static struct graph *built_in(
	void *context, int64_t batch, enum recompute recompute, bool *guess, struct error *error)
{
	struct model_source *source = context;
	struct model_config config = source->config;
	struct model_training training = training_of(source);
	bool named = recompute == RECOMPUTE_OPS;
	training.recompute = named ? RECOMPUTE_NONE : recompute;
	training.float8 = training.float8 && !named;
	int64_t asked = source->scenario->value[K_batch] == KNOB_GIVEN ? config.batch : source->scenario->value[K_batch];
	bool cut = batch == 1 && asked > 1;
	config.batch = batch + cut;
	struct graph *graph = model_step(source->model.name, &config, &training, error);
	if (graph && cut)
		graph = changed_alone(source, graph, false, batch, guess, error);
	if (graph && named)
		graph = changed_alone(source, graph, true, KNOB_GIVEN, guess, error);
	return reduced_as_asked(source, graph, error);
}

static struct graph *from_file(
	void *context, int64_t batch, enum recompute recompute, bool *guess, struct error *error)
{
	struct model_source *source = context;
	struct scenario scenario;
	if (error_set(error, scenario_copy(&scenario, source->scenario)) != OK)
		return NULL;
	scenario.value[K_batch] = batch;
	scenario.value[K_recompute] = recompute;
	static const enum knob_id apart[] = { K_devices, K_strategy, K_dp, K_tp, K_pp, K_cp, K_ep, K_zero, K_microbatches };
	FOR(i, COUNT_OF(apart)) /* the step itself is of one device */
		scenario.value[apart[i]] = knobs[apart[i]].normal;
	struct graph *graph = transformed_by(source, graph_retain(source->graph), &scenario, guess, error);
	scenario_done(&scenario);
	return reduced_as_asked(source, graph, error);
}

/* Few layers are built where all are alike. */
static void open_built_in(struct model_source *source)
{
	struct model_config *config = &source->config;
	enum model_family family = config->family;
	if (!config->from && config->positions && config->positions < config->seq)
		config->positions = config->seq;
	bool alike = family == FAMILY_GPT || family == FAMILY_LLAMA || family == FAMILY_BERT || family == FAMILY_VIT ||
		family == FAMILY_MOE || family == FAMILY_DEEPSEEK;
	alike = config->from || (alike && config->sparse_step <= 1);
	/* of first layers that differ all, and two more of the others, so that these are the longest run though the last
	 * one, which the head reads, isn't of it */
	int64_t apart = config->from ? config->from->apart : config->dense_layers;
	int64_t built = apart + LARGER(LAYERS_BUILT, apart + 2);
	if (alike && config->layers > built + 1) {
		source->repeat = (uint32_t)(config->layers - built);
		config->layers = built;
	}
	source->step = built_in;
}

int model_source_open(
	struct model_source *source, const char *name, const struct read_options *reading, const struct scenario *scenario)
{
	int code = EXIT_FINE;
	struct error error = { 0 };
	int64_t seq = scenario->value[K_seq];
	bool eager_loss = profile_of((enum software)scenario->value[K_software])->eager_loss;
	*source = (struct model_source) { .name = name, .scenario = scenario,
		.reading = reading ? *reading : (struct read_options) { 0 } };
	if (model_open(name, eager_loss, &source->model, &error) != OK)
		return complain(name, &error, error.status);
	if (source->model.name) {
		source->config = source->model.config;
		source->config.seq = seq != KNOB_GIVEN ? seq : source->config.seq;
		source->asked = source->config;
		open_built_in(source);
		return EXIT_FINE;
	}
	source->graph = batch_open(name, &source->reading, &code);
	source->step = from_file;
	if (source->graph && open_stage(source, &error) != OK)
		return complain(name, &error, error.status);
	return source->graph ? EXIT_FINE : code;
}

void model_source_of(struct model_source *source, struct graph *graph, const struct scenario *scenario,
	const struct stage_context *stage)
{
	*source = (struct model_source){
		.name = graph->name, .scenario = scenario, .graph = graph, .stage = *stage, .step = from_file
	};
}

int64_t model_source_batch(struct model_source *source)
{
	int64_t batch = source->scenario->value[K_batch];
	struct error error;
	bool guess;
	if (batch != KNOB_GIVEN)
		return batch;
	OWN(graph) *graph = source->step(source, batch, RECOMPUTE_NONE, &guess, &error);
	struct shared_units *units = graph ? shared_units_find(&source->stage, graph) : NULL;
	batch = units ? larger_of(scale_given_batch(units->graph, &units->units.factors), 1) : 0;
	shared_units_release(units);
	return batch;
}

/* ---- all of it, to be planned ---- */

#define PAGE (INT64_C(20) << 20)  /* of PyTorch's expandable segments: the last one isn't filled */

struct graph *model_source_whole(struct model_source *source, int64_t batch, struct error *error)
{
	struct model_training training = training_of(source);
	struct model_config config = source->asked;
	if (!source->model.name)
		return graph_retain(source->graph);
	config.batch = batch;
	training.loss_chunks = 0;   /* the scenario says so */
	return model_step(source->model.name, &config, &training, error);
}

enum status model_source_scenario(const struct model_source *source, int64_t batch, struct scenario *scenario)
{
	static const enum knob_id in_the_model[] = { K_batch, K_seq, K_precision, K_optimizer };
	struct error error;
	NEED(scenario_copy(scenario, source->scenario) == OK);
	if (source->model.name && !source->asked.fused)
		TRY(scenario_set(scenario, "kernels=eager", &error));
	for (size_t i = 0; source->model.name && i < COUNT_OF(in_the_model); i++)
		scenario->value[in_the_model[i]] = knobs[in_the_model[i]].normal;
	if (!source->model.name)
		scenario->value[K_batch] = batch;
	return OK;
}

/* What differs from the preset, as options of `model`. */
static void say_sizes(const struct model_source *source, struct words *words)
{
	const struct model_config *asked = &source->asked, *preset = &source->model.preset;
	char name[32];
#define X(field, least, most, help) \
	if (asked->field != preset->field && !text_is(#field, "batch")) { \
		PRINT_TO(name, "%s", #field); \
		for (char *at = name; *at; at++) \
			*at = *at == '_' ? '-' : *at; \
		words_add(words, " --%s %lld", name, (long long)asked->field); \
	}
	MODEL_SIZES(X)
#undef X
	if (asked->flash != preset->flash)
		words_add(words, " --attention %s", asked->flash ? "flash" : "math");
	if (asked->fused == (asked->from != NULL))
		words_add(words, " --kernels %s", asked->fused ? "fused" : "eager");
	if (asked->eager_loss)
		words_add(words, " --loss eager");
	if (asked->dropout != preset->dropout)
		words_add(words, " --no-dropout");
}

char *model_source_line(const struct model_source *source, int64_t batch, const char *set, char *text, size_t size)
{
	struct model_training training = training_of(source);
	char name[4096];
	struct words words = { text, size, 0 };
	if (!source->model.name) {
		words_add(&words, "tidemark plan ");
		words_add_quoted(&words, source->name);
		words_add(&words, "%s%s", read_options_text(&source->reading, name, sizeof name), set);
		return text;
	}
	PRINT_TO(name, "%.*s", (int)strcspn(source->name, ":"), source->name);
	words_add(&words, "tidemark model ");
	words_add_quoted(&words, name);
	words_add(&words, " --batch %lld", (long long)batch);
	say_sizes(source, &words);
	if (training.precision != model_training_default.precision)
		words_add(&words, " --precision %s", precision_names[training.precision]);
	if (training.optimizer != model_training_default.optimizer)
		words_add(&words, " --optimizer %s", optimizer_names[training.optimizer]);
	words_add(&words, " | tidemark plan -%s", set);
	return text;
}

char *model_source_assumptions(const struct model_source *source, char *text, size_t size)
{
	struct model_training training = training_of(source);
	const struct model_config *config = &source->asked;
	const int64_t *value = source->scenario->value;
	char precision[32], optimizer[32], sequence[32];
	const char *master = training.precision == PRECISION_MIXED ? " (fp16, fp32 master weights)" : "";
	if (source->model.name && config->heads > 0 && config->seq > 0)
		snprintf(text, size,
			"precision %s%s, sequence %lld, optimizer %s, attention %s, dropout %s; recompute selective: attention "
			"scores%s, full: every layer",
			precision_names[training.precision], master, (long long)config->seq, optimizer_names[training.optimizer],
			config->flash ? "in one fused kernel" : "with scores in memory", config->dropout ? "on" : "off",
			config->flash ? " (there are none)" : "");
	else if (source->model.name)
		snprintf(text, size, "precision %s%s, optimizer %s; recompute full: every layer",
			precision_names[training.precision], master, optimizer_names[training.optimizer]);
	else
		snprintf(text, size,
			"precision %s, sequence %s, optimizer %s, attention and dropout as in the file; recompute selective: "
			"attention scores, full: every layer",
			value[K_precision] ? knob_text(K_precision, value[K_precision], precision, sizeof precision)
			: "as in the file",
			value[K_seq] != KNOB_GIVEN ? knob_text(K_seq, value[K_seq], sequence, sizeof sequence) : "as in the file",
			value[K_optimizer] ? knob_text(K_optimizer, value[K_optimizer], optimizer, sizeof optimizer)
			: "as in the file");
	if (source->model.name && config->assumed) {
		struct words words = { text, size, strlen(text) };
		words_add(&words, "; %s", config->assumed);
		for (char *at = text; *at; at++)
			*at = *at == '\n' ? ';' : *at;
	}
	return text;
}

void model_source_close(struct model_source *source)
{
	hugging_face_close(&source->model.file);
	graph_release(source->graph);
	rules_free(source->rules);
	store_free(source->store);
	*source = (struct model_source) { 0 };
}

void model_source_request(struct model_source *source, struct config_request *request)
{
	request->step = source->step;
	request->context = source;
	request->padding = source->scenario->value[K_padding];
	request->copies = profile_of((enum software)source->scenario->value[K_software])->eager_loss;
	request->repeat = source->repeat;
	request->eager = source->model.name && !source->asked.fused;
	request->replicate = (uint32_t)source->scenario->value[K_replicate];
	request->keeps = !source->scenario->value[K_reshard_after_forward];
	request->machine = source->scenario->machine;
	request->machine.memory = scenario_device_memory(source->scenario);
	if (request->overheads.context == 0 && scenario_reserve(source->scenario) > 0) {
		request->overheads.context = scenario_reserve(source->scenario);
		request->overheads.page = PAGE;
	}
	if (request->overheads.communication == 0)
		request->overheads.communication = scenario_group_buffers(source->scenario);
}
