/* fuzz_autoparallel.c: anything read as a step of AutoParallel is refused with a reason, or becomes a graph. */
#include "any_text.h"
#include "src/read/torch/fx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return read_any_text(data, size, autoparallel_read);
}
