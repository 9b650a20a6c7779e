/* unit_knobs.c: the knob table, scenarios and pins: what is printed is read back. */
#include <string.h>

#include "src/scenario/knobs.h"
#include "tests/common/support.h"

Test(knobs, every_value_that_is_printed_is_read_back)
{
	uint64_t random = test_seed();
	char text[128];
	for (int knob = 0; knob < KNOB_COUNT; knob++) {
		int64_t low = knobs[knob].minimum, high = knobs[knob].maximum, value, back;
		for (int i = 0; i < 200; i++) {
			value = i == 0 ? low : i == 1 ? high : i == 2 ? knobs[knob].normal
				: low + (int64_t)(random_next(&random) % (uint64_t)(high - low + 1));
			cr_assert_eq(knob_parse(knob, knob_text(knob, value, text, sizeof text), &back, NULL), OK, "%s=%s",
				knobs[knob].name, text);
			cr_assert_eq(back, value, "%s=%s", knobs[knob].name, text);
		}
		cr_assert(strlen(knobs[knob].help) > 10 && knobs[knob].normal <= high);
	}
}

Test(knobs, stepping_stays_in_range_and_reaches_every_word)
{
	for (int knob = 0; knob < KNOB_COUNT; knob++)
		for (int direction = -1; direction <= 1; direction += 2) {
			int64_t value = knobs[knob].normal;
			for (int i = 0; i < 100; i++) {
				value = knob_step(knob, value, direction);
				cr_assert((value >= knobs[knob].minimum && value <= knobs[knob].maximum) ||
						(value == KNOB_GIVEN && knobs[knob].words),
					"%s=%lld", knobs[knob].name, (long long)value);
			}
		}
}

/* Meanings are told by their place: one too many or too few, and every word after it has another one's. */
Test(knobs, a_choice_tells_what_each_of_its_words_means_or_none)
{
	char text[300];
	for (int knob = 0; knob < KNOB_COUNT; knob++) {
		int64_t last = knobs[knob].maximum;
		if (knobs[knob].type != KNOB_CHOICE || !*knob_word_help(knob, 0, text, sizeof text))
			continue;
		cr_expect(*knob_word_help(knob, last, text, sizeof text), "%s: the last word's meaning is missing", knobs[knob].name);
		cr_expect_str_empty(
			knob_word_help(knob, last + 1, text, sizeof text), "%s: more meanings than words", knobs[knob].name);
	}
}

Test(knobs, units_and_ranges)
{
	int64_t value;
	struct error error;
	cr_assert_eq(knob_parse(K_memory, "1.5GiB", &value, NULL), OK);
	cr_assert_eq(value, 1610612736);
	cr_assert_eq(knob_parse(K_memory, "none", &value, NULL), OK);
	cr_assert_eq(value, KNOB_GIVEN);
	cr_assert_eq(knob_parse(K_alignment, "0", &value, &error), BAD_INPUT);
	cr_assert_eq(knob_parse(K_alignment, "12 apples", &value, &error), BAD_INPUT);
	cr_assert_eq(knob_parse(K_order, "fastest", &value, &error), BAD_INPUT);
	cr_assert(strstr(error.text, "reverse-lpmf") && !strstr(error.text, "|\"") , "%s", error.text);
	char text[64];
	cr_assert_eq(knob_parse(K_recompute, "layers", &value, NULL), OK);
	cr_assert_str_eq(knob_text(K_recompute, value, text, sizeof text), "layers:2");
	cr_assert_eq(knob_number(K_recompute, value), 2);
	cr_assert_eq(knob_parse(K_recompute, "layers:7", &value, NULL), OK);
	cr_assert_eq(knob_number(K_recompute, value), 7);
	cr_assert_eq(knob_choice(value), RECOMPUTE_LAYERS);
	cr_assert_str_eq(knob_text(K_recompute, value, text, sizeof text), "layers:7");
	cr_assert_eq(knob_choice(knob_step(K_recompute, value, 1)), RECOMPUTE_OPS);
	cr_assert_eq(knob_parse(K_recompute, "every:3", &value, NULL), OK);
	cr_assert_eq(knob_choice(value), RECOMPUTE_EVERY);
	cr_assert_str_eq(knob_text(K_recompute, value, text, sizeof text), "every:3");
	cr_assert_eq(knob_parse(K_recompute, "knapsack:0", &value, NULL), OK);
	cr_assert_eq(knob_number(K_recompute, value), 0);
	cr_assert_str_eq(knob_text(K_recompute, value, text, sizeof text), "knapsack:0%");
	static const char *const wrong[] = { "layers:0", "layers:", "layers:2%", "layers:-1", "layers:9999999",
		"knapsack:101%", "knapsack:", "sqrt:2", "full:", "lay", "ops:" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		cr_assert_eq(knob_parse(K_recompute, wrong[i], &value, &error), BAD_INPUT, "%s", wrong[i]);
	cr_assert_eq(knob_find("layout_effort"), K_effort);
	cr_assert_eq(knob_find("nonsense"), KNOB_COUNT);
}

static const char *const pins[] = {
	"pin op a before b",
	"pin op \"a b\" before \"c d\"",
	"pin tensor t at 4096",
	"pin tensor t behind \"u v\"",
	"pin tensor t shard 1 on tp",
	"pin tensor t shard none on tp",
	"pin layer 3 recompute",
	"pin type aten.gelu recompute",
	"keep t resident",
	"offload t",
};

Test(scenario, pins_are_printed_as_they_are_read)
{
	OWN(scenario) scenario, copy;
	char text[256];
	scenario_init(&scenario);
	for (size_t i = 0; i < sizeof pins / sizeof *pins; i++) {
		cr_assert_eq(scenario_pin(&scenario, pins[i], NULL), OK, "%s", pins[i]);
		cr_assert_str_eq(pin_text(&scenario.pin[i], text, sizeof text), pins[i]);
	}
	cr_assert_eq(scenario_copy(&copy, &scenario), OK);
	cr_assert_eq(scenario_unpin(&copy, 1, NULL), OK);
	cr_assert_str_eq(pin_text(&copy.pin[0], text, sizeof text), pins[1]);
	cr_assert_eq(scenario_unpin(&copy, 99, NULL), BAD_INPUT);
}

Test(scenario, nonsense_is_refused)
{
	static const char *const nonsense[] = { "", "pin", "pin op a", "pin op a before", "pin tensor t at",
		"pin tensor t at x", "pin tensor t behind", "keep t", "pin op a before b c", "pin tensor t shard x on tp",
		"pin op \"a before b" };
	OWN(scenario) scenario;
	struct error error;
	scenario_init(&scenario);
	for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
		cr_assert_eq(scenario_pin(&scenario, nonsense[i], &error), BAD_INPUT, "%s", nonsense[i]);
	cr_assert_eq(scenario_set(&scenario, "order", &error), BAD_INPUT);
	cr_assert_eq(scenario_set(&scenario, "colour=red", &error), BAD_INPUT);
	cr_assert_eq(scenario_set(&scenario, "order=list", &error), OK);
	cr_assert_eq(scenario.value[K_order], ORDER_LIST);
}

static bool is_named(const char *type, const char *name)
{
	const struct op op = { .type = type, .module = "h.0.ln_1", .phase = PHASE_BACKWARD };
	return op_is_named(&op, name);
}

Test(scenario, types_of_ops_are_pins)
{
	struct scenario scenario;
	struct error error;
	scenario_init(&scenario);
	cr_assert_eq(scenario_set(&scenario, "recompute=ops:aten.gelu+mul", &error), OK);
	cr_assert_eq(scenario.value[K_recompute], RECOMPUTE_OPS);
	cr_assert_eq(scenario.pins, 2);
	cr_assert_eq(scenario_set(&scenario, "recompute=ops:add", &error), OK);
	cr_assert_eq(scenario.pins, 1, "the former ones went");
	cr_assert_str_eq(scenario.pin[0].a, "add");
	cr_assert_eq(scenario_set(&scenario, "recompute=ops", &error), OK);
	cr_assert_eq(scenario.pins, 1, "they stay");
	cr_assert_eq(scenario_set(&scenario, "recompute=ops:a++b", &error), BAD_INPUT);
	cr_assert_eq(scenario_set(&scenario, "recompute=ops:", &error), BAD_INPUT);
	scenario_done(&scenario);
	cr_assert(is_named("aten.add_.Tensor", "add") && is_named("aten.add_.Tensor", "aten.add") &&
		is_named("aten.add_.Tensor", "aten.add_"));
	cr_assert(
		is_named("aten.add_.Tensor", "aten.add_.Tensor") && is_named("gelu", "gelu") && is_named("onnx.Gelu", "Gelu"));
	cr_assert(!is_named("aten.addmm.default", "aten.add") && !is_named("aten.add.Tensor", "ad") &&
		!is_named("aten.add.Tensor", "aten"));
}
