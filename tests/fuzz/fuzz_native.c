/* fuzz_native.c: the native reader takes anything: a graph or an error, and what it takes it writes and reads again alike. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/order_valid.h"
#include "solver/graph/problem.h"
#include "src/read/native.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes { const uint8_t *data; size_t size; };

static ssize_t read_bytes(void *context, void *buffer, size_t size, struct error *error)
{
	struct bytes *bytes = context;
	(void)error;
	size_t take = size < bytes->size ? size : bytes->size;
	memcpy(buffer, bytes->data, take);
	bytes->data += take;
	bytes->size -= take;
	return (ssize_t)take;
}

static struct graph *parse(const uint8_t *data, size_t size, struct error *error)
{
	struct bytes bytes = { data, size };
	struct source source = { read_bytes, &bytes };
	return native_read(&source, error);
}

static char *print(const struct graph *graph, size_t *size)
{
	char *text = NULL;
	FILE *stream = open_memstream(&text, size);
	if (!stream)
		abort();
	native_write(graph, stream);
	fclose(stream);
	return text;
}

static void must(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error error;
	struct graph *graph = parse(data, size, &error);
	if (!graph) {
		must(error.status == BAD_INPUT && error.text[0]);
		return 0;
	}
	size_t once_size, twice_size;
	char *once = print(graph, &once_size);
	struct graph *again = parse((const uint8_t *)once, once_size, &error);
	must(again != NULL);
	char *twice = print(again, &twice_size);
	must(once_size == twice_size && memcmp(once, twice, once_size) == 0);
	struct problem problem;
	struct memory_rules rules = { .alignment = 512, .workspace = true };
	if (problem_of_graph(graph, &rules, &problem, &error) == OK) {
		must(problem_order_valid(&problem, problem.program));
		must(problem_peak(&problem, problem.program, NULL, NULL) >= problem.base);
		problem_free(&problem);
	}
	free(once);
	free(twice);
	graph_release(graph);
	graph_release(again);
	return 0;
}
