/* fuzz_onnx.c: anything read as an ONNX model is refused with a reason, or becomes a graph. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/read/onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error error = { 0 };
	char *copy = malloc(size + 1);   /* the sanitizer watches its end */
	if (!copy)
		abort();
	memcpy(copy + 1, data, size);
	struct graph *graph = onnx_read(copy + 1, size, (const char *const[]){ "batch=2" }, size % 2, &error);
	if (!graph && (error.status != BAD_INPUT || !error.text[0])) {
		fprintf(stderr, "no reason is given\n");
		abort();
	}
	graph_release(graph);
	free(copy);
	return 0;
}
