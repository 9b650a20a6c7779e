/* config.c: reads the user's configuration file. */
#include <stdarg.h>
#include <unistd.h>

#include "config.h"
#include "src/base/lines.h"
#include "src/base/words.h"

#define FIELDS 60

struct place { const char *path; unsigned line; int warnings; };

static void warn(struct place *place, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void warn(struct place *place, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fprintf(stderr, "tidemark: %s:%u: warning: ", place->path, place->line);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
	place->warnings++;
}

static int config_split(char *line, char *field[FIELDS])
{
	int count = 0;
	for (char *save, *word = strtok_r(line, " \t\r\n", &save); word && count < FIELDS;
		word = strtok_r(NULL, " \t\r\n", &save))
		field[count++] = word;
	return count;
}

static void read_set(struct user_config *config, char **field, int count, struct place *place)
{
	/* `set knob value` and `set knob=value` are alike. */
	char *equals = count > 1 ? strchr(field[1], '=') : NULL;
	const char *value = count > 2 ? field[2] : equals ? equals + 1 : NULL;
	char assignment[200];
	struct error error;
	if (equals && count == 2)
		*equals = '\0';
	if (!value) {
		warn(place, "set KNOB VALUE: the value is missing");
	} else if (text_is(field[1], "theme")) {
		PRINT_TO(config->theme, "%s", value);
	} else if (text_is(field[1], "glyphs")) {
		if (text_is(value, "ascii") || text_is(value, "utf8"))
			PRINT_TO(config->glyphs, "%s", value);
		else
			warn(place, "set glyphs %.20s: expected ascii or utf8", value);
	} else if (text_is(field[1], "mouse")) {
		config->no_mouse = text_is(value, "off");
		if (!config->no_mouse && !text_is(value, "on"))
			warn(place, "set mouse %.20s: expected on or off", value);
	} else {
		PRINT_TO(assignment, "%.80s=%.100s", field[1], value);
		if (scenario_set(&config->scenario, assignment, &error) != OK)
			warn(place, "%s", error.text);
	}
}

static void read_bind(struct user_config *config, char **field, int count, struct place *place)
{
	enum command_id command = count > 2 ? command_find(field[2]) : COMMAND_COUNT;
	if (count < 3) {
		warn(place, "bind KEY COMMAND: expected two words");
	} else if (command == COMMAND_COUNT) {
		struct error error;
		command_unknown(field[2], &error);
		warn(place, "%s", error.text);
	} else if (config->bindings == CONFIG_BINDINGS) {
		warn(place, "more than %d bindings", CONFIG_BINDINGS);
	} else {
		struct key_binding *binding = &config->binding[config->bindings++];
		PRINT_TO(binding->key, "%s", field[1]);
		binding->command = command;
		size_t used = 0;
		binding->arguments[0] = '\0';
		for (int i = 3; i < count && used < sizeof binding->arguments; i++)
			used += (size_t)snprintf(
				binding->arguments + used, sizeof binding->arguments - used, "%s%s", used ? " " : "", field[i]);
		if (used >= sizeof binding->arguments) {
			warn(place, "bind %s: more than %zu bytes", field[1], sizeof binding->arguments - 1);
			config->bindings--;
		}
	}
}

static void read_colour(struct user_config *config, char **field, int count, struct place *place)
{
	if (count < 3) {
		warn(place, "color ROLE FG [BG] [ATTRIBUTE...]: the colour is missing");
		return;
	}
	if (config->colours == CONFIG_COLOURS) {
		warn(place, "more than %d colours", CONFIG_COLOURS);
		return;
	}
	struct colour *colour = &config->colour[config->colours++];
	PRINT_TO(colour->role, "%s", field[1]);
	PRINT_TO(colour->foreground, "%s", field[2]);
	PRINT_TO(colour->background, "%s", count > 3 ? field[3] : "default");
	for (int i = 4; i < count; i++) {
		size_t used = strlen(colour->attributes);
		snprintf(colour->attributes + used, sizeof colour->attributes - used, "%s ", field[i]);
	}
}

static const struct {
	const char *word;
	void (*read)(struct user_config *config, char **field, int count, struct place *place);
} statements[] = { { "set", read_set }, { "bind", read_bind }, { "color", read_colour }, { "colour", read_colour } };

static void config_read_line(struct user_config *config, char *line, struct place *place)
{
	char *field[FIELDS];
	int count = *line == '#' ? 0 : config_split(line, field);
	if (count == 0)
		return;
	FOR(i, COUNT_OF(statements))
		if (text_is(field[0], statements[i].word)) {
			statements[i].read(config, field, count, place);
			return;
		}
	warn(place, "unknown statement \"%.40s\": expected set, bind or color", field[0]);
}

int config_read(struct user_config *config, const char *path)
{
	struct place place = { .path = path };
	struct lines lines;
	struct error error = { 0 };
	int got;
	*config = (struct user_config){ .bindings = 0 };
	scenario_init(&config->scenario);
	/* None is fine: that is the usual case. */
	if (access(path, F_OK) != 0)
		return 0;
	if (lines_open(&lines, path, &error) != OK) {
		warn(&place, "%s", error.text);
		return place.warnings;
	}
	while ((got = lines_next(&lines, &error)) != 0) {
		place.line = lines.number;
		if (got > 0)
			config_read_line(config, lines.text, &place);
		else
			warn(&place, "%s", error.text);
	}
	lines_close(&lines);
	return place.warnings;
}

void config_load(struct user_config *config)
{
	char path[4096];
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	if (base && *base == '/')
		PRINT_TO(path, "%s/tidemark/config", base);
	else
		PRINT_TO(path, "%s/.config/tidemark/config", home ? home : "");
	config_read(config, path);
}
