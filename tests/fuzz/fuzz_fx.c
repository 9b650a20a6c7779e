/* fuzz_fx.c: anything read as a log of torch.compile is refused with a reason, or its steps become graphs. */
#include <string.h>

#include "src/read/torch/fx.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(fx_log) log;
	struct error error = { 0 };
	char *copy = malloc(size + 1);
	must(copy != NULL, "out of memory");
	memcpy(copy, data, size);
	copy[size] = '\0';
	enum status status = fx_read(
		copy, size, (const char *const[]){ "s0=8", "mesh0=4", "mesh1=2" }, size % 4, &log, &error);
	must(status == OK || (status == BAD_INPUT && error.text[0]), "no reason is given");
	for (uint32_t wanted = 0; wanted <= 3 && status == OK; wanted++) {
		OWN(graph) *graph = fx_step(&log, wanted, &error);
		must(graph || (error.status == BAD_INPUT && error.text[0]), "no reason is given");
	}
	free(copy);
	return 0;
}
