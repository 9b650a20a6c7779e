/* best.h: seeds, bounds, and the steps that close the gap between them. */
#ifndef TIDEMARK_ORDER_BEST_H
#define TIDEMARK_ORDER_BEST_H

#include "job.h"

/* The best order that the effort allows. LIMIT when neither a proof nor a decision was reached. */
enum status order_run_best(struct order_job *job);

#endif
