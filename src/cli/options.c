/* options.c: what is wrong with an option is said as everything else is. */
#include "options.h"

#include <string.h>

#include "src/base/complain.h"
#include "src/scenario/nearest.h"

/* Says that there is no such option, and which comes nearest: "--vieuw". */
static void say_unknown(const char *command, const char *word, const struct option *options)
{
	char name[64], text[120];
	struct nearest nearest = { .wanted = name };
	snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
	for (const struct option *option = options; option->name; option++)
		nearest_consider(&nearest, option->name);
	usage_error(command, "--%s: there is no such option%s", name, nearest_text(&nearest, "--", text, sizeof text));
}

/* How many options begin with the word, up to its '='. */
static int beginnings(const char *word, const struct option *options)
{
	size_t length = strcspn(word, "=");
	int count = 0;
	for (const struct option *option = options; option->name; option++)
		count += strncmp(option->name, word, length) == 0;
	return count;
}

int option_next(const char *command, int argc, char **argv, const char *letters, const struct option *options)
{
	opterr = 0;
	int letter = getopt_long(argc, argv, letters, options, NULL);
	if (letter != ':' && letter != '?')
		return letter;
	const char *word = argv[optind - 1];
	bool is_long = strncmp(word, "--", 2) == 0;
	if (letter == ':')
		usage_error(command, "%s%.*s: its value is missing", is_long ? "" : "-", is_long ? 60 : 1, is_long ? word : (char[]){ (char)optopt, '\0' });
	else if (!is_long)
		usage_error(command, "-%c: there is no such option", optopt);
	else if (optopt != 0)
		usage_error(command, "%.60s: the option takes no value", word);
	else if (beginnings(word + 2, options) > 1)
		usage_error(command, "%.60s: several options begin so", word);
	else
		say_unknown(command, word + 2, options);
	return '?';
}
