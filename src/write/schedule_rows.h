/* schedule_rows.h: schedules in the words of torch.distributed.pipelining: a row a rank, of cells such as 0F3. */
#pragma once

#include <stdio.h>

#include "solver/pipeline/pipeline.h"

/* The cells of a rank's slots, with commas between them, no newline. Read again by schedule_csv_read(). */
void schedule_row_write(const struct pipeline_slot *slot, uint32_t slots, FILE *stream);
