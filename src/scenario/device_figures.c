/* device_figures.c: the figures of a device as a table. */
#include <stdarg.h>

#include "src/base/words.h"
#include "device_figures.h"
#include "own_device.h"
#include "profiles.h"
#include "knobs.h"

static const char *const figure_basis_names[FIGURE_BASES] = { "", "fitted", "carried over", "assumed", "yours" };

struct listing {
	const struct scenario *scenario;
	const struct profile *profile;
	const struct measured *steps;   /* NULL: none on this chip */
	struct device_preset preset, sheet;   /* with the user's own figures, and without */
	struct machine machine;         /* as counted with */
	struct device_figure *figure;
	int count;
};

__attribute__((format(printf, 5, 6))) static void device_figures_add(
	struct listing *listing, const char *name, const char *sheet, const char *counted, const char *why, ...)
{
	struct device_figure *figure = &listing->figure[listing->count++];
	va_list arguments;
	figure->name = name;
	figure->basis = FIGURE_PLAIN;
	figure->set = "memory";
	PRINT_TO(figure->sheet, "%s", sheet);
	PRINT_TO(figure->counted, "%s", counted);
	va_start(arguments, why);
	vsnprintf(figure->why, sizeof figure->why, why, arguments);
	va_end(arguments);
}

/* The last figure is the user's where a pin has it. */
static void mark_own(struct listing *listing, enum figure_id own)
{
	listing->figure[listing->count - 1].set = figure_name(own);
	if (scenario_figure(listing->scenario, own))
		listing->figure[listing->count - 1].basis = FIGURE_YOURS;
}

/* The last figure's: a share that the profile's steps tell, or don't; one that has a name in files may be the user's.
 */
static void rests_on(struct listing *listing, enum reach reach, enum figure_id own)
{
	struct device_figure *figure = &listing->figure[listing->count - 1];
	bool told = listing->profile->told >> reach & 1;
	figure->basis = !told ? FIGURE_ASSUMED : listing->steps ? FIGURE_FITTED : FIGURE_CARRIED;
	mark_own(listing, own);
}

static bool is_set(const struct listing *listing, enum knob_id knob)
{
	return listing->scenario->value[knob] != KNOB_GIVEN;
}

static void add_memory(struct listing *listing)
{
	int64_t on_sheet = listing->sheet.machine.memory, memory = listing->machine.memory;
	const char *sheet = on_sheet >= 0 ? BYTES(on_sheet) : "", *counted = memory >= 0 ? BYTES(memory) : "any",
			   *reserve = BYTES(scenario_reserve(listing->scenario));
	if (is_set(listing, K_memory))
		device_figures_add(
			listing, "memory for the plan", sheet, counted, "the knob memory, less the knob reserve (%s)", reserve);
	else if (listing->preset.machine.memory < 0)
		device_figures_add(listing, "memory for the plan", sheet, counted, "no device is set: the knob memory gives a cap");
	else
		device_figures_add(listing, "memory for the plan", sheet, counted, "less %s: %s", reserve,
			is_set(listing, K_reserve) ? "the knob reserve" : "the driver's context and loaded kernels (the knob reserve)");
	if (!is_set(listing, K_memory))
		mark_own(listing, FIGURE_MEMORY);
}

/* Which software reaches what is counted with, and what its measured steps take of that. */
static void add_software(struct listing *listing)
{
	const struct measured *steps = listing->steps;
	char counted[40];
	bool given = listing->scenario->value[K_software] == SOFTWARE_GIVEN;
	device_figures_add(listing, "software", "", listing->profile->name, "%s",
		given ? "what most chips were measured with; the knob software takes another" : "the knob software");
	listing->figure[listing->count - 1].set = "software";
	PRINT_TO(counted, "x%.4g", listing->machine.measured / 1e3);
	if (steps)
		device_figures_add(listing, "measured steps", "", counted, "its steps on this chip: x%.2f +- %.0f %%%s",
			steps->factor / 1e3, steps->deviation / 10., given ? ", left out so that chips compare" : "");
	else
		device_figures_add(listing, "measured steps", "", counted, "none on this chip: give or take 15 %%");
	mark_own(listing, FIGURE_MEASURED);
}

/* "257", "1835": three digits, or all before the point. */
static char *device_figures_number_text(double number, char *text, size_t size)
{
	return printed(text, size, number >= 1000 ? "%.0f" : number < 1 ? "%.2g" : "%.3g", number);
}

/* A rate that ops reach by their size. sheet_rate: the data sheet's peak, 0: none; rate: the peak counted with; times:
 * thousandths that multiply the shares; unit: what a rate is divided by. */
static void add_curve(struct listing *listing, const char *name, const struct efficiency *curve, int64_t sheet_rate,
	int64_t rate, uint32_t times, double unit, const char *unit_name, const char *by)
{
	char sheet[32] = "", counted[48];
	double low = curve->point[0].share / 1e3, high = low;
	for (int i = 1; i < EFFICIENCY_POINTS; i++) {
		double share = curve->point[i].share / 1e3;
		low = SMALLER(share, low);
		high = LARGER(share, high);
	}
	low *= times / 1e3;
	high *= times / 1e3;
	if (sheet_rate > 0)
		PRINT_TO(sheet, "%.4g %s", (double)sheet_rate / unit, unit_name);
	if (high - low < 1e-6)
		PRINT_TO(counted, "%s %s",
			device_figures_number_text((double)rate * high / unit, TEXT(16)), unit_name);
	else
		PRINT_TO(counted, "%s to %s %s",
			device_figures_number_text((double)rate * low / unit, TEXT(16)),
			device_figures_number_text((double)rate * high / unit, TEXT(16)), unit_name);
	const char *of = rate == sheet_rate ? "the data sheet's" : "your peak";
	if (high - low < 1e-6)
		device_figures_add(listing, name, sheet, counted, "%.3g %% of %s: %s", 100 * high, of, by);
	else
		device_figures_add(
			listing, name, sheet, counted, "%.3g to %.3g %% of %s, by %s", 100 * low, 100 * high, of, by);
}

/* One share of a peak, as a curve that is level. */
static struct efficiency level(uint32_t share)
{
	struct efficiency curve;
	FOR_INT(i, EFFICIENCY_POINTS)
		curve.point[i].share = (uint16_t)share;
	return curve;
}

static void add_rates(struct listing *listing)
{
	static const char *const names[FORMAT_COUNT] = { "products, 64 bits", "products, fp32", "products, fp16",
		"products, bf16", "products, 8 bits" };
	static const enum figure_id own_peak[FORMAT_COUNT] = { FIGURE_FP64, FIGURE_FP32, FIGURE_FP16, FIGURE_BF16,
		FIGURE_FP8 };
	const struct machine *machine = &listing->machine;
	add_curve(listing, "memory bandwidth", &machine->traffic, listing->sheet.machine.memory_rate, machine->memory_rate,
		1000, 1e9, "GB/s", "the bytes that an op moves");
	rests_on(listing, REACH_COUNT, FIGURE_TRAFFIC);
	mark_own(listing, FIGURE_TRAFFIC_PEAK);
	for (int i = FORMAT_COUNT - 1; i >= 0; i--) {
		struct efficiency share = level((uint32_t)machine->matrix * machine->sustained[i] / 1000);
		add_curve(listing, names[i], &share, listing->sheet.matrix_sheet[i], machine->matrix_rate[i],
			i == FORMAT_F8 ? machine->narrow : 1000, 1e12, "TFLOP/s",
			machine->sustained[i] < 1000 ? "large products, at what the power sustains" : "large products");
		rests_on(listing, i == FORMAT_F8 && machine->narrow != 1000 ? REACH_NARROW : REACH_MATRIX,
			i == FORMAT_F8 ? FIGURE_NARROW : FIGURE_MATRIX);
		mark_own(listing, own_peak[i]);
		if (listing->preset.matrix_sheet[i] == 0) {
			struct device_figure *figure = &listing->figure[listing->count - 1];
			figure->sheet[0] = '\0';
			PRINT_TO(figure->why, "no units for that format: computed in %s",
				i == FORMAT_F8 ? "16 bits" : "fp32");
		}
	}
	add_curve(listing, "other arithmetic", &machine->vector, listing->sheet.machine.vector_rate, machine->vector_rate,
		1000, 1e12, "TFLOP/s", "the FLOPs of the op");
	rests_on(listing, REACH_COUNT, FIGURE_VECTOR_PEAK);
}

static void add_share(struct listing *listing, const char *name, uint32_t thousandths, const char *why)
{
	device_figures_add(listing, name, "", PRINTED(40, "%.4g %%", thousandths / 10.0), "%s", why);
}

static void add_kernels(struct listing *listing)
{
	const struct machine *machine = &listing->machine;
	device_figures_add(listing, "kernel launch", "", PRINTED(40, "%.3g us", (double)machine->launch / 1e6),
		"launching one takes as long");
	rests_on(listing, REACH_LAUNCH, FIGURE_LAUNCH);
	device_figures_add(listing, "a product's ramp", "", PRINTED(40, "%.3g us", (double)machine->ramp / 1e6),
		"beside its FLOPs at the rate of large ones");
	rests_on(listing, REACH_MATRIX, FIGURE_RAMP);
	if (machine->attention) {
		add_share(listing, "attention in one kernel", machine->attention, "of the rate of products of its size");
		rests_on(listing, REACH_ATTENTION, FIGURE_ATTENTION);
	}
	add_share(listing, "bytes moved, unfused", machine->eager,
		"of the bytes of what they read and write, for ops other than products");
	rests_on(listing, REACH_EAGER, FIGURE_EAGER);
	add_share(listing, "bytes moved, fused", machine->fused, "of these bytes where a compiler fuses kernels");
	rests_on(listing, REACH_TRAFFIC, FIGURE_FUSED);
	add_share(listing, "traffic of 8-bit casts", machine->casts,
		"of these bytes, because of scales and transposes");
	rests_on(listing, REACH_CASTS, FIGURE_CASTS);
}

static void device_figures_add_link(struct listing *listing, const char *name, const char *hop,
	const struct link *counted, const struct link *sheet, enum reach reach, enum figure_id rate)
{
	char theirs[32];
	PRINT_TO(theirs, "%.4g GB/s", (double)sheet->rate / 1e9);
	device_figures_add(listing, name, theirs, PRINTED(40, "%.3g GB/s", (double)counted->rate / 1e9),
		"%.3g %% of the data sheet's, one direction: what collectives reach",
		sheet->rate > 0 ? 100.0 * (double)counted->rate / (double)sheet->rate : 0);
	rests_on(listing, reach, rate);
	device_figures_add(listing, hop, "", PRINTED(40, "%.3g us", (double)counted->latency / 1e6),
		"each step of a ring takes that beside its bytes");
	mark_own(listing, rate + 1);
}

static void device_figures_add_buffers(struct listing *listing)
{
	int64_t bytes = scenario_group_buffers(listing->scenario);
	bool own = scenario_figure(listing->scenario, FIGURE_BUFFERS) != NULL;
	const char *counted = BYTES(bytes);
	if (bytes > 0 && !own)
		device_figures_add(listing, "buffers of a group", "", counted,
			"%u channels of 12 MiB (NVIDIA/nccl issues 1041 and 1685), for each group of devices that a device talks "
			"with",
			listing->preset.channels);
	else
		device_figures_add(listing, "buffers of a group", "", counted, "%s",
			own ? "for each group of devices that a device talks with"
			: is_set(listing, K_memory) ? "where the knob memory is the limit, what it counts is yours"
			: "no such buffers are known there");
	mark_own(listing, FIGURE_BUFFERS);
}

static void add_links(struct listing *listing)
{
	const struct device_preset *preset = &listing->preset;
	char sheet[32], counted[40];
	device_figures_add_link(listing, "link within a node", "latency within a node", &listing->machine.near,
		&preset->near_sheet, REACH_NEAR, FIGURE_NEAR);
	device_figures_add_link(listing, "link between nodes", "latency between nodes", &listing->machine.far,
		&preset->far_sheet, REACH_FAR, FIGURE_FAR);
	PRINT_TO(sheet, "%.4g GB/s", (double)preset->host_sheet.rate / 1e9);
	PRINT_TO(counted, listing->machine.host.rate ? "%.3g GB/s" : "none",
		(double)listing->machine.host.rate / 1e9);
	device_figures_add(listing, "link to the host", preset->host_sheet.rate ? sheet : "", counted, "%s",
		scenario_figure(listing->scenario, FIGURE_HOST) ? "each way" : preset->host_source);
	mark_own(listing, FIGURE_HOST);
	figure_text(FIGURE_DISPATCHER, preset, counted, sizeof counted);
	device_figures_add(listing, "dispatcher of tokens", "", counted,
		listing->machine.dispatcher ? "a token crosses to a node once" : "every copy of a token crosses by itself");
	mark_own(listing, FIGURE_DISPATCHER);
	device_figures_add_buffers(listing);
}

/* "fitted: 43 % of the data sheet's". */
static void say_basis(struct device_figure *figure)
{
	char why[sizeof figure->why];
	if (figure->basis == FIGURE_PLAIN)
		return;
	PRINT_TO(why, "%s", figure->why);
	PRINT_TO(figure->why, "%s: %.*s", figure_basis_names[figure->basis], (int)(sizeof why - 20), why);
}

int device_figures(const struct scenario *scenario, struct device_figure *figure)
{
	struct listing listing = { .scenario = scenario, .preset = scenario->device, .figure = figure };
	listing.sheet = device_preset((enum device)scenario->value[K_device]);
	enum software software = (enum software)scenario->value[K_software];
	listing.profile = profile_of(software);
	listing.steps = profile_measured((enum device)scenario->value[K_device], software);
	listing.machine = scenario_plain_machine(scenario);
	listing.machine.memory = scenario_budget(scenario);
	add_software(&listing);
	add_memory(&listing);
	add_rates(&listing);
	add_kernels(&listing);
	add_links(&listing);
	FOR_INT(i, listing.count)
		say_basis(&figure[i]);
	return listing.count;
}

const char *device_sheet_source(enum device device)
{
	return device_preset(device).source;
}

bool device_is_assumed(const struct scenario *scenario)
{
	return scenario->value[K_device] == DEVICE_NONE && !scenario_figure(scenario, FIGURE_NAME);
}

char *device_reached_text(const struct scenario *scenario, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	int given = 0;
	if (device_is_assumed(scenario))
		words_add(&words, "%s; ", DEVICE_ASSUMED);
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_FIGURE && figure_find(scenario->pin[i].a) != FIGURE_NAME)
			words_add(&words, "%s%s", given++ ? ", " : "your own: ", scenario->pin[i].a);
	words_add(&words, "%s%s", given ? "; the others: " : "",
		profile_text(
			(enum device)scenario->value[K_device], (enum software)scenario->value[K_software], TEXT(500)));
	return text;
}

const char *device_software(const struct scenario *scenario)
{
	return software_name((enum software)scenario->value[K_software]);
}

/* Figures of one's own tell times. */
static bool times_are_own(const struct scenario *scenario)
{
	bool own = false;
	FOR(i, scenario->pins) {
		enum figure_id figure = scenario->pin[i].kind == PIN_FIGURE ? figure_find(scenario->pin[i].a) : FIGURE_NAME;
		own |= figure >= FIGURE_TRAFFIC_PEAK && figure <= FIGURE_LAUNCH;
	}
	return own;
}

uint32_t device_errors_apart(const struct scenario *scenario)
{
	return times_are_own(scenario) ? 0 : scenario->device.apart;
}

uint32_t device_deviation(const struct scenario *scenario)
{
	return times_are_own(scenario) ? 0
		: profile_deviation((enum device)scenario->value[K_device], (enum software)scenario->value[K_software]);
}

char *device_deviation_text(const struct scenario *scenario, char text[16])
{
	uint32_t deviation = device_deviation(scenario);
	snprintf(text, 16, deviation > 0 ? " +- %u %%" : "", (deviation + 5) / 10);
	return text;
}

char *device_clock_text(const struct scenario *scenario, char text[DEVICE_CLOCK_TEXT])
{
	char within[16];
	snprintf(text, DEVICE_CLOCK_TEXT, "%s%s", device_deviation_text(scenario, within),
		device_is_assumed(scenario) ? ", " DEVICE_ASSUMED : "");
	return text;
}
