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
	uint32_t overlap;           /* thousandths of a backward pass behind which gradients can be reduced */
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
extern const struct overheads overheads_all;      /* everything counts, 0.8 overlap, no context, no fragmentation */

struct rank_memory {
	int64_t parameters, gradients, optimizer, activations, transient, gathered; /* at the step's fullest moment */
	int64_t context, communication, buckets, workspace, cached, fragmentation;   /* the parts of overhead */
	int64_t overhead, total;
	int64_t host;               /* what waits in the host's memory, beside the total */
	uint32_t late;              /* thousandths of the gradients that may be made late which have to be, for this total */
	bool early; /* ZeRO stage 1, one microbatch: whole gradients would be above this total: they are reduced as soon as
				   they are there */
};

struct config_result {
	struct rank_memory first, last, worst;
	uint32_t worst_rank;
	int64_t time;               /* picoseconds of a step */
	int64_t bubble, link, exposed, update; /* of these: idle in the pipeline, collectives inside layers, gradients' that
											  nothing hides, optimizer */
	double mfu; /* model FLOPs utilisation: the share of the step in which the devices would do its products at their
				   peaks; 0: it has none */
	int64_t host;               /* the most bytes that a rank has in the host's memory */
};

/* What evaluating takes. */
struct config_model {
	uint32_t blocks;
	const struct block_cost *cost;   /* [blocks] for microbatch samples under tp, cp, ep, sp and recompute */
	const struct machine *machine;
	uint32_t devices_per_node;
	int64_t limit;                   /* bytes of a device, which pipeline cuts try to keep; < 0: none */
	bool joint;                      /* updates wait for all gradients: struct block_work */
	uint32_t layer, layers, period;  /* repeated layers: blocks layer .. layer + layers * period; layers 0: none */
	bool even;                       /* cuts share the layers out evenly */
};

/* Even cuts, as launchers make them: the same number of layers for every piece, what is before and behind them goes to
 * the first and the last, or, where layers don't divide so, each counts as one of their layers (Megatron's
 * account-for-embedding and account-for-loss-in-pipeline-split; Llama 3's 126 layers). Else cuts the blocks into ranks
 * * chunks pieces so that the slowest is as fast as possible among cuts that keep the limit (else among all); of equal
 * ones the first pieces are the smallest, since their activations wait longest. first[piece] is a piece's first block;
 * first[ranks * chunks] = blocks. INFEASIBLE: fewer blocks than pieces. Dynamic programming, O(pieces * blocks * log
 * blocks). */
enum status config_cut(
	const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t *first);

/* Memory and time under a cut. exact: the schedule is played slot by slot, else its closed form is taken: the same for
 * equal pieces. OK or NO_MEMORY. */
enum status config_evaluate(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, bool exact, struct config_result *result);

/* The step slot by slot, with what every rank holds meanwhile. A rank's most is its config_rank_memory() where it has
 * one piece; with several it may be less, because the most of every piece needn't come at the same time. BAD_INPUT: the
 * schedule can't be played so. */
enum status config_timetable(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, struct timetable *timetable, struct error *error);

/* Memory of one rank. */
void config_rank_memory(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, uint32_t rank, struct rank_memory *memory);

/* Sending bytes of an activation to the next rank: within a node where two ranks fit into one. */
int64_t config_send_time(const struct config_model *model, const struct config *config, int64_t bytes);

/* Pieces of one chunk whose activations a rank holds when it holds the most. */
struct in_flight config_in_flight(const struct config *config, uint32_t rank, uint32_t chunk);
