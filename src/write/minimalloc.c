/* minimalloc.c: buffers with their lifetimes, sizes and offsets, and the CSV fields of all tables. */
#include <inttypes.h>

#include "data.h"

void csv_text(FILE *stream, const char *text)
{
	bool quoted = strpbrk(text, ",\"\n\r") != NULL;
	if (!quoted) {
		fputs(text, stream);
		return;
	}
	fputc('"', stream);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', stream);
		fputc(*text, stream);
	}
	fputc('"', stream);
}

enum status export_minimalloc(const struct plan *plan, const struct export_options *options, enum export_kind_id kind, FILE *stream,
	struct error *error)
{
	(void)kind;
	(void)options;
	(void)error;
	fputs("id,lower,upper,size,offset\n", stream);
	for (uint32_t storage = 0; storage < plan->graph->storages; storage++) {
		if (plan->first[storage] == NONE)
			continue;
		csv_text(stream, plan->graph->tensor[plan->graph->storage[storage].root].name);
		fprintf(stream, ",%u,%u,%" PRId64 ",%" PRId64 "\n", plan->first[storage], plan->last[storage] + 1,
			plan->bytes[storage], plan->offset[storage]);
	}
	return OK;
}
