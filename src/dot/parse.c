/* parse.c: calls libcgraph's parser with a discipline of our own. Its state is global, and so is ours: one graph a
 * process. Without memory libcgraph crashes: there the process ends. */
#include <unistr.h>

#include "guard.h"
#include "parse.h"

#define EDGES_MOST 1000000

static struct {
	const char *text; /* not yet given to the parser */
	size_t left;
	int edges;
	char message[400]; /* pieces of the error message so far */
} reading;

/* Subgraphs on both sides of an arrow square the number of edges: it is counted while they are made. */
static long parse_map_id(void *state, int type, char *text, IDTYPE *id, int create)
{
	if (create && (type == AGOUTEDGE || type == AGINEDGE) && ++reading.edges > EDGES_MOST)
		guard_end(EXIT_INPUT, "too many edges: at most a million are read");
	return AgIdDisc.map(state, type, text, id, create);
}

static int parse_read_text(void *channel, char *buffer, int size)
{
	(void)channel;
	size_t count = SMALLER(reading.left, (size_t)size);
	if (count > 0) {
		memcpy(buffer, reading.text, count);
		reading.text += count;
		reading.left -= count;
	}
	return (int)count;
}

/* A message comes in three pieces: "Error", ": " and the text. Warnings come here too. Graphviz before 9 goes on
 * without the memory that it was refused, and would report a mistake in the file. */
static int parse_collect(char *piece)
{
	if (strstr(piece, "memory allocation failure"))
		guard_end(EXIT_LIMIT, "out of memory (--memory)");
	size_t used = strlen(reading.message);
	snprintf(reading.message + used, sizeof reading.message - used, "%s", piece);
	return 0;
}

/* "Error: <unknown>: syntax error in line 3 near 'x'" */
static void explain(struct error *error)
{
	const char *at = strstr(reading.message, "in line ");
	char near[100] = "";
	if (at)
		error->line = (unsigned)strtoul(at + strlen("in line "), NULL, 10);
	const char *quote = at ? strstr(at, "near '") : NULL;
	if (quote)
		PRINT_TO(near, " near %.80s", quote + strlen("near "));
	near[strcspn(near, "\n")] = '\0';
	const char *message = *reading.message && *reading.message != '\n' ? reading.message : "it has no graph";
	if (strstr(reading.message, "syntax error"))
		refuse(error, "syntax error%s", near);
	else if (strstr(reading.message, "memory exhausted"))
		refuse(error, "a chain of nodes that is too long (divide it), or braces nested too deeply");
	else
		refuse(error, "%.*s", (int)strcspn(message, "\n"), message);
}

static bool parse_is_text(const char *text, size_t size, struct error *error)
{
	const char *nul = memchr(text, '\0', size), *odd = (const char *)u8_check((const uint8_t *)text, size);
	const char *wrong = nul && (!odd || nul < odd) ? nul : odd;
	error->line = wrong ? 1 : 0;
	for (const char *at = text; wrong && at < wrong; at++)
		error->line += *at == '\n';
	return !wrong || refuse(error, wrong == nul ? "the text contains a NUL byte"
		: "the text is not UTF-8 (iconv -f LATIN1 -t UTF-8 converts)") == OK;
}

Agraph_t *parse_dot(const char *text, size_t size, struct error *error)
{
	static Agiodisc_t io;
	static Agiddisc_t id;
	static Agdisc_t disc = { .id = &id, .io = &io }; /* before Graphviz 9 there is .mem, too: NULL is calloc() */
	id = AgIdDisc;
	id.map = parse_map_id;
	io = AgIoDisc;
	io.afread = parse_read_text;
	if (!parse_is_text(text, size, error))
		return NULL;
	size_t mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	reading.text = text + mark;
	reading.left = size - mark;
	reading.edges = 0;
	*reading.message = '\0';
	agseterrf(parse_collect);
	agreseterrors();
	Agraph_t *graph = agread(&reading, &disc);
	if (graph && !agerrors()) /* after an error there may be half a graph */
		return graph;
	explain(error);
	if (graph)
		agclose(graph);
	return NULL;
}

const char *parse_messages(void)
{
	return reading.message;
}
