/* row_filter.c: words that rows must have. */
#include "frequency.h"

#include <ctype.h>

#define X(id, name) name,
const char *const row_field_names[ROW_FIELD_COUNT] = { ROW_FIELDS(X) };
#undef X

/* "field:" or "field=" at the beginning; moves on behind it. */
static bool row_filter_take_field(const char **at, struct filter_word *word)
{
	size_t length = strcspn(*at, ":=");
	for (int field = 0; field < ROW_FIELD_COUNT && (*at)[length]; field++)
		if (strlen(row_field_names[field]) == length && strncmp(*at, row_field_names[field], length) == 0) {
			word->field = (enum row_field)field;
			word->any_field = false;
			word->how = (*at)[length] == '=' ? WORD_WHOLE : WORD_PART;
			*at += length + 1;
			return true;
		}
	return false;
}

static enum status read_word(const char *at, size_t length, struct filter_word *word, struct error *error)
{
	char text[sizeof word->text], why[100];
	const char *rest = text;
	PRINT_TO(text, "%.*s", (int)length, at);
	*word = (struct filter_word){ .how = WORD_PART, .any_field = true };
	if (*rest == '!' && rest[1]) {
		word->not = true;
		rest++;
	}
	row_filter_take_field(&rest, word);
	size_t left = strlen(rest);
	if (*rest == '~' && left > 1 && word->how == WORD_PART) {
		word->how = WORD_FUZZY;
		rest++;
	} else if (left > 2 && *rest == '/' && rest[left - 1] == '/' && word->how == WORD_PART) {
		word->how = WORD_REGEX;
		rest++;
		left -= 2;
	}
	PRINT_TO(word->text, "%.*s", (int)left, rest);
	if (word->how != WORD_REGEX)
		return OK;
	int failed = regcomp(&word->regex, word->text, REG_EXTENDED | REG_NOSUB | REG_ICASE);
	if (!failed)
		return OK;
	regerror(failed, &word->regex, why, sizeof why);
	return refuse(error, "/%s/: %s", word->text, why);
}

enum status row_filter_read(const char *text, struct row_filter *filter, struct error *error)
{
	enum status status = OK;
	filter->words = 0;
	for (const char *at = text + strspn(text, " "); *at && filter->words < FILTER_WORDS; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		enum status read = read_word(at, length, &filter->word[filter->words], error);
		filter->words += read == OK;
		status = read == OK ? status : read;
		at += length;
	}
	return status;
}

void row_filter_free(struct row_filter *filter)
{
	FOR_INT(i, filter->words)
		if (filter->word[i].how == WORD_REGEX)
			regfree(&filter->word[i].regex);
	filter->words = 0;
}

static bool row_filter_in_order(const char *text, const char *letters)
{
	for (; *text && *letters; text++)
		letters += tolower((unsigned char)*text) == tolower((unsigned char)*letters);
	return *letters == '\0';
}

static bool row_filter_fits(const struct filter_word *word, const char *text)
{
	switch (word->how) {
	case WORD_WHOLE: return text_is(text, word->text);
	case WORD_FUZZY: return row_filter_in_order(text, word->text);
	case WORD_REGEX: return regexec(&word->regex, text, 0, NULL, 0) == 0;
	default: return text_contains(text, word->text);
	}
}

bool row_filter_passes(const struct row_filter *filter, const char *const value[ROW_FIELD_COUNT])
{
	FOR_INT(i, filter->words) {
		const struct filter_word *word = &filter->word[i];
		bool is = word->any_field ? row_filter_fits(word, value[ROW_NAME]) ||
				(word->how == WORD_PART && row_filter_fits(word, value[ROW_KIND]))
				: row_filter_fits(word, value[word->field]);
		if (is == word->not)
			return false;
	}
	return true;
}

void tensor_fields(const struct graph *graph, uint32_t tensor, const char *value[ROW_FIELD_COUNT])
{
	const struct tensor *of = &graph->tensor[tensor];
	const struct op *op = of->writer == NONE ? NULL : &graph->op[of->writer];
	value[ROW_NAME] = of->name;
	value[ROW_KIND] = kind_names[graph->storage[of->storage].kind];
	value[ROW_DTYPE] = of->has_dtype ? dtype_names[of->dtype] : "";
	value[ROW_MODULE] = op ? op->module : "";
	value[ROW_TYPE] = op ? op->type : "";
	value[ROW_PHASE] = op ? phase_names[op->phase] : "";
}
