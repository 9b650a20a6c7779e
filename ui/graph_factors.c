/* graph_factors.c: factors kept from one plan to the next, and shapes in words. */
#include <inttypes.h>

#include "graph_factors.h"
#include "src/export_factors.h"

const struct factors *graph_factors_of(struct graph_factors *kept, const struct graph *graph, const char *rules_file)
{
	struct error error;
	if (kept->asked && kept->fingerprint == graph->fingerprint)
		return kept->factors;
	graph_factors_free(kept);
	struct factors *factors = mem_alloc(1, sizeof *factors);
	if (factors && factors_of_graph(graph, rules_file, factors, &error) != OK) {
		mem_free(factors);
		factors = NULL;
	}
	*kept = (struct graph_factors){ .asked = true, .fingerprint = graph->fingerprint, .factors = factors };
	return factors;
}

void graph_factors_free(struct graph_factors *kept)
{
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
	size_t used = (size_t)snprintf(text, size, "%s[", of->has_dtype ? dtype_names[of->dtype] : "");
	for (uint32_t d = 0; d < of->rank && used < size; d++) {
		if (factors)
			factors_text(factors, &factors->dim[factors->dim_start[tensor] + d], factor, sizeof factor);
		used += (size_t)snprintf(text + used, size - used, "%s%" PRId64 "%s%s", d ? ", " : "", of->shape[d], *factor ? "=" : "", factor);
	}
	if (used < size)
		snprintf(text + used, size - used, "]");
	return text;
}
