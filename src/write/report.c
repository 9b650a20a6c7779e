/* report.c: a plan as text for people. */
#include <inttypes.h>

#include "data.h"
#include "plan_json.h"
#include "src/base/safe_text.h"
#include "src/plan/came_to.h"
#include "src/plan/host_pool.h"
#include "src/plan/verdict.h"
#include "src/read/card.h"
#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/stages/fit/stage.h"
#include "src/stages/shard/stage.h"

#define CURVE_COLUMNS 72
#define CURVE_ROWS 8
#define LISTED 12

static const char *report_gap_text(int64_t value, int64_t bound, bool proved, char *text, size_t size)
{
	double gap = bound > 0 ? 100.0 * (double)(value - bound) / (double)bound : 0;
	if (proved)
		snprintf(text, size, "proved optimal");
	else if (bound <= 0)
		snprintf(text, size, "nothing is proved");
	else if (value > bound && gap < 0.0005)
		snprintf(text, size, "less than 0.001 %% above the optimum");
	else
		snprintf(text, size, "at most %.3f %% above the optimum", gap);
	return text;
}

static void line(FILE *stream, const char *label, int64_t bytes, const char *remark)
{
	fprintf(stream, "  %-22s %12s  %18" PRId64 " B%s%s\n", label, BYTES(bytes), bytes,
		*remark ? "   " : "", remark);
}

/* The step as simulated: what is computed, and what computation waits for. */
static void report_write_time(const struct plan *plan, FILE *stream)
{
	const struct step_whole *time = &plan->time->whole;
	int64_t once = plan->time->time.total; /* what the bound is of */
	char within[16];
	device_deviation_text(&plan->scenario, within);
	fprintf(stream, "  %-22s %12.3f ms%s    computation %.3f ms", "step", (double)time->total * 1e-9, within,
		(double)time->busy[0] * 1e-9);
	FOR_FROM(s, 1, plan->time->model.streams)
		fprintf(stream, ", %s %.3f ms, of which hidden %.3f", plan_time_stream(plan->sharded, s),
			(double)time->busy[s] * 1e-9, (double)larger_of(0, time->busy[s] - time->exposed[s]) * 1e-9);
	putc('\n', stream);
	fprintf(stream, "  %-22s %s\n", "order", plan_gain_text(plan, TEXT(120)));
	if (plan->time->bound.bound > 0)
		fprintf(stream, "  %-22s %12.3f ms    no order of this graph is faster; %s\n",
			plan->time->passes > 1 ? "bound, pass and update" : "bound on a step",
			(double)plan->time->bound.bound * 1e-9,
			report_gap_text(once, plan->time->bound.bound, once == plan->time->bound.bound, TEXT(80)));
	fprintf(stream, "  %-22s %12.3f ms%s    the search objective: a sum over all ops%s\n",
		"step, estimated", (double)sharding_estimate(&plan->sharded->cost) * 1e-9, within,
		plan->time->passes > 1 ? " of one pass and the update" : "");
}

/* "step 1678.560 ms  48,800 tokens/s, 6,100 per device; MFU 41.0 %". */
static void report_write_speed(const struct plan *plan, FILE *stream)
{
	const struct plan_speed *speed = &plan->speed;
	double rate = plan_speed_rate(speed);
	char within[16];
	if (graph_of_allocations(plan->input)) {
		fprintf(stream, "  %-22s not known: a snapshot's ops are allocations, and nobody recorded what they compute\n",
			"speed");
		return;
	}
	fprintf(stream, "  %-22s %12.3f ms%s    ", "speed, simulated step", (double)speed->time * 1e-9,
		device_deviation_text(&plan->scenario, within));
	if (rate > 0)
		fprintf(stream, "%.6g %s/s%s", rate * speed->devices, speed->tokens > 0 ? "tokens" : "samples",
			speed->devices > 1 ? "" : "; ");
	if (rate > 0 && speed->devices > 1)
		fprintf(stream, ", %.6g per device; ", rate);
	if (speed->mfu >= 0)
		fprintf(stream, "MFU %.1f %%: the matmuls' share of the peak\n", 100 * speed->mfu);
	else
		fputs("the share of the peak is not known\n", stream);
}

/* What a device computes in the step, and what runs again or beside products of it. */
static void write_work(const struct plan *plan, FILE *stream)
{
	int64_t flops = plan_flops(plan), model = plan->speed.model_flops;
	if (flops < 0)
		return;
	fprintf(stream, "  %-22s %12s    %20" PRId64 " FLOP%s", "work of the step",
		flops_text((double)flops, TEXT(32)), flops, plan->speed.devices > 1 ? " on this device" : "");
	if (model > 0)
		fprintf(stream, "; the model's matmuls %s%s", flops_text((double)model, TEXT(32)),
			plan->speed.devices > 1 ? " on all" : "");
	putc('\n', stream);
}

/* What times rest on: not every preset is fitted to measurements, and without a device they are those of one all the
 * same. */
static void write_device(const struct plan *plan, FILE *stream)
{
	if (device_is_assumed(&plan->scenario))
		fprintf(stream, "  %-22s %s\n", "times are", DEVICE_ASSUMED);
	else
		fprintf(stream, "  %-22s %s: %s\n", "times rest on", plan->scenario.device.name,
			device_reached_text(&plan->scenario, TEXT(800)));
}

/* What was searched, and how far the estimate is from the least that is possible. */
static void report_write_search(const struct plan *plan, FILE *stream)
{
	const struct sharded *sharded = plan->sharded;
	const struct proof *proof = &plan->shown.proof;
	char mesh[96];
	if (proof->quantity != QUANTITY_NONE)
		fprintf(stream, "  %-22s %12.3f ms    on the %s, among %s (%s), by %s; %s\n", "bound",
			(double)proof->bound * 1e-9, quantity_names[proof->quantity],
			shard_bound_among(&plan->scenario, plan->shown.price.limit),
			mesh_text(&sharded->sharding.mesh, mesh, sizeof mesh), proof->by,
			report_gap_text(proof->value, proof->bound, proof_closed(proof), TEXT(80)));
	if (plan->compared > 1)
		fprintf(stream, "  %-22s %u planned, by memory and simulated step; other meshes are not ruled out\n",
			"the best of", plan->compared);
	if (sharded->space && sharded->patterns > 0)
		fprintf(stream, "  %-22s %s: %u of them; %u ops folded\n", "searched", sharded->space, sharded->patterns,
			sharded->folded);
	else if (sharded->space)
		fprintf(stream, "  %-22s %s; %u ops folded\n", "searched", sharded->space, sharded->folded);
}

/* How the step is split, and what each device sends. */
static void write_sharding(const struct plan *plan, FILE *stream)
{
	const struct sharded *sharded = plan->sharded;
	if (!sharded)
		return;
	fprintf(stream, "\nsplit over %s\n", mesh_text(&sharded->sharding.mesh, TEXT(96)));
	line(stream, "extra copies", sharded->cost.redundant,
		"bytes of a device beyond its share of one copy");
	line(stream, "sent by each device", plan->traffic.bytes,
		plan->pipelined ? "for one microbatch, on all ranks; transfers between ranks are not counted" :
		plan->scenario.value[K_accumulation] > 1 ? "in one pass and the update" : "");
	if (plan->time)
		report_write_time(plan, stream);
	report_write_search(plan, stream);
	FOR(a, sharded->sharding.mesh.axes)
		FOR_INT(c, COLLECTIVE_COUNT) {
			const struct traffic *traffic = &plan->traffic.of[a][c];
			if (traffic->bytes > 0)
				fprintf(stream, "  %-5s %-16s %12s  %6u of them, %.3f ms\n", sharded->sharding.mesh.axis[a].name,
					collective_names[c], BYTES(traffic->bytes), traffic->count,
					(double)traffic->time * 1e-9);
		}
}

/* The card: what was got of the file. What it advises is left out where it is done. */
static void report_write_input(const struct plan *plan, FILE *stream)
{
	char *text = card_text(plan->input);
	for (const char *at = text ? text : ""; *at; at += strcspn(at, "\n") + 1) {
		size_t label = strcspn(at, ":");
		if (plan->scenario.value[K_train] && text_begins(at, "to get the rest: --set train")) {
			at += strcspn(at, "\n");
			continue;
		}
		fprintf(stream, "  %-22.*s ", (int)label, at);
		at += label + 2;
		fprintf(stream, "%.*s\n", (int)strcspn(at, "\n"), at);
	}
	mem_free(text);
	putc('\n', stream);
}

/* Where a limit isn't kept: what changes take off at most, the largest part first. */
static void report_write_frees(const struct verdict *verdict, FILE *stream)
{
	static const struct { enum ledger_part part; const char *by; } ways[] = {
		{ PART_OPTIMIZER, "offload=states, zero=1" }, { PART_ACTIVATIONS, "recompute=auto, offload=on, a smaller batch" },
		{ PART_GRADIENTS, "zero=2, an update as soon as each is there" }, { PART_PARAMETERS, "zero=3, tp" }
	};
	const char *before = "  at most can go: ";
	bool said[COUNT_OF(ways)] = { false };
	FOR_SIZE(n, COUNT_OF(ways)) {
		size_t most = 0;
		FOR_SIZE(i, COUNT_OF(ways))
			if (said[most] || (!said[i] && verdict->part[ways[i].part] > verdict->part[ways[most].part]))
				most = i;
		said[most] = true;
		if (verdict->part[ways[most].part] < verdict->needed / 50)
			break;
		fprintf(stream, "%s%s %s (%s)", before, ledger[ways[most].part].key, BYTES(verdict->part[ways[most].part]),
			ways[most].by);
		before = ", ";
	}
	fputs(*before == ',' ? "\n" : "", stream);
}

/* What a limit of just that size takes besides, where no limit is set: a context. */
static int64_t report_context_of(const struct plan *plan, const struct verdict *verdict)
{
	struct scenario at = plan->scenario;   /* lent */
	at.value[K_memory] = verdict->needed;
	return verdict->cap < 0 && plan->scenario.value[K_device] == DEVICE_NONE ? scenario_reserve(&at) -
		verdict->part[PART_CONTEXT] : 0;
}

/* What the device that needs most needs, part by part, and whether that fits. */
static void report_write_verdict(const struct plan *plan, FILE *stream)
{
	struct verdict verdict = plan_verdict(plan);
	const struct allocated *played = &plan->pytorch[plan->allocator == ALLOCATOR_EXPANDABLE];
	char why[WHY_NOT_TEXT], remark[160];
	fputc('\n', stream);
	FOR_INT(part, LEDGER_PARTS)
		if (verdict.part[part] > 0 || (part == PART_CONTEXT && plan->scenario.value[K_reserve] == KNOB_GIVEN))
			line(stream, ledger[part].key, verdict.part[part],
				verdict.part[part] > 0 ? ledger[part].remark : "none without a device or a limit of 4 GiB or more");
	int64_t context = report_context_of(plan, &verdict);
	PRINT_TO(remark, "%s%s%s", plan->allocator == ALLOCATOR_PLAN ? "at the plan's addresses"
		: plan->fully_shard ? "under fully_shard: the smallest limit in which two steps run"
		: "in PyTorch: the smallest limit in which three steps run", context > 0 ? "; beside it a context, " : "",
		context > 0 ? BYTES(context) : "");
	line(stream, "needs", verdict.needed, remark);
	if (verdict.cap >= 0)
		line(stream, "memory cap", verdict.cap, "");
	fprintf(stream, "  %s\n", verdict_text(&verdict, TEXT(VERDICT_TEXT)));
	if (plan->why_not.advice)
		fprintf(stream, "  why not less: %s\n", why_not_text(&plan->why_not, why, sizeof why));
	if (verdict.cap >= 0 && verdict.fits != FITS_YES)
		report_write_frees(&verdict, stream);
	if (plan->allocator == ALLOCATOR_EXPANDABLE && verdict.fits == FITS_YES)
		fprintf(stream, "  to run it so: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n");
	if (verdict.state_first && verdict.fits == FITS_YES)
		fprintf(stream, "  and before the first step: tidemark_torch.make_state(optimizer)\n");
	if (plan->allocator != ALLOCATOR_PLAN && played->breaks >= 0 && plan->graph->ops > 0)
		fprintf(stream, "  it breaks in step %" PRId64 " at %s\n", 1 + played->breaks / plan->graph->ops,
			plan->graph->op[plan->ordered->result.order[played->breaks % plan->graph->ops]].name);
}

/* Knobs that are set in vain. */
static void write_idle_knobs(const struct plan *plan, FILE *stream)
{
	char value[300];
	const struct scenario *scenario = &plan->scenario;
	FOR_INT(knob, KNOB_COUNT) {
		const char *why = scenario->value[knob] != knobs[knob].normal ? plan_knob_idle(plan, (enum knob_id)knob) : NULL;
		if (why)
			fprintf(stream, "  note: %s=%s has no effect: %s\n", knobs[knob].name,
				knob_text((enum knob_id)knob, scenario->value[knob], value, sizeof value), why);
	}
}

/* What routing and parts of the step have to do with the peak. */
static void report_write_routing(const struct plan *plan, FILE *stream)
{
	const struct ordered *ordered = plan->ordered;
	struct part_peak part[PARTS_MOST];
	uint32_t parts = parts_find(plan->graph, ordered->result.order, ordered->live, part);
	char name[60];
	if (plan->routed_peak > 0)
		line(stream, "peak, worst routing", plan->routed_peak,
			PRINTED(200,
			"one expert gets all %lld tokens, each has room for them; here for %lld, and what is more is dropped",
			(long long)plan->routed_load[1], (long long)plan->routed_load[0]));
	FOR(p, parts) {
		PRINT_TO(name, "peak in %s", text_clean(part[p].name, TEXT(15)));
		line(stream, name, part[p].bytes, PRINTED(200, "at op %u%s", part[p].position,
			part[p].bytes == plan_peak(plan) ? ", the step's" : ""));
	}
}

static void write_numbers(const struct plan *plan, FILE *stream)
{
	const struct graph *graph = plan->graph;
	fprintf(stream, "%s: %u ops, %u tensors, %u storages\n", plan->input->name, graph->ops, graph->tensors,
		graph->storages);
	report_write_input(plan, stream);
	if (plan_lacks_sizes(plan)) {
		fprintf(stream, "  %-22s no tensor has one: no peak, no arena and no proof\n", "no sizes");
		return;
	}
	line(stream, "persistent", plan->ordered->problem.base, "parameters, optimizer state, inputs, buffers");
	line(stream, "peak, program order", plan->ordered->program_peak, "");
	line(stream, "peak, this plan", plan_peak(plan), PRINTED(400, "by %s; %s", plan->ordered->result.winner,
		report_gap_text(plan_peak(plan), plan_bound(plan), plan_is_proved(plan), TEXT(80))));
	report_write_routing(plan, stream);
	line(stream, "bound on any order", plan_bound(plan), plan_order_ground(plan, SIZE_MAX, TEXT(300)));
	line(stream, "arena", plan_arena(plan), PRINTED(400, "by %s; %s", plan->laid_out->layout.strategy,
		report_gap_text(plan_arena(plan), plan->laid_out->layout.proof.bound,
		proof_closed(&plan->laid_out->layout.proof), TEXT(80))));
	line(stream, "bound on any layout", plan->laid_out->layout.proof.bound,
		plan_layout_ground(plan, TEXT(300)));
	struct host_pool host;
	if (host_pool_make(plan->graph, plan->ordered->position, plan->scenario.value[K_alignment], &host) == OK && host.n)
		line(stream, "host memory", host.arena, PRINTED(400, "%u offloaded, at most %lld B at once", host.tensors,
			(long long)host.load));
	host_pool_free(&host);
	report_write_verdict(plan, stream);
	fputc('\n', stream);
	report_write_speed(plan, stream);
	write_work(plan, stream);
	write_device(plan, stream);
	if (plan->fitted && plan->fitted->away > 0)
		fprintf(stream,
			"  %-22s %12.3f ms    in this order, for copies to and from host memory\n",
			"waits for the host", (double)plan->stall * 1e-9);
	for (const char *at = plan->notes; *at; at += strcspn(at, "\n") + 1)
		fprintf(stream, "  note: %.*s\n", (int)strcspn(at, "\n"), at);
	write_idle_knobs(plan, stream);
	if (plan->limited)
		fputs("  (cut short: a better plan may exist)\n", stream);
}

/* ---- the curve: each column shows the highest of its ops, so that the peak is never lost ---- */

static void report_write_curve(const struct plan *plan, bool utf8, FILE *stream)
{
	static const char *const eighths[] = { " ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587",
		"\u2588" };
	uint32_t ops = plan->graph->ops;
	uint32_t columns = SMALLER(ops, CURVE_COLUMNS);
	int64_t height[CURVE_COLUMNS];
	if (ops == 0 || plan_peak(plan) == 0)
		return;
	FOR(c, columns) {
		height[c] = 0;
		FOR_FROM(i, (uint32_t)((uint64_t)c * ops / columns), (uint64_t)(c + 1) * ops / columns)
			if (plan->ordered->live[i] > height[c])
				height[c] = plan->ordered->live[i];
	}
	fprintf(stream, "\nlive bytes over the order\n");
	for (int row = CURVE_ROWS - 1; row >= 0; row--) {
		fprintf(stream, "  %10s |",
			row == CURVE_ROWS - 1 ? BYTES(plan_peak(plan))
			: row == 0 ? "0 B"
			: "");
		FOR(c, columns) {
			double level = (double)height[c] / (double)plan_peak(plan) * CURVE_ROWS - row;
			int part = level >= 1 ? 8 : level <= 0 ? 0 : (int)(level * 8 + 0.999);
			fputs(utf8 ? eighths[part] : part > 4 ? "#" : part ? "." : " ", stream);
		}
		fputc('\n', stream);
	}
	fprintf(stream, "  %10s +", "");
	uint32_t peak_column = (uint32_t)((uint64_t)plan->ordered->peak_position * columns / ops);
	FOR(c, columns)
		fputc(c == peak_column ? '^' : '-', stream);
	const struct op *peak = &plan->graph->op[plan->ordered->result.order[plan->ordered->peak_position]];
	fprintf(stream, "\n  %10s  peak at op %u of %u: %s (%s)%s%s%s%s\n", "", plan->ordered->peak_position, ops, peak->name,
		peak->type, peak->src ? " at " : "", peak->src ? peak->src : "", peak->part ? " in part " : "",
		peak->part ? peak->part : "");
}

static void write_blame(const struct plan *plan, FILE *stream)
{
	const struct graph *graph = plan->graph;
	if (plan->ordered->peak_position == NONE || plan_lacks_sizes(plan))
		return;
	int64_t bytes[KIND_COUNT], workspace;
	plan_categories(plan, plan->ordered->peak_position, bytes, &workspace);
	fputs("\nalive at the peak\n", stream);
	FOR_INT(kind, KIND_COUNT)
		if (bytes[kind])
			fprintf(stream, "  %-22s %12s  %5.1f %%\n", kind_names[kind], BYTES(bytes[kind]),
				100.0 * (double)bytes[kind] / (double)plan_peak(plan));
	if (workspace)
		fprintf(stream, "  %-22s %12s\n", "workspace", BYTES(workspace));
	HELD uint32_t *MAKE(list, graph->storages);
	HELD enum alive_reason *MAKE(reason, graph->storages);
	uint32_t count = list && reason ? plan_alive(plan, plan->ordered->peak_position, list) : 0, shown = 0;
	count = count == NONE ? 0 : count; /* export_write() tells that memory ended */
	if (count)
		plan_reasons(plan, plan->ordered->peak_position, list, count, NULL, reason);
	if (count)
		fputs("\nlargest that come and go\n", stream);
	FOR_WHILE(i, count, shown < LISTED) {
		const struct storage *storage = &graph->storage[list[i]];
		if (storage->persistent)
			continue;
		const char *src = storage->allocator == NONE ? NULL : graph->op[storage->allocator].src;
		fprintf(stream, "  %-22s %12s  %-14s %s%s%s\n", kind_names[storage->kind],
			BYTES(plan->laid_out->bytes[list[i]]), alive_reason_text[reason[i]],
			graph->tensor[storage->root].name, src ? "   " : "", src ? src : "");
		shown++;
	}
}

bool report_write(const struct plan *plan, bool utf8, FILE *stream)
{
	write_numbers(plan, stream);
	write_sharding(plan, stream);
	pipeline_write_text(plan, stream);
	report_write_curve(plan, utf8, stream);
	write_blame(plan, stream);
	return !ferror(stream);
}
