/* table.c: the stages between reading and ordering.
 *
 * Every step is a row of a table: whether the scenario asks for it, what its result depends on, and the call. Each
 * result is kept under the fingerprint of its input graph and of just the knobs that it reads. */

#include "solver/graph/growth.h"
#include "solver/step/loss_chunks.h"
#include "solver/step/optimizer.h"
#include "solver/step/train.h"
#include "src/base/words.h"
#include "src/scenario/knobs.h"
#include "src/stages/pipeline/stage.h"
#include "src/stages/shard/stage.h"
#include "table.h"

/* ---- the steps ---- */

struct job {
	struct stage_context *stage;
	const struct plan_wish *wish;
	const struct graph *given;          /* the graph as read */
	struct graph *graph;                /* the step's input */
	const struct scenario *scenario;
	char notes[NOTES_BYTES];
	struct sharded *sharded;            /* a reference, once the step is split over devices */
	struct pipelined *pipelined;        /* a reference, once it is cut into microbatches or ranks */
	struct fitted *fitted;              /* a reference, once ops run again */
	int64_t fit_peak;
	bool quick;
	struct error *error;
};

static int64_t value(const struct job *job, enum knob_id knob)
{
	return job->scenario->value[knob];
}

static struct update_options update_options(const struct job *job, enum optimizer given)
{
	bool mixed = value(job, K_precision) == PRECISION_MIXED;
	/* The knob's words are "given" and then the optimizers after OPTIMIZER_NONE, in the same order. */
	return (struct update_options){
		.optimizer = value(job, K_optimizer) ? (enum optimizer)value(job, K_optimizer) : given,
		.master = mixed, .loss_scaling = mixed,
		.narrow_moments = value(job, K_moments) != 0, .accumulate = value(job, K_accumulation) > 1,
	};
}

/* When a step is taken. */
#define WHEN(name, condition) static bool name(const struct job *job) { return condition; }

WHEN(wants_train, value(job, K_train) != 0)

static struct graph *run_train(struct job *job)
{
	bool step_given = train_has_step(job->graph);
	struct graph *forward = step_given ? train_forward_part(job->graph, job->stage->rules, job->error)
		: graph_retain(job->graph);
	bool autocast = value(job, K_precision) == PRECISION_AUTOCAST;
	if (forward && value(job, K_precision) && !autocast) {
		struct graph *converted = precision_apply(
			forward, job->stage->rules, (enum precision)value(job, K_precision), job->error);
		graph_release(forward);
		forward = converted;
	}
	if (!forward)
		return NULL;
	enum optimizer own = step_given ? optimizer_of(job->graph, job->stage->rules) : OPTIMIZER_NONE;
	bool known = own != OPTIMIZER_NONE && own != OPTIMIZER_COUNT;
	struct train_options options = { .rules = job->stage->rules,
		.policy = value(job, K_train) == 1 ? GRADIENT_EAGER : GRADIENT_IDEAL,
		.like = step_given ? job->graph : NULL,
		.update = update_options(job, known ? own : OPTIMIZER_ADAM) };
	struct graph *step = train_step(forward, &options, job->error);
	graph_release(forward);
	if (step && autocast) {
		forward = step;
		step = precision_apply(forward, job->stage->rules, PRECISION_AUTOCAST, job->error);
		graph_release(forward);
	}
	if (step)
		note(job->notes, "the backward pass and the weight update were made by rules%s (%s), with %s",
			step_given ? " in place of the graph's own" : "", options.policy == GRADIENT_EAGER
			? "eager: what PyTorch saves" : "ideal: only what derivatives need", optimizer_names[options.update.optimizer]);
	return step;
}

WHEN(
	other_sizes, value(job, K_batch) != KNOB_GIVEN || value(job, K_seq) != KNOB_GIVEN || value(job, K_microbatches) > 1)

/* A forward graph gets its sizes before its backward pass: what rules make of that needs no rules then. So does a step
 * that knows how it grows, before it is made anew. */
WHEN(wants_scale_first, other_sizes(job) && wants_train(job)
	&& (!train_has_step(job->given) || growth_base(job->given)))
WHEN(wants_scale, other_sizes(job) && !wants_scale_first(job))

static void release_factors(void *pointer)
{
	struct factors *factors = pointer;
	factors_free(factors);
	mem_free(factors);
}

/* The factors of the job's graph, found once and kept in the store; *owned where the store would not have them. NULL
 * when out of memory, which is said. */
static struct factors *transform_find_factors(struct job *job, bool *owned)
{
	struct key key = key_of("factors");
	key_add(&key, job->graph->fingerprint);
	struct factors *factors = store_find(job->stage->store, &key);
	*owned = false;
	if (factors)
		return factors;
	MAKE(factors, 1);
	if (!factors || factors_find(job->graph, job->stage->rules, factors) != OK) {
		mem_free(factors);
		fail_memory(job->error);
		return NULL;
	}
	size_t bytes = factors->arena.bytes;
	const atomic_bool *cancel = job->stage->control->cancel;   /* the store keeps nothing then; small ones save room */
	*owned = (cancel && atomic_load(cancel)) || bytes > (size_t)value(job, K_store) / 8;
	if (!*owned && !store_keep(job->stage->store, &key, factors, bytes, release_factors)) {
		fail_status(job->error, cancel && atomic_load(cancel) ? CANCELLED : NO_MEMORY);
		return NULL;
	}
	return factors;
}

/* Samples of a microbatch; 0: as the graph has it. */
static int64_t microbatch(struct job *job, const struct factors *factors)
{
	int64_t batch = value(job, K_batch) == KNOB_GIVEN ? 0 : value(job, K_batch), count = value(job, K_microbatches);
	if (batch == 0 && count > 1)
		batch = scale_given_batch(job->graph, factors);
	if (batch % count == 0 && (batch > 0 || count == 1))
		return batch / count;
	if (batch == 0)
		refuse(job->error, "no input has a batch to cut into microbatches");
	else
		refuse(job->error,
			"a batch of %lld can't be cut into %lld microbatches: set batch to a multiple of microbatches",
			(long long)batch, (long long)count);
	return -1;
}

/* By rules. */
static struct graph *scale_inferred(struct job *job, const struct factors *factors, const struct scale_request *request)
{
	bool captured = graph_releases(job->graph);
	if (request->batch > 0 && captured)
		note(job->notes, NOTE_GUESS "which extents are samples is inferred; captures by tidemark_torch's command line or "
			"capture_batches() know it");
	else if (request->batch > 0 && job->graph->about.batch == 0)
		note(job->notes, NOTE_GUESS "which extents are samples is inferred, as the file doesn't say its batch");
	if (request->sequence > 0 && captured)
		note(job->notes, NOTE_GUESS "which extents are positions is inferred");
	struct scale_report report;
	struct graph *scaled = NULL;
	error_set(job->error, graph_scale(job->graph, job->stage->rules, factors, request, &report, &scaled, job->error));
	if (scaled)
		scale_notes(job->notes, job->graph, &report);
	return scaled;
}

/* A batch by what captures tell of it; then a sequence by rules. */
static struct graph *scale_captured(struct job *job, const struct scale_request *request)
{
	struct scale_report report;
	struct graph *scaled = NULL;
	error_set(
		job->error, graph_scale_captured(job->graph, job->stage->rules, request->batch, &report, &scaled, job->error));
	if (!scaled)
		return NULL;
	scale_notes(job->notes, job->graph, &report);
	if (request->sequence == 0)
		return scaled;
	struct graph *both = NULL, *own = job->graph;
	struct factors factors;
	job->graph = scaled;   /* what is inferred is noted with the job */
	if (factors_find(scaled, job->stage->rules, &factors) == OK) {
		both = scale_inferred(job, &factors, &(struct scale_request){ 0, request->sequence });
		factors_free(&factors);
	} else {
		fail_memory(job->error);
	}
	job->graph = own;
	graph_release(scaled);
	return both;
}

static struct graph *run_scale(struct job *job)
{
	bool owned;
	struct factors *factors = transform_find_factors(job, &owned);
	if (!factors)
		return NULL;
	struct scale_request request = { microbatch(job, factors), value(job, K_seq) == KNOB_GIVEN ? 0 : value(job, K_seq) };
	struct graph *scaled = NULL;
	if (growth_base(job->graph) && request.batch == job->graph->about.batch)
		request.batch = 0;
	if (request.batch > 0 && growth_base(job->graph))
		scaled = scale_captured(job, &request);
	else if (request.batch >= 0)
		scaled = scale_inferred(job, factors, &request);
	if (owned)
		release_factors(factors);
	return scaled;
}

static bool wants_optimizer(const struct job *job)
{
	return value(job, K_train) == 0 &&
		(value(job, K_precision) || value(job, K_optimizer) || value(job, K_moments) || value(job, K_accumulation) > 1);
}

/* Parameters stay in fp32, and so does their update. */
static struct graph *run_autocast(struct job *job, enum optimizer own)
{
	struct optimizer_change change = { .same_optimizer = !value(job, K_optimizer), .update = update_options(job, own) };
	struct graph *graph = precision_apply(job->graph, job->stage->rules, PRECISION_AUTOCAST, job->error), *replaced;
	if (graph)
		note(job->notes, "autocast: casts are those of torch.autocast in bf16, without the model's own under it");
	if (graph && adapters_of_peft(job->graph))
		note(job->notes, NOTE_GUESS "peft's own casts under autocast are missing: a capture takes 1 or 2 %% more");
	if (!graph || (change.same_optimizer && !value(job, K_moments) && value(job, K_accumulation) == 1))
		return graph;
	replaced = optimizer_replace(graph, job->stage->rules, &change, job->error);
	graph_release(graph);
	if (replaced)
		note(job->notes, "the weight update was replaced by one made by rules");
	return replaced;
}

static struct graph *run_optimizer(struct job *job)
{
	enum optimizer own = optimizer_of(job->graph, job->stage->rules);
	if (own == OPTIMIZER_NONE && !value(job, K_optimizer) && value(job, K_accumulation) == 1 &&
		(value(job, K_precision) || !value(job, K_moments)))
		return precision_apply(job->graph, job->stage->rules, (enum precision)value(job, K_precision), job->error);
	if (value(job, K_precision) == PRECISION_AUTOCAST)
		return run_autocast(job, own);
	struct optimizer_change change = { .same_optimizer = !value(job, K_optimizer), .update = update_options(job, own),
		.precision = (enum precision)value(job, K_precision) };
	struct graph *graph = optimizer_replace(job->graph, job->stage->rules, &change, job->error);
	if (graph)
		note(job->notes, "the weight update was replaced by one made by rules%s",
			value(job, K_precision) ? "; casts were inserted" : "");
	if (graph && change.update.optimizer == OPTIMIZER_ADAFACTOR)
		note(job->notes, "adafactor as in its paper; torch.optim's holds a parameter's change until it has made the next");
	if (graph && change.precision == PRECISION_MIXED)
		note(job->notes,
			"mixed: fp16, with fp32 parameters that the optimizer keeps and a scaled loss. PyTorch's "
			"autocast is precision=autocast");
	return graph;
}

WHEN(wants_loss_chunks, value(job, K_loss_chunks) > 1)

static struct graph *run_loss_chunks(struct job *job)
{
	bool owned;
	struct factors *factors = transform_find_factors(job, &owned);
	struct loss_chunks_report report;
	if (!factors)
		return NULL;
	struct graph *graph = loss_chunks_apply(
		job->graph, job->stage->rules, factors, (uint32_t)value(job, K_loss_chunks), &report, job->error);
	if (graph && report.chunks > 0)
		note(job->notes, "%s, the loss and their gradients in %u chunks: %u ops run on a part of the tokens at a time",
			report.logits, report.chunks, report.ops);
	else if (graph)
		note(job->notes, "loss_chunks changes nothing: %s", report.why);
	if (owned)
		release_factors(factors);
	return graph;
}

WHEN(hosts_states, (value(job, K_offload) & HOSTS_STATES) && !scenario_shards(job->scenario))
WHEN(hosts_states_of_device, (value(job, K_offload) & HOSTS_STATES) && scenario_shards(job->scenario))

static struct graph *run_host_states(struct job *job)
{
	uint32_t states;
	int64_t bytes;
	if (scenario_pipelines(job->scenario)) {
		refuse(job->error, "with pp or microbatches optimizer state stays on the device: set offload=off");
		return NULL;
	}
	struct graph *graph = stage_offload_states(
		job->stage, job->graph, job->scenario, job->sharded, &states, &bytes, job->error);
	if (graph && states > 0)
		note(job->notes,
			"%u tensors of optimizer state, %s, are in the host's memory: each is copied to the device for its update, and "
			"back", states, BYTES(bytes));
	else if (graph)
		note(job->notes, "offload sends no optimizer state to the host: none of 64 KiB or more is updated in place");
	return graph;
}

/* What is recomputed is decided for the graph of a device. */
WHEN(fits_device, value(job, K_recompute) == RECOMPUTE_AUTO || value(job, K_recompute) == RECOMPUTE_KEPT)
WHEN(wants_fit, fits_device(job) && !scenario_shards(job->scenario))
WHEN(wants_fit_of_device, fits_device(job) && job->sharded && !scenario_pipelines(job->scenario))

static bool wants_recompute(const struct job *job)
{
	if (fits_device(job))
		return false;
	FOR(i, job->scenario->pins)
		if (job->scenario->pin[i].kind == PIN_RECOMPUTE || job->scenario->pin[i].kind == PIN_OFFLOAD)
			return true;
	return value(job, K_recompute) != RECOMPUTE_NONE;
}

/* The pins that recomputation reads, resolved: layers by number, tensors by name. */
static enum status transform_read_pins(
	struct job *job, const struct activations *activations, struct arena *arena, struct recompute_options *options)
{
	uint32_t *layer, *resident, *offload;
	const char **type;
	NEEDED(job->error, ROOMS(arena, job->scenario->pins, layer, resident, offload, type));
	FOR(i, job->scenario->pins) {
		const struct pin *pin = &job->scenario->pin[i];
		unsigned long number = pin->kind == PIN_RECOMPUTE ? strtoul(pin->a, NULL, 10) : 0;
		if (pin->kind == PIN_RECOMPUTE && number >= activations->layers)
			return refuse(job->error, "layer %lu doesn't exist: the graph has %u, counted from 0", number,
				activations->layers);
		if (pin->kind == PIN_RECOMPUTE)
			layer[options->layers++] = (uint32_t)number;
		else if (pin->kind == PIN_RERUN)
			type[options->types++] = pin->a;
		else if (pin->kind == PIN_RESIDENT)
			resident[options->residents++] = graph_find_tensor(job->graph, pin->a);
		else if (pin->kind == PIN_OFFLOAD)
			offload[options->offloads++] = graph_find_tensor(job->graph, pin->a);
	}
	options->layer = layer;
	options->resident = resident;
	options->offload = offload;
	options->type = type;
	return OK;
}

static void note_cost(
	struct job *job, const struct activations *activations, const struct recompute_options *options, bool *drop)
{
	struct recompute_cost cost;
	recompute_choose(job->graph, activations, options, drop);
	if (recompute_cost(job->graph, activations, drop, &cost, NULL, job->error) != OK)
		return;
	if (cost.bytes)
		note(job->notes, "%s of activations are computed again, for %s more",
			BYTES(cost.bytes), flops_text((double)cost.flops, TEXT(32)));
	else if (options->mode == RECOMPUTE_FULL || options->mode == RECOMPUTE_PRODUCTS)
		note(job->notes,
			activations->layers ? "recompute=%s changes nothing: what the layers save either passes from one to the "
								  "next or can't be computed again"
								: "recompute=%s changes nothing: no module path has a numbered part (\"layers.3\"), so "
								  "no layers are known",
			recompute_names[options->mode]);
	else if (options->mode == RECOMPUTE_SELECTIVE)
		note(job->notes, "recompute=selective changes nothing: no attention scores are saved");
}

static void note_strategy(
	struct job *job, const struct activations *activations, const struct recompute_options *options)
{
	bool by_layers = options->mode == RECOMPUTE_SQRT || options->mode == RECOMPUTE_LAYERS ||
		options->mode == RECOMPUTE_EVERY;
	char word[64];
	knob_text(K_recompute, value(job, K_recompute), word, sizeof word);
	if (job->fitted->extra > 0)
		note(job->notes, "activations are computed again: %.4g %% of the step's time more, %.4g ms",
			100 * (double)job->fitted->extra / (double)job->fitted->total, (double)job->fitted->extra / 1e9);
	else if (by_layers && activations->layers == 0)
		note(job->notes,
			"recompute=%s changes nothing: no module path has a numbered part (\"layers.3\"), so no layers are known",
			word);
	else if (options->mode == RECOMPUTE_OPS && options->types == 0)
		note(job->notes,
			"recompute=ops changes nothing: no type of ops is named; recompute=ops:aten.gelu+aten.mul names two");
	else
		note(job->notes, "recompute=%s changes nothing: nothing that is saved can be dropped so", word);
}

static struct graph *apply_recompute(struct job *job, const struct activations *activations, struct arena *arena)
{
	struct recompute_options options = { .mode = (enum recompute)knob_choice(value(job, K_recompute)),
		.number = knob_number(K_recompute, value(job, K_recompute)) };
	bool *drop = arena_alloc(arena, job->graph->storages, sizeof *drop);
	if (error_set(
			job->error, drop ? transform_read_pins(job, activations, arena, &options) : fail_memory(job->error)) != OK)
		return NULL;
	fitted_release(job->fitted);
	struct graph *graph = stage_fit(job->stage, job->wish, job->graph, job->scenario, job->sharded, activations,
		&options, &job->fitted, job->error);
	if (graph && options.mode == RECOMPUTE_AUTO) {
		job->fit_peak = job->fitted->replayed;
		fit_notes(job->notes, job->fitted, job->scenario, job->wish->margin);
	} else if (graph && options.mode > RECOMPUTE_AUTO && options.mode != RECOMPUTE_KEPT) {
		note_strategy(job, activations, &options);
	} else if (graph) {
		note_cost(job, activations, &options, drop);
	}
	return graph;
}

static struct graph *run_recompute(struct job *job)
{
	struct activations activations;
	struct arena arena = { 0 };
	if (error_set(job->error, activations_find(job->graph, job->stage->rules, &activations, job->error)) != OK)
		return NULL;
	struct graph *graph = apply_recompute(job, &activations, &arena);
	arena_free(&arena);
	activations_free(&activations);
	return graph;
}

WHEN(wants_float8, value(job, K_float8))

/* Of twin views one is cast for all. */
static struct graph *run_float8(struct job *job)
{
	uint32_t changed = 0;
	OWN(graph) *shared = graph_share_views(job->graph, job->stage->rules, job->error);
	struct graph *graph = shared ? float8_apply(shared, job->stage->rules, &changed, job->error) : NULL;
	if (graph && changed > 0)
		note(job->notes, "%u products of layers read 8-bit copies of their operands", changed);
	else if (graph)
		note(job->notes, "float8=on changes nothing: no product of two matrices is in a numbered layer (\"layers.3\")");
	return graph;
}

WHEN(wants_shard, scenario_shards(job->scenario))
WHEN(wants_groups, scenario_shards(job->scenario) && value(job, K_cp) > 1)

/* Devices that share a sequence send each other keys and values: of the groups' own heads, as the kernels read them. */
static struct graph *run_groups(struct job *job)
{
	return graph_group_heads(job->graph, job->stage->rules, job->error);
}

WHEN(wants_late_casts, wants_shard(job) && value(job, K_reduce_dtype) == 1)

static struct graph *run_late_casts(struct job *job)
{
	uint32_t moved = 0;
	struct graph *graph = late_casts(job->graph, value(job, K_microbatches) > 1, &moved, job->error);
	if (graph && moved > 0)
		note(job->notes, "%u gradient%s summed over devices before the cast to a wider format", moved,
			moved == 1 ? " is" : "s are");
	if (graph && moved > 0 && value(job, K_microbatches) > 1)
		note(job->notes,
			"reduce_dtype=param adds up the gradients of %lld microbatches in that format as well: sums are cast for the "
			"update",
			(long long)value(job, K_microbatches));
	if (graph && moved == 0)
		note(job->notes, "reduce_dtype=param changes nothing: no gradient is cast to a wider format");
	return graph;
}

/* What is gathered for one view of a tensor is there for its twins. */
static struct graph *run_share_views(struct job *job)
{
	return graph_share_views(job->graph, job->stage->rules, job->error);
}

/* What each device has a summand of is summed up once, and tied parameters are gathered once in each pass. */
static struct graph *run_device_form(struct job *job)
{
	return graph_device_form(job->graph, job->stage->rules, job->error);
}

static struct graph *run_shard(struct job *job)
{
	job->sharded = stage_shard(job->stage, job->graph, job->scenario, job->wish, job->quick, job->error);
	if (!job->sharded)
		return NULL;
	for (const char *at = job->sharded->notes; *at; at += strcspn(at, "\n") + 1)
		note(job->notes, "%.*s", (int)strcspn(at, "\n"), at);
	if (scenario_searches(job->scenario) && scenario_strategy(job->scenario) != STRATEGY_TAP &&
		value(job, K_recompute) != RECOMPUTE_AUTO)
		job->fit_peak = job->sharded->cost.usage;
	return graph_retain(job->sharded->device);
}

WHEN(wants_pipeline, scenario_pipelines(job->scenario))

static struct pipelined *pipeline_to_fit(struct job *job)
{
	struct recompute_options options = { .mode = RECOMPUTE_AUTO };
	struct activations activations;
	struct arena arena = { 0 };
	struct pipelined *pipelined = NULL;
	if (scenario_budget(job->scenario) < 0) {
		refuse(job->error, "recompute=auto needs a memory cap: set memory");
		return NULL;
	}
	if (error_set(job->error, activations_find(job->graph, job->stage->rules, &activations, job->error)) != OK)
		return NULL;
	if (error_set(job->error, transform_read_pins(job, &activations, &arena, &options)) == OK) {
		if (options.offloads > 0 || (value(job, K_offload) & HOSTS_SAVED))
			refuse(job->error,
				"with pp or microbatches recompute=auto sends nothing to the host: set offload=off, or recompute=none "
				"or full with pins that offload");
		else
			pipelined = stage_pipeline(job->stage, job->sharded, job->scenario, job->wish, &options, job->error);
	}
	arena_free(&arena);
	activations_free(&activations);
	return pipelined;
}

static void note_ranks_fit(struct job *job)
{
	const struct fitted *fitted = job->fitted;
	if (fitted->replayed > fitted->cap)
		note(job->notes, "no recomputation was found with which every pipeline rank keeps the memory cap: one needs %s",
			BYTES(fitted->replayed));
	if (fitted->extra > 0)
		note(job->notes,
			"activations are computed again, on each pipeline rank what lets it keep the cap: %.4g %% of a "
			"microbatch's time more over all ranks, %.4g ms",
			100 * (double)fitted->extra / (double)(fitted->total > 0 ? fitted->total : 1), (double)fitted->extra / 1e9);
}

/* A microbatch with all kept. False with *error. */
static bool keep_microbatch(struct job *job)
{
	struct graph *device = job->pipelined->device;
	fitted_release(job->fitted);
	job->fitted = fitted_of_step(device, job->scenario, job->sharded, job->stage->rules);
	if (!job->fitted)
		return fail_memory(job->error) == OK;
	job->fitted->recomputed = graph_retain(device);
	fitted_keep(job->fitted, scenario_budget(job->scenario));
	return true;
}

static struct graph *run_pipeline(struct job *job)
{
	bool fits = value(job, K_recompute) == RECOMPUTE_AUTO;
	if (value(job, K_accumulation) > 1) {
		refuse(job->error,
			"with pp or microbatches, microbatches are what adds up gradients: set accumulation=1, and batch and "
			"microbatches that many times larger");
		return NULL;
	}
	job->pipelined = fits ? pipeline_to_fit(job)
		: stage_pipeline(job->stage, job->sharded, job->scenario, job->wish, NULL, job->error);
	if (!job->pipelined || (value(job, K_recompute) == RECOMPUTE_KEPT && !keep_microbatch(job)))
		return NULL;
	if (fits) {
		fitted_release(job->fitted);
		job->fitted = fitted_retain(job->pipelined->fitted);
		note_ranks_fit(job);
	}
	int64_t rank = value(job, K_rank);
	if (rank >= job->pipelined->ranks) {
		refuse(job->error, "pipeline rank %lld doesn't exist: there are %u, counted from 0", (long long)rank,
			job->pipelined->ranks);
		return NULL;
	}
	int64_t used = (int64_t)mesh_devices(&job->sharded->sharding.mesh) * job->pipelined->ranks,
			idle = value(job, K_devices) - used;
	if (idle > 0)
		note(job->notes, "%lld of the %lld devices do nothing: strategy=data would share the samples out to them",
			(long long)idle, (long long)value(job, K_devices));
	if (job->pipelined->moved)
		note(job->notes, "the cuts between pipeline ranks are uneven, so that every rank keeps the memory cap");
	if (fits || job->pipelined->ranks > 1)
		job->fit_peak = fits ? job->pipelined->replayed : job->pipelined->estimate;
	return graph_retain(job->pipelined->rank[rank == KNOB_GIVEN ? job->pipelined->reported : (uint32_t)rank].graph);
}

/* Orders that take what is ready, whatever it will keep. */
WHEN(wants_late_reruns,
	(value(job, K_order) == ORDER_LIST || value(job, K_order) == ORDER_INDUCTOR_BFS) && !job->pipelined)

static struct graph *run_late_reruns(struct job *job)
{
	return late_reruns(job->graph, job->error);
}

WHEN(wants_separate, !value(job, K_in_place))

static struct graph *run_separate(struct job *job)
{
	return graph_without_inplace(job->graph, job->error);
}

/* ---- the table ---- */

static void table_fit_key(const struct job *job, struct key *key)
{
	fit_key_add(key, job->scenario, job->wish->margin);
	key_add(key, job->wish->alone);
}

static void table_shard_key(const struct job *job, struct key *key)
{
	shard_key_add(key, job->scenario, job->wish, job->quick);
}

static void table_pipeline_key(const struct job *job, struct key *key)
{
	pipeline_key_add(key, job->scenario, job->wish->margin);
}

#define REPEATED BY_RECOMPUTE | BY_MEMORY | BY_MACHINE
static const struct step {
	const char *name;
	bool (*wanted)(const struct job *job);
	struct graph *(*run)(struct job *job);
	unsigned by;                /* the knobs that the result depends on besides the graph; BY_RECOMPUTE: and its pins */
	void (*key)(const struct job *job, struct key *key); /* what else; NULL: nothing */
} steps[] = {
	{ "scale", wants_scale_first, run_scale, BY_SCALE, NULL },
	{ "train", wants_train, run_train, BY_TRAIN | BY_UPDATE, NULL },
	{ "scale", wants_scale, run_scale, BY_SCALE, NULL },
	{ "optimizer", wants_optimizer, run_optimizer, BY_UPDATE, NULL },
	{ "loss chunks", wants_loss_chunks, run_loss_chunks, BY_CHUNKS, NULL },
	{ "host states", hosts_states, run_host_states, BY_FIT | BY_MEMORY | BY_MACHINE, NULL },
	{ "recompute", wants_recompute, run_recompute, REPEATED, NULL },
	{ "recompute to fit", wants_fit, run_recompute, REPEATED, table_fit_key },
	{ "float8", wants_float8, run_float8, 0, NULL },
	{ "group heads", wants_groups, run_groups, 0, NULL },
	{ "late casts", wants_late_casts, run_late_casts, 0, NULL },
	{ "device form", wants_shard, run_device_form, 0, NULL },
	{ "share views", wants_shard, run_share_views, 0, NULL },
	{ "shard", wants_shard, run_shard, 0, table_shard_key },
	{ "host states of a device", hosts_states_of_device, run_host_states, BY_FIT | BY_MEMORY | BY_MACHINE, NULL },
	{ "recompute a device's to fit", wants_fit_of_device, run_recompute, REPEATED, table_fit_key },
	{ "pipeline", wants_pipeline, run_pipeline, REPEATED, table_pipeline_key },
	{ "late reruns", wants_late_reruns, run_late_reruns, 0, NULL },
	{ "in_place", wants_separate, run_separate, 0, NULL },
};

static void add_pins(struct key *key, const struct scenario *scenario)
{
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		if (pin->kind != PIN_RECOMPUTE && pin->kind != PIN_RERUN && pin->kind != PIN_RESIDENT && pin->kind != PIN_OFFLOAD)
			continue;
		key_add(key, pin->kind);
		key_add_bytes(key, pin->a, strlen(pin->a));
	}
}

static struct key step_key(const struct step *step, const struct job *job)
{
	struct key key = key_of(step->name);
	key_add(&key, job->graph->fingerprint);
	key_add_bytes(&key, job->notes, strlen(job->notes));
	if (job->sharded)
		key_add_key(&key, &job->sharded->key);
	if (job->pipelined)
		key_add_key(&key, &job->pipelined->key);
	key_add_knobs(&key, job->scenario, step->by);
	if (step->by & BY_RECOMPUTE)
		add_pins(&key, job->scenario);
	if (step->key)
		step->key(job, &key);
	return key;
}

struct transformed *transformed_retain(struct transformed *transformed)
{
	atomic_fetch_add(&transformed->references, 1);
	return transformed;
}

void transformed_release(void *pointer)
{
	struct transformed *transformed = pointer;
	if (!transformed || atomic_fetch_sub(&transformed->references, 1) > 1)
		return;
	graph_release(transformed->graph);
	sharded_release(transformed->sharded);
	pipelined_release(transformed->pipelined);
	fitted_release(transformed->fitted);
	mem_free(transformed->notes);
	mem_free(transformed);
}

/* Takes over graph; notes are copied, sharded, pipelined and fitted (may be NULL) retained. */
static struct transformed *transformed_new(struct graph *graph, const char *notes, struct sharded *sharded,
	struct pipelined *pipelined, struct fitted *fitted, int64_t fit_peak)
{
	struct transformed *MAKE(transformed, 1);
	char *copy = mem_alloc(strlen(notes) + 1, 1);
	if (!transformed || !copy) {
		mem_free(transformed);
		mem_free(copy);
		graph_release(graph);
		return NULL;
	}
	memcpy(copy, notes, strlen(notes));
	*transformed = (struct transformed){ .graph = graph, .notes = copy, .fit_peak = fit_peak,
		.sharded = sharded ? sharded_retain(sharded) : NULL,
		.pipelined = pipelined ? pipelined_retain(pipelined) : NULL,
		.fitted = fitted ? fitted_retain(fitted) : NULL };
	atomic_store(&transformed->references, 1);
	return transformed;
}

/* One step's result: from the store, or run and kept there. A new reference. */
static struct transformed *step_result(const struct step *step, struct job *job)
{
	struct key key = step_key(step, job);
	struct transformed *result = store_find(job->stage->store, &key);
	if (result)
		return transformed_retain(result);
	if (job->stage->only_stored) {
		error_set(job->error, LIMIT);
		return NULL;
	}
	struct graph *graph = step->run(job);
	if (!graph)
		return NULL;
	if (job->sharded && step->run == run_shard)
		job->sharded->key = key;
	if (job->pipelined && step->run == run_pipeline)
		job->pipelined->key = key;
	result = transformed_new(graph, job->notes, job->sharded, job->pipelined, job->fitted, job->fit_peak);
	if (!result) {
		fail_memory(job->error);
		return NULL;
	}
	size_t bytes = (graph == job->graph ? 0 : graph_bytes(graph)) + strlen(job->notes) +
		(job->sharded ? job->sharded->sharding.arena.bytes : 0) +
		(job->pipelined && step->run == run_pipeline ? pipelined_bytes(job->pipelined) : 0);
	store_keep(job->stage->store, &key, transformed_retain(result), bytes, transformed_release);
	return result;
}

/* Runs the steps from first on. Takes over result, NULL when out of memory, and the job's references. */
static struct transformed *run_steps(struct job *job, struct transformed *result)
{
	struct stage_context *stage = job->stage;
	if (!result)
		fail_memory(job->error);
	for (size_t i = 0; i < COUNT_OF(steps) && result; i++) {
		if (!steps[i].wanted(job))
			continue;
		struct transformed *next = step_result(&steps[i], job);
		enum status seen = next && stage->witness
			? stage->witness(stage->witness_context, steps[i].name, job->graph, next->graph)
			: OK;
		if (seen != OK) {
			transformed_release(next);
			next = NULL;
		}
		transformed_release(result);
		result = next;
		if (!next)
			break;
		job->graph = next->graph;
		job->fit_peak = next->fit_peak;
		if (next->sharded != job->sharded) {
			sharded_release(job->sharded);
			job->sharded = next->sharded ? sharded_retain(next->sharded) : NULL;
		}
		if (next->pipelined != job->pipelined) {
			pipelined_release(job->pipelined);
			job->pipelined = next->pipelined ? pipelined_retain(next->pipelined) : NULL;
		}
		if (next->fitted != job->fitted) {
			fitted_release(job->fitted);
			job->fitted = next->fitted ? fitted_retain(next->fitted) : NULL;
		}
		PRINT_TO(job->notes, "%s", next->notes);
	}
	sharded_release(job->sharded);
	pipelined_release(job->pipelined);
	fitted_release(job->fitted);
	if (result)
		error_set(job->error, OK);
	return result;
}

struct transformed *stage_transform(struct stage_context *stage, struct graph *input, const struct scenario *scenario,
	const struct plan_wish *wish, bool quick, struct error *error)
{
	struct job job = { .stage = stage,
		.given = input,
		.graph = input,
		.scenario = scenario,
		.wish = wish,
		.fit_peak = -1,
		.quick = quick,
		.error = error };
	return run_steps(&job, transformed_new(graph_retain(input), "", NULL, NULL, NULL, -1));
}
