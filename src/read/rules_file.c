/* rules_file.c: operator rules from a text file, for ops that Tidemark doesn't know, or to replace a rule it has.
 *
 * One rule a line; # starts a comment.
 *
 *     TYPE: FACTORS [; cost = none|element|contraction|attention] [; gradients = LIST] [; saved = LIST] [; backward =
 * TYPE]
 *
 *     my.fused_mlp: ... h+, h f, f o -> ... o ; cost = contraction ; gradients = 0 1 2 ; saved = i0 i1 i2
 *     my.norm:      ... h^, h -> ... h        ; gradients = 0 1    ; saved = i0 i1 x:f32(...)
 *
 * TYPE is the op's type as in the graph, with or without overload; FACTORS, gradients, saved and backward are as in
 * solver/rules/rules.h. Default: cost element, no gradients, nothing saved. */

#include "rules_file.h"
#include "input.h"
#include "src/base/words.h"

#define FILE_LIMIT ((size_t)1 << 20)

/* Cuts blanks at both ends, in place. */
static char *rules_file_trim(char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	size_t length = strlen(text);
	while (length > 0 && strchr(" \t\r", text[length - 1]))
		text[--length] = '\0';
	return text;
}

static bool read_cost(const char *word, enum rule_cost *cost)
{
	static const struct {
		const char *name;
		enum rule_cost cost;
	} costs[] = { { "none", COST_NONE }, { "element", COST_ELEMENT }, { "contraction", COST_CONTRACTION },
		{ "attention", COST_ATTENTION } };
	FOR(i, COUNT_OF(costs))
		if (text_is(word, costs[i].name)) {
			*cost = costs[i].cost;
			return true;
		}
	return false;
}

/* Words between blanks. */
static bool read_traits(const char *words, uint32_t *traits)
{
	for (size_t length; *(words += strspn(words, " \t")); words += length) {
		char word[32] = "";
		length = strcspn(words, " \t");
		if (length < sizeof word)
			memcpy(word, words, length);
		int bit = name_index(trait_names, TRAIT_COUNT, word);
		if (bit < 0)
			return false;
		*traits |= 1u << bit;
	}
	return true;
}

/* key = value */
static enum status read_setting(char *text, struct rule *rule, struct error *error)
{
	char *value = strchr(text, '=');
	if (!value)
		return refuse(error, "\"%.100s\" is no \"key = value\"", text);
	*value++ = '\0';
	const char *key = rules_file_trim(text);
	value = rules_file_trim(value);
	if (text_is(key, "gradients"))
		rule->gradients = value;
	else if (text_is(key, "saved"))
		rule->saved = value;
	else if (text_is(key, "backward"))
		rule->backward = value;
	else if (text_is(key, "traits"))
		return read_traits(value, &rule->traits) ? OK : refuse(error, "\"%.100s\" is not a list of traits", value);
	else if (!text_is(key, "cost"))
		return refuse(error, "unknown key \"%.100s\"", key);
	else if (!read_cost(value, &rule->cost))
		return refuse(error, "cost must be none, element, contraction or attention");
	return OK;
}

/* One line, which is changed. */
static enum status rules_file_read_line(struct rules *rules, char *line, struct error *error)
{
	line[strcspn(line, "#")] = '\0';
	line = rules_file_trim(line);
	if (*line == '\0')
		return OK;
	char *factors = strstr(line, ": ");
	if (!factors)
		return refuse(error, "\"TYPE: FACTORS\" is expected");
	*factors = '\0';
	factors += 2;
	struct rule rule = { .cost = COST_ELEMENT };
	char *settings = strchr(factors, ';');
	while (settings) {
		*settings++ = '\0';
		char *next = strchr(settings, ';');
		if (next)
			*next = '\0';
		TRY(read_setting(settings, &rule, error));
		settings = next;
	}
	rule.type = rules_file_trim(line);
	rule.factors = rules_file_trim(factors);
	if (*rule.type == '\0')
		return refuse(error, "the op's type is missing");
	return rules_add(rules, &rule, error);
}

enum status rules_read_text(struct rules *rules, const char *text, struct error *error)
{
	enum status status = OK;
	for (unsigned number = 1; *text && status == OK; number++) {
		size_t length = strcspn(text, "\n");
		char *line = mem_alloc(length + 1, 1);
		NEED(line);
		memcpy(line, text, length);
		status = rules_file_read_line(rules, line, error);
		if (status != OK && error)
			error->line = number;
		mem_free(line);
		text += length + (text[length] == '\n');
	}
	return status;
}

static enum status rules_read_file(struct rules *rules, const char *path, struct error *error)
{
	size_t size;
	char *text = input_text(path, FILE_LIMIT, &size, error);
	if (!text)
		return error->status;
	enum status status = memchr(text, '\0', size) ? refuse(error, "not a text file")
		: rules_read_text(rules, text, error);
	mem_free(text);
	return status;
}

struct rules *rules_load(const char *path, struct error *error)
{
	struct rules *rules = rules_new();
	struct error problem = { 0 };
	enum status status = !rules ? NO_MEMORY : path ? rules_read_file(rules, path, &problem) : OK;
	error_set(error, status);
	if (status == OK)
		return rules;
	rules_free(rules);
	if (status == NO_MEMORY)
		fail_memory(error);
	else
		fail(error, input_name(path, &problem), "rules %s", problem.text);
	return NULL;
}
