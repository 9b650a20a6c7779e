/* scenario.c: knob values and pins. */
#include <ctype.h>
#include <inttypes.h>

#include "own_device.h"
#include "knobs.h"
#include "src/base/lines.h"
#include "src/base/words.h"

void scenario_init(struct scenario *scenario)
{
	*scenario = (struct scenario){ 0 };
	FOR_INT(knob, KNOB_COUNT)
		scenario->value[knob] = knobs[knob].normal;
	scenario_resolve(scenario);
}

void scenario_put(struct scenario *scenario, enum knob_id knob, int64_t value)
{
	scenario->value[knob] = value;
	if (knobs[knob].by & BY_MACHINE)
		scenario_resolve(scenario);
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
	return scenario->value[K_memory] != KNOB_GIVEN ? scenario->value[K_memory] : scenario->device.machine.memory;
}

int64_t scenario_budget(const struct scenario *scenario)
{
	int64_t memory = scenario_device_memory(scenario);
	return memory < 0 ? -1 : larger_of(memory - scenario_reserve(scenario), 0);
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
		return text_is(segments, "default") ? ALLOCATOR_PYTORCH : ALLOCATOR_EXPANDABLE;
	bool gpu = device == DEVICE_NONE || device_preset((enum device)device).group_buffers > 0;
	return gpu && scenario_of_torch(graph) ? ALLOCATOR_EXPANDABLE : ALLOCATOR_PLAN;
}

#define X(id) int64_t scenario_##id(const struct scenario *scenario) { return scenario->value[K_##id]; }
ASKED_KNOBS(X)
#undef X

struct graph *scenario_graph(const struct scenario *scenario, struct graph *graph, struct error *error)
{
	return scenario->value[K_in_place] ? graph_retain(graph) : graph_without_inplace(graph, error);
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
		largest = LARGER(graph->storage[i].bytes, largest);
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
	*to = (struct scenario){ 0 };
	memcpy(to->value, from->value, sizeof to->value);
	FOR(i, from->pins)
		if (scenario_add_pin(to, &from->pin[i]) != OK) {
			scenario_done(to);
			return NO_MEMORY;
		}
	scenario_resolve(to);   /* its name is a pin's text */
	return OK;
}

bool knob_matters(enum knob_id knob)
{
	return knob != K_effort && knob != K_store;
}

bool scenario_alike(const struct scenario *one, const struct scenario *other, enum knob_id but)
{
	FOR_INT(k, KNOB_COUNT)
		if (k != (int)but && knob_matters((enum knob_id)k) && one->value[k] != other->value[k])
			return false;
	if (one->pins != other->pins)
		return false;
	FOR(i, one->pins)
		if (!text_is(pin_text(&one->pin[i], TEXT(512)), pin_text(&other->pin[i], TEXT(512))))
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
	scenario_resolve(scenario);
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
	enum figure_id figure = figure_find(name);
	struct device_preset preset = device_preset(DEVICE_NONE);
	struct nearest nearest = { .wanted = name };
	FOR_INT(i, FIGURE_COUNT)
		nearest_consider(&nearest, figure_name((enum figure_id)i));
	if (figure == FIGURE_COUNT)
		return refuse(error, "a device has no figure \"%.60s\"%s", name,
			nearest_text(&nearest, "", TEXT(120)));
	TRY(figure_parse(figure, value, &preset, error));
	value = figure != FIGURE_NAME ? figure_text(figure, &preset, TEXT(200)) : value;
	struct pin pin = { .kind = PIN_FIGURE, .a = (char *)(uintptr_t)name, .b = (char *)(uintptr_t)value };
	for (uint32_t i = scenario->pins; i > 0; i--)
		if (scenario->pin[i - 1].kind == PIN_FIGURE && text_is(scenario->pin[i - 1].a, name))
			scenario_unpin(scenario, i, error);
	NEED(scenario_add_pin(scenario, &pin) == OK || fail_memory(error) == OK);
	scenario_resolve(scenario);
	return OK;
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
	if (!text_is(line, "base"))
		return set_figure(scenario, line, value, error);
	TRY(knob_parse(K_device, value, &device, error));
	scenario_put(scenario, K_device, device);
	return OK;
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

/* "expandable", "layout=caching": words of 0.3.0; "fsdp", "8xh100". NULL: none of them. */
static const char *scenario_other_word(const char *name, const char *value, const char *assignment, char *settings)
{
	bool layout = text_is(name, "layout");
	if (value && layout && text_is(value, "=caching"))
		return "allocator=pytorch";
	if (value && layout && text_is(value, "=expandable"))
		return "allocator=expandable";
	if (value && text_is(name, "expandable"))
		return text_is(value, "=on") ? "allocator=expandable" : "allocator=auto";
	return !value && alias_settings(assignment, settings, 2 * ALIAS_SIZE) ? settings : NULL;
}

/* "schedule=@FILE", "device=@FILE". */
static enum status scenario_set_file(
	struct scenario *scenario, enum knob_id knob, const char *file, struct error *error)
{
	struct pin pin = { .kind = PIN_SCHEDULE, .a = (char *)(uintptr_t)file };
	if (!*file)
		return refuse(error, "%s=@: expected the name of a %s", knobs[knob].name, knob == K_device
			? "device file, such as device=@my.preset" : "schedule's CSV, such as schedule=@zbv.csv");
	if (knob == K_device)
		return set_device(scenario, file, error);
	scenario->value[knob] = SCHEDULE_FILE;
	drop_pins(scenario, PIN_SCHEDULE);
	return scenario_add_pin(scenario, &pin) == OK ? OK : fail_memory(error);
}

enum status scenario_set(struct scenario *scenario, const char *assignment, struct error *error)
{
	char name[64], settings[2 * ALIAS_SIZE];
	const char *value = strchr(assignment, '=');
	PRINT_TO(name, "%.*s", (int)strcspn(assignment, "="), assignment);
	enum knob_id knob = knob_find(name);
	const char *other = scenario_other_word(name, value, assignment, settings);
	if (other) {
		const char *next = strchr(other, ' ');
		TRY(scenario_set(scenario, PRINTED(2 * ALIAS_SIZE, "%.*s", (int)strcspn(other, " "), other), error));
		return next ? scenario_set(scenario, next + 1, error) : OK;
	}
	if (!value)
		return knob == KNOB_COUNT ? refuse(error, "\"%.100s\": expected KNOB=VALUE", assignment)
			: refuse(error, "%s: its value is missing: %s=VALUE", name, name);
	value++;
	if (knob == KNOB_COUNT)
		return figure_find(name) != FIGURE_COUNT ? set_figure(scenario, name, value, error) : knob_unknown(name, error);
	if (knob == K_recompute && text_begins(value, "ops:")) {
		scenario->value[knob] = RECOMPUTE_OPS;
		return set_types(scenario, value + 4, error);
	}
	bool files = knob == K_schedule || knob == K_device;
	if (files && *value == '@')
		return scenario_set_file(scenario, knob, value + 1, error);
	int64_t number;
	enum status status = knob_parse(knob, value, &number, error);
	if (status == BAD_INPUT && files && strpbrk(value, "./"))
		return refuse(error, "%s=%.150s: put an @ before the name of a file: %s=@%.150s", name, value, name, value);
	if (status == OK && knob == K_device && scenario_figure(scenario, FIGURE_NAME))
		scenario_drop_figures(scenario);
	if (status == OK)
		scenario_put(scenario, knob, number);
	return status;
}

char *scenario_value_text(const struct scenario *scenario, const char *name, char *text, size_t size)
{
	enum knob_id knob = knob_find(name);
	enum figure_id figure = figure_find(name);
	return knob != KNOB_COUNT ? knob_text(knob, scenario->value[knob], text, size)
		: figure != FIGURE_COUNT ? figure_text(figure, &scenario->device, text, size)
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

static bool scenario_whole_number(const char *text, int64_t *number)
{
	char *end;
	*number = strtoll(text, &end, 10);
	return end != text && *end == '\0' && *number >= 0;
}

static const char *const pin_syntax[PIN_KINDS] = {
#define X(id, syntax, help) syntax,
	PINS(X)
#undef X
};

/* What one word says, where the syntax has that: a word by itself, an offset, a dim, a layer's number, or a name. */
static bool pin_take_word(struct pin *pin, const char *syntax, size_t length, char *word)
{
	int64_t unused;
	if (islower((unsigned char)*syntax))
		return strlen(word) == length && strncmp(word, syntax, length) == 0;
	if (text_begins(syntax, "OFFSET"))
		return knob_parse(K_reserve, word, &pin->number, NULL) == OK;
	if (*syntax == 'D' && text_is(word, "none")) {
		pin->number = -1;
		return true;
	}
	if (*syntax == 'D')
		return scenario_whole_number(word, &pin->number);
	*(pin->a ? &pin->b : &pin->a) = word;
	return *syntax != 'N' || length > 1 || scenario_whole_number(word, &unused);
}

/* By the syntax of each kind; "pin" may be left out. */
static bool pin_parse(char **words, int count, struct pin *pin)
{
	int begin = count > 0 && text_is(words[0], "pin");
	FOR_INT(kind, PIN_KINDS) {
		const char *at = pin_syntax[kind] + (text_begins(pin_syntax[kind], "pin ") ? strlen("pin ") : 0);
		bool fine = true;
		int i = begin;
		*pin = (struct pin){ .kind = (enum pin_kind)kind };
		for (; *at && fine && i < count; i++) {
			size_t length = strcspn(at, " ");
			fine = pin_take_word(pin, at, length, words[i]);
			at += length + strspn(at + length, " ");
		}
		if (fine && !*at && i == count)
			return true;
	}
	return false;
}

enum status scenario_pin(struct scenario *scenario, const char *text, struct error *error)
{
	char *copy = copy_text(text), *words[WORDS_MAX];
	struct pin pin;
	NEEDED(error, copy);
	int count = scenario_split(copy, words);
	enum status status;
	if (count < 0 || !pin_parse(words, count, &pin)) {
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
	scenario_resolve(scenario);
	return OK;
}

/* A name as a word: in quotes where it holds blanks. */
static const char *scenario_quote(const char *name)
{
	return strpbrk(name, " \t") ? "\"" : "";
}

char *pin_text(const struct pin *pin, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	const char *name = pin->a;
	*text = '\0';
	for (const char *at = pin_syntax[pin->kind]; *at;) {
		size_t length = strcspn(at, " ");
		if (islower((unsigned char)*at)) {
			words_add(&words, "%.*s", (int)length, at);
		} else if (*at == 'D' && pin->number < 0) {
			words_add(&words, "none");
		} else if (*at == 'D' || text_begins(at, "OFFSET")) {
			words_add(&words, "%" PRId64, pin->number);
		} else {
			words_add(&words, "%s%s%s", scenario_quote(name), name, scenario_quote(name));
			name = pin->b;
		}
		at += length + strspn(at + length, " ");
		words_add(&words, *at ? " " : "");
	}
	return text;
}
