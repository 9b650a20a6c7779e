/* own_device.c: figures as texts, and a scenario's preset with its own. */
#include <ctype.h>
#include <math.h>

#include "own_device.h"
#include "src/base/words.h"
#include "knobs.h"

enum figure_type {
	TYPE_NAME,      /* letters, digits and . _ - */
	TYPE_BYTES,     /* int64_t */
	TYPE_RATE,      /* bytes per second, int64_t */
	TYPE_FLOPS,     /* per second, int64_t */
	TYPE_TIME,      /* picoseconds, int64_t */
	TYPE_POWER,     /* watts, int64_t */
	TYPE_COUNT,     /* a whole number, int64_t */
	TYPE_DISPATCHER, /* a word; thousandths of multiprocessors, uint16_t */
	TYPE_KERNELS,   /* a word; which of the two, uint16_t */
	TYPE_SHARE,     /* thousandths, uint16_t; a percentage for people */
	TYPE_CURVE      /* struct efficiency */
};

static const struct row { const char *name; enum figure_type type; size_t at; const char *help; } rows[FIGURE_COUNT] = {
#define X(id, name, type, member, help) { name, TYPE_##type, offsetof(struct device_preset, member), help },
	FIGURES(X)
#undef X
};

enum figure_id figure_find(const char *name)
{
	int figure = 0;
	while (figure < FIGURE_COUNT && !text_is(rows[figure].name, name))
		figure++;
	return (enum figure_id)figure;
}

const char *figure_name(enum figure_id figure)
{
	return rows[figure].name;
}

const char *figure_help(enum figure_id figure)
{
	return rows[figure].help;
}

/* ---- texts ---- */

#define SHARE_MOST 60000
#define COUNT_MOST 1024
#define WHOLE_MOST 1e18

/* The first unit is the one that is written. */
struct unit_name { const char *name; double scale; };
static const struct unit_name bytes_names[] = { { "GiB", 1073741824.0 }, { "MiB", 1048576.0 },
	{ "TiB", 1099511627776.0 }, { "GB", 1e9 }, { "MB", 1e6 }, { "B", 1 }, { NULL, 0 } };
static const struct unit_name rate_names[] = { { "GB/s", 1e9 }, { "TB/s", 1e12 }, { "MB/s", 1e6 }, { "B/s", 1 },
	{ NULL, 0 } };
static const struct unit_name flops_names[] = { { "TFLOP/s", 1e12 }, { "PFLOP/s", 1e15 }, { "GFLOP/s", 1e9 },
	{ NULL, 0 } };
static const struct unit_name time_names[] = { { "us", 1e6 }, { "ns", 1e3 }, { "ms", 1e9 }, { "s", 1e12 },
	{ NULL, 0 } };
static const struct unit_name power_names[] = { { "W", 1 }, { "kW", 1e3 }, { NULL, 0 } };
static const struct unit_name size_names[] = { { "M", 1e6 }, { "G", 1e9 }, { "T", 1e12 }, { "k", 1e3 }, { NULL, 0 } };
static const struct unit_name count_names[] = { { "", 1 }, { NULL, 0 } };
static const struct unit_name share_names[] = { { "%", 10 }, { NULL, 0 } };

static const struct unit_name *names_of(enum figure_type type)
{
	switch (type) {
	case TYPE_BYTES: return bytes_names;
	case TYPE_RATE: return rate_names;
	case TYPE_FLOPS: return flops_names;
	case TYPE_TIME: return time_names;
	case TYPE_POWER: return power_names;
	case TYPE_COUNT: return count_names;
	default: return share_names;
	}
}

/* "12.5GB/s" up to the character that ends it, or the text's end. Every number has its unit. */
static bool own_device_parse_number(const char *text, const struct unit_name *units, char until, double least,
	double most, double *number, const char **end)
{
	char *behind;
	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	*number = strtod(text, &behind);
	for (; units->name; units++) {
		size_t length = strlen(units->name);
		if (strncmp(behind, units->name, length) == 0 && (behind[length] == until || behind[length] == '\0'))
			break;
	}
	if (!units->name)
		return false;
	*number = round(*number * units->scale);
	*end = behind + strlen(units->name);
	return isfinite(*number) && *number >= least && *number <= most;
}

/* Points with sizes that rise; those that are missing are as the last. */
static bool parse_curve(const char *text, struct efficiency *curve)
{
	double size, share, before = 0;
	int points = 0;
	for (bool more = true; more; points++) {
		if (points == EFFICIENCY_POINTS ||
			!own_device_parse_number(text, size_names, ':', before + 1, WHOLE_MOST, &size, &text) || *text++ != ':' ||
			!own_device_parse_number(text, share_names, ',', 1, SHARE_MOST, &share, &text))
			return false;
		curve->point[points].size = (int64_t)size;
		curve->point[points].share = (uint16_t)share;
		before = size;
		more = *text == ',';
		text += more;
	}
	for (; points < EFFICIENCY_POINTS; points++)
		curve->point[points] = curve->point[points - 1];
	return *text == '\0';
}

static bool parse_name(const char *text)
{
	size_t length = strlen(text);
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			return false;
	return length > 0 && length < 40;
}

/* Of figures that are one of two words, the second of which counts that much. */
static const struct { const char *name[2]; uint16_t second; } figure_words[] = {
	[TYPE_DISPATCHER] = { { "alltoall", "deepep" }, DEEPEP_HELD }, [TYPE_KERNELS] = { { "compiled", "eager" }, 1 } };

static bool figure_is_word(enum figure_type type)
{
	return type == TYPE_DISPATCHER || type == TYPE_KERNELS;
}

static enum status expected(enum figure_id figure, const char *value, struct error *error)
{
	static const char *const forms[] = { [TYPE_NAME] = "a name of letters, digits and . _ -, at most 39",
		[TYPE_BYTES] = "bytes, such as 80GiB",
		[TYPE_RATE] = "a rate, such as 450GB/s",
		[TYPE_FLOPS] = "a rate, such as 312TFLOP/s",
		[TYPE_TIME] = "a time, such as 2.5us",
		[TYPE_POWER] = "watts, such as 700W",
		[TYPE_COUNT] = "a number from 1 to 1024",
		[TYPE_DISPATCHER] = "alltoall or deepep",
		[TYPE_KERNELS] = "compiled or eager",
		[TYPE_SHARE] = "a percentage from 0.1% to 6000%",
		[TYPE_CURVE] = "one to four sizes that rise, each with a percentage: 128k:30%,2M:60%,20M:75%,100M:90%" };
	return refuse(error, "figure %s, \"%.60s\": expected %s", rows[figure].name, value, forms[rows[figure].type]);
}

enum status figure_parse(enum figure_id figure, const char *value, struct device_preset *preset, struct error *error)
{
	const struct row *row = &rows[figure];
	void *at = (char *)preset + row->at;
	const char *end = value;
	double number = 0;
	struct efficiency curve;
	bool share = row->type == TYPE_SHARE, fine;
	if (row->type == TYPE_NAME)
		return parse_name(value) ? OK : expected(figure, value, error);
	int word = figure_is_word(row->type) ? name_index(figure_words[row->type].name, 2, value) : 0;
	if (figure_is_word(row->type))
		fine = word >= 0;
	else if (row->type == TYPE_CURVE)
		fine = parse_curve(value, &curve);
	else
		fine = own_device_parse_number(value, names_of(row->type), '\0',
				   row->type == TYPE_BYTES || row->type == TYPE_TIME || row->type == TYPE_POWER ? 0 : 1,
				   share ? SHARE_MOST : row->type == TYPE_COUNT ? COUNT_MOST : WHOLE_MOST, &number,
				   &end) &&
			*end == '\0';
	if (!fine)
		return expected(figure, value, error);
	if (row->type == TYPE_CURVE)
		*(struct efficiency *)at = curve;
	else if (figure_is_word(row->type))
		*(uint16_t *)at = word ? figure_words[row->type].second : 0;
	else if (share)
		*(uint16_t *)at = (uint16_t)number;
	else
		*(int64_t *)at = (int64_t)number;
	FOR_INT(f, FORMAT_COUNT)       /* the user's peak is the device's */
		if (at == &preset->machine.matrix_rate[f])
			preset->matrix_sheet[f] = preset->machine.matrix_rate[f];
	return OK;
}

/* In the first unit in which six digits say it exactly. */
static void add_number(struct words *words, double number, const struct unit_name *units)
{
	char text[32];
	for (const struct unit_name *unit = units; unit->name; unit++) {
		PRINT_TO(text, "%.6g", number / unit->scale);
		if (fabs(strtod(text, NULL) * unit->scale - number) < 0.5) {
			words_add(words, "%s%s", text, unit->name);
			return;
		}
	}
	words_add(words, "%.15g%s", number / units->scale, units->name);
}

char *figure_text(enum figure_id figure, const struct device_preset *preset, char *text, size_t size)
{
	const struct row *row = &rows[figure];
	const void *at = (const char *)preset + row->at;
	struct words words = { text, size, 0 };
	const struct efficiency *curve = at;
	*text = '\0';
	if (row->type == TYPE_NAME)
		words_add(&words, "%s", preset->name);
	else if (figure_is_word(row->type))
		words_add(&words, "%s", figure_words[row->type].name[*(const uint16_t *)at > 0]);
	else if (row->type == TYPE_SHARE)
		add_number(&words, *(const uint16_t *)at, share_names);
	else if (row->type != TYPE_CURVE)
		add_number(&words, (double)*(const int64_t *)at, names_of(row->type));
	for (int i = 0;
		row->type == TYPE_CURVE && i < EFFICIENCY_POINTS && (i == 0 || curve->point[i].size > curve->point[i - 1].size);
		i++) {
		words_add(&words, i ? "," : "");
		add_number(&words, (double)curve->point[i].size, size_names);
		words_add(&words, ":");
		add_number(&words, curve->point[i].share, share_names);
	}
	return text;
}

/* ---- a scenario's ---- */

const char *scenario_figure(const struct scenario *scenario, enum figure_id figure)
{
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_FIGURE && figure_find(scenario->pin[i].a) == figure)
			return scenario->pin[i].b;
	return NULL;
}

uint64_t scenario_figures_hash(const struct scenario *scenario)
{
	uint64_t hash = 0;
	FOR(i, scenario->pins)
		for (int part = 0; scenario->pin[i].kind == PIN_FIGURE && part < 2; part++)
			for (const char *at = part ? scenario->pin[i].b : scenario->pin[i].a; *at; at++)
				hash = hash_join(hash + 1, (uint64_t)(unsigned char)*at);
	return hash;
}

#define DEVICE_LEAST (INT64_C(4) << 30)   /* what trains has that much: less is a limit by itself */

/* Of what is beside the plan; a memory of that size alone is an A100's. */
static int64_t own_device_beside(const struct scenario *scenario, enum figure_id figure)
{
	int64_t memory = scenario->value[K_memory];
	bool own = memory == KNOB_GIVEN || scenario_figure(scenario, figure);
	struct device_preset device = own || scenario->value[K_device] != DEVICE_NONE ? scenario->device
		: device_preset(DEVICE_A100_80);
	return !own && memory < DEVICE_LEAST ? 0 : figure == FIGURE_CONTEXT ? device.context : device.group_buffers;
}

int64_t scenario_reserve(const struct scenario *scenario)
{
	return scenario->value[K_reserve] != KNOB_GIVEN ? scenario->value[K_reserve]
		: own_device_beside(scenario, FIGURE_CONTEXT);
}

int64_t scenario_group_buffers(const struct scenario *scenario)
{
	return own_device_beside(scenario, FIGURE_BUFFERS);
}

struct machine scenario_plain_machine(const struct scenario *scenario)
{
	struct machine machine = scenario->device.machine;
	bool eager = scenario->device.eager_kernels;
	machine.fused = eager ? machine.eager : machine.fused;
	machine.joins_updates = !eager && scenario->value[K_device] != DEVICE_NONE;
	return machine;
}

/* All times by the factor of measured steps; peaks stay. */
static void own_device_slow_down(struct machine *machine)
{
	int64_t factor = machine->measured;
	struct link *const links[] = { &machine->near, &machine->far, &machine->host };
	machine->launch = machine->launch * factor / 1000;
	machine->ramp = machine->ramp * factor / 1000;
	machine->matrix = (uint16_t)(machine->matrix * 1000 / factor);
	FOR_INT(i, EFFICIENCY_POINTS) {
		machine->vector.point[i].share = (uint16_t)(machine->vector.point[i].share * 1000 / factor);
		machine->traffic.point[i].share = (uint16_t)(machine->traffic.point[i].share * 1000 / factor);
	}
	FOR_INT(i, 3) {
		links[i]->latency = links[i]->latency * factor / 1000;
		links[i]->rate = links[i]->rate * 1000 / factor;
	}
}

void scenario_resolve(struct scenario *scenario)
{
	struct device_preset *device = &scenario->device;
	*device = device_preset_with(
		(enum device)scenario->value[K_device], (enum software)scenario->value[K_software]);
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		enum figure_id figure = pin->kind == PIN_FIGURE ? figure_find(pin->a) : FIGURE_COUNT;
		if (figure == FIGURE_NAME)
			device->name = pin->b;
		else if (figure != FIGURE_COUNT)
			figure_parse(figure, pin->b, device, NULL);   /* it was looked at when it was set */
	}
	device_settle(device);
	scenario->machine = scenario_plain_machine(scenario);
	own_device_slow_down(&scenario->machine);
}
