/* minimalloc.c: buffers with their lifetimes, sizes and offsets, and the CSV fields of all tables. */
#include <inttypes.h>

#include "data.h"
#include "src/base/safe_text.h"

void csv_text(FILE *stream, const char *text)
{
	bool quoted = strpbrk(text, ",\"\n\r") != NULL;
	if (quoted)
		putc('"', stream);
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		if (character == '"')
			putc('"', stream);
		/* Breaks of lines are what a field in quotes may hold; it knows no escapes for the rest. */
		bool kept = character == '\n' || character == '\r' || character == '\t';
		text_put(stream, text_hidden(character) && !kept ? UNREADABLE : character);
	}
	if (quoted)
		putc('"', stream);
}

enum status export_minimalloc(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error)
{
	(void)kind;
	(void)options;
	(void)error;
	fputs("id,lower,upper,size,offset\n", stream);
	for (uint32_t storage = 0; storage < plan->graph->storages; storage++) {
		if (plan->laid_out->first[storage] == NONE)
			continue;
		csv_text(stream, plan->graph->tensor[plan->graph->storage[storage].root].name);
		fprintf(stream, ",%u,%u,%" PRId64 ",%" PRId64 "\n", plan->laid_out->first[storage], plan->laid_out->last[storage] + 1,
			plan->laid_out->bytes[storage], plan->laid_out->offset[storage]);
	}
	return OK;
}
