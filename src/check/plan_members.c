/* plan_members.c: what members a plan file may have; docs/plan.schema.json lists the same for everybody. */
#include "state.h"

#include "members.h"

/* What a plan must have for a member to be there. */
enum {
	SPLIT = 1,
	RANKS = 2,
	RERUNS = 4,
	CAPPED = 8,
	AWAY = 16,
	HOST = 32,
	GAPS = 64,
	ORDERED = 128,
	ON_RANKS = 256,
	WHOLE = 512
};

static const struct member_row ROWS[] = {
	{ "", "tidemark version? graph input? scenario notes limited? memory order layout speed shard run? factors?", 0 },
	{ "", "recompute", RERUNS },
	{ "", "host", HOST },
	{ "graph", "name ops tensors storages fingerprint planned_fingerprint", 0 },
	{ "memory",
		"persistent_bytes peak_bytes peak_op program_peak_bytes peak_without_workspace_bytes fit_margin_bytes "
		"ledger needed_bytes allocator pytorch expandable cap_bytes? fits? verdict "
		"state_first? why_not_less? worst_routing_bytes? parts?",
		0 },
	{ "memory.parts[]", "name peak_bytes", 0 },
	{ "memory.why_not_less", "least_bytes op operands advice", 0 },
	{ "memory.ledger", "parameters gradients optimizer activations other holes gathered_ahead buffers context", 0 },
	{ "memory.pytorch", "least_bytes reserved_bytes retries breaks_in_step? breaks_at?", 0 },
	{ "memory.expandable", "least_bytes reserved_bytes retries breaks_in_step? breaks_at?", 0 },
	{ "order", "winner", WHOLE },
	{ "layout", "winner", WHOLE },
	{ "order", "strategy peak_bytes bound_bytes proved certificate ops", 0 },
	{ "order.certificate", "by op? flow? precedences?", 0 },
	{ "layout",
		"strategy arena_bytes bound_bytes proved certificate buffers workspaces?",
		0 },
	{ "layout.certificate", "by moment? core? irreducible?", 0 },
	{ "layout.certificate.core[]", "op", 0 },
	{ "layout.buffers[]", "tensor offset bytes first last kind", 0 },
	{ "layout.workspaces[]", "op offset bytes", 0 },
	{ "host", "arena_bytes load_bytes buffers", 0 },
	{ "host.buffers[]", "tensor offset bytes first last other_microbatches?", 0 },
	{ "speed",
		"step_seconds program_step_seconds samples tokens per_second per_second_and_device flops model_flops software "
		"rests_on deviation mfu",
		0 },
	{ "recompute", "strategy step_seconds extra_seconds", 0 },
	{ "recompute", "stall_seconds offloaded offloaded_bytes", AWAY },
	{ "recompute", "planned_as? cap_bytes bound_seconds proved certificate", CAPPED },
	{ "recompute", "cap_bytes bound_seconds proved ranks", ON_RANKS },
	{ "recompute.certificate", "by op price flow rounded?", 0 },
	{ "recompute.ranks[]", "bound_seconds certificate", ON_RANKS },
	{ "recompute.ranks[].certificate", "by op price flow rounded? held?", ON_RANKS },
	{ "shard", "strategy mesh placements redundant_bytes comm_bytes stages", 0 },
	{ "shard",
		"step_seconds estimated_seconds compute_seconds staying_bytes kept_bytes saved_bytes gradient_bytes quantity? "
		"among? value_seconds? "
		"bound_seconds gap proved certificate collectives streams? gathered_ahead_bytes? step_bound? late_axes "
		"each_axes regather_axes splits "
		"annotations",
		SPLIT },
	{ "shard", "compared? search? candidates?", SPLIT | WHOLE },
	{ "shard", "pipeline", RANKS },
	{ "shard.certificate", "by multiplier? limit_bytes? bound_seconds? over_percent?", 0 },
	{ "shard.collectives[]", "axis collective count bytes seconds", 0 },
	{ "shard.streams[]", "stream busy_seconds exposed_seconds idle_seconds", 0 },
	{ "shard.step_bound", "seconds picoseconds stations", 0 },
	{ "shard.step_bound.stations[]", "op stream head_picoseconds tail_picoseconds", 0 },
	{ "shard.search", "space folded_ops patterns", 0 },
	{ "shard.candidates[]", "text step_seconds? staying_bytes? possible chosen", 0 },
	{ "shard.annotations.*", "dtensor partition_spec hlo", 0 },
	{ "shard.stages[]",
		"rank peak_bytes input parameter buffer constant optimizer gradient activation temporary output workspace", 0 },
	{ "shard.stages[]", "arena_bytes in_flight_bytes alike exposed_seconds update_seconds", RANKS },
	{ "shard.pipeline",
		"ranks chunks microbatches schedule rank bubble_seconds bound_seconds exposed_seconds update_seconds pieces",
		0 },
	{ "shard.pipeline", "schedules_tried?", WHOLE },
	{ "shard.pipeline", "idle_seconds", GAPS },
	{ "shard.pipeline", "order", ORDERED },
	{ "shard.pipeline.pieces[]",
		"rank first last ops forward_seconds backward_seconds send_seconds sent_bytes kept_bytes in_flight", 0 },
	{ "shard.pipeline.pieces[]", "forward_link_seconds? backward_link_seconds?", 0 },
	{ "shard.pipeline.pieces[]",
		"weight_seconds kept_for_weights_bytes waiting_gradient_bytes in_flight_inputs in_flight_gradients", GAPS },
	/* names of ops, tensors, axes and knobs, and what is compared as a whole: other parts look at these */
	{ "input", NULL, 0 },
	{ "scenario", NULL, 0 },
	{ "run", NULL, 0 },
	{ "factors", NULL, 0 },
	{ "shard.mesh", NULL, 0 },
	{ "shard.placements", NULL, 0 },
	{ "shard.splits", NULL, 0 },
	{ "shard.annotations", NULL, 0 },
};

/* What the plan has. Of a graph given as planned nothing is known of what made it. */
static unsigned plan_members_found(const struct check *check)
{
	const struct pipelined *pipelined = check->pipelined;
	unsigned has = 0;
	if (check->as_planned)
		return ~0u;
	bool whole = !json_true_in(check->plan, "limited");
	has |= whole ? WHOLE : 0;
	has |= check->sharded ? SPLIT : 0;
	has |= check->recomputes ? RERUNS : 0;
	has |= check->recomputes_to_cap ? CAPPED : 0;
	has |= check->recomputes_on_ranks ? ON_RANKS : 0;
	has |= check->copies ? AWAY : 0;
	has |= check->waiting > 0 ? HOST : 0;
	has |= pipelined ? RANKS : 0;
	has |= pipelined && pipelined->split ? GAPS | ORDERED : 0;
	has |= pipelined && pipelined->schedule == SCHEDULE_FILE ? ORDERED : 0;
	return has;
}

enum status check_members(struct check *check)
{
	TRY(members_check(check->plan, ROWS, COUNT_OF(ROWS), plan_members_found(check), check->error));
	check_passed(check, "the file has no members but those of such a plan");
	return OK;
}
