/* schedule_csv.h: the schedule CSV of torch.distributed.pipelining: a row is a rank, a cell what it does next.
 *
 * A cell is a stage, an action and a microbatch: 0F3 forward, 2I0 gradients of the input, 2W0 of the weights, 1B0 a
 * whole backward pass; pairs that overlap are (0F4;1B2)OVERLAP_F_B. Empty cells are waits. SEND_F, RECV_F, SEND_B,
 * RECV_B, UNSHARD, RESHARD, REDUCE_GRAD and WAIT_... are read and left out: transfers follow from the order. Stages lie
 * on the ranks in turn or in a V. PyTorch's own Schedule1F1B (up to 2.15 at least) numbers the forward passes of the
 * last rank from 1, all else from 0: such a row is read as from 0. */
#pragma once

#include "solver/pipeline/pipeline.h"

struct schedule_csv {
	struct pipeline_order order;
	uint32_t left_out; /* actions that are no passes */
	bool renumbered;   /* the last rank's forward passes counted from 1 */
	struct arena arena;
};

/* Every pass must be there once, after those of its rank that it needs, and no ranks may wait for each other. BAD_INPUT
 * with the line, and the column of the cell in the text; NO_MEMORY. Free with schedule_csv_free(), after an error too.
 * O(text). */
enum status schedule_csv_read(const char *text, size_t size, struct schedule_csv *csv, struct error *error);
/* The same of a file, which *error then names with its line. */
enum status schedule_csv_open(const char *path, struct schedule_csv *csv, struct error *error);
void schedule_csv_free(struct schedule_csv *csv);
