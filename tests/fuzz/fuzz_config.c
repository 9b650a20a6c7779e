/* fuzz_config.c: the configuration file takes anything: settings, or warnings. */
#include "src/scenario/knobs.h"
#include "src/session/config.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct user_config config;
	char path[40];
	int descriptor = as_file(data, size, path);
	hush();
	must(config_read(&config, path) >= 0);
	for (int knob = 0; knob < KNOB_COUNT; knob++)
		must(config.scenario.value[knob] >= -1);
	scenario_done(&config.scenario);
	close(descriptor);
	return 0;
}
