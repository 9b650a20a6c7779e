/* minimalloc.c: buffers with their lifetimes, sizes and offsets, and the CSV fields of all tables. */
#include <inttypes.h>

#include "data.h"
#include "src/base/safe_text.h"

/* What a spreadsheet would compute, or run, where it opens the table; a number stays one. */
static bool is_formula(const char *text)
{
	char *end;
	strtod(text, &end);
	return *text && strchr("=+-@\t\r", *text) && (end == text || *end);
}

static void put_field(FILE *stream, const char *text, const char *behind, bool formula)
{
	bool quoted = strpbrk(text, ",\"\n\r") != NULL;
	if (quoted)
		putc('"', stream);
	if (formula)
		putc('\'', stream);
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		if (character == '"')
			putc('"', stream);
		/* Breaks of lines are what a field in quotes may hold; it knows no escapes for the rest. */
		bool kept = character == '\n' || character == '\r' || character == '\t';
		text_put(stream, text_hidden(character) && !kept ? UNREADABLE : character);
	}
	fputs(behind, stream);
	if (quoted)
		putc('"', stream);
}

void csv_text(FILE *stream, const char *text)
{
	put_field(stream, text, "", is_formula(text));
}

void csv_seconds(FILE *stream, int64_t picoseconds)
{
	fprintf(stream, "%" PRId64 ".%012" PRId64, picoseconds / PICOSECONDS, picoseconds % PICOSECONDS);
}

enum status export_minimalloc(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	fputs("id,lower,upper,size,offset\n", job->stream);
	FOR(item, plan->laid_out->items) {
		if (plan->laid_out->first[item] == NONE)
			continue;
		/* programs look for their names */
		put_field(job->stream, item_name(plan, item), item < plan->graph->storages ? "" : ".workspace", false);
		fprintf(job->stream, ",%u,%u,%" PRId64 ",%" PRId64 "\n", plan->laid_out->first[item],
			plan->laid_out->last[item] + 1,
			plan->laid_out->bytes[item], plan->laid_out->offset[item]);
	}
	return OK;
}
