/* fuzz_detect.c: what a file is, by its beginning, and graphs of any format that needs no child, compressed or not: a
 * graph or an error. */
#include <string.h>

#include "src/read/detect.h"
#include "src/read/input.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[40];
	struct error error = { 0 };
	enum input_kind kind = input_detect((const char *)data, size);
	must(kind < INPUT_KIND_COUNT && input_kind_name(kind)[0]);
	int descriptor = as_file(data, size, path);
	struct input *input = input_open(path, &error);
	must(input || error.text[0]);
	const char *beginning = input ? input_peek(input, &size) : NULL;
	/* A process for each: mutation_test and python_test do that. */
	enum input_kind found = input ? input_detect(beginning, size) : INPUT_EMPTY;
	bool child = found == INPUT_MESSAGE || found == INPUT_WEIGHTS ||
		(!input_kind_advice(found) && found != INPUT_NATIVE);
	input_close(input);
	struct graph *graph = child || !input ? NULL : graph_open(path, NULL, &error);
	must(graph || child || error.text[0]);
	graph_release(graph);
	close(descriptor);
	return 0;
}
