/* scenario.c: knob values and pins. */
#include <ctype.h>
#include <inttypes.h>

#include "own_device.h"
#include "scenario.h"
#include "src/base/lines.h"
#include "src/base/words.h"

void scenario_init(struct scenario *scenario)
{
	*scenario = (struct scenario){ 0 };
	FOR_INT(knob, KNOB_COUNT)
		scenario->value[knob] = knobs[knob].normal;
}

static void pin_done(struct pin *pin)
{
	mem_free(pin->a);
	mem_free(pin->b);
}

void scenario_done(struct scenario *scenario)
{
	FOR(i, scenario->pins)
		pin_done(&scenario->pin[i]);
	mem_free(scenario->pin);
	*scenario = (struct scenario){ 0 };
}

int64_t scenario_device_memory(const struct scenario *scenario)
{
	return scenario->value[K_memory] != KNOB_GIVEN ? scenario->value[K_memory] : scenario_preset(scenario).machine.memory;
}

int64_t scenario_budget(const struct scenario *scenario)
{
	struct machine machine;
	scenario_machine(scenario, &machine);
	return machine.memory;
}

/* A capture, a built-in model, what PyTorch's compilers write, a snapshot: by what is kept of graphs in files. */
static bool scenario_of_torch(const struct graph *graph)
{
	static const char *const begins[] = { "torch ", "tidemark model", "PyTorch", "Inductor", "AutoParallel" };
	bool torch = false;
	FOR(i, COUNT_OF(begins)) {
		const char *said = i < 2 ? graph->source : graph->about.intake.format;
		torch |= said && strncmp(said, begins[i], strlen(begins[i])) == 0;
	}
	return torch;
}

enum allocator scenario_allocator(const struct scenario *scenario, const struct graph *graph)
{
	int64_t device = scenario->value[K_device];
	const char *segments = graph->about.intake.segments;
	if (scenario->value[K_allocator] != ALLOCATOR_AUTO)
		return (enum allocator)scenario->value[K_allocator];
	if (segments)
		return strcmp(segments, "default") == 0 ? ALLOCATOR_PYTORCH : ALLOCATOR_EXPANDABLE;
	bool gpu = device == DEVICE_NONE || device_preset((enum device)device).group_buffers > 0;
	return gpu && scenario_of_torch(graph) ? ALLOCATOR_EXPANDABLE : ALLOCATOR_PLAN;
}

struct memory_rules scenario_memory_rules(const struct scenario *scenario)
{
	return (struct memory_rules){ .alignment = scenario->value[K_alignment], .workspace = scenario->value[K_workspace] };
}

char *scenario_doubt(const struct scenario *scenario, const struct graph *graph, char *text, size_t size)
{
	enum { PLAIN = 1024, MANY = 100 };
	int64_t cap = scenario->value[K_memory], largest = 0;
	for (uint32_t i = 0; graph && i < graph->storages; i++)
		largest = graph->storage[i].bytes > largest ? graph->storage[i].bytes : largest;
	*text = '\0';
	if (cap > 0 && cap <= PLAIN && (!graph || cap < largest / MANY))
		snprintf(text, size, "memory=%" PRId64 " is %" PRId64 " B; for %" PRId64 " GiB write memory=%" PRId64 "GiB",
			cap, cap, cap, cap);
	return text;
}

static char *copy_text(const char *text)
{
	char *copy = mem_alloc(strlen(text) + 1, 1);
	if (copy)
		memcpy(copy, text, strlen(text));
	return copy;
}

static enum status scenario_add_pin(struct scenario *scenario, const struct pin *pin)
{
	struct pin *pins = mem_resize(scenario->pin, (size_t)scenario->pins + 1, sizeof *pins);
	NEED(pins);
	scenario->pin = pins;
	struct pin copy = { pin->kind, copy_text(pin->a), pin->b ? copy_text(pin->b) : NULL, pin->number };
	if (!copy.a || (pin->b && !copy.b)) {
		pin_done(&copy);
		return NO_MEMORY;
	}
	pins[scenario->pins++] = copy;
	return OK;
}

enum status scenario_copy(struct scenario *to, const struct scenario *from)
{
	scenario_init(to);
	memcpy(to->value, from->value, sizeof to->value);
	FOR(i, from->pins)
		if (scenario_add_pin(to, &from->pin[i]) != OK) {
			scenario_done(to);
			return NO_MEMORY;
		}
	return OK;
}

bool knob_matters(enum knob_id knob)
{
	return knob != K_effort && knob != K_store;
}

bool scenario_alike(const struct scenario *one, const struct scenario *other, enum knob_id but)
{
	char a[512], b[512];
	FOR_INT(k, KNOB_COUNT)
		if (k != (int)but && knob_matters((enum knob_id)k) && one->value[k] != other->value[k])
			return false;
	if (one->pins != other->pins)
		return false;
	FOR(i, one->pins)
		if (strcmp(pin_text(&one->pin[i], a, sizeof a), pin_text(&other->pin[i], b, sizeof b)) != 0)
			return false;
	return true;
}

/* ---- setting ---- */

static void drop_pins(struct scenario *scenario, enum pin_kind kind)
{
	uint32_t left = 0;
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == kind && (kind != PIN_FIGURE || figure_find(scenario->pin[i].a) < FIGURE_NODE))
			pin_done(&scenario->pin[i]);
		else
			scenario->pin[left++] = scenario->pin[i];
	scenario->pins = left;
}

void scenario_drop_figures(struct scenario *scenario)
{
	drop_pins(scenario, PIN_FIGURE);
}

/* The types of "ops:T+U" as pins. */
static enum status set_types(struct scenario *scenario, const char *list, struct error *error)
{
	char name[128];
	struct pin pin = { .kind = PIN_RERUN, .a = name };
	if (!*list || strstr(list, "++") || *list == '+' || list[strlen(list) - 1] == '+')
		return refuse(error,
			"recompute=ops: expected types of ops with + between them, such as recompute=ops:aten.gelu+aten.mul");
	drop_pins(scenario, PIN_RERUN);
	for (const char *at = list; *at; at += strspn(at, "+")) {
		size_t length = strcspn(at, "+");
		PRINT_TO(name, "%.*s", (int)length, at);
		if (scenario_add_pin(scenario, &pin) != OK)
			return fail_memory(error);
		at += length;
	}
	return OK;
}

/* A figure by its name, in place of one that is there; its value is kept as figures are written. */
static enum status set_figure(struct scenario *scenario, const char *name, const char *value, struct error *error)
{
	char text[200], hint[120];
	enum figure_id figure = figure_find(name);
	struct device_preset preset = device_preset(DEVICE_NONE);
	struct nearest nearest = { .wanted = name };
	FOR_INT(i, FIGURE_COUNT)
		nearest_consider(&nearest, figure_name((enum figure_id)i));
	if (figure == FIGURE_COUNT)
		return refuse(error, "a device has no figure \"%.60s\"%s", name,
			nearest_text(&nearest, "", hint, sizeof hint));
	TRY(figure_parse(figure, value, &preset, error));
	if (figure != FIGURE_NAME)
		value = figure_text(figure, &preset, text, sizeof text);
	struct pin pin = { .kind = PIN_FIGURE, .a = (char *)(uintptr_t)name, .b = (char *)(uintptr_t)value };
	for (uint32_t i = scenario->pins; i > 0; i--)
		if (scenario->pin[i - 1].kind == PIN_FIGURE && strcmp(scenario->pin[i - 1].a, name) == 0)
			scenario_unpin(scenario, i, error);
	return scenario_add_pin(scenario, &pin) == OK ? OK : fail_memory(error);
}

enum status scenario_by_data_sheets(struct scenario *scenario, struct error *error)
{
	bool counts = scenario->value[K_software] != SOFTWARE_GIVEN && !scenario_figure(scenario, FIGURE_MEASURED);
	return counts ? set_figure(scenario, figure_name(FIGURE_MEASURED), "100%", error) : OK;
}

/* A line of a device's file, "NAME=VALUE", blanks around both. */
static enum status scenario_take_line(struct scenario *scenario, char *line, struct error *error)
{
	char *value = strchr(line, '='), *end;
	int64_t device;
	line[strcspn(line, "#\r")] = '\0';
	line += strspn(line, " \t");
	if (!*line)
		return OK;
	if (!value || !*value)
		return refuse(error, "\"%.60s\": expected NAME=VALUE", line);
	for (end = value; end > line && strchr(" \t", end[-1]);)
		end--;
	*end = '\0';
	value += 1 + strspn(value + 1, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t", end[-1]);)
		*--end = '\0';
	if (strcmp(line, "base") != 0)
		return set_figure(scenario, line, value, error);
	enum status status = knob_parse(K_device, value, &device, error);
	if (status == OK)
		scenario->value[K_device] = device;
	return status;
}

/* A device whose file doesn't name it is called as the file is. */
static enum status scenario_name_device(struct scenario *scenario, const char *path, struct error *error)
{
	char name[40];
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	PRINT_TO(name, "%.*s", (int)strcspn(base, "."), base);
	for (char *at = name; *at; at++)
		*at = isalnum((unsigned char)*at) || strchr("._-", *at) ? *at : '-';
	return set_figure(scenario, "name", *name ? name : "own", error);
}

/* A device's file. All of it counts or, where a line is wrong, nothing. */
static enum status set_device(struct scenario *scenario, const char *path, struct error *error)
{
	struct scenario changed;
	struct lines lines;
	struct error why = { 0 };
	int got = 0;
	enum status status = lines_open(&lines, path, &why);
	if (status != OK)
		return fail(error, status, "device=@%.200s: %.200s", path, why.text);
	if (scenario_copy(&changed, scenario) != OK)
		status = fail_memory(&why);
	else
		scenario_drop_figures(&changed);
	while (status == OK && (got = lines_next(&lines, &why)) > 0)
		status = scenario_take_line(&changed, lines.text, &why);
	if (status == OK && got == 0 && !scenario_figure(&changed, FIGURE_NAME))
		status = scenario_name_device(&changed, path, &why);
	if (status == OK && got < 0)
		status = why.status;
	if (status == OK && changed.value[K_device] == DEVICE_NONE)
		status = refuse(&why, "no line says on which preset the device is based: base=h100-80gb, say");
	lines_close(&lines);
	if (status == OK) {
		scenario_done(scenario);
		*scenario = changed;
		return OK;
	}
	scenario_done(&changed);
	fail(error, status, "%.200s:%u: %.250s", path, lines.number, why.text);
	if (error)
		error->line = lines.number;
	return status;
}

enum status scenario_set(struct scenario *scenario, const char *assignment, struct error *error)
{
	char name[64];
	const char *value = strchr(assignment, '=');
	PRINT_TO(name, "%.*s", (int)strcspn(assignment, "="), assignment);
	enum knob_id knob = knob_find(name);
	/* Words of 0.3.0. */
	if (value && (strcmp(name, "expandable") == 0 || (knob == K_layout && (strcmp(value, "=caching") == 0 ||
		strcmp(value, "=expandable") == 0))))
		return scenario_set(scenario, knob == K_layout && value[1] == 'c' ? "allocator=pytorch"
			: knob == K_layout || strcmp(value, "=on") == 0 ? "allocator=expandable" : "allocator=auto", error);
	char settings[2 * ALIAS_SIZE];
	if (!value && alias_settings(assignment, settings, sizeof settings)) {
		char *at = settings;
		for (char *word; (word = strsep(&at, " ")); )
			TRY(scenario_set(scenario, word, error));
		return OK;
	}
	if (!value && knob == KNOB_COUNT)
		return refuse(error, "\"%.100s\": expected KNOB=VALUE", assignment);
	if (!value)
		return refuse(error, "%s: its value is missing: %s=VALUE", name, name);
	if (knob == KNOB_COUNT && figure_find(name) != FIGURE_COUNT)
		return set_figure(scenario, name, value + 1, error);
	if (knob == KNOB_COUNT)
		return knob_unknown(name, error);
	if (knob == K_recompute && strncmp(value + 1, "ops:", 4) == 0) {
		scenario->value[knob] = RECOMPUTE_OPS;
		return set_types(scenario, value + 5, error);
	}
	if (knob == K_schedule && value[1] == '@') {
		struct pin pin = { .kind = PIN_SCHEDULE, .a = (char *)(uintptr_t)(value + 2) };
		if (!value[2])
			return refuse(error, "schedule=@: expected the name of a schedule's CSV, such as schedule=@zbv.csv");
		scenario->value[knob] = SCHEDULE_FILE;
		drop_pins(scenario, PIN_SCHEDULE);
		return scenario_add_pin(scenario, &pin) == OK ? OK : fail_memory(error);
	}
	if (knob == K_device && value[1] == '@')
		return value[2] ? set_device(scenario, value + 2, error)
			: refuse(error,
							  "device=@: expected the name of a device file, such as device=@my.preset");
	int64_t number;
	enum status status = knob_parse(knob, value + 1, &number, error);
	if (status == BAD_INPUT && (knob == K_schedule || knob == K_device) && strpbrk(value + 1, "./"))
		return refuse(error, "%s=%.150s: put an @ before the name of a file: %s=@%.150s", name, value + 1,
			name, value + 1);
	if (status == OK && knob == K_device && scenario_figure(scenario, FIGURE_NAME))
		scenario_drop_figures(scenario);
	if (status == OK)
		scenario->value[knob] = number;
	return status;
}

char *scenario_value_text(const struct scenario *scenario, const char *name, char *text, size_t size)
{
	enum knob_id knob = knob_find(name);
	enum figure_id figure = figure_find(name);
	struct device_preset preset = scenario_preset(scenario);
	return knob != KNOB_COUNT ? knob_text(knob, scenario->value[knob], text, size)
		: figure != FIGURE_COUNT ? figure_text(figure, &preset, text, size)
		: NULL;
}

/* ---- words ---- */

#define WORDS_MAX 8

/* Splits at blanks; names with blanks stand in double quotes. Words point into text. -1: too many, or a quote is open.
 */
static int scenario_split(char *text, char *words[WORDS_MAX])
{
	int count = 0;
	for (;;) {
		text += strspn(text, " \t");
		if (!*text)
			return count;
		if (count == WORDS_MAX)
			return -1;
		bool quoted = *text == '"';
		words[count++] = quoted ? ++text : text;
		char *end = quoted ? strchr(text, '"') : text + strcspn(text, " \t");
		if (!end)
			return -1;
		text = *end ? end + 1 : end;
		*end = '\0';
	}
}

static bool is(char *const *words, int i, const char *word)
{
	return strcmp(words[i], word) == 0;
}

static bool scenario_whole_number(const char *text, int64_t *number)
{
	char *end;
	*number = strtoll(text, &end, 10);
	return end != text && *end == '\0' && *number >= 0;
}

static bool parse_words(char **words, int count, struct pin *pin)
{
	int64_t unused;
	if (count > 0 && is(words, 0, "pin")) {
		words++;
		count--;
	}
	if (count == 4 && is(words, 0, "op") && is(words, 2, "before"))
		*pin = (struct pin){ PIN_ORDER, words[1], words[3], 0 };
	else if (count == 4 && is(words, 0, "tensor") && is(words, 2, "at")) {
		/* Offsets are written like sizes: 4MiB, 65536. */
		*pin = (struct pin){ PIN_OFFSET, words[1], NULL, 0 };
		return knob_parse(K_reserve, words[3], &pin->number, NULL) == OK;
	} else if (count == 4 && is(words, 0, "tensor") && is(words, 2, "behind")) {
		*pin = (struct pin){ PIN_BEHIND, words[1], words[3], 0 };
	} else if (count == 6 && is(words, 0, "tensor") && is(words, 2, "shard") && is(words, 4, "on")) {
		*pin = (struct pin){ PIN_PLACEMENT, words[1], words[5], 0 };
		return scenario_whole_number(words[3], &pin->number);
	} else if (count == 3 && is(words, 0, "layer") && is(words, 2, "recompute")) {
		*pin = (struct pin){ PIN_RECOMPUTE, words[1], NULL, 0 };
		return scenario_whole_number(words[1], &unused);
	} else if (count == 3 && is(words, 0, "type") && is(words, 2, "recompute"))
		*pin = (struct pin){ PIN_RERUN, words[1], NULL, 0 };
	else if (count == 3 && is(words, 0, "schedule") && is(words, 1, "from"))
		*pin = (struct pin){ PIN_SCHEDULE, words[2], NULL, 0 };
	else if (count == 3 && is(words, 0, "figure"))
		*pin = (struct pin){ PIN_FIGURE, words[1], words[2], 0 };
	else if (count == 3 && is(words, 0, "keep") && is(words, 2, "resident"))
		*pin = (struct pin){ PIN_RESIDENT, words[1], NULL, 0 };
	else if (count == 2 && is(words, 0, "offload"))
		*pin = (struct pin){ PIN_OFFLOAD, words[1], NULL, 0 };
	else
		return false;
	return true;
}

enum status scenario_pin(struct scenario *scenario, const char *text, struct error *error)
{
	char *copy = copy_text(text), *words[WORDS_MAX];
	struct pin pin;
	if (!copy)
		return fail_memory(error);
	int count = scenario_split(copy, words);
	enum status status;
	if (count < 0 || !parse_words(words, count, &pin)) {
#define X(id, syntax, help) "\"" syntax "\", "
		status = refuse(error,
			"\"%.100s\" is not a pin: expected one of " PINS(X) "names with blanks in double quotes", text);
#undef X
	} else if (pin.kind == PIN_FIGURE) {
		status = set_figure(scenario, pin.a, pin.b, error);
	} else if (scenario_add_pin(scenario, &pin) != OK) {
		status = fail_memory(error);
	} else {
		status = OK;
	}
	mem_free(copy);
	return status;
}

enum status scenario_unpin(struct scenario *scenario, uint32_t n, struct error *error)
{
	if (n == 0 || n > scenario->pins)
		return refuse(error,
			scenario->pins ? "pin %u doesn't exist: there are %u" : "pin %u doesn't exist: there are none", n,
			scenario->pins);
	pin_done(&scenario->pin[n - 1]);
	memmove(&scenario->pin[n - 1], &scenario->pin[n], (scenario->pins - n) * sizeof *scenario->pin);
	scenario->pins--;
	return OK;
}

/* A name as a word: in quotes where it holds blanks. */
static const char *scenario_quote(const char *name)
{
	return strpbrk(name, " \t") ? "\"" : "";
}

char *pin_text(const struct pin *pin, char *text, size_t size)
{
	const char *a = scenario_quote(pin->a), *b = pin->b ? scenario_quote(pin->b) : "";
	switch (pin->kind) {
	case PIN_ORDER: snprintf(text, size, "pin op %s%s%s before %s%s%s", a, pin->a, a, b, pin->b, b); break;
	case PIN_OFFSET: snprintf(text, size, "pin tensor %s%s%s at %" PRId64, a, pin->a, a, pin->number); break;
	case PIN_BEHIND: snprintf(text, size, "pin tensor %s%s%s behind %s%s%s", a, pin->a, a, b, pin->b, b); break;
	case PIN_PLACEMENT:
		snprintf(text, size, "pin tensor %s%s%s shard %" PRId64 " on %s", a, pin->a, a, pin->number, pin->b);
		break;
	case PIN_RECOMPUTE: snprintf(text, size, "pin layer %s recompute", pin->a); break;
	case PIN_RERUN: snprintf(text, size, "pin type %s%s%s recompute", a, pin->a, a); break;
	case PIN_SCHEDULE: snprintf(text, size, "pin schedule from %s%s%s", a, pin->a, a); break;
	case PIN_FIGURE: snprintf(text, size, "figure %s %s", pin->a, pin->b); break;
	case PIN_RESIDENT: snprintf(text, size, "keep %s%s%s resident", a, pin->a, a); break;
	default: snprintf(text, size, "offload %s%s%s", a, pin->a, a); break;
	}
	return text;
}
