/* fuzz_native.c: the native reader takes anything: a graph or an error, and what it takes it writes and reads again
 * alike. Other batches that it knows can be made. */
#include <stdlib.h>
#include <string.h>

#include "solver/graph/growth.h"
#include "solver/graph/problem.h"
#include "solver/step/scale.h"
#include "tests/common/native_text.h"
#include "tests/common/order_valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

/* What a file says of other batches makes a graph, or an error. */
static void scale(const struct graph *graph)
{
	OWN(rules) *rules = rules_new();
	struct scale_report report;
	struct error error = { 0 };
	struct graph *scaled = NULL;
	must(rules != NULL);
	enum status status = graph_scale_captured(graph, rules, 7, &report, &scaled, &error);
	must(status == OK ? scaled != NULL : status == BAD_INPUT && error.text[0]);
	graph_release(scaled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error error;
	struct graph *graph = graph_of_text((const char *)data, size, &error);
	if (!graph) {
		must(error.status == BAD_INPUT && error.text[0]);
		return 0;
	}
	size_t once_size, twice_size;
	char *once = text_of_graph(graph, &once_size);
	OWN(graph) *again = graph_of_text(once, once_size, &error);
	must(again != NULL);
	char *twice = text_of_graph(again, &twice_size);
	must(once_size == twice_size && memcmp(once, twice, once_size) == 0);
	struct problem problem;
	struct memory_rules rules = { .alignment = 512, .workspace = true };
	if (problem_of_graph(graph, &rules, &problem, &error) == OK) {
		must(problem_order_valid(&problem, problem.program));
		must(problem_peak(&problem, problem.program, NULL, NULL) >= problem.base);
		problem_free(&problem);
	}
	if (growth_base(graph))
		scale(graph);
	free(once);
	free(twice);
	graph_release(graph);
	return 0;
}
