/* find.h: how a graph's tensors and ops are spread over a mesh: strategies, and what they cost.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     find              strategies and results; the run
 *     split_roles       shardings by hand: data, megatron, zero
 *     network           a graph's placements as a sharding problem
 *     network_build     what its steps share
 *     network_nodes     what can be decided
 *     network_readings  who reads what
 *     network_edges     what moving tensors costs
 *     network_prune     drops what is never better
 *     job               what the searching strategies share
 *     solve             one network, solved; axis after axis
 *     tap               TAP's patterns of weights
 *     minred            least redundant memory, then least time
 *     cost              the cost of a sharding, summed independently
 *     device_graph      the graph that one device runs
 *     device_walk       its walk over the program
 *     device_copies     copies of tensors, and the collectives between them
 *     device_check      checks that graph */
#pragma once

#include "cost.h"
#include "solver/base/proof.h"

/* split_roles: shardings that experts write by hand: every mesh axis splits the ops along the first of a list of
 * roles. */

/* Roles that an axis splits, most wanted first: a bit mask would lose the order. */
struct axis_roles {
	uint8_t role[ROLE_COUNT];     /* enum factor_role */
	uint32_t roles;
	/* States of parameters over this axis, as ZeRO (arXiv 1910.02054): 1 optimizer state, 2 gradients too, 3 parameters
	 * too; 0 none. */
	uint8_t zero;
	bool stays; /* ZeRO stage 3: what is gathered for the forward pass stays for the backward pass (FSDP2's
				   reshard_after_forward=False) */
	bool narrow;                  /* gradients are summed before they are cast to a wider format */
	bool follows;                 /* an op without such a role that would gather what is cut is cut elsewhere */
};

/* Presets, one per axis: */
extern const struct axis_roles roles_data;       /* the batch: data parallel */
extern const struct axis_roles roles_context;    /* the sequence */
extern const struct axis_roles roles_tensor;     /* Megatron (arXiv 1909.08053): heads, ffn, vocabulary */
extern const struct axis_roles roles_tensor_sp;  /* with the sequence where those are absent (arXiv 2205.05198) */
extern const struct axis_roles roles_experts;    /* experts, else the batch */

/* Splits every op on every axis along the first role that it has a unit of which divides; ops that only pass partial
 * sums on do so. roles[i] is for axis i. Tensors that nothing writes are kept as their readers need them: parameters as
 * the forward pass does (ZeRO-3: as the update does), optimizer state as the update does. OK or NO_MEMORY. O(ops * axes
 * * units). */
enum status split_by_roles(
	const struct units *units, const struct mesh *mesh, const struct axis_roles *roles, struct sharding *sharding);

/* X(id, name, help) */
#define SHARD_STRATEGIES(X) \
	X(DATA, "data", "every axis splits the batch") \
	X(MEGATRON, "megatron", "data parallel; tp splits heads, feed-forward layers and vocabulary") \
	X(ZERO, "zero", "data parallel; optimizer state, gradients and parameters are also split") \
	X(TAP, "tap", "every pattern of weights of the repeated subgraphs, least communication") \
	X(MINRED, "minred", "least memory in extra copies, then least time") \
	X(AUTO, "auto", "least step time under the memory cap")
#define X(id, name, help) STRATEGY_##id,
enum shard_strategy { SHARD_STRATEGIES(X) STRATEGY_COUNT };
#undef X

struct sharding_options {
	enum shard_strategy strategy;
	const struct axis_roles
		*roles;  /* [mesh axes] data, megatron, zero: what an axis splits; the searches start there too */
	const struct axis_roles *usual;  /* [mesh axes] what searches never leave out to save time; may be NULL */
	int64_t memory;                  /* bytes that a device may keep; < 0: no cap */
	/* percent. auto: how much slower than the fastest a plan may be to take less memory. minred: how much more than the
	 * least memory. */
	uint32_t slack;
	uint32_t exposed, microbatches;  /* see struct network_options */
	struct mixture mixture;          /* of a price's bound, and of the first search */
	struct op_clock clock;
	const struct fold *fold;         /* equal layers decided together; may be NULL */
	const struct placement_pin *pin;
	uint32_t pins;
	uint64_t effort;                 /* ticks; 0: SHARDING_EFFORT_DEFAULT */
	bool by_axes; /* several axes of a large graph one after the other alone, from what experts write: fast, and there
					 is no bound */
	/* minred: the least bytes that stay over all meshes; 0: over this one; < 0: only they are sought. */
	int64_t least;
	const struct sharding *first;    /* minred: of the least bytes on this mesh, where they are known; else NULL */
	bool unproved; /* nobody reads the bound */
	bool apart; /* auto: search for the least estimate, too, after the least sum, and report what that finds beside the
				   other */
	bool alone; /* auto: the estimate with this mixture alone, all axes at once: for what that shows */
};
#define SHARDING_EFFORT_DEFAULT UINT64_C(400000000)

/* One placement that a search looked at. */
struct sharding_candidate {
	const char *text;                /* what it is: "h.*: c_attn columns, c_proj rows" */
	int64_t cost, usage;             /* picoseconds; bytes. cost SHARD_FORBIDDEN: doesn't fit together */
	bool chosen;
};

/* minred: the limit of memory above the least: the slack; without one, a thousandth, where a faster sharding is worth
 * more than the bytes. */
static inline int64_t sharding_slack(int64_t least, uint32_t percent)
{
	return least > INT64_MAX / 200 ? INT64_MAX
		: percent == 0 ? least + least / 1000
		: least + least / 100 * percent + least % 100 * percent / 100;
}

#define SHARDING_OTHERS 1

struct sharding_report {
	struct sharding_cost cost;       /* of the sharding, summed anew */
	/* Of what was minimised: an estimated step, kept bytes for minred's first program, TAP's communication. No sharding
	 * of the searched space has less than the bound. Strategies that search nothing have neither: value < 0. */
	struct proof proof;
	struct price price;              /* shows its bound alone: see sharding_priced() */
	struct mixture mixture;          /* that the bound is of */
	bool of_estimate;                /* and whether a bound of it is one of the estimate */
	int64_t least_usage;             /* least kept bytes of all shardings searched; < 0: not asked */
	uint32_t nodes;                  /* of the network searched */
	uint32_t folded;                 /* ops that copies of equal layers stand for */
	const char *space;               /* static text: which shardings were looked at */
	uint32_t candidates;
	struct sharding_candidate *candidate;
	struct sharding other[SHARDING_OTHERS];  /* see options */
	struct sharding_cost other_cost[SHARDING_OTHERS];
	uint32_t others;
	struct arena arena;
};

/* Finds a sharding. OK: the best of the space, or as good as effort allowed (report->proved, bound). INFEASIBLE:
 * nothing fits memory (sharding is then the one of the least memory), or pins contradict: *error says which. LIMIT,
 * CANCELLED: the best so far, which always is there unless NO_MEMORY. Free both in any case. Deterministic. */
enum status sharding_find(const struct units *units, const struct mesh *mesh, const struct sharding_options *options,
	struct control *control, struct sharding *sharding, struct sharding_report *report, struct error *error);
/* Whether a proof's `by` is one that a search may have. */
bool sharding_proves_by(const char *by);
void sharding_report_free(struct sharding_report *report);
#define sharding_report_drop sharding_report_free

/* What a price shows of all shardings within a limit: every op with all its strategies and every layer by itself, by
 * shard_chain_bound(). LIMIT: too large. */
enum status sharding_priced(const struct units *units, const struct mesh *mesh, const struct sharding_options *options,
	int64_t limit, int64_t alpha, int64_t beta, int64_t *bound, struct error *error);
