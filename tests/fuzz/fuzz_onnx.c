/* fuzz_onnx.c: anything read as an ONNX model is refused with a reason, or becomes a graph. */
#include "src/read/onnx/onnx.h"
#include "any_text.h"

static struct graph *read_model(const char *text, size_t size, struct error *error)
{
	return onnx_read(text, size, (const char *const[]){ "batch=2" }, size % 2, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return read_any_text(data, size, read_model);
}
