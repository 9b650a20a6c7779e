/* configuration.h: one whole configuration of a training run: memory of every pipeline rank and the time of a step.
 *
 * In-flight activations of GPipe, 1F1B and interleaved schedules (Narayanan et al., arXiv 2104.04473;
 * Korthikanti et al., arXiv 2205.05198) and ZeRO (Rajbhandari et al., arXiv 1910.02054), applied to costs of blocks
 * that come from a graph. */
#pragma once

#include "block_costs.h"
#include "timetable.h"

/* What may wait in the host's memory, a bit each. Saved activations, block by block from a piece's first one on, as
 * long as the link to the host carries them out while the piece's forward pass computes, and back while its backward
 * pass does: a step takes no longer. Optimizer state, which the update passes through the device block by block: a step
 * takes as long as the link for that. */
enum { OFFLOAD_ACTIVATIONS = 1, OFFLOAD_OPTIMIZER = 2, OFFLOADS = 4 };
extern const char *const offload_names[OFFLOADS];

struct config {
	uint32_t dp, tp, pp, cp, ep;
	uint32_t microbatch;        /* samples of a microbatch on a device */
	uint32_t microbatches;      /* of a step */
	uint32_t chunks;            /* of a rank: above 1 interleaved, or 2 in a V */
	uint8_t sp, zero, schedule, recompute, offload;
	bool keeps;                 /* ZeRO stage 3: what the forward pass gathered stays for the backward pass */
	uint32_t recompute_layers;  /* of each piece so many layers, from its first on, run again; 0: all */
	uint32_t replicate;         /* of dp so many groups hold copies of states: hybrid sharding; 0 is 1 */
};

static inline uint32_t config_piece(const struct config *config, uint32_t rank, uint32_t chunk)
{
	return rank_piece(rank, chunk, config->pp, schedule_folded((enum schedule)config->schedule));
}

/* What real runs need beside the graph's tensors; all may be zero. */
struct overheads {
	int64_t context;            /* bytes of a device for contexts and libraries */
	int64_t communication; /* bytes of buffers for each group of devices that a device talks with: one for every degree
							  above 1 */
	int64_t bucket; /* bytes of a bucket of gradients (PyTorch's DDP, Li et al., VLDB 2020, section 3.2): one is filled,
					   one is reduced */
	int64_t workspace;          /* bytes of scratch memory that libraries of kernels keep */
	uint32_t fragmentation;     /* thousandths of activations and workspace */
	int64_t page;               /* bytes of the allocator's last page, which isn't filled: fragmentation, too */
	uint32_t inside; /* thousandths of the collectives inside layers that products hide: Megatron's tp_comm_overlap,
						PyTorch's async TP */
	uint32_t updated; /* thousandths of the first forward pass behind which what an update made is gathered, instead of
						 behind the update: Megatron's overlap_param_gather */
	bool transient;             /* count what is alive for a moment only */
	bool small;                 /* count statistics of norms and the like */
	bool gathered;              /* count ZeRO-3's gathered parameters: those that an op reads, and a block ahead */
	bool vectors;               /* count parameters of one dim */
	bool cached; /* one weight gradient for every shape of the layers stays allocated, as Transformer Engine keeps it */
};
extern const struct overheads overheads_all;      /* everything counts, no context, no fragmentation */

struct rank_memory {
	int64_t total, overhead;
	int64_t parameters, gradients, optimizer, activations, transient, gathered; /* at the step's fullest moment */
	int64_t context, communication, buckets, workspace, cached, fragmentation;   /* the parts of overhead */
	int64_t host;               /* what waits in the host's memory, beside the total */
};

struct config_result {
	int64_t time;               /* picoseconds of a step */
	struct rank_memory worst, first, last;
	uint32_t worst_rank;
	int64_t bubble, link, exposed, update; /* of these: idle in the pipeline, collectives inside layers, gradients' that
											  nothing hides, optimizer */
	double mfu; /* model FLOPs utilisation: the share of the step in which the devices would do its products at their
				   peaks; 0: it has none */
	int64_t host;               /* the most bytes that a rank has in the host's memory */
};

/* Collectives of states: of one step, and of one microbatch's passes. */
struct state_traffic {
	int64_t once, updated;
	int64_t forward, gather, each;   /* forward, gather: before the passes; each: behind the backward pass */
	uint32_t read, made;         /* how many parameters a pass gathers, how many gradients are reduced */
};

/* Bytes of a device's share. */
struct state_bytes { int64_t parameters, gradients, optimizer; };

/* What a block's costs come to under the degrees, microbatches and ZeRO stage of a configuration, whatever its schedule
 * and cut. */
struct block_term {
	const struct block_cost *cost;
	uint32_t shared_with;
	int64_t forward, backward; /* picoseconds, with what is reduced across; backward: as of a pass in one part */
	int64_t link, send, update; /* of both passes the collectives inside; of what goes to the next block; of the update */
	int64_t unscaled;           /* of the update what waits for no other gradient */
	int64_t gathered, waiting, updating;  /* bytes: gathered parameters; gradients until the update; an op of that */
	int64_t flat;                /* bytes of gradients that a unit reduces at once */
	int64_t working[2];       /* the most that the backward pass works with, without gradients of weights: [1] */
	struct state_bytes states, shared;    /* shared: of parameters that the block shared_with has */
	struct state_traffic traffic;
};

struct config_terms {
	struct class_axes {
		bool shares;
		struct mesh_axis axis, copies;
	} of[STATE_CLASSES]; /* the devices that share a class of parameters, groups of copies */
	struct block_term *block;
	bool units;                  /* one pass, whose layers gather and reduce at once: fully_shard */
	struct state_bytes states;   /* of all blocks together */
	int64_t saved;               /* bytes of one microbatch */
	uint32_t stretches;          /* between which cuts may lie */
};

/* Cuts that depend on nothing but times, which schedules and ZeRO stages share, by chunks. */
struct config_cuts {
	bool known[SCHEDULE_CHUNKS_MAX + 1];
	uint32_t width, *first;          /* [SCHEDULE_CHUNKS_MAX + 1][width] */
};

/* What evaluating takes. */
struct config_model {
	uint32_t blocks;
	const struct block_cost *cost;   /* [blocks] for microbatch samples under tp, cp, ep, sp and recompute */
	const struct config_terms *terms; /* of the configuration at hand; NULL: each call finds its own */
	struct config_cuts *cuts; /* those found so far under the same degrees, which config_cut() adds to; NULL: none */
	const struct machine *machine;
	uint32_t devices_per_node;
	int64_t limit;                   /* bytes of a device, which pipeline cuts try to keep; < 0: none */
	bool joint;                      /* updates wait for all gradients: struct block_work */
	uint32_t layer, layers, period;  /* repeated layers: blocks layer .. layer + layers * period; layers 0: none */
	bool even;                       /* cuts share the layers out evenly */
};

/* Leaves out of the collectives inside layers what products hide. */
void config_hide(const struct overheads *overheads, struct block_cost *cost, uint32_t blocks);

/* terms: what is known of blocks before there is a schedule. Fills terms->block[blocks]. O(blocks that differ). */
void config_terms_find(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	struct config_terms *terms);

/* Even cuts, as launchers make them: the same number of layers for every piece, what is before and behind them goes to
 * the first and the last, or, where layers don't divide so, each counts as one of their layers (Megatron's
 * account-for-embedding and account-for-loss-in-pipeline-split; Llama 3's 126 layers). Else cuts the blocks into ranks
 * * chunks pieces so that the slowest is as fast as possible among cuts that keep the limit (else among all); of equal
 * ones the first pieces are the smallest, since their activations wait longest. first[piece] is a piece's first block;
 * first[ranks * chunks] = blocks. INFEASIBLE: fewer blocks than pieces. Dynamic programming, O(pieces * blocks * log
 * blocks). */
enum status config_cut(
	const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t *first);

/* No cut of a configuration without offload needs less on the rank that needs the most: a rank's share of what is
 * there whatever the cut. INFEASIBLE: it can't be cut. first: room, as for config_cut(). O(pieces). */
enum status config_floor(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, uint32_t *first, int64_t *bytes);

/* Of a configuration under a cut: the ranks' memory alone, by the schedule's definition; that and the time where it
 * keeps the model's limit, by the schedule's closed form, the same for equal pieces; both in any case; or played slot
 * by slot. OK or NO_MEMORY. */
enum evaluation { EVALUATE_MEMORY, EVALUATE_FITTING, EVALUATE_CLOSED, EVALUATE_PLAYED };
enum status config_evaluate(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, enum evaluation what, struct config_result *result);

/* Sending bytes of an activation to the next rank: within a node where two ranks fit into one. */
int64_t config_send_time(const struct config_model *model, const struct config *config, int64_t bytes);

/* Pieces of one chunk whose activations a rank holds when it holds the most. */
struct in_flight config_in_flight(const struct config *config, uint32_t rank, uint32_t chunk);

/* across: what ops reduce inside over the data axis, which a search's costs of blocks don't split: sums of channels
 * (batch norm over a sharded batch, as PyTorch's SyncBatchNorm).
 *
 * A plan's sharding has that axis, so that its ops' times count the same all-reduces. */

/* Of all blocks the all-reduces that a batch cut over one more axis takes, into cost[]. O(ops). */
void across_find(
	const struct units *units, const struct sharding *sharding, const struct blocks *blocks, struct block_cost *cost);

/* Picoseconds of these in a block's forward or backward pass. */
int64_t across_time(
	const struct config_model *model, const struct config *config, const struct block_cost *cost, bool backward);

/* exposed: collectives that bring parameters and reduce gradients, and what of them computation doesn't hide.
 *
 * ZeRO (Rajbhandari et al., arXiv 1910.02054) over the devices that share states; buckets reduced beside the backward
 * pass (Li et al., VLDB 2020). */

/* Devices that cut the states of a class of parameters: all that share them, or a group's where groups hold copies. */
uint32_t config_shards(const struct config *config, uint32_t class);

/* An axis of so many devices outside of others. */
struct mesh_axis config_axis(const struct config_model *model, uint32_t size, uint32_t inside);

/* Of all classes of parameters the devices that share them, into terms; of a block its traffic. */
void config_axes_find(const struct config_model *model, const struct config *config, struct config_terms *terms);
struct state_traffic config_block_traffic(
	const struct config_terms *terms, const struct config *config, const struct block_cost *cost);

/* Gradients are added up over microbatches. Those of a single one wait for nothing but what their updates wait for. */
bool config_sums_gradients(const struct config *config);

/* What gathering a rank's parameters beside the passes that read them and, from ZeRO's stage 2 on, reducing gradients
 * beside each backward pass takes beyond the passes of one microbatch. */
int64_t config_exposed_each(
	const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank);

/* What follows a rank's passes beyond its update, in program order. At stage 0 gradients are reduced beside the last
 * microbatch's backward pass, at stage 1 before the update, with nothing but updates beside them. What an update has
 * made is gathered beside the next ones, or behind the share of the next step's first forward pass that the overheads
 * say; updates that wait for all gradients begin when these are reduced. */
int64_t config_exposed_time(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, int64_t update, const uint32_t *first, uint32_t rank);

/* fullest: what a rank holds of gradients that aren't added up: of a single microbatch, which updates read as soon as
 * they can.
 *
 * The fullest of the moments when a block works, and of the update (Rajbhandari et al., arXiv 1910.02054, for what is
 * cut). */

/* A share of bytes that so many devices cut, rounded up. */
static inline int64_t config_share(int64_t bytes, uint32_t devices)
{
	return (bytes + devices - 1) / devices;
}

/* A step on one device runs in the order of least memory: there updates wait for nothing but gradients that they read,
 * and casts for updates. Program order has updates behind all passes. */
bool config_one_device(const struct config *config);

/* Parameters lie in shards and are gathered to be read. */
bool config_gathers(const struct config *config);

/* Gradients of weights are a part of the backward pass of their own. */
bool config_splits(const struct config *config);

/* The most bytes that a block works with in its backward pass, beside what is saved. */
int64_t config_working(const struct block_term *term, const struct config *config, const struct overheads *overheads);

/* Of a rank whose activations and transient bytes are known: sets these, gradients and what is gathered to what they
 * are at the fullest moment of the program's order. first: as in config_evaluate(). O(blocks). */
void fullest_moment(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	const uint32_t *first, uint32_t rank, struct rank_memory *memory);

/* host_share: what of a configuration waits in the host's memory: saved activations, as far as the link carries them
 * in time, and optimizer states. */

/* The block up to which a piece's activations wait in the host: copies out end with the piece's forward pass, in the
 * order in which they are saved; those back, in the other order, begin with its backward pass and each ends before its
 * block's. begin: none. O(blocks). */
uint32_t host_away_until(const struct config_model *model, const struct config *config, uint32_t begin, uint32_t end);

/* Takes out of a rank's memory what waits in the host. Of what is away two blocks are here at a time, one in use and
 * one on its way. at_most[pieces]: as played, or NULL: by the schedule's definition. */
void host_send_away(const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank,
	const struct in_flight *at_most, struct rank_memory *memory);

/* An update that passes states through the device, a block's after the other's: its own time, or the link's, which
 * carries the first ones in before and the last ones out behind. */
int64_t host_streamed_update(
	const struct config_model *model, const struct config *config, int64_t update, uint32_t begin, uint32_t end);

/* partial: recomputation of some layers of every pipeline piece (Megatron's recompute_method block). */

/* The most layers that a piece has blocks of. */
uint32_t config_piece_layers(const struct config_model *model, const struct config *config, const uint32_t *first);

/* Terms of blocks into mixed[blocks]: of the model, in which all layers run again, where they are of the first
 * config->recompute_layers layers of a piece; else those of the same blocks that keep their activations. O(blocks). */
void config_mix(const struct config_model *model, const struct config *config, const uint32_t *first,
	const struct block_term *kept, struct block_term *mixed);
