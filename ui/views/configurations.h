/* configurations.h: what the model of whole configurations says of the plan on the screen, and the ranked list of all
 * configurations: found beside the screen, kept until something else is asked. */
#pragma once

#include "src/configs/config_search.h"
#include "src/configs/outlook.h"

/* All configurations of a step on a cluster. */
struct config_ranking {
	uint64_t fingerprint;          /* of what it was searched for */
	bool searching;                /* it isn't there yet */
	bool planning;                 /* it is; its best rows are planned one after the other */
	uint64_t serial;               /* another one with every change of the list */
	struct config_list list;       /* empty with error where nothing can be evaluated */
	uint32_t devices;
	int64_t batch, memory;         /* bytes of a device, < 0: any */
	struct error error;
};

struct configurations {
	struct outlook *outlook;       /* of the plan that was asked for last, or NULL */
	struct error problem;          /* why there is none */
	uint64_t fingerprint;          /* of what outlook or problem belong to */
	struct outlook_job *job;       /* under way, or NULL */
	struct config_ranking ranking;
	struct search_job *search;
};

/* The outlook of a plan, NULL while it is looked for or where there is none: then *problem says why, "" while it is
 * looked for. */
const struct outlook *configurations_outlook(
	struct configurations *kept, const struct plan *plan, const char *rules_file, const char **problem);
/* Looks for all configurations of a plan's step on its devices, then plans the best of them; the last list stays until
 * the estimates of the new one are there, and planned rows come one by one. A search that is under way for another
 * scenario is given up. Out of memory: the list's error says so. */
void configurations_search(struct configurations *kept, const struct plan *plan, const char *rules_file);
/* Gives up a search that is under way, which keeps what it has found and planned; false where there is none. */
bool configurations_cancel(struct configurations *kept);
/* The list as far as it is there. */
const struct config_ranking *configurations_ranking(struct configurations *kept);
/* What ranking_current compares: of a plan's step and the cluster. */
uint64_t configurations_fingerprint(const struct plan *plan);

bool configurations_pending(const struct configurations *kept);
void configurations_wait(struct configurations *kept);
void configurations_free(struct configurations *kept);
