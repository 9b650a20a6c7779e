/* rules.c: the set of operator rules, and the parser of factor strings. */

#include "form.h"

struct rules {
	struct arena arena;
	struct names names;
	struct parsed_rule **rule;
	uint32_t count;
	size_t room;
	bool by_overload; /* some rule is of one overload alone, as "aten.add.Tensor" */
};

static const char *const structure_names[STRUCTURES] = { [EINSUM] = "",
	[RESHAPE] = "@reshape",
	[PERMUTE] = "@permute",
	[EXPAND] = "@expand",
	[SLICE] = "@slice",
	[PAD] = "@pad",
	[SELECT] = "@select",
	[PLACE] = "@place",
	[SPLIT] = "@split",
	[CAT] = "@cat",
	[UNBIND] = "@unbind",
	[STACK] = "@stack",
	[REDUCE_SUM] = "@reduce+",
	[REDUCE_WHOLE] = "@reduce^",
	[REDUCE_WHOLE_2] = "@reduce^2",
	[MOVE_1] = "@move",
	[MOVE_2] = "@move2",
	[GATHER] = "@gather",
	[SOURCE] = "@source",
	[OPAQUE] = "@opaque" };

#define X(id, name) name,
const char *const trait_names[TRAIT_COUNT] = { TRAITS(X) };
#undef X

/* What a structure says of every rule that has it. */
static const uint32_t structure_traits[STRUCTURES] = { [EINSUM] = TRAIT_SHAPED,
	[RESHAPE] = TRAIT_SHAPED,
	[PERMUTE] = TRAIT_SHAPED,
	[SLICE] = TRAIT_SLICE,
	[GATHER] = TRAIT_ROWS,
	[SOURCE] = TRAIT_SOURCE,
	[OPAQUE] = TRAIT_OPAQUE };

/* ---- parsing ---- */

struct parser {
	const char *at, *start;
	struct form *form;
	struct error *error;
};

static enum status rules_complain(const struct parser *parser, const char *what)
{
	return refuse(parser->error, "factor string \"%s\": %s at column %d", parser->start, what,
		(int)(parser->at - parser->start) + 1);
}

static void rules_skip_blanks(struct parser *parser)
{
	while (*parser->at == ' ' || *parser->at == '\t')
		parser->at++;
}

static bool rules_take(struct parser *parser, const char *word)
{
	size_t length = strlen(word);
	if (strncmp(parser->at, word, length) != 0)
		return false;
	parser->at += length;
	return true;
}

static bool name_begins(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The factor of a name, new or known; FORM_FACTORS when there is no room. */
static uint8_t intern_factor(struct form *form, const char *name, size_t length)
{
	if (length >= sizeof form->factor[0].name)
		return FORM_FACTORS;
	for (uint8_t i = 0; i < form->factors; i++)
		if (strlen(form->factor[i].name) == length && memcmp(form->factor[i].name, name, length) == 0)
			return i;
	if (form->factors == FORM_FACTORS)
		return FORM_FACTORS;
	memcpy(form->factor[form->factors].name, name, length);
	form->factor[form->factors].over = FORM_FACTORS;
	return form->factors++;
}

static uint8_t take_marks(struct parser *parser, bool *optional)
{
	uint8_t marks = 0;
	for (;; parser->at++) {
		if (*parser->at == '+')
			marks |= FACTOR_REDUCED;
		else if (*parser->at == '^')
			marks |= FACTOR_WHOLE;
		else if (*parser->at == '!')
			marks |= FACTOR_FORBIDDEN;
		else if (*parser->at == '?')
			*optional = true;
		else
			return marks;
	}
}

/* name marks, or name~ or name~name: appends the factor to the dim. */
static enum status parse_factor(struct parser *parser, struct form_dim *dim)
{
	if (!name_begins(*parser->at))
		return rules_complain(parser, "a factor's name is expected");
	const char *name = parser->at;
	while (name_begins(*parser->at) || *parser->at == '_')
		parser->at++;
	uint8_t factor = intern_factor(parser->form, name, (size_t)(parser->at - name));
	if (factor == FORM_FACTORS)
		return rules_complain(parser, "too many factors, or too long a name");
	if (rules_take(parser, "~")) {
		while (name_begins(*parser->at))
			parser->at++;
		uint8_t window = intern_factor(parser->form, name, (size_t)(parser->at - name));
		if (window == FORM_FACTORS)
			return rules_complain(parser, "too many factors, or too long a name");
		parser->form->factor[window].over = factor;
		parser->form->factor[window].marks |= FACTOR_WINDOW;
		factor = window;
	}
	parser->form->factor[factor].marks |= take_marks(parser, &dim->optional);
	if (dim->count == PRODUCT_FACTORS)
		return rules_complain(parser, "a product of too many factors");
	dim->factor[dim->count++] = factor;
	return OK;
}

static enum status parse_dim(struct parser *parser, struct form_dim *dim)
{
	if (rules_take(parser, "...")) {
		dim->kind = DIM_BATCH;
		parser->form->batch_marks |= take_marks(parser, &dim->optional);
		return OK;
	}
	if (rules_take(parser, "_")) {
		dim->kind = DIM_ANY;
		return OK;
	}
	if (rules_take(parser, "1")) {
		dim->kind = DIM_ONE;
		return OK;
	}
	dim->kind = DIM_PRODUCT;
	if (rules_take(parser, "(")) {
		rules_skip_blanks(parser);
		while (!rules_take(parser, ")")) {
			TRY(parse_factor(parser, dim));
			rules_skip_blanks(parser);
		}
		return dim->count > 0 ? OK : rules_complain(parser, "an empty product");
	}
	TRY(parse_factor(parser, dim));
	if (rules_take(parser, "..")) {
		dim->space = true;
		parser->form->factor[dim->factor[0]].space = true;
		uint8_t over = parser->form->factor[dim->factor[0]].over;
		if (over != FORM_FACTORS)
			parser->form->factor[over].space = true;
	}
	return OK;
}

static enum status parse_slot(struct parser *parser)
{
	struct form *form = parser->form;
	if (form->slots == FORM_SLOTS)
		return rules_complain(parser, "too many tensors");
	struct form_slot *slot = &form->slot[form->slots++];
	rules_skip_blanks(parser);
	slot->optional = rules_take(parser, "?");
	slot->addend = rules_take(parser, "&");
	for (;;) {
		rules_skip_blanks(parser);
		if (rules_take(parser, "*")) {
			slot->repeated = slot->optional = true;
			continue;
		}
		if (*parser->at == ',' || *parser->at == '|' || *parser->at == '\0' || strncmp(parser->at, "->", 2) == 0)
			return OK;
		if (slot->count == SLOT_DIMS)
			return rules_complain(parser, "too many dims");
		TRY(parse_dim(parser, &slot->dim[slot->count++]));
	}
}

/* One alternative: slots "->" slots. */
static enum status parse_form(struct parser *parser)
{
	bool results = false;
	rules_skip_blanks(parser);
	if (rules_take(parser, "->"))
		results = true;
	for (;;) {
		TRY(parse_slot(parser));
		if (rules_take(parser, ","))
			continue;
		if (results || !rules_take(parser, "->"))
			break;
		parser->form->operands = parser->form->slots;
		results = true;
	}
	return results ? OK : rules_complain(parser, "\"->\" is missing");
}

static enum status parse_einsum(struct arena *arena, const char *factors, struct form **first, struct error *error)
{
	struct parser parser = { .at = factors, .start = factors, .error = error };
	for (struct form **link = first;; link = &(*link)->next) {
		*link = parser.form = arena_alloc(arena, 1, sizeof **link);
		NEED(*link);
		TRY(parse_form(&parser));
		if (*parser.at == '\0')
			return OK;
		if (!rules_take(&parser, "|"))
			return rules_complain(&parser, "unexpected text");
	}
}

static enum status rules_parse(
	struct arena *arena, const char *factors, struct parsed_rule *parsed, struct error *error)
{
	if (factors[0] != '@')
		return parse_einsum(arena, factors, &parsed->form, error);
	for (enum structure i = RESHAPE; i < STRUCTURES; i++)
		if (strcmp(structure_names[i], factors) == 0) {
			parsed->structure = i;
			return OK;
		}
	return refuse(error, "unknown structural rule \"%s\"", factors);
}

/* ---- the set ---- */

static const char *rules_keep(struct arena *arena, const char *text, bool *failed)
{
	char *copy = arena_text(arena, text ? text : "", text ? strlen(text) : 0);
	*failed |= !copy;
	return copy;
}

enum status rules_add(struct rules *rules, const struct rule *rule, struct error *error)
{
	struct parsed_rule *parsed;
	NEED(ROOM(&rules->arena, parsed, 1));
	bool failed = false;
	parsed->rule = *rule;
	parsed->rule.type = rules_keep(&rules->arena, rule->type, &failed);
	parsed->rule.factors = rules_keep(&rules->arena, rule->factors, &failed);
	parsed->rule.gradients = rules_keep(&rules->arena, rule->gradients, &failed);
	parsed->rule.saved = rules_keep(&rules->arena, rule->saved, &failed);
	parsed->rule.backward = rule->backward ? rules_keep(&rules->arena, rule->backward, &failed) : NULL;
	NEED(!failed);
	TRY(rules_parse(&rules->arena, parsed->rule.factors, parsed, error));
	NEED(GROWN(rules->rule, rules->room, rules->count + 1));
	const char *dot = strchr(parsed->rule.type, '.');
	uint32_t id = names_add(&rules->names, parsed->rule.type, rules->count);
	NEED(id != NONE);
	rules->by_overload |= dot && strchr(dot + 1, '.');
	static const uint32_t by_structure = TRAIT_SHAPED | TRAIT_SLICE | TRAIT_SOURCE | TRAIT_OPAQUE;
	if (id < rules->count)
		parsed->rule.traits |= rules->rule[id]->rule.traits & ~by_structure;
	parsed->rule.traits |= structure_traits[parsed->structure];
	if (id == rules->count)
		rules->count++;
	rules->rule[id] = parsed;
	return OK;
}

/* One rule for each operator that a row of a table names. */
static enum status rules_add_row(struct rules *rules, const struct rule *row)
{
	const char *dot = strchr(row->type, '.'), *name = dot ? dot + 1 : row->type;
	size_t family = (size_t)(name - row->type), length;
	for (; *name; name += length + (name[length] == ' ')) {
		char type[128];
		length = strcspn(name, " ");
		PRINT_TO(type, "%.*s%.*s", (int)family, row->type, (int)length, name);
		struct rule rule = *row;
		rule.type = type;
		TRY(rules_add(rules, &rule, NULL));
	}
	return OK;
}

struct rules *rules_new(void)
{
	struct rules *MAKE(rules, 1);
	if (!rules)
		return NULL;
	const struct rule *const tables[] = { rules_aten, rules_onnx, rules_plain };
	FOR(i, COUNT_OF(tables))
		for (const struct rule *rule = tables[i]; rule->type; rule++)
			if (rules_add_row(rules, rule) != OK) {
				rules_free(rules);
				return NULL;
			}
	return rules;
}

void rules_free(struct rules *rules)
{
	if (!rules)
		return;
	names_free(&rules->names);
	mem_free(rules->rule);
	arena_free(&rules->arena);
	mem_free(rules);
}

const struct rule *rules_at(const struct rules *rules, uint32_t i)
{
	return i < rules->count ? &rules->rule[i]->rule : NULL;
}

const struct rule *rules_find(const struct rules *rules, const char *type)
{
	char name[128];
	size_t length = 0, dots = 0, overload = 0;
	for (; type[length]; length++) {
		if (length + 1 == sizeof name)
			return NULL;
		name[length] = type[length];
		if (type[length] == '.' && ++dots == 2)
			overload = length;
	}
	name[length] = '\0';
	uint32_t id = overload && !rules->by_overload ? NONE : names_find(&rules->names, name);
	if (id == NONE && overload) {
		name[length = overload] = '\0';
		id = names_find(&rules->names, name);
	}
	if (id == NONE && length > 1 && name[length - 1] == '_') {
		name[length - 1] = '\0';
		id = names_find(&rules->names, name);
	}
	return id == NONE ? NULL : &rules->rule[id]->rule;
}

uint32_t rules_traits(const struct rules *rules, const char *type)
{
	const struct rule *rule = rules_find(rules, type);
	return rule ? rule->traits : 0;
}

enum rule_autocast rules_autocast(const struct rules *rules, const char *type)
{
	const struct rule *rule = rules_find(rules, type);
	if (!rule)
		return AUTOCAST_LIKE;
	for (const struct autocast_rule *row = rules_aten_autocast; row->names && text_begins(rule->type, "aten."); row++)
		if (word_listed(row->names, rule->type + 5))
			return row->mode;
	if ((rule->traits & (TRAIT_WIDE | TRAIT_SOFTMAX)) && !(rule->traits & TRAIT_SOURCE))
		return AUTOCAST_WIDE;
	return rule_contracts(rule) || rule->cost == COST_ATTENTION || rule->cost == COST_ATTENTION_BACKWARD ||
			rule->cost == COST_RECURRENCE
		? AUTOCAST_NARROW
		: AUTOCAST_LIKE;
}

bool rules_is_backward(const struct rule *rule, const struct rule *backward)
{
	char kernel[160];
	PRINT_TO(kernel, rule->backward ? "%.140s" : "%.140s_backward", rule->backward ? rule->backward : rule->type);
	return strcmp(kernel, backward->type) == 0;
}
