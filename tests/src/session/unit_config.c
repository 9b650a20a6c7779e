/* unit_config.c: the user's configuration file: what is known is taken, what is not is counted and left out. */
#include <string.h>

#include "src/scenario/knobs.h"
#include "src/session/config.h"
#include "tests/common/support.h"

static int read_text(struct user_config *config, const char *text)
{
	char path[] = "/tmp/tidemark-config-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	fputs(text, file);
	fclose(file);
	int warnings = config_read(config, path);
	remove(path);
	return warnings;
}

Test(config, statements_are_read)
{
	struct user_config config;
	int warnings = read_text(&config,
		"# mine\n\nset order list\nset memory=16GiB\nset theme dark\nset glyphs ascii\nbind J peak-back\nbind w shell "
		"grep -n \"$1\" notes\ncolor peak red default bold\n");
	cr_assert_eq(warnings, 0);
	cr_assert_eq(config.scenario.value[K_order], ORDER_LIST);
	cr_assert_eq(config.scenario.value[K_memory], INT64_C(16) << 30);
	cr_assert_str_eq(config.theme, "dark");
	cr_assert_str_eq(config.glyphs, "ascii");
	cr_assert(config.bindings == 2 && strcmp(config.binding[0].key, "J") == 0 &&
		config.binding[0].command == COMMAND_PEAK_BACK);
	cr_assert(config.binding[1].command == COMMAND_SHELL &&
		strcmp(config.binding[1].arguments, "grep -n \"$1\" notes") == 0 && !*config.binding[0].arguments);
	cr_assert(config.colours == 1 && strcmp(config.colour[0].role, "peak") == 0 &&
		strcmp(config.colour[0].attributes, "bold ") == 0);
	scenario_done(&config.scenario);
}

Test(config, what_is_unknown_is_warned_of_and_left_out)
{
	struct user_config config;
	int warnings = read_text(&config,
		"set nothing 1\nset order fastest\nset order\nbind X\nbind X fly\nfoo bar\ncolor peak\nset glyphs runes\nset "
		"layout bestfit\n");
	cr_assert_eq(warnings, 8);
	cr_assert_eq(config.scenario.value[K_order], ORDER_AUTO);
	cr_assert_eq(config.scenario.value[K_layout], LAYOUT_BEST_FIT);
	cr_assert_eq(config.bindings, 0);
	scenario_done(&config.scenario);
}

Test(config, no_file_gives_defaults)
{
	struct user_config config;
	cr_assert_eq(config_read(&config, "/nowhere/at/all"), 0);
	cr_assert_eq(config.scenario.value[K_order], ORDER_AUTO);
	scenario_done(&config.scenario);
}
