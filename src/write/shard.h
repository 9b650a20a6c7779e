/* shard.h: how a step is split over devices, as tables for other programs. */
#pragma once

#include "export.h"

/* Rows of the export table. BAD_INPUT where the step is not split, or not searched. */
enum status shard_placements(const struct export_job *job);
enum status shard_collectives(const struct export_job *job);
enum status shard_curve(const struct export_job *job);
