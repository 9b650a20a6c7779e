/* factors.c: the factors of dims in words. */
#include <inttypes.h>

#include "factors.h"
#include "src/read/rules_file.h"

/* The words of the parts from i on that are read together: heads times head size is hidden. Returns how many parts. */
static uint32_t part_text(
	const struct factors *factors, const struct factor_term *term, uint32_t i, char *text, size_t size)
{
	for (uint32_t count = i + 1 < term->count ? 2 : 1; count > 0; count--) {
		const char *name = factors_name_of(factors, &(struct factor_term){ term->first + i, count });
		if (*name) {
			snprintf(text, size, "%s", name);
			return count;
		}
	}
	snprintf(text, size, "%" PRId64, factors->factor[factors->part[term->first + i]].size);
	return 1;
}

char *factors_text(const struct factors *factors, const struct factor_term *term, char *text, size_t size)
{
	bool named = false;
	struct words words = { text, size, 0 };
	text[0] = '\0';
	FOR(i, term->count)
		named |= factors->factor[factors->part[term->first + i]].role != ROLE_NONE;
	for (uint32_t i = 0; named && i < term->count;) {
		char part[32];
		bool first = i == 0;
		i += part_text(factors, term, i, part, sizeof part);
		words_add(&words, "%s%s", first ? "" : "*", part);
	}
	return text;
}

enum status factors_of_graph(
	const struct graph *graph, const char *rules_file, struct factors *factors, struct error *error)
{
	if (text_is(rules_file, "-"))
		return refuse(error, "factors need the rules in a file: standard input was read for the plan");
	struct rules *rules = rules_load(rules_file, error);
	if (!rules)
		return error->status;
	enum status status = factors_find(graph, rules, factors);
	rules_free(rules);
	return fail_status(error, status);
}

void factors_write_json(const struct factors *factors, const struct graph *graph, struct json *json)
{
	json_open_object(json, "factors");
	FOR(t, graph->tensors) {
		json_new_line(json, 2);
		json_open_array(json, graph->tensor[t].name);
		FOR_SPAN(d, factors->dim_start, t)
			json_write_text(json, NULL, factors_text(factors, &factors->dim[d], TEXT(200)));
		json_close(json);
	}
	json_close(json);
}
