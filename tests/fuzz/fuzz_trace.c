/* fuzz_trace.c: anything read as a trace of the profiler is refused with a reason, or becomes a device's figures that
 * are read again. */
#include <stdlib.h>
#include <string.h>

#include "as_file.h"
#include "src/configs/device_fit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct samples *samples)
{
	struct device_fit fit;
	char text[200];
	must(device_fit_find(&fit, DEVICE_H100_80, samples->memory, samples) == OK);
	for (int figure = FIGURE_NAME + 1; figure < FIGURE_COUNT; figure++)
		if (fit.figure[figure].told) {
			struct error error = { 0 };
			struct device_preset preset = device_preset(DEVICE_NONE);
			figure_text((enum figure_id)figure, &fit.preset, text, sizeof text);
			must(figure_parse((enum figure_id)figure, text, &preset, &error) == OK);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rules *rules;
	OWN(samples) samples = { 0 };
	struct error error = { 0 };
	char *copy = malloc(size + 1);   /* the sanitizer watches its end */
	rules = rules ? rules : rules_new();
	must(copy && rules);
	memcpy(copy + 1, data, size);
	enum status status = samples_read(&samples, copy + 1, size, rules, 8, &error);
	must(status == OK || (status == BAD_INPUT && error.text[0]));
	samples_join(&samples);
	if (status == OK)
		look(&samples);
	free(copy);
	return 0;
}
