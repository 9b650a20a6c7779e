/* fold.h: storages that play the same part in equal layers, so that one change can be made in all of them at once. */
#pragma once

#include "step.h"

struct fit_fold {
	uint32_t classes;
	struct csr members;        /* class -> droppable storages, ascending; only classes of two and more */
	uint32_t most;             /* members of the largest class */
	uint32_t *of;              /* [storages] class, or NONE */
	struct arena arena;
};

/* Storages are equal when their sizes are, the ops that touch them, and so on for some steps outwards: colours are
 * refined (Weisfeiler and Leman 1968). It is no proof of symmetry: a search plays what it changes. OK or NO_MEMORY.
 * O(step). Free with fit_fold_free() in any case. */
enum status fit_fold_find(const struct fit_step *step, struct fit_fold *fold);
void fit_fold_free(struct fit_fold *fold);
