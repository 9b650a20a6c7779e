/* roam.h: ROAM's orderer, as published (arXiv 2310.19295). */
#pragma once

#include "job.h"

/* Offers ROAM's order to the job, copies it into order [ops], which may be NULL, and fills roam with its segments and
 * branches, to be freed with mem_free. roam NULL: only segments and branches, no leaves. LB2 must have been run. */
enum status order_run_roam(struct order_job *job, uint32_t *order, struct order_roam *roam);
