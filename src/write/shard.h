/* shard.h: how a step is split over devices, as tables for other programs. */
#ifndef TIDEMARK_WRITE_SHARD_H
#define TIDEMARK_WRITE_SHARD_H

#include <stdio.h>

#include "src/plan/plan.h"

/* Views of --as csv: "placements", with the words of PyTorch, JAX and XLA; "collectives"; "candidates"; "curve", the least time at each
 * amount of memory (strategy=minred). */
bool shard_csv_view(const char *view);
/* BAD_INPUT where the step is not split, or not searched. */
enum status shard_csv(const struct plan *plan, const char *view, FILE *stream, struct error *error);

#endif
