/* unit_devices.c: presets, the roofline, and meshes of scenarios. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "src/scenario/device_figures.h"
#include "src/scenario/knobs.h"
#include "src/scenario/own_device.h"
#include "src/scenario/profiles.h"
#include "src/scenario/shard_mesh.h"
#include "solver/cost/op_time.h"
#include "tests/common/model_steps.h"
#include "tests/common/planned.h"

Test(devices, presets_are_plausible_and_named_by_the_knob)
{
	for (int i = DEVICE_NONE; i < DEVICE_COUNT; i++) {
		struct device_preset preset = device_preset((enum device)i);
		const struct machine *machine = &preset.machine;
		char word[40], text[500];
		cr_assert(knob_word(knobs[K_device].words, i, word, sizeof word));
		cr_expect_str_eq(word, preset.name);
		cr_expect(*preset.source && *profile_text((enum device)i, SOFTWARE_GIVEN, text, sizeof text));
		size_t length = strlen(preset.name);
		const char *gb = preset.name + (length < 2 ? 0 : length - 2);     /* "gb200-186gb" */
		if (strcmp(gb, "gb") == 0) {
			while (gb[-1] >= '0' && gb[-1] <= '9')
				gb--;
			cr_expect_eq(machine->memory, strtoll(gb, NULL, 10) << 30, "%s", preset.name);
		}
		/* what no table may get wrong: units, and memory faster than links within a node, these than links between nodes */
		cr_expect(machine->memory_rate > 100e9 && machine->memory_rate < 10e12);
		cr_expect(machine->near.rate < machine->memory_rate && machine->far.rate < machine->near.rate &&
				machine->far.rate > 1e9,
			"%s", preset.name);
		cr_expect_geq(machine->matrix_rate[FORMAT_F16], machine->matrix_rate[FORMAT_F32]);
		cr_expect_geq(machine->matrix_rate[FORMAT_F8], machine->matrix_rate[FORMAT_BF16]);
		for (int p = 1; p < EFFICIENCY_POINTS; p++) {
			cr_expect_gt(machine->vector.point[p].size, machine->vector.point[p - 1].size);
			cr_expect_gt(machine->traffic.point[p].size, machine->traffic.point[p - 1].size);
		}
	}
}

/* What is reached is the software's, whatever the chip. */
Test(devices, presets_reach_the_same_of_their_peaks)
{
	for (int s = SOFTWARE_GIVEN; s < SOFTWARE_COUNT; s++)
		for (int d = DEVICE_NONE + 1; d < DEVICE_COUNT; d++) {
			const struct machine one = device_preset_with((enum device)d, (enum software)s).machine,
								 other = device_preset_with(DEVICE_A100_80, (enum software)s).machine;
			cr_expect(one.matrix == other.matrix && one.attention == other.attention && one.pieces == other.pieces &&
					one.fused == other.fused && one.eager == other.eager && one.narrow == other.narrow &&
					one.casts == other.casts && one.launch == other.launch && one.ramp == other.ramp,
				"%d %d", d, s);
		}
}

/* A board of less power sustains less of the same peaks; own figures count, too. */
Test(devices, power_limits_the_peaks_of_16_and_8_bits)
{
	const struct machine full = device_preset(DEVICE_H100_80).machine, low = device_preset(DEVICE_H100_96).machine;
	OWN(scenario) scenario;
	struct machine own;
	cr_expect_lt(low.sustained[FORMAT_BF16], full.sustained[FORMAT_BF16]);
	cr_expect_lt(low.sustained[FORMAT_F8], full.sustained[FORMAT_F8]);
	cr_expect(low.sustained[FORMAT_F32] == 1000 && low.sustained[FORMAT_F64] == 1000);
	scenario_init(&scenario);
	scenario_put(&scenario, K_device, DEVICE_H100_80);
	scenario_add(&scenario, "power=500W");
	own = scenario.machine;
	cr_expect_eq(own.sustained[FORMAT_BF16], low.sustained[FORMAT_BF16]);
	scenario_add(&scenario, "power=0W");
	own = scenario.machine;
	cr_expect_eq(own.sustained[FORMAT_BF16], 1000);
}

/* Named software takes what its measured steps take; without a name chips compare by their data sheets. */
Test(devices, measured_steps_multiply_every_time_of_a_named_software)
{
	OWN(scenario) scenario;
	struct machine plain, own;
	enum machine_limit limit;
	scenario_init(&scenario);
	scenario_put(&scenario, K_device, DEVICE_TPU_V6E_32);
	plain = scenario.machine;
	cr_expect_eq(plain.measured, 1000);
	scenario_put(&scenario, K_software, SOFTWARE_MAXTEXT);
	double factor = profile_measured(DEVICE_TPU_V6E_32, SOFTWARE_MAXTEXT)->factor / 1e3;
	plain = scenario_plain_machine(&scenario);
	own = scenario.machine;
	static const struct { bool matrix; int64_t flops, bytes; } ops[] = { { true, INT64_C(1) << 40, 1 << 20 },
		{ true, 1 << 20, 1 << 20 }, { false, 1 << 20, INT64_C(1) << 30 }, { false, 1, 1 } };
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		double times[2];
		for (int k = 0; k < 2; k++)
			times[k] = (double)machine_time(
				k ? &own : &plain, ops[i].matrix, FORMAT_BF16, ops[i].flops, 1, ops[i].bytes, &limit);
		cr_expect_float_eq(times[1], factor * times[0], 0.004 * times[0], "op %zu", i);
	}
	cr_expect_float_eq((double)plain.near.rate, factor * (double)own.near.rate, 0.001 * (double)plain.near.rate);
	cr_expect(memcmp(plain.matrix_rate, own.matrix_rate, sizeof own.matrix_rate) == 0);
	scenario_add(&scenario, "measured=100%");
	own = scenario.machine;
	cr_expect_eq(own.launch, plain.launch);
}

Test(devices, a_preset_has_a_reserve_and_so_has_a_memory_of_its_size)
{
	for (int i = DEVICE_NONE; i < DEVICE_COUNT; i++) {
		struct device_preset preset = device_preset((enum device)i);
		OWN(scenario) scenario;
		scenario_init(&scenario);
		scenario_put(&scenario, K_device, i);
		bool bare = i == DEVICE_NONE || i == DEVICE_CPU;
		cr_expect_eq(scenario_reserve(&scenario) == 0, bare, "%s", preset.name);
		cr_expect_eq(scenario_group_buffers(&scenario) == 0, bare || strncmp(preset.name, "tpu-", 4) == 0, "%s",
			preset.name);   /* no NCCL there */
		if (i != DEVICE_NONE)
			cr_expect_eq(scenario_budget(&scenario) + scenario_reserve(&scenario), scenario_device_memory(&scenario),
				"%s", preset.name);
		scenario.value[K_memory] = INT64_C(24) << 30;
		cr_expect_eq(scenario_reserve(&scenario) == 0, i == DEVICE_CPU, "%s", preset.name);
		cr_expect_eq(scenario_reserve(&scenario),
			i == DEVICE_NONE ? device_preset(DEVICE_RTX4090_24).context : preset.context, "%s", preset.name);
		cr_expect_eq(scenario_budget(&scenario) + scenario_reserve(&scenario), INT64_C(24) << 30, "%s", preset.name);
		scenario.value[K_memory] = INT64_C(1) << 30;   /* no device has so little */
		cr_expect_eq(scenario_reserve(&scenario) + scenario_group_buffers(&scenario), 0, "%s", preset.name);
		scenario.value[K_reserve] = 5;
		cr_expect_eq(scenario_budget(&scenario), (INT64_C(1) << 30) - 5);
	}
}

/* Each with why it is so; a knob that is set is said to be the reason. */
Test(devices, every_figure_says_where_it_comes_from)
{
	struct device_figure figure[DEVICE_FIGURES];
	struct scenario scenario;
	struct error error;
	char text[700];
	for (int i = DEVICE_NONE; i < DEVICE_COUNT; i++) {
		scenario_init(&scenario);
		scenario_put(&scenario, K_device, i);
		int figures = device_figures(&scenario, figure);
		cr_assert(figures > 15 && figures <= DEVICE_FIGURES);
		for (int f = 0; f < figures; f++) {
			cr_expect(*figure[f].name && *figure[f].counted && *figure[f].why, "%d: %s", i, figure[f].name);
			cr_expect(strlen(figure[f].name) < 25 && strlen(figure[f].counted) < 22 && strlen(figure[f].sheet) < 14,
				"%d: %s is %s", i, figure[f].name, figure[f].counted);
		}
		cr_expect(*device_sheet_source((enum device)i) && *device_reached_text(&scenario, text, sizeof text));
		static const struct { const char *set, *name, *counted, *why; } cases[] = {
			{ "intra_bandwidth=100GB/s", "link within a node", "100 GB/s", "yours: " },
			{ "inter_latency=7us", "latency between nodes", "7 us", "yours: " },
			{ "memory=3GiB", "memory for the plan", "3.00 GiB", "the knob memory, less the knob reserve (0 B)" },
			{ "host_bandwidth=9GB/s", "link to the host", "9 GB/s", "yours: each way" },
		};
		for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
			bool found = false;
			cr_assert_eq(scenario_set(&scenario, cases[c].set, &error), OK, "%s", error.text);
			figures = device_figures(&scenario, figure);
			for (int f = 0; f < figures; f++)
				found |= strcmp(figure[f].name, cases[c].name) == 0 &&
					strcmp(figure[f].counted, cases[c].counted) == 0 &&
					strncmp(figure[f].why, cases[c].why, strlen(cases[c].why)) == 0;
			cr_expect(found, "%d: %s", i, cases[c].set);
		}
		scenario_done(&scenario);
	}
}

/* The user's own figures are counted with, and never said to be the data sheet's. */
Test(devices, what_is_set_is_no_data_sheets)
{
	static const struct {
		const char *set, *name;
	} own[] = { { "memory 12GiB", "memory for the plan" }, { "memory_bandwidth 123GB/s", "memory bandwidth" },
		{ "fp64 1.23TFLOP/s", "products, 64 bits" }, { "fp32 2TFLOP/s", "products, fp32" },
		{ "fp16 3TFLOP/s", "products, fp16" }, { "bf16 4TFLOP/s", "products, bf16" },
		{ "fp8 5TFLOP/s", "products, 8 bits" }, { "vector 6TFLOP/s", "other arithmetic" },
		{ "intra_bandwidth 7GB/s", "link within a node" }, { "intra_latency 8us", "latency within a node" },
		{ "inter_bandwidth 9GB/s", "link between nodes" }, { "inter_latency 10us", "latency between nodes" },
		{ "host_bandwidth 11GB/s", "link to the host" } };
	for (int device = DEVICE_NONE + 1; device < DEVICE_COUNT; device++)
		for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
			struct device_figure plain[DEVICE_FIGURES], figure[DEVICE_FIGURES];
			struct error error = { 0 };
			char pin[100];
			OWN(scenario) scenario;
			scenario_init(&scenario);
			scenario_put(&scenario, K_device, device);
			int figures = device_figures(&scenario, plain);
			snprintf(pin, sizeof pin, "figure %s", own[i].set);
			cr_assert_eq(scenario_pin(&scenario, pin, &error), OK, "%s", error.text);
			cr_assert_eq(device_figures(&scenario, figure), figures);
			bool units = strncmp(own[i].name, "products", 8) ==
				0;   /* a format without units of its own takes another's: nothing is said of a sheet */
			for (int f = 0; f < figures; f++) {
				bool set = strcmp(figure[f].name, own[i].name) == 0;
				cr_expect_str_eq(figure[f].sheet, plain[f].sheet, "%d, %s: %s", device, pin, figure[f].name);
				cr_expect(!set || figure[f].basis == FIGURE_YOURS, "%d, %s: %s", device, pin, figure[f].why);
				cr_expect(!set || !units || !strstr(figure[f].why, "data sheet"), "%d, %s: %s", device, pin, figure[f].why);
			}
		}
}

Test(devices, efficiency_is_interpolated_by_logarithm)
{
	struct efficiency efficiency = { { { 1 << 10, 100 }, { 1 << 20, 500 }, { 1 << 24, 900 }, { 1 << 25, 1000 } } };
	cr_expect_eq(efficiency_at(&efficiency, 0), 100);
	cr_expect_eq(efficiency_at(&efficiency, 1), 100);
	cr_expect_eq(efficiency_at(&efficiency, 1 << 15), 300);
	cr_expect_eq(efficiency_at(&efficiency, 1 << 20), 500);
	cr_expect_eq(efficiency_at(&efficiency, 1 << 22), 700);
	cr_expect_eq(efficiency_at(&efficiency, INT64_C(1) << 60), 1000);
	for (int64_t size = 1, last = 0; size < INT64_C(1) << 40; size += 1 + size / 3) {
		cr_expect_geq(efficiency_at(&efficiency, size), last);
		last = efficiency_at(&efficiency, size);
	}
}

Test(devices, ops_take_the_longer_of_arithmetic_and_traffic)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	enum machine_limit limit;
	int64_t flops = INT64_C(2) * 8192 * 8192 * 8192, bytes = INT64_C(3) * 2 * 8192 * 8192;
	double share = machine.matrix * machine.sustained[FORMAT_BF16] / 1e6;
	cr_expect_float_eq((double)machine_time(&machine, true, FORMAT_BF16, flops, 1, bytes, &limit),
		(double)machine.ramp + (double)flops / (312e12 * share) * 1e12, 2.0);
	cr_expect_eq(limit, LIMIT_PRODUCTS);
	share = efficiency_at(&machine.traffic, bytes) / 1000.0;
	cr_expect_float_eq((double)machine_time(&machine, false, FORMAT_BF16, 8192, 1, bytes, &limit),
		(double)bytes / (2039e9 * share) * 1e12, 2.0);
	cr_expect_eq(limit, LIMIT_TRAFFIC);
	cr_expect_eq(machine_time(&machine, false, FORMAT_F16, 8, 1, 8, &limit), machine.launch);
	cr_expect_eq(limit, LIMIT_LAUNCH);
	cr_expect_float_eq((double)machine_time(&machine, true, FORMAT_F16, 8, 1, 8, &limit), (double)machine.ramp, 2);
	cr_expect_eq(limit, LIMIT_LAUNCH);
	cr_expect_eq(machine_time(&machine, true, FORMAT_F16, 0, 1, 0, &limit), 0);
	cr_expect_eq(machine_time(&machine, true, FORMAT_F64, INT64_MAX, 1, BYTES_MAX, &limit), COLLECTIVE_TIME_MAX);
}

/* Experts' products are kernels of their own: each reaches what a product of its size does, and a device that has a
 * part of the experts takes that part of the time. What brings tokens into slots moves them once more. */
Test(devices, experts_products_reach_what_one_of_them_does)
{
	struct machine machine = device_preset(DEVICE_A100_80).machine;
	OWN(rules) *rules = rules_new();
	OWN(graph) *graph = step_of_sizes(
		"moe", (struct model_config){ .layers = 1, .hidden = 1024, .heads = 8, .experts = 8, .seq = 512, .batch = 8 });
	OWN(units) units;
	struct op_times times;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(op_times_find(&units, rules, &machine, &times), OK);
	struct mesh mesh = { .axes = 1,
		.axis = { { .name = "ep", .size = 4, .near_size = 4, .near = machine.near, .far = machine.far } } };
	uint32_t products = 0, moves = 0;
	for (uint32_t op = 0; op < graph->ops; op++) {
		const struct op_work *work = &times.work[units.op_class[op]];
		struct split whole = { .on = { UNIT_NONE, UNIT_NONE, UNIT_NONE, UNIT_NONE } }, split = whole;
		int64_t time, part, bytes = 0;
		enum machine_limit limit;
		cr_assert_eq(op_local_time(graph, rules, &machine, op, false, &time, &limit), OK);
		cr_expect_eq(op_share_time(&units, &mesh, work, &machine, op, whole), time, "%s", graph->op[op].name);
		for (uint32_t k = 0; k < op_arguments(graph, op); k++)
			bytes += graph->tensor[graph_argument(graph, op, k)].bytes;
		if (work->routes) {
			moves++;
			cr_expect_gt(time, machine_time(&machine, false, (enum machine_format)work->format, 0, 1, bytes, &limit));
		}
		if (!work->grouped)
			continue;
		products++;
		cr_expect_eq(time, machine_time(&machine, true, (enum machine_format)work->format, work->flops, 8, bytes, &limit));
		cr_expect_gt(time, machine_time(&machine, true, (enum machine_format)work->format, work->flops, 1, bytes, &limit));
		for (uint32_t u = 0; u < units.unit_start[op + 1] - units.unit_start[op]; u++)
			if (units.unit[units.unit_start[op] + u].role == ROLE_EXPERTS)
				split.on[0] = (int8_t)u;
		part = op_share_time(&units, &mesh, work, &machine, op, split);
		cr_expect_float_eq((double)part, (double)time / 4, (double)time / 1000, "%s: %ld of %ld", graph->op[op].name,
			(long)part, (long)time);
	}
	cr_expect_eq(products, 6);
	cr_expect_eq(moves, 4);
	op_times_free(&times);
}

static void mesh_of(struct mesh *mesh, enum status expected, const char *const *assignment, int count)
{
	OWN(scenario) scenario;
	struct degrees degrees;
	struct axis_roles roles[MESH_AXES];
	struct error error = { 0 };
	scenario_init(&scenario);
	for (int i = 0; i < count; i++) {
		cr_assert_eq(scenario_set(&scenario, assignment[i], &error), OK, "%s", error.text);
	}
	scenario.value[K_strategy] = 1 + STRATEGY_DATA;
	cr_assert_eq(degrees_of_scenario(&scenario, NULL, &degrees, &error), expected, "%s", error.text);
	if (expected == OK)
		mesh_of_degrees(&scenario, &degrees, mesh, roles);
}
#define MESH_OF(mesh, status, ...) do { \
	static const char *const words[] = { __VA_ARGS__ }; \
	mesh_of(mesh, status, words, sizeof words / sizeof *words); \
} while (0)

Test(devices, inner_axes_fill_nodes_first)
{
	struct mesh mesh;
	MESH_OF(&mesh, OK, "devices=1");
	cr_expect_eq(mesh.axes, 0);
	MESH_OF(&mesh, OK, "devices=64", "tp=4", "pp=2", "device=h100-80gb");
	cr_assert_eq(mesh.axes, 2);
	cr_expect_str_eq(mesh.axis[0].name, "dp");
	cr_expect_eq(mesh.axis[0].size, 8);
	cr_expect_eq(mesh.axis[0].near_size, 2);
	cr_expect_str_eq(mesh.axis[1].name, "tp");
	cr_expect_eq(mesh.axis[1].near_size, 4);
	MESH_OF(&mesh, OK, "devices=128", "tp=2", "cp=2", "ep=4", "devices_per_node=8", "intra_bandwidth=100GB/s",
		"inter_latency=7us");
	cr_assert_eq(mesh.axes, 4);
	cr_expect_str_eq(mesh.axis[1].name, "ep");
	cr_expect_eq(mesh.axis[0].near_size, 1);
	cr_expect_eq(mesh.axis[1].near_size, 2);
	cr_expect_eq(mesh.axis[2].near_size, 2);
	cr_expect_eq(mesh.axis[3].near_size, 2);
	cr_expect_eq(mesh.axis[3].near.rate, INT64_C(100000000000));
	cr_expect_eq(mesh.axis[3].far.latency, INT64_C(7000000));
	MESH_OF(&mesh, OK, "devices=48", "tp=6", "dp=8");
	cr_expect_eq(mesh.axis[0].near_size, 1);
	cr_expect_eq(mesh.axis[1].near_size, 6);
	MESH_OF(&mesh, OK, "devices=16", "tp=16", "devices_per_node=12");
	cr_expect_eq(mesh.axis[0].near_size, 8);
	MESH_OF(&mesh, BAD_INPUT, "devices=10", "tp=4");
	MESH_OF(&mesh, BAD_INPUT, "devices=8", "tp=4", "dp=4");
	MESH_OF(&mesh, BAD_INPUT, "devices=4", "tp=1048576", "cp=1048576", "ep=1048576", "pp=1048576");
}

/* Of every software on every chip it is said whether its steps were measured there, and what they take. */
Test(devices, what_is_not_measured_is_said_to_be)
{
	int known = 0;
	for (int d = DEVICE_NONE; d < DEVICE_COUNT; d++)
		for (int s = SOFTWARE_GIVEN; s < SOFTWARE_COUNT; s++) {
			const struct device_preset preset = device_preset_with((enum device)d, (enum software)s);
			const struct measured *steps = profile_measured((enum device)d, (enum software)s);
			OWN(scenario) scenario;
			struct error error;
			char text[700];
			scenario_init(&scenario);
			scenario_put(&scenario, K_device, d);
			scenario_put(&scenario, K_software, s);
			device_reached_text(&scenario, text, sizeof text);
			cr_expect_eq(preset.apart > 0, d != DEVICE_NONE && steps, "%s", preset.name);
			cr_expect_eq(preset.machine.measured, steps && s != SOFTWARE_GIVEN ? steps->factor : 1000);
			cr_expect(strstr(text, steps ? " on this chip: x" : " on this chip: give or take 15 %"), "%s", text);
			cr_expect(strstr(text, software_name((enum software)s)), "%s", text);
			cr_expect_eq(strstr(text, "not counted") != NULL, steps && s == SOFTWARE_GIVEN, "%s", text);
			known += steps && s != SOFTWARE_GIVEN && d != DEVICE_NONE;
			cr_assert_eq(scenario_pin(&scenario, "figure launch 3us", &error), OK);
			cr_expect(strstr(device_reached_text(&scenario, text, sizeof text), "your own: launch; the others: "), "%s", text);
		}
	cr_expect_eq(known, 15);
}

/* Steps that aren't counted are off by their factor, too; chips without steps by what chips left out of the fit were. */
Test(devices, times_say_how_far_they_are_from_measured_ones)
{
	static const struct { const char *set, *pin, *text; uint32_t deviation;
	} cases[] = { { "device=h100-80gb", NULL, " +- 6 %", 9 + 53 },
		{ "device=h100-80gb software=llm-foundry", NULL, " +- 5 %", 52 }, { "device=l40s-48gb", NULL, " +- 15 %", 150 },
		{ "device=h100-80gb", "figure launch 3us", "", 0 } };
	FOR(i, COUNT_OF(cases)) {
		OWN(scenario) scenario;
		struct error error;
		char text[16];
		scenario_init(&scenario);
		scenario_add(&scenario, cases[i].set);
		cr_assert(!cases[i].pin || scenario_pin(&scenario, cases[i].pin, &error) == OK);
		cr_expect_eq(device_deviation(&scenario), cases[i].deviation, "%s", cases[i].set);
		cr_expect_str_eq(device_deviation_text(&scenario, text), cases[i].text);
	}
}

/* Every figure that isn't the data sheet's says whether it was fitted, carried over or assumed. */
Test(devices, every_figure_says_what_it_rests_on)
{
	static const struct { const char *set; const char *figure; enum figure_basis basis;
	} cases[] = { { "", "products, bf16", FIGURE_FITTED }, { "", "attention in one kernel", FIGURE_FITTED },
		{ "", "memory for the plan", FIGURE_PLAIN }, { "", "memory bandwidth", FIGURE_ASSUMED },
		{ "", "products, 8 bits", FIGURE_ASSUMED }, { "software=torchtitan", "products, 8 bits", FIGURE_FITTED },
		{ "software=torchtitan", "bytes moved, unfused", FIGURE_FITTED },
		{ "software=megatron-lm", "products, bf16", FIGURE_CARRIED },
		{ "device=h200-141gb", "products, bf16", FIGURE_CARRIED },
		{ "device=h800-80gb software=llm-foundry", "attention in one kernel", FIGURE_CARRIED },
		{ "device=l40s-48gb", "kernel launch", FIGURE_ASSUMED },
		{ "intra_bandwidth=100GB/s", "link within a node", FIGURE_YOURS }, { "", "link within a node", FIGURE_FITTED },
		{ "software=maxtext measured=90%", "measured steps", FIGURE_YOURS } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct device_figure figure[DEVICE_FIGURES];
		OWN(scenario) scenario;
		scenario_init(&scenario);
		scenario_put(&scenario, K_device, DEVICE_H100_80);
		scenario_add(&scenario, cases[i].set);
		int figures = device_figures(&scenario, figure), found = 0;
		cr_assert_leq(figures, DEVICE_FIGURES);
		for (int f = 0; f < figures; f++)
			if (strcmp(figure[f].name, cases[i].figure) == 0) {
				cr_expect_eq(figure[f].basis, cases[i].basis, "%s, %s: %s", cases[i].set, cases[i].figure, figure[f].why);
				found++;
			}
		cr_expect_eq(found, 1, "%s", cases[i].figure);
		cr_expect_str_eq(figure[0].name, "software");
		cr_expect_str_eq(figure[0].counted, device_software(&scenario));
	}
}

/* Every figure of every preset is written, read, and written again alike; a pin has it. */
Test(devices, figures_are_read_as_they_are_written)
{
	char text[200], again[200], pin[300];
	for (int device = DEVICE_NONE + 1; device < DEVICE_COUNT; device++)
		for (int figure = FIGURE_NAME + 1; figure < FIGURE_COUNT; figure++) {
			struct device_preset preset = device_preset((enum device)device), other = device_preset(DEVICE_NONE), third;
			struct scenario scenario;
			struct error error = { 0 };
			figure_text((enum figure_id)figure, &preset, text, sizeof text);
			if (strncmp(text, "0", 1) == 0 && text[1] != '.')      /* without a link to a host, say */
				continue;
			cr_assert_eq(figure_parse((enum figure_id)figure, text, &other, &error), OK, "%s: %s", preset.name, error.text);
			cr_expect_str_eq(figure_text((enum figure_id)figure, &other, again, sizeof again), text);
			scenario_init(&scenario);
			snprintf(pin, sizeof pin, "figure %s %s", figure_name((enum figure_id)figure), text);
			cr_assert_eq(scenario_pin(&scenario, pin, &error), OK, "%s", error.text);
			cr_expect_str_eq(pin_text(&scenario.pin[0], again, sizeof again), pin);
			third = scenario.device;
			cr_expect_str_eq(figure_text((enum figure_id)figure, &third, again, sizeof again), text);
			cr_expect_neq(scenario_figures_hash(&scenario), 0);
			cr_assert_eq(scenario_set(&scenario, "device=none", &error), OK);
			cr_expect_eq(scenario.pins, 1, "what is set by itself stays");
			cr_assert_eq(scenario_set(&scenario, "name=own", &error), OK, "%s", error.text);
			cr_assert_eq(scenario_set(&scenario, "device=none", &error), OK);
			cr_expect_eq(scenario.pins, figure >= FIGURE_NODE, "a preset has no figures of a device's file");
			scenario_done(&scenario);
		}
}

Test(devices, figures_that_are_none_are_refused)
{
	static const char *const bad[] = { "figure launch 2", "figure launch -2us", "figure launch us",
		"figure launch 2us3", "figure devices_per_node 0", "figure devices_per_node 1025", "figure kernels both",
		"figure lunch 2us", "figure traffic 1G", "figure traffic 1G:5%,1G:6%",
		"figure traffic 1G:5%,", "figure traffic 1:5%", "figure traffic 1G:0%",
		"figure traffic 1M:1%,2M:1%,3M:1%,4M:1%,5M:1%", "figure matrix 1G:5%", "figure power 700",
		"figure attention 6001%", "figure attention 85",
		"figure fp32 1e400TFLOP/s", "figure fp32 nanTFLOP/s", "figure fp32 0TFLOP/s", "figure name a b",
		"figure name a/b", "figure memory 80", "figure launch" };
	OWN(scenario) scenario;
	scenario_init(&scenario);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct error error = { 0 };
		cr_expect_eq(scenario_pin(&scenario, bad[i], &error), BAD_INPUT, "%s", bad[i]);
		cr_expect(*error.text && scenario.pins == 0, "%s", bad[i]);
	}
}

/* auto is what runs the step: PyTorch on a GPU, what a snapshot shows, or a static arena. */
Test(devices, what_runs_a_step_gives_its_memory)
{
	static const struct { const char *source, *format, *segments, *set; enum allocator is; } cases[] = {
		{ "torch 2.9", NULL, NULL, "device=none", ALLOCATOR_EXPANDABLE },
		{ "tidemark model", "config.json", NULL, "device=h100-80gb", ALLOCATOR_EXPANDABLE },
		{ NULL, "PyTorch FX text", NULL, "device=none", ALLOCATOR_EXPANDABLE },
		{ NULL, "Inductor memory graph", NULL, "device=none", ALLOCATOR_EXPANDABLE },
		{ NULL, "PyTorch memory snapshot", "default", "device=none", ALLOCATOR_PYTORCH },
		{ NULL, "PyTorch memory snapshot", "expandable", "device=none", ALLOCATOR_EXPANDABLE },
		{ "torch 2.9", NULL, NULL, "device=cpu", ALLOCATOR_PLAN },
		{ "torch 2.9", NULL, NULL, "device=tpu-v5p-95gb", ALLOCATOR_PLAN },
		{ "torch 2.9", NULL, NULL, "allocator=plan", ALLOCATOR_PLAN },
		{ "hand-written", NULL, NULL, "allocator=pytorch", ALLOCATOR_PYTORCH },
		{ "hand-written", NULL, NULL, "device=none", ALLOCATOR_PLAN },
		{ NULL, "XLA HLO text", NULL, "device=none", ALLOCATOR_PLAN },
		{ NULL, "ONNX model", NULL, "device=none", ALLOCATOR_PLAN },
		{ NULL, NULL, NULL, "device=none", ALLOCATOR_PLAN },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct graph graph = { .source = cases[i].source,
			.about.intake = { .format = cases[i].format, .segments = cases[i].segments } };
		struct error error = { 0 };
		OWN(scenario) scenario;
		scenario_init(&scenario);
		cr_assert_eq(scenario_set(&scenario, cases[i].set, &error), OK, "%s", error.text);
		cr_expect_eq(scenario_allocator(&scenario, &graph), cases[i].is, "case %zu", i);
	}
}
