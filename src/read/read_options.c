/* read_options.c: how a graph is read, from words and to words. */

#include "read_options.h"
#include "src/base/words.h"

static enum status take_graph(struct read_options *options, const char *value, struct error *error)
{
	char *end;
	long long number = strtoll(value, &end, 10);
	if (*end || end == value || number < 1 || number > UINT32_MAX)
		return refuse(error, "--graph %.60s: expected a number, the first graph is 1", value);
	options->graph = (uint32_t)number;
	return OK;
}

static enum status take_dim(struct read_options *options, const char *value, struct error *error)
{
	const char *size = strchr(value, '=');
	char *end = NULL;
	if (!size || size == value || strtoll(size + 1, &end, 10) < 1 || *end || strlen(value) >= sizeof *options->dim)
		return refuse(error, "--dim %.60s: expected NAME=SIZE, a size of at least 1", value);
	if (options->dims == READ_DIMS_MOST)
		return refuse(error, "--dim %.60s: at most %d sizes", value, READ_DIMS_MOST);
	snprintf(options->dim[options->dims++], sizeof *options->dim, "%s", value);
	return OK;
}

enum status read_options_take(struct read_options *options, const char *name, const char *value, struct error *error)
{
	if (text_is(name, "graph"))
		return take_graph(options, value, error);
	if (text_is(name, "dim"))
		return take_dim(options, value, error);
	if (!text_is(name, "fusions"))
		return refuse(error, "--%.60s: expected --graph, --dim or --fusions", name);
	options->open_fusions = text_is(value, "open");
	return options->open_fusions || text_is(value, "closed")
		? OK
		: refuse(error, "--fusions %.60s: expected closed or open", value);
}

/* The next word of *at, cut to its room; "" at the end. */
static char *next_word(const char **at, char word[80])
{
	*at += strspn(*at, " \t");
	size_t length = strcspn(*at, " \t"), kept = SMALLER(length, 79);
	memcpy(word, *at, kept);
	word[kept] = '\0';
	*at += length;
	return word;
}

enum status read_options_parse(struct read_options *options, const char *words, struct error *error)
{
	char name[80], value[80];
	while (*next_word(&words, name)) {
		if (!text_begins(name, "--"))
			return refuse(error, "%.60s: expected --graph, --dim or --fusions behind the file", name);
		char *equals = strchr(name, '=');
		if (equals)
			*equals = '\0';
		TRY(read_options_take(options, name + 2, equals ? equals + 1 : next_word(&words, value), error));
	}
	return OK;
}

char *read_options_text(const struct read_options *options, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	*text = '\0';
	if (options->graph)
		words_add(&words, " --graph %u", options->graph);
	if (options->open_fusions)
		words_add(&words, " --fusions open");
	FOR(i, options->dims)
		words_add(&words, " --dim %s", options->dim[i]);
	return text;
}
