/* fuzz_dot.c: DOT of any text is a graph or an error with a line; what was read is written and reads back as the same
 * graph.
 *
 * Inputs are short: subgraphs on both sides of an arrow square the number of edges, and above its limit the program
 * ends, which is not what is looked for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/dot/read.h"
#include "src/write/data.h"

enum { SIZE_MOST = 4000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void aglexbad(void);   /* libcgraph's, in no header: forgets what was read ahead */

static void must(bool condition)
{
	if (!condition)
		abort();
}

static struct graph *parse(const char *text, size_t size, struct error *error)
{
	struct graph *graph = NULL;
	aglexbad();   /* the scanner keeps what stood behind the last graph; tidemark-dot reads just one */
	*error = (struct error){ 0 };
	Agraph_t *dot = parse_dot(text, size, 16000000, error);
	if (dot) {
		graph = read_dot(dot, text, error);
		agclose(dot);
	}
	return graph;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error error;
	if (size > SIZE_MOST)
		return 0;
	char *text = malloc(size + 1);
	must(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	struct graph *graph = parse(text, size, &error);
	free(text);
	if (!graph) {
		must(error.status == BAD_INPUT && error.text[0]);
		return 0;
	}
	char *once;
	size_t length;
	FILE *stream = open_memstream(&once, &length);
	must(stream && dot_write(graph, stream) && fclose(stream) == 0);
	OWN(graph) *again = parse(once, length, &error);
	must(again && again->ops == graph->ops && again->tensors == graph->tensors && again->storages == graph->storages);
	for (uint32_t op = 0; op < graph->ops; op++)
		must(strcmp(again->op[op].name, graph->op[op].name) == 0);
	free(once);
	graph_release(graph);
	return 0;
}
