/* best.h: seeds, bounds, and the steps that close the gap between them. */
#pragma once

#include "job.h"

/* The best order that the effort allows. LIMIT when neither a proof nor a decision was reached. */
enum status order_run_best(struct order_job *job);
