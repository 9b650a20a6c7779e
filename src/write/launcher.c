/* launcher.c: the configuration with which a launcher runs a plan. What lies where decides; knobs say the rest. */
#include <inttypes.h>

#include "data.h"
#include "src/read/launch.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"

/* What a launcher can ask for: an expert's sharding; dp of each of so many copies. */
struct asked { uint32_t dp, tp, cp, ep; int64_t pp, microbatches; uint8_t zero; bool sequence; uint32_t copies; };

static uint32_t launcher_degree(const struct mesh *mesh, const char *name)
{
	FOR(a, mesh->axes)
		if (text_is(mesh->axis[a].name, name))
			return mesh->axis[a].size;
	return 1;
}

/* Of a step that is split as experts do; false of others, and where an axis has nothing of its own to split. Without
 * experts ep is data parallelism. */
static bool launcher_find(
	const struct units *units, const struct mesh *mesh, const struct scenario *scenario, struct asked *asked)
{
	*asked = (struct asked){ launcher_degree(mesh, "dp"), launcher_degree(mesh, "tp"), launcher_degree(mesh, "cp"),
		launcher_degree(mesh, "ep"), larger_of(1, scenario->value[K_pp]), larger_of(1, scenario->value[K_microbatches]), 0,
		false, launcher_degree(mesh, MESH_REPLICATE) };
	asked->sequence = asked->tp > 1 && scenario->value[K_sp] != 0;
	asked->zero = (int64_t)asked->dp * asked->cp * asked->ep > 1 ? scenario_zero(scenario) : 0;
	if (asked->ep > 1 && least_extent(units, ROLE_EXPERTS) == 0) {
		asked->dp *= asked->zero ? 0 : asked->ep;
		asked->ep = 1;
	}
	bool tensor = least_extent(units, ROLE_HEADS) + least_extent(units, ROLE_FFN) + least_extent(units, ROLE_VOCABULARY);
	return scenario_strategy(scenario) < STRATEGY_TAP && asked->dp > 0 && (tensor || asked->tp == 1) &&
		(asked->cp == 1 || least_extent(units, ROLE_SEQUENCE) > 0);
}

static void launcher_say(struct launch *launch, enum launch_slot slot, const char *value)
{
	PRINT_TO(launch->value[slot], "%s", value);
}

/* Degrees of 1 aren't written: each launcher takes that. */
static void launcher_number(struct launch *launch, enum launch_slot slot, int64_t value, int64_t least)
{
	if (value >= least)
		PRINT_TO(launch->value[slot], "%" PRId64, value);
}

static void launcher_recompute(struct launch *launch, const struct scenario *scenario)
{
	int64_t value = scenario->value[K_recompute], number = knob_number(K_recompute, value);
	bool titan = launch->launcher == LAUNCHER_torchtitan;
	enum recompute how = (enum recompute)knob_choice(value);
	char word[80];
	if (how != RECOMPUTE_NONE || titan)
		launcher_say(launch, LAUNCH_recompute, knob_text(K_recompute, value, word, sizeof word));
	if (titan && how == RECOMPUTE_SELECTIVE) {
		launcher_say(launch, LAUNCH_recompute, "scores");   /* no word of its */
	} else if (titan && (how == RECOMPUTE_PRODUCTS || how == RECOMPUTE_EVERY)) {
		launcher_say(launch, LAUNCH_recompute, "selective");
		launcher_say(launch, LAUNCH_what, "op");
		launcher_number(launch, LAUNCH_what, how == RECOMPUTE_EVERY ? number : 0, 1);
	} else if (titan && how == RECOMPUTE_KNAPSACK) {
		launcher_say(launch, LAUNCH_recompute, "knapsack");
		PRINT_TO(launch->value[LAUNCH_share], "%.2f", (double)number / 100);
	} else if (launch->launcher == LAUNCHER_megatron && (how == RECOMPUTE_FULL || how == RECOMPUTE_LAYERS)) {
		launcher_say(launch, LAUNCH_recompute, "full");
		launcher_say(launch, LAUNCH_method, "uniform");
		launcher_number(launch, LAUNCH_every, larger_of(1, number), 1);
	}
}

static void launcher_knobs(struct launch *launch, const struct scenario *scenario)
{
	static const struct { enum knob_id knob; enum launch_slot slot; } same[] = { { K_optimizer, LAUNCH_optimizer },
		{ K_moments, LAUNCH_moments }, { K_float8, LAUNCH_float8 }, { K_reduce_dtype, LAUNCH_reduce_dtype },
		{ K_reshard_after_forward, LAUNCH_reshard_after_forward }, { K_precision, LAUNCH_precision },
		{ K_offload, LAUNCH_offload }, { K_loss_chunks, LAUNCH_loss_chunks } };
	bool titan = launch->launcher == LAUNCHER_torchtitan;
	FOR(i, COUNT_OF(same))
		if (scenario->value[same[i].knob] != knobs[same[i].knob].normal)
			launcher_say(launch, same[i].slot, knob_text(same[i].knob, scenario->value[same[i].knob], TEXT(40)));
	const char *precision = launch->value[LAUNCH_precision];
	if (text_is(precision, "bf16") || (text_is(precision, "fp32") && !titan)) {
		launcher_say(launch, LAUNCH_dtype, *precision == 'b' ? "bf16" : "");
		launcher_say(launch, LAUNCH_precision,
			*precision == 'b' && launch->launcher == LAUNCHER_deepspeed ? "mixed" : "");
	}
	if (launch->launcher == LAUNCHER_megatron && *launch->value[LAUNCH_moments])
		launcher_say(launch, LAUNCH_version, "2");
	if (titan)
		launcher_say(launch, LAUNCH_kernels, scenario_value_text(scenario, "kernels", TEXT(40)));
}

/* wide: devices that have samples of their own. */
static void launcher_sizes(
	struct launch *launch, const struct asked *asked, const struct scenario *scenario, const struct about *about)
{
	int64_t wide = (int64_t)asked->dp * asked->ep * asked->copies, batch = scenario->value[K_batch], micro;
	int64_t devices = wide * asked->tp * asked->cp * asked->pp, node = scenario->device.node;
	bool titan = launch->launcher == LAUNCHER_torchtitan, cuts = asked->zero > 0 || asked->copies > 1;
	batch = batch > 0 ? batch : about->batch;
	micro = batch > 0 && batch % (asked->microbatches * wide) == 0 ? batch / (asked->microbatches * wide) : 0;
	if (launch->launcher == LAUNCHER_accelerate) {   /* samples are a script's there */
		launcher_number(launch, LAUNCH_devices, devices, 1);
		launcher_number(launch, LAUNCH_nodes, devices / smaller_of(node, devices), 2);
		launcher_say(launch, LAUNCH_kind, asked->zero || asked->tp * asked->cp > 1 ? "fsdp" : "ddp");
		return;
	}
	launcher_number(launch, LAUNCH_batch, batch, 1);
	launcher_number(launch, !titan ? LAUNCH_micro : asked->pp > 1 ? LAUNCH_piece : LAUNCH_local, micro, 1);
	if (launch->launcher == LAUNCHER_deepspeed) {
		launcher_number(launch, LAUNCH_accumulation, asked->microbatches, 1);
		return;
	}
	launcher_number(launch, LAUNCH_seq, larger_of(scenario->value[K_seq], about->sequence), 1);
	if (titan) {
		launcher_number(launch, LAUNCH_local, asked->pp > 1 ? micro * asked->microbatches : 0, 1);
		launcher_number(launch, LAUNCH_replicate, cuts ? asked->copies : wide, 1);
		launcher_number(launch, LAUNCH_shard, cuts ? wide / asked->copies : 1, 1);
	}
}

/* What a launcher's code can't do though its file says it: NULL where it can. */
static const char *launcher_refuses(enum launcher launcher, const struct asked *asked, const struct units *units)
{
	bool titan = launcher == LAUNCHER_torchtitan, megatron = launcher == LAUNCHER_megatron;
	int64_t heads = units ? least_extent(units, ROLE_HEADS) : 0;
	if ((asked->tp > 1 && heads % asked->tp != 0) || (megatron && units && heads == 0))
		return "tp needs the same number of heads on each device";
	if (asked->cp > 1 && least_extent(units, ROLE_SEQUENCE) % (2 * asked->cp) != 0)
		return "cp needs sequences of twice as many equal pieces";
	if (asked->tp > 1 && !megatron && asked->sequence != titan)
		return titan ? "its tp cuts sequences: sp=on" : "its tp leaves sequences whole: sp=off";
	return (titan && (asked->zero == 1 || asked->zero == 2)) || (launcher == LAUNCHER_accelerate && asked->zero == 1)
		? "its FSDP cuts more: zero=3" : NULL;
}

static void launcher_degrees(struct launch *launch, const struct asked *asked, const struct scenario *scenario)
{
	char schedule[40];
	bool megatron = launch->launcher == LAUNCHER_megatron;
	launcher_number(launch, LAUNCH_tp, asked->tp, 2);
	launcher_number(launch, LAUNCH_pp, asked->pp, 2);
	launcher_number(launch, LAUNCH_cp, asked->cp, 2);
	launcher_number(launch, LAUNCH_ep, asked->ep, 2);
	if (launch->launcher != LAUNCHER_torchtitan) {
		launcher_number(launch, LAUNCH_zero, megatron && asked->zero > 1 ? 4 : asked->zero, 1);
		launcher_number(launch, LAUNCH_replicate, asked->copies, 2);
	}
	if (launch->launcher == LAUNCHER_accelerate && asked->zero == 3) {
		launcher_say(launch, LAUNCH_zero, "");
		launcher_say(launch, LAUNCH_version, "2");
		launcher_say(launch, LAUNCH_reshard_after_forward, "on");
	}
	launcher_number(launch, LAUNCH_kind, megatron ? asked->zero : 0, 2);
	if (megatron && asked->sequence)
		launcher_say(launch, LAUNCH_sp, "on");
	if (launch->launcher == LAUNCHER_accelerate && (asked->copies > 1 || asked->tp > 1 || asked->cp > 1))
		launcher_number(launch, LAUNCH_shard, asked->dp, 1);
	knob_text(K_schedule, scenario->value[K_schedule], schedule, sizeof schedule);
	if (asked->pp > 1 && megatron && text_is(schedule, "interleaved"))
		launcher_number(launch, LAUNCH_chunks, larger_of(scenario->value[K_chunks], 2), 2);
	else if (asked->pp > 1 && (!megatron || !text_is(schedule, "1f1b")))
		launcher_say(launch, LAUNCH_schedule, schedule);
}

enum status export_launcher(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	const struct scenario *scenario = &plan->scenario;
	const struct units *units = plan->sharded ? &plan->sharded->shared->units : NULL;
	enum launcher launcher = (enum launcher)(job->kind - EXPORT_torchtitan);
	struct asked asked = { 1, 1, 1, 1, 1, larger_of(1, scenario->value[K_microbatches]), 0, false, 1 };
	if (units && !launcher_find(units, &plan->sharded->sharding.mesh, scenario, &asked))
		return refuse(job->error, "no launcher can be asked for this sharding: strategy=data, zero and megatron "
			"have one that can");
	const char *why = launcher_refuses(launcher, &asked, units);
	if (why)
		return refuse(job->error, "%s can't run this plan: %s", launcher_names[launcher], why);
	struct launch *MAKE(launch, 1);
	NEEDED(job->error, launch);
	launch->launcher = launcher;
	launcher_degrees(launch, &asked, scenario);
	launcher_sizes(launch, &asked, scenario, &plan->input->about);
	launcher_knobs(launch, scenario);
	launcher_recompute(launch, scenario);
	enum status status = launch_write(launch, job->stream, job->error);
	mem_free(launch);
	return status;
}
