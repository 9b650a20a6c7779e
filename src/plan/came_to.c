/* came_to.c: what "given" and "auto" stand for. */
#include "came_to.h"

#include "solver/step/optimizer.h"
#include "solver/step/scale.h"
#include "solver/step/train.h"
#include "src/read/rules_file.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/scenario/shard_mesh.h"

/* ---- what a graph is ---- */

/* The type of most bytes among tensors of a kind, or DTYPE_COUNT. */
static enum dtype most_bytes(const struct graph *graph, enum kind kind)
{
	int64_t bytes[DTYPE_COUNT] = { 0 };
	enum dtype most = DTYPE_COUNT;
	FOR(s, graph->storages) {
		const struct tensor *root = &graph->tensor[graph->storage[s].root];
		if (graph->storage[s].kind == kind && root->has_dtype)
			bytes[root->dtype] += graph->storage[s].bytes;
	}
	FOR_INT(dtype, DTYPE_COUNT)
		if (bytes[dtype] > 0 && (most == DTYPE_COUNT || bytes[dtype] > bytes[most]))
			most = (enum dtype)dtype;
	return most;
}

static const char *precision_word(enum dtype dtype)
{
	return dtype == DTYPE_F32 ? "fp32" : dtype == DTYPE_BF16 ? "bf16" : dtype == DTYPE_F16 ? "fp16" : "";
}

static const char *precision_of(const struct graph *graph)
{
	enum dtype kept = most_bytes(graph, KIND_PARAMETER), computed = most_bytes(graph, KIND_ACTIVATION);
	bool mixed = kept == DTYPE_F32 && (computed == DTYPE_BF16 || computed == DTYPE_F16);
	return mixed ? "mixed" : precision_word(kept == DTYPE_COUNT ? computed : kept);
}

static int64_t extent_of(const struct factors *factors, enum factor_role role)
{
	for (uint32_t i = 0; factors && i < factors->factors; i++)
		if (factors->factor[i].role == role)
			return factors->factor[i].size;
	return 0;
}

void given_find(const struct graph *graph, const struct factors *factors, const char *rules_file, struct given *given)
{
	struct error error;
	/* Standard input was read already. */
	struct rules *rules = rules_load(text_is(rules_file, "-") ? NULL : rules_file, &error);
	enum optimizer optimizer = rules ? optimizer_of(graph, rules) : OPTIMIZER_COUNT;
	*given = (struct given){ factors ? scale_given_batch(graph, factors) : 0, extent_of(factors, ROLE_SEQUENCE),
		precision_of(graph), optimizer < OPTIMIZER_COUNT ? optimizer_names[optimizer] : "",
		train_has_step(graph) ? "a step" : "forward" };
	if (rules)
		rules_free(rules);
}

/* ---- what a plan came to ---- */

/* Whether the plan is one of these knobs: its stages' results are those of the scenario. */
static bool answers(const struct plan *plan, const struct scenario *scenario)
{
	for (int knob = 0; plan && knob < KNOB_COUNT; knob++)
		if (knobs[knob].stage <= STAGE_SHARD && plan->scenario.value[knob] != scenario->value[knob])
			return false;
	return plan;
}

static int64_t degree_of(enum knob_id knob, const struct scenario *scenario, const struct plan *plan)
{
	const struct sharded *sharded = answers(plan, scenario) ? plan->sharded : NULL;
	if (!scenario_shards(scenario))
		return 1;
	if (knob == K_pp || !sharded)
		return knob == K_pp ? 1 : KNOB_GIVEN;
	uint32_t axis = mesh_axis_named(&sharded->sharding.mesh, knobs[knob].name);
	return (axis == NONE ? 1 : (int64_t)sharded->sharding.mesh.axis[axis].size) *
		(knob == K_dp ? scenario_copies(scenario) : 1);
}

static int64_t positive(int64_t number)
{
	return number > 0 ? number : KNOB_GIVEN;
}

/* The same of a knob that the graph as read says nothing of. */
static int64_t knob_planned(enum knob_id knob, const struct scenario *scenario, const struct plan *plan)
{
	switch (knob) {
	case K_dp: case K_tp: case K_pp: case K_cp: case K_ep: return degree_of(knob, scenario, plan);
	case K_order: return scenario_order(scenario) == ORDER_AUTO ? KNOB_GIVEN : (int64_t)scenario_order(scenario);
	case K_rank: return answers(plan, scenario) && plan->pipelined ? (int64_t)plan->rank : KNOB_GIVEN;
	case K_memory: return scenario->device.machine.memory;
	case K_reserve: return scenario_reserve(scenario);
	default: return KNOB_GIVEN;
	}
}

/* What a word (or ZeRO's 0 with strategy=zero) comes to, as a value of the knob; KNOB_GIVEN where the knob's value says
 * itself what it is, or where nothing is known. */
static int64_t knob_came_to(
	enum knob_id knob, const struct scenario *scenario, const struct given *given, const struct plan *plan)
{
	int64_t value = scenario->value[knob];
	struct error error;
	const char *word = knob == K_precision ? given->precision : knob == K_optimizer ? given->optimizer : "";
	if (knob == K_zero && value == 0 && scenario->value[K_strategy] == 1 + STRATEGY_ZERO)
		return 3;
	if (value != (knobs[knob].type == KNOB_CHOICE ? 0 : KNOB_GIVEN))
		return KNOB_GIVEN;
	switch (knob) {
	case K_batch: return positive(given->batch);
	case K_seq: return positive(given->sequence);
	case K_precision:
	case K_optimizer: return word && *word && knob_parse(knob, word, &value, &error) == OK ? value : KNOB_GIVEN;
	default: return knob_planned(knob, scenario, plan);
	}
}

/* A rate or an amount that was worked out has digits that nobody reads: three of them. */
static char *short_text(enum knob_id knob, int64_t value, char *text, size_t size)
{
	if (knobs[knob].type == KNOB_RATE)
		snprintf(text, size, "%.3g%s", (double)value / 1e9, "GB/s");
	else if (knobs[knob].type == KNOB_BYTES)
		bytes_text(value, text, size);
	else
		knob_text(knob, value, text, size);
	return text;
}

char *knob_came_to_text(int knob, const struct scenario *scenario, const struct given *given,
	const struct plan *plan, int room, char *text, size_t size)
{
	char value[64];
	int64_t to = knob_came_to(knob, scenario, given, plan);
	knob_text(knob, scenario->value[knob], value, sizeof value);
	if (knob == K_zero && to >= 0)
		snprintf(text, size, "%lld (strategy)", (long long)to);
	else if (knob == K_train && scenario->value[knob] == 0 && given->train)
		snprintf(text, size, "given (%s)", given->train);
	else if (to >= 0)
		snprintf(text, size, "%s (%s)", value, short_text(knob, to, TEXT(64)));
	else
		snprintf(text, size, "%s", value);
	if ((int)strlen(text) > room && to >= 0)
		snprintf(text, size, "(%s)", short_text(knob, to, TEXT(64)));
	if ((int)strlen(text) > room)
		snprintf(text, size, "%s", value);
	return text;
}

static int64_t meaning(enum knob_id knob, const struct given *given, const struct plan *plan)
{
	int64_t to = knob_came_to(knob, &plan->scenario, given, plan);
	return to >= 0 ? to : plan->scenario.value[knob];
}

bool knob_means_same(int knob, const struct given *given, const struct plan *one, const struct plan *other)
{
	return meaning(knob, given, one) == meaning(knob, given, other);
}

int64_t knob_next(int knob, const struct scenario *scenario, const struct given *given,
	const struct plan *plan, int direction)
{
	int64_t now = scenario->value[knob], to = knob_came_to(knob, scenario, given, plan);
	bool counts = knobs[knob].type != KNOB_CHOICE && knobs[knob].type != KNOB_SWITCH;
	if (to < 0)
		return knob_step(knob, now, direction);
	int64_t next = knob_step(knob, counts ? to : now, direction);
	/* A choice skips the word that says what is so already; a number that ends where it began stays. */
	if (!counts && next == to)
		next = knob_step(knob, next, direction);
	return next == to ? now : next;
}
