/* transformed.c: how long a transformed step lives. */
#include "src/stages/pipeline/stage.h"
#include "src/stages/shard/stage.h"
#include "transform.h"

struct transformed *transformed_retain(struct transformed *transformed)
{
	atomic_fetch_add(&transformed->references, 1);
	return transformed;
}

void transformed_release(void *pointer)
{
	struct transformed *transformed = pointer;
	if (!transformed || atomic_fetch_sub(&transformed->references, 1) > 1)
		return;
	graph_release(transformed->graph);
	sharded_release(transformed->sharded);
	pipelined_release(transformed->pipelined);
	fitted_release(transformed->fitted);
	mem_free(transformed->notes);
	mem_free(transformed);
}

struct transformed *transformed_new(struct graph *graph, const char *notes, struct sharded *sharded,
	struct pipelined *pipelined, struct fitted *fitted, int64_t fit_peak)
{
	struct transformed *MAKE(transformed, 1);
	char *copy = mem_alloc(strlen(notes) + 1, 1);
	if (!transformed || !copy) {
		mem_free(transformed);
		mem_free(copy);
		graph_release(graph);
		return NULL;
	}
	memcpy(copy, notes, strlen(notes));
	*transformed = (struct transformed){ .graph = graph,
		.notes = copy,
		.fit_peak = fit_peak,
		.sharded = sharded ? sharded_retain(sharded) : NULL,
		.pipelined = pipelined ? pipelined_retain(pipelined) : NULL,
		.fitted = fitted ? fitted_retain(fitted) : NULL };
	atomic_store(&transformed->references, 1);
	return transformed;
}
