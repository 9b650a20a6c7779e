/* fuzz_calibrate.c: tables of measured steps: rows with their configurations, or an error with its line. */
#include <string.h>

#include "src/configs/calibrate.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A column "model" names files to open: those are another target's. */
static bool names_models(const uint8_t *data, size_t size)
{
	for (size_t at = 0; at + 5 <= size; at++)
		if (memcmp(data + at, "model", 5) == 0)
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calibration calibration;
	struct scenario scenario;
	struct error error = { 0 };
	char path[40];
	if (size > 600 || names_models(data, size))
		return 0;
	int descriptor = as_file(data, size, path);
	hush();
	scenario_init(&scenario);
	enum status status = calibration_read(path, "bert", &scenario, &calibration, &error);
	must(status == OK || error.text[0]);
	must(status != OK || calibration.rows > 0);
	calibration_free(&calibration);
	scenario_done(&scenario);
	close(descriptor);
	return 0;
}
