/* graph_factors.c: factors kept from one plan to the next, and shapes in words. */
#include "view.h"

#include <inttypes.h>

#include "src/base/background.h"
#include "src/write/factors.h"

/* Above so many tensors factors are found by a thread of their own: it takes longer than a frame may. */
enum { AT_ONCE = 20000 };

struct factors_job {
	struct background *background;
	struct graph *graph;
	const char *rules_file;
	struct factors *factors;
};

static struct factors *graph_factors_find(const struct graph *graph, const char *rules_file)
{
	struct error error;
	struct factors *MAKE(factors, 1);
	if (!factors || factors_of_graph(graph, rules_file, factors, &error) == OK)
		return factors;
	mem_free(factors);
	return NULL;
}

static void graph_factors_run(void *context, const atomic_bool *cancel)
{
	struct factors_job *job = context;
	(void)cancel;
	job->factors = graph_factors_find(job->graph, job->rules_file);
}

/* NULL where there is no memory or no thread. */
static struct factors_job *graph_factors_start(const struct graph *graph, const char *rules_file)
{
	struct factors_job *MAKE(job, 1);
	if (!job)
		return NULL;
	job->graph = graph_retain((struct graph *)(uintptr_t)graph);
	job->rules_file = rules_file;
	job->background = background_start(graph_factors_run, job);
	if (job->background)
		return job;
	graph_release(job->graph);
	mem_free(job);
	return NULL;
}

void graph_factors_wait(struct graph_factors *kept)
{
	struct factors_job *job = kept->job;
	if (!job)
		return;
	background_end(job->background);
	kept->factors = job->factors;
	kept->job = NULL;
	graph_release(job->graph);
	mem_free(job);
}

bool graph_factors_pending(const struct graph_factors *kept)
{
	return kept->job != NULL;
}

const struct factors *graph_factors_of(struct graph_factors *kept, const struct graph *graph, const char *rules_file)
{
	if (kept->job && !background_done(kept->job->background))
		return NULL;
	graph_factors_wait(kept);
	if (kept->asked && kept->fingerprint == graph->fingerprint)
		return kept->factors;
	graph_factors_free(kept);
	*kept = (struct graph_factors){ .asked = true, .fingerprint = graph->fingerprint };
	if (graph->tensors <= AT_ONCE)
		kept->factors = graph_factors_find(graph, rules_file);
	else
		kept->job = graph_factors_start(graph, rules_file);
	return kept->factors;
}

void graph_factors_free(struct graph_factors *kept)
{
	graph_factors_wait(kept);
	if (kept->factors)
		factors_free(kept->factors);
	mem_free(kept->factors);
	*kept = (struct graph_factors){ 0 };
}

char *carried_text(const struct graph *graph, uint32_t tensor, const struct factors *factors, char *text, size_t size)
{
	const struct tensor *of = &graph->tensor[tensor];
	char factor[100] = "";
	text[0] = '\0';
	if (!of->shape)
		return text;
	struct words words = { text, size, 0 };
	words_add(&words, "%s[", of->has_dtype ? dtype_names[of->dtype] : "");
	for (uint32_t d = 0; d < of->dims; d++) {
		if (factors)
			factors_text(factors, &factors->dim[factors->dim_start[tensor] + d], factor, sizeof factor);
		words_add(&words, "%s%" PRId64 "%s%s", d ? ", " : "", of->shape[d], *factor ? "=" : "", factor);
	}
	words_add(&words, "]");
	return text;
}
