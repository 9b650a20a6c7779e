/* knobs.c: the knob table and what follows from it: parsing, printing, stepping. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <strings.h>

#include "knobs.h"
#include "src/base/words.h"
#include "src/scenario/own_device.h"

#define X(id, name) name,
const char *const stage_names[STAGE_COUNT] = { STAGES(X) };
#undef X

#define X(id, group, type, words, minimum, maximum, normal, stage, by, help) \
	{ #id, group, words, help, KNOB_##type, STAGE_##stage, by, minimum, maximum, normal },
const struct knob knobs[KNOB_COUNT] = { KNOBS(X) };
#undef X

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

enum knob_id knob_find(const char *name)
{
	enum knob_id knob = 0;
	while (knob < KNOB_COUNT && !same_name(knobs[knob].name, name))
		knob++;
	return knob < KNOB_COUNT ? knob : alias_of_knob(name);
}

enum status knob_unknown(const char *name, struct error *error)
{
	struct nearest nearest = { .wanted = name };
	if (text_is(name, "lora"))
		return refuse(error, "unknown knob \"lora\": adapters are the model's, as in llama3-8b:lora=16");
	FOR_INT(knob, KNOB_COUNT)
		nearest_consider(&nearest, knobs[knob].name);
	FOR_INT(figure, FIGURE_COUNT)
		nearest_consider(&nearest, figure_name((enum figure_id)figure));
	return refuse(error, "unknown knob \"%.60s\"%s", name, nearest_text(&nearest, "", TEXT(120)));
}

bool knob_word(const char *words, int i, char *word, size_t size)
{
	for (; words && i > 0; i--) {
		words = strchr(words, '|');
		words = words ? words + 1 : NULL;
	}
	if (!words || !*words)
		return false;
	snprintf(word, size, "%.*s", (int)strcspn(words, "|"), words);
	return true;
}

/* ---- what words mean: one line for each word of a choice, in the words' order ---- */

#define HELP_LINE(id, name, help) help "\n"
#define SOFTWARE_HELP(id, name, help, ...) help "\n"
#define SCHEDULE_HELP(id, name, folded, split, help) help "\n"
static const char *const word_help[KNOB_COUNT] = {
	[K_strategy] = "every device does the whole step\n" SHARD_STRATEGIES(HELP_LINE),
	[K_sp] = "activations between the split layers stay whole on every device\nthey are split along the sequence\non "
			 "wherever tp is above 1\n",
	[K_schedule] = SCHEDULES(SCHEDULE_HELP) "what a CSV says: schedule=@FILE\nthe shortest step whose ranks keep the "
											"memory cap, of all of these\n",
	[K_reduce_dtype] =
		"as the step casts gradients before the update reads them\nthat in which the backward pass makes them\n",
	[K_software] = SOFTWARES(SOFTWARE_HELP),
	[K_train] = "the step as the file has it\nsaves what PyTorch's operators save\nsaves just what derivatives need\n",
	[K_precision] = "as the file has it\n4 bytes a number\n2 bytes, the range of fp32\n2 bytes, more digits and less "
					"range than bf16\n"
					"fp16 parameters beside the optimizer's fp32 ones, and a scaled loss; not PyTorch's autocast\n"
					"parameters in fp32, cast to bf16 where torch.autocast casts them\n",
	[K_optimizer] = "as the file has it\nno state\none number of state a parameter\ntwo numbers of state a "
					"parameter\nadam with decoupled weight decay: two numbers a parameter\n"
					"state by rows and columns\none number of state a parameter: squares of gradients, averaged\none "
					"number of state a parameter: squares of gradients, added up\none number of state a parameter\none number a "
					"parameter of matrices in layers, two of the rest\n2 bytes a parameter, and 8 for each 256\n",
	[K_moments] = "as the file has them\n2 bytes a number, the range of fp32\n",
	[K_recompute] = RECOMPUTES(HELP_LINE),
	[K_random] = RECOMPUTE_RANDOMS(HELP_LINE),
	[K_order] = ORDER_STRATEGIES(HELP_LINE),
	[K_layout] = LAYOUT_STRATEGIES(HELP_LINE),
	[K_allocator] = "as the help says\na static arena, as compilers have it\nPyTorch's default segments\n"
					"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n",
};

char *knob_word_help(enum knob_id knob, int64_t value, char *text, size_t size)
{
	const char *line = word_help[knob];
	text[0] = '\0';
	for (int i = line ? knob_choice(value) : 0; line && i > 0; i--) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	if (line)
		snprintf(text, size, "%.*s", (int)strcspn(line, "\n"), line);
	return text;
}

/* ---- units ---- */

const char *const knob_units[] = { [KNOB_CHOICE] = NULL,
	[KNOB_SWITCH] = NULL,
	[KNOB_NUMBER] = NULL,
	[KNOB_BYTES] = "bytes, such as 24GiB or 24GB",
	[KNOB_RATE] = "a rate, such as 300GB/s",
	[KNOB_TIME] = "a time, such as 2us",
	[KNOB_PERCENT] = "a percentage, such as 5%" };

struct scale { const char *name; double scale; };

static const struct scale byte_units[] = {
	{ "TiB", 1099511627776.0 }, { "GiB", 1073741824.0 }, { "MiB", 1048576.0 }, { "KiB", 1024.0 },
	{ "TB", 1e12 }, { "GB", 1e9 }, { "MB", 1e6 }, { "kB", 1e3 }, { "B", 1.0 }, { NULL, 0 },
};
static const struct scale rate_units[] = {
	{ "TB/s", 1e12 },
	{ "GB/s", 1e9 },
	{ "MB/s", 1e6 },
	{ "GiB/s", 1073741824.0 },
	{ "MiB/s", 1048576.0 },
	{ "B/s", 1.0 },
	{ NULL, 0 },
};
static const struct scale time_units[] = { { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1.0 }, { NULL, 0 } };
static const struct scale percent_units[] = { { "%", 1.0 }, { NULL, 0 } };

static const struct scale *knobs_units_of(enum knob_type type)
{
	switch (type) {
	case KNOB_BYTES: return byte_units;
	case KNOB_RATE: return rate_units;
	case KNOB_TIME: return time_units;
	case KNOB_PERCENT: return percent_units;
	default: return NULL;
	}
}

/* A number, with or without a fraction, and perhaps a unit. Integers without a fraction are exact. */
static bool parse_quantity(const char *text, const struct scale *units, int64_t *value)
{
	char *end;
	double number = strtod(text, &end);
	if (end == text || !isfinite(number) || isspace((unsigned char)*text))
		return false;
	bool whole = strcspn(text, ".eExXnN") >= (size_t)(end - text);
	while (*end == ' ')
		end++;
	double scale = 1;
	if (*end) {
		while (units && units->name && strcasecmp(units->name, end) != 0)   /* KB, gib */
			units++;
		if (!units || !units->name)
			return false;
		scale = units->scale;
	}
	if (fabs(number * scale) > 9e18)
		return false;
	*value = whole ? strtoll(text, NULL, 10) * (int64_t)scale : (int64_t)round(number * scale);
	return true;
}

/* ---- choices: the index of a word, and above it the number behind the word and one more, 0 where it is the table's
 * own --- */

#define CHOICE_BITS 8
#define NUMBER_MOST 100000

int knob_choice(int64_t value)
{
	return (int)(value & ((1 << CHOICE_BITS) - 1));
}

/* The number of "layers:2", "knapsack:50%"; -1: the word has none. */
static int64_t knobs_own_number(const char *word)
{
	const char *colon = strchr(word, ':');
	return colon ? strtoll(colon + 1, NULL, 10) : -1;
}

int64_t knob_number(enum knob_id knob, int64_t value)
{
	char word[64];
	if (value >> CHOICE_BITS)
		return (value >> CHOICE_BITS) - 1;
	return knob_word(knobs[knob].words, knob_choice(value), word, sizeof word) && knobs_own_number(word) > 0
		? knobs_own_number(word)
		: 0;
}

/* Text that is a word of the table, perhaps with another number: the number, *named where there is one. False: it
 * isn't. */
static bool takes_word(const char *word, const char *text, bool *named, int64_t *number)
{
	size_t length = strcspn(word, ":");
	bool percent = word[strlen(word) - 1] == '%';
	char *end;
	*named = false;
	if (strncmp(word, text, length) != 0)
		return false;
	*named = text[length] == ':' && word[length] == ':';
	if (text[length] && !*named)
		return false;
	if (!*named)
		return true;
	*number = strtoll(text + length + 1, &end, 10);
	if (end == text + length + 1 || !isdigit((unsigned char)text[length + 1]))
		return false;
	end += percent && *end == '%';
	return *end == '\0' && *number >= !percent && *number <= (percent ? 100 : NUMBER_MOST);
}

static enum status parse_choice(const struct knob *knob, const char *text, int64_t *value, struct error *error)
{
	char word[64];
	struct nearest nearest = { .wanted = text };
	const char *words = knob->type == KNOB_SWITCH ? "off|on" : knob->words;
	bool named;
	int64_t number;
	for (int i = 0; knob_word(words, i, word, sizeof word); i++) {
		if (takes_word(word, text, &named, &number)) {
			*value = named && number != knobs_own_number(word) ? i | (number + 1) << CHOICE_BITS : i;
			return OK;
		}
		word[strcspn(word, ":")] = '\0';
		nearest_consider(&nearest, word);
	}
	size_t length = strlen(words);
	return refuse(error, "%s=%.60s: expected one of %.*s%s", knob->name, text,
		(int)(length && words[length - 1] == '|' ? length - 1 : length), words,
		nearest_text(&nearest, "", TEXT(120)));
}

enum status knob_parse(enum knob_id id, const char *text, int64_t *value, struct error *error)
{
	const struct knob *knob = &knobs[id];
	bool turns = knob->type == KNOB_SWITCH || id == K_offload;
	if (turns && (text_is(text, "true") || text_is(text, "1")))
		text = "on";
	else if (turns && (text_is(text, "false") || text_is(text, "0")))
		text = "off";
	char device[ALIAS_SIZE];
	if (id == K_device && alias_of_device(text, device))
		text = device;
	if (knob->type == KNOB_CHOICE || knob->type == KNOB_SWITCH)
		return parse_choice(knob, text, value, error);
	if (knob->words && text_is(text, knob->words)) {
		*value = KNOB_GIVEN;
		return OK;
	}
	int64_t number;
	if (parse_quantity(text, knobs_units_of(knob->type), &number) && number >= knob->minimum && number <= knob->maximum) {
		*value = number;
		return OK;
	}
	const char *units = knob_units[knob->type] ? knob_units[knob->type] : "a value";
	return refuse(error, "%s=%.60s: expected %s%s%s%s from %s to %s", knob->name, text,
		knob->words ? knob->words : "", knob->words ? " or " : "", units, knob_units[knob->type] ? "," : "",
		knob_text(id, knob->minimum, TEXT(40)), knob_text(id, knob->maximum, TEXT(40)));
}

char *knob_text(enum knob_id id, int64_t value, char *text, size_t size)
{
	const struct knob *knob = &knobs[id];
	if (knob->type == KNOB_CHOICE || knob->type == KNOB_SWITCH) {
		if (!knob_word(knob->type == KNOB_SWITCH ? "off|on" : knob->words, knob_choice(value), text, size))
			snprintf(text, size, "?");
		size_t length = strcspn(text, ":");
		bool percent = text[length] && text[strlen(text) - 1] == '%';
		if (value >> CHOICE_BITS && text[length])
			snprintf(text + length, size - length, ":%" PRId64 "%s", knob_number(id, value), percent ? "%" : "");
		return text;
	}
	if (value == KNOB_GIVEN && knob->words) {
		return printed(text, size, "%s", knob->words);
	}
	/* The largest unit that divides the value: what is printed is read back exactly. */
	const struct scale *unit = knobs_units_of(knob->type);
	for (; unit && unit->name; unit++)
		if (value && value % (int64_t)unit->scale == 0) {
			return printed(text, size, "%" PRId64 "%s", value / (int64_t)unit->scale, unit->name);
		}
	return printed(text, size, "%" PRId64, value);
}

int64_t knob_step(enum knob_id id, int64_t value, int direction)
{
	const struct knob *knob = &knobs[id];
	int64_t next;
	if (knob->type == KNOB_CHOICE || knob->type == KNOB_SWITCH) {
		int64_t count = knob->maximum + 1;
		return (knob_choice(value) + direction + count) % count;
	}
	if (value == KNOB_GIVEN)
		next = direction > 0 ? (knob->minimum > 0 ? knob->minimum : 1) : KNOB_GIVEN;
	else if (knob->maximum <= 100)
		next = value + direction;
	else if (direction > 0)
		next = value ? value * 2 : 1;
	else
		next = value / 2;
	if (next < knob->minimum)
		return knob->words ? KNOB_GIVEN : knob->minimum;
	return SMALLER(knob->maximum, next);
}
