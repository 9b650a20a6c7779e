/* card.c: what was got of a file. */
#include <inttypes.h>

#include "card.h"
#include "detect.h"
#include "src/base/streams.h"
#include "src/base/words.h"

struct card {
	const char *format, *version; /* version: NULL where the file says none */
	uint32_t known, inferred, missing; /* sizes of tensors */
	uint32_t phase[PHASE_COUNT]; /* ops */
	uint32_t unphased;           /* ops of which nobody says it */
	uint32_t located;            /* ops with a place in the program's source */
	int64_t state;               /* bytes of optimizer state */
	uint32_t devices;            /* of which this is one; 1: of its own */
};

/* O(graph). */
static struct card card_of(const struct graph *graph)
{
	const struct about *about = &graph->about;
	struct card card = { .format = about->intake.format ? about->intake.format : "graph",
		.version = about->intake.version,
		.devices = 1,
		.inferred = about->intake.inferred,
		.missing = about->intake.missing };
	uint32_t less = card.inferred + card.missing;
	card.known = graph->tensors > less ? graph->tensors - less : 0;
	FOR(i, graph->ops) {
		if (graph->op[i].has_phase)
			card.phase[graph->op[i].phase]++;
		else
			card.unphased++;
		card.located += graph->op[i].src != NULL;
	}
	FOR(s, graph->storages)
		if (graph->storage[s].kind == KIND_OPTIMIZER)
			card.state += graph->storage[s].bytes;
	FOR(a, about->axes)
		card.devices *= about->axis[a].size;
	if (about->ranks)
		card.devices *= about->ranks;
	return card;
}

/* The command that supplies what is missing, NULL where nothing is: sizes first, then a backward pass. */
static const char *advice_of(const struct intake *intake, const struct card *card)
{
	if (intake->advice)
		return intake->advice;
	return card->phase[PHASE_FORWARD] && !card->phase[PHASE_BACKWARD] && !card->phase[PHASE_UPDATE] && !card->unphased
		? "--set train=eager --set optimizer=adam makes a training step of it by rules" : NULL;
}

bool graph_of_allocations(const struct graph *graph)
{
	const char *format = graph->about.intake.format;
	return format &&
		(text_is(format, input_kind_name(INPUT_SNAPSHOT)) || text_is(format, input_kind_name(INPUT_TRACE)));
}

/* ---- text ---- */

static void write_phases(const struct card *card, FILE *stream)
{
	const char *between = "step: ";
	FOR_INT(phase, PHASE_COUNT)
		if (card->phase[phase]) {
			fprintf(stream, "%s%s %u", between, phase_names[phase], card->phase[phase]);
			between = ", ";
		}
	if (card->unphased)
		fprintf(stream, "%s%u of unknown phase", between, card->unphased);
	else if (*between == 's')
		fprintf(stream, "%sno ops", between);
	fputs(card->phase[PHASE_BACKWARD] || card->unphased ? "" : "; no backward pass", stream);
	if (card->state)
		fprintf(stream, "; optimizer state %s", BYTES(card->state));
	else
		fputs("; no optimizer state", stream);
	fprintf(stream, "; %s", card->devices == 1 ? "one device" : "");
	if (card->devices > 1)
		fprintf(stream, "one of %u devices", card->devices);
	putc('\n', stream);
}

/* Which of the file's graphs this is. */
static void card_write_choice(const struct intake *intake, FILE *stream)
{
	const char *at = intake->graphs, *this = at;
	uint32_t count = 0;
	for (; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (++count == intake->graph)
			this = at;
	fprintf(stream, "graph: %u of %u: %.*s; --graph N takes another\n", intake->graph, count, (int)strcspn(this, "\n"),
		this);
}

static void write_card(const struct graph *graph, FILE *stream)
{
	const struct intake *intake = &graph->about.intake;
	struct card card = card_of(graph);
	fprintf(stream, "read: %s%s%s%s%s\n", card.format, card.version ? ", " : "", card.version ? card.version : "",
		graph->source ? "; from " : "", graph->source ? graph->source : "");
	fprintf(stream, "sizes: %u of %u tensors known", card.known, graph->tensors);
	if (card.inferred)
		fprintf(stream, ", %u inferred%s", card.inferred, text_begins(card.format, "DOT") ? " from labels" : "");
	if (card.missing)
		fprintf(stream, ", %u MISSING: they count as 0 bytes", card.missing);
	fprintf(stream, "; order %s", intake->derived ? "derived" : "given");
	if (card.located)
		fprintf(stream, "; %u of %u ops with their place in the source", card.located, graph->ops);
	putc('\n', stream);
	write_phases(&card, stream);
	if (intake->graphs)
		card_write_choice(intake, stream);
	if (graph->about.teaches)
		fprintf(stream, "lesson: %s\n", graph->about.teaches);
	if (graph->about.synthesised)
		fprintf(stream, "assumed: %s\n", graph->about.synthesised);
	for (const char *at = intake->assumed ? intake->assumed : ""; *at; at += strcspn(at, "\n"), at += *at == '\n')
		fprintf(stream, "assumed: %.*s\n", (int)strcspn(at, "\n"), at);
	if (intake->peak)
		fprintf(stream, "its own peak: %s (%" PRId64 " B)%s%s\n", BYTES(intake->peak),
			intake->peak, intake->peak_by ? ", " : "", intake->peak_by ? intake->peak_by : "");
	if (intake->grows)
		fprintf(stream, "grows: %s\n", intake->grows);
	const char *advice = advice_of(intake, &card);
	if (advice)
		fprintf(stream, "to get the rest: %s\n", advice);
}

char *card_text(const struct graph *graph)
{
	char *text = NULL, *copy = NULL;
	size_t length = 0;
	FILE *stream = text_stream(&text, &length);
	if (!stream)
		return NULL;
	write_card(graph, stream);
	if (fclose(stream) == 0 && (copy = mem_alloc(length + 1, 1)))
		memcpy(copy, text, length);
	free(text);
	return copy;
}

/* The line behind this one; NULL behind the last one. */
static const char *card_next_line(const char *at)
{
	at += strcspn(at, "\n");
	return at[0] == '\n' && at[1] ? at + 1 : NULL;
}

/* Assumptions as long as there is room; the others are counted. */
static void brief_assumed(const char *text, char *brief, size_t used, size_t size, size_t most)
{
	static const char label[] = "assumed: ";
	unsigned shown = 0, more = 0;
	size_t skip = sizeof label - 1;
	for (const char *at = text; at; at = card_next_line(at)) {
		size_t length = strcspn(at, "\n");
		if (strncmp(at, label, skip) != 0)
			continue;
		if (more || used + length + 40 > most)
			more++;
		else
			used += (size_t)snprintf(
				brief + used, size - used, "%s%.*s", shown++ ? "; " : ". assumed: ", (int)(length - skip), at + skip);
	}
	if (more)
		snprintf(brief + used, size - used, "%s%u%s, which tidemark plan prints", shown ? "; " : ". assumed: ", more,
			shown ? " more" : "");
}

char *card_brief(const struct graph *graph, size_t most)
{
	static const char *const labels[] = { "read: ", "sizes: ", "step: ", "grows: ", "to get the rest: " };
	HELD char *text = graph->about.intake.said ? card_text(graph) : NULL;
	size_t size = text ? 2 * strlen(text) + 60 : 0, used = 0;
	char *brief = text ? mem_alloc(size, 1) : NULL;
	for (size_t i = 0; brief && i < COUNT_OF(labels); i++)
		for (const char *at = text; at; at = card_next_line(at))
			if (strncmp(at, labels[i], strlen(labels[i])) == 0)
				used += (size_t)snprintf(brief + used, size - used, "%s%.*s", used ? ". " : "", (int)strcspn(at, "\n"), at);
	if (brief)
		brief_assumed(text, brief, used, size, most);
	return brief;
}

/* ---- JSON ---- */

void card_json(const struct graph *graph, struct json *json)
{
	const struct intake *intake = &graph->about.intake;
	struct card card = card_of(graph);
	json_open_object(json, "input");
	json_write_text(json, "format", card.format);
	json_write_known(json, "version", card.version);
	json_write_known(json, "source", graph->source);
	json_write_integer(json, "sizes_known", card.known);
	json_write_integer(json, "sizes_inferred", card.inferred);
	json_write_integer(json, "sizes_missing", card.missing);
	json_write_text(json, "order", intake->derived ? "derived" : "given");
	json_open_object(json, "phases");
	FOR_INT(phase, PHASE_COUNT)
		json_write_integer(json, phase_names[phase], card.phase[phase]);
	json_close(json);
	json_write_integer(json, "optimizer_bytes", card.state);
	json_write_integer(json, "devices", card.devices);
	json_open_array(json, "assumed");
	json_write_known(json, NULL, graph->about.synthesised);
	json_write_lines(json, intake->assumed ? intake->assumed : "");
	json_close(json);
	json_write_some(json, "own_peak_bytes", intake->peak);
	json_write_known(json, "own_peak_by", intake->peak_by);
	json_write_known(json, "grows", intake->grows);
	const char *advice = advice_of(intake, &card);
	json_write_known(json, "advice", advice);
	json_close(json);
}
