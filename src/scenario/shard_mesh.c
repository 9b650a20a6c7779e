/* shard_mesh.c: from knobs to degrees of parallelism, and from these to a mesh with links. */
#include <inttypes.h>

#include "src/base/words.h"
#include "profiles.h"
#include "shard_mesh.h"
#include "knobs.h"

bool scenario_shards(const struct scenario *scenario)
{
	return scenario_pipelines(scenario) || (scenario->value[K_devices] > 1 && scenario->value[K_strategy] != 0);
}

bool scenario_searches(const struct scenario *scenario)
{
	return scenario_shards(scenario) && scenario_strategy(scenario) >= STRATEGY_TAP &&
		scenario->value[K_devices] > scenario->value[K_pp];
}

/* Of a pipeline, or of microbatches, the time doesn't depend on the order, so auto takes the one of the least peak. */
enum order_strategy scenario_order(const struct scenario *scenario)
{
	enum order_strategy order = (enum order_strategy)scenario->value[K_order];
	bool automatic = scenario_strategy(scenario) == STRATEGY_AUTO;
	if (order != ORDER_AUTO)
		return order;
	if (scenario->value[K_devices] < 2 || !scenario_shards(scenario) || (automatic && scenario_pipelines(scenario)))
		return ORDER_BEST;
	return automatic ? ORDER_AUTO : ORDER_PROGRAM;
}

bool scenario_casts_late(const struct scenario *scenario)
{
	bool automatic = scenario_searches(scenario) && scenario_strategy(scenario) == STRATEGY_AUTO;
	return automatic && !scenario_pipelines(scenario) && scenario_seeks_time(scenario);
}

/* ---- degrees ---- */

int64_t least_extent(const struct units *units, enum factor_role role)
{
	int64_t least = 0;
	FOR(op, units->graph->ops) {
		int64_t most = 0;
		FOR_SPAN(i, units->unit_start, op)
			if (units->unit[i].role == role && units->unit[i].size > most)
				most = units->unit[i].size;
		if (most > 0 && (least == 0 || most < least))
			least = most;
	}
	return least;
}

/* Tensor parallelism as Megatron's users choose it: within a node, and dividing heads and ffn alike; where nothing
 * divides both, dividing one. */
static int64_t tensor_degree(const struct scenario *scenario, const struct units *units, int64_t left)
{
	int64_t heads = least_extent(units, ROLE_HEADS), ffn = least_extent(units, ROLE_FFN), best = 1,
			node = scenario->device.node;
	for (int either = 0; either < 2 && best == 1; either++)
		for (int64_t t = 2; t <= left && t <= node; t++) {
			bool by_heads = heads > 0 && heads % t == 0, by_ffn = ffn > 0 && ffn % t == 0;
			bool good = either ? by_heads || by_ffn : (by_heads || heads == 0) && (by_ffn || ffn == 0) && heads + ffn > 0;
			if (left % t == 0 && good)
				best = t;
		}
	return best;
}

static const enum knob_id degree_knob[] = { K_pp, K_cp, K_ep, K_tp, K_dp };

/* "pp 2 x tp 7 is more than the 7 devices": all degrees that are set, as none of them alone is to blame. */
static enum status mismatch(const struct scenario *scenario, const char *what, const char *advice, struct error *error)
{
	char text[200] = "";
	struct words words = { text, sizeof text, 0 };
	FOR_INT(i, 5)
		if (scenario->value[degree_knob[i]] != KNOB_GIVEN)
			words_add(&words, "%s%s %" PRId64, words.at ? " x " : "", knobs[degree_knob[i]].name,
				scenario->value[degree_knob[i]]);
	int64_t devices = scenario->value[K_devices];
	return refuse(
		error, "%s %s the %" PRId64 " device%s%s", text, what, devices, devices == 1 ? "" : "s", advice);
}

int64_t scenario_copies(const struct scenario *scenario)
{
	return scenario->value[K_strategy] == 0 ? 1 : scenario->value[K_replicate];
}

/* As many groups as are asked for, and a mesh that has room for their axis. */
static bool can_replicate(const struct scenario *scenario, const struct degrees *degrees)
{
	int64_t copies = scenario_copies(scenario), dp = degrees->dp;
	int axes = 1 + (dp > copies) + (degrees->ep > 1) + (degrees->cp > 1) + (degrees->tp > 1);
	return copies == 1 || (dp % copies == 0 && axes <= MESH_AXES);
}

enum status degrees_of_scenario(
	const struct scenario *scenario, const struct units *units, struct degrees *degrees, struct error *error)
{
	int64_t *const degree[] = { &degrees->pp, &degrees->cp, &degrees->ep, &degrees->tp, &degrees->dp };
	int64_t devices = scenario->value[K_devices], product = 1;
	bool given[5], fits = true;
	FOR_INT(i, 5) {
		int64_t value = scenario->value[degree_knob[i]];
		given[i] = value != KNOB_GIVEN;
		*degree[i] = given[i] ? value : 1;
		fits &= !__builtin_mul_overflow(product, *degree[i], &product) && product <= devices;
	}
	if (!fits)
		return mismatch(scenario, "is more than", "", error);
	if (scenario->value[K_strategy] == 0)  /* devices that nothing asks for do nothing */
		return OK;
	if (devices % product != 0)
		return given[4] ? mismatch(scenario, "is not", ": leave one of them auto", error)
			: mismatch(scenario, "doesn't divide", "", error);
	int64_t left = devices / product;
	if (given[3] && given[4] && left != 1)
		return mismatch(scenario, "is not", ": leave one of them auto", error);
	if (given[4])
		degrees->tp *= left;
	else if (!given[3] && scenario_strategy(scenario) == STRATEGY_MEGATRON)
		degrees->tp = tensor_degree(scenario, units, left);
	if (!given[4])
		degrees->dp = left / (given[3] ? 1 : degrees->tp);
	return can_replicate(scenario, degrees)
		? OK
		: refuse(error,
			  "replicate %" PRId64 " needs a dp that it divides, and no more than two of ep, cp, tp; dp is %" PRId64,
			  scenario->value[K_replicate], degrees->dp);
}

/* How far an inner axis is from filling a node. */
static int64_t shard_mesh_misfit(const struct scenario *scenario, const struct degrees *degrees)
{
	int64_t inner = degrees->tp * degrees->cp, node = scenario->device.node;
	node = SMALLER(node, scenario->value[K_devices]);
	return inner < node ? node / inner : inner / node;
}

static bool shard_mesh_allowed(const struct scenario *scenario, enum knob_id knob, int64_t degree)
{
	return scenario->value[knob] == KNOB_GIVEN || scenario->value[knob] == degree;
}

uint32_t degrees_of_search(const struct scenario *scenario, struct degrees degrees[DEGREES_MAX], uint32_t most)
{
	int64_t pp = LARGER(scenario->value[K_pp], 1), devices = scenario->value[K_devices] / pp;
	int64_t ep = scenario->value[K_ep] == KNOB_GIVEN ? 1 : scenario->value[K_ep];
	uint32_t count = 0;
	for (int64_t tp = 1; tp <= devices / ep; tp++)
		for (int64_t cp = 1; tp * cp <= devices / ep; cp++) {
			/* Where both are free one of them is 1. */
			if (tp > 1 && cp > 1 && scenario->value[K_cp] == KNOB_GIVEN && scenario->value[K_tp] == KNOB_GIVEN)
				break;
			struct degrees next = { devices / (tp * cp * ep), tp, cp, ep, pp };
			bool fits = next.dp * tp * cp * ep * pp == scenario->value[K_devices] &&
				shard_mesh_allowed(scenario, K_dp, next.dp) && shard_mesh_allowed(scenario, K_tp, tp) &&
				shard_mesh_allowed(scenario, K_cp, cp) && can_replicate(scenario, &next);
			uint32_t i;
			if (!fits ||
				(count == DEGREES_MAX &&
					shard_mesh_misfit(scenario, &next) >= shard_mesh_misfit(scenario, &degrees[count - 1])))
				continue;
			count += count < DEGREES_MAX;
			for (i = count - 1; i > 0 && shard_mesh_misfit(scenario, &next) < shard_mesh_misfit(scenario, &degrees[i - 1]); i--)
				degrees[i] = degrees[i - 1];
			degrees[i] = next;
		}
	return SMALLER(count, most);
}

/* ---- mesh ---- */

/* What an expert splits on the axis. */
static struct axis_roles roles_of_axis(const struct scenario *scenario, const char *name)
{
	struct axis_roles data = roles_data;
	data.narrow = scenario->value[K_reduce_dtype] == 1;
	data.stays = scenario->value[K_reshard_after_forward] == 0;
	if (text_is(name, MESH_REPLICATE))    /* copies of what the groups cut */
		return data;
	data.zero = scenario_zero(scenario) > 0 ? scenario_zero(scenario) : data.zero;
	if (text_is(name, "tp"))
		return scenario->value[K_sp] == 0 ? roles_tensor : roles_tensor_sp;
	/* devices that share a sequence, or experts, share states of what all of them have as those of dp do: one group in
	 * Megatron's distributed optimizer and in FSDP */
	struct axis_roles roles = text_is(name, "cp") ? roles_context : text_is(name, "ep") ? roles_experts : data;
	roles.zero = data.zero;
	roles.narrow = data.narrow;
	roles.stays = data.stays;
	return roles;
}

void roles_of_mesh(const struct scenario *scenario, const struct mesh *mesh, struct axis_roles roles[MESH_AXES])
{
	FOR(a, mesh->axes)
		roles[a] = roles_of_axis(scenario, mesh->axis[a].name);
}

void mesh_of_degrees(const struct scenario *scenario, const struct degrees *degrees, struct mesh *mesh,
	struct axis_roles roles[MESH_AXES])
{
	int64_t copies = scenario_copies(scenario);
	struct {
		const char *name;
		int64_t size;
	} axis[] = { { MESH_REPLICATE, copies }, { "dp", degrees->dp / copies }, { "ep", degrees->ep },
		{ "cp", degrees->cp }, { "tp", degrees->tp } };
	int64_t inner = degrees->dp * degrees->cp * degrees->ep * degrees->tp;
	*mesh = (struct mesh){ .padding = scenario->value[K_padding],
		.copies = profile_of((enum software)scenario->value[K_software])->eager_loss };
	FOR(i, COUNT_OF(axis)) {
		inner /= axis[i].size;
		if (axis[i].size < 2)
			continue;
		roles[mesh->axes] = roles_of_axis(scenario, axis[i].name);
		mesh_add_axis(mesh, axis[i].name, (uint32_t)axis[i].size, (uint32_t)inner,
			(uint32_t)scenario->device.node, &scenario->machine);
	}
}

bool scenario_pipelines(const struct scenario *scenario)
{
	return scenario->value[K_pp] > 1 || scenario->value[K_microbatches] > 1;
}

bool scenario_cuts(const struct scenario *scenario)
{
	return scenario->value[K_pp] > 1;
}

enum shard_strategy scenario_strategy(const struct scenario *scenario)
{
	return (enum shard_strategy)(scenario->value[K_strategy] > 0 ? scenario->value[K_strategy] - 1 : 0);
}

uint8_t scenario_zero(const struct scenario *scenario)
{
	return scenario->value[K_zero] == 0 && scenario_strategy(scenario) == STRATEGY_ZERO
		? 3
		: (uint8_t)scenario->value[K_zero];
}
