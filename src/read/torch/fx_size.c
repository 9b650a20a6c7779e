/* fx_size.c: symbolic sizes: a parser by recursive descent, as deep as DEPTH_MOST parentheses. */
#include <stdlib.h>

#include "fx.h"

enum { DEPTH_MOST = 60 };
#define VALUE_MOST (INT64_C(1) << 62)

struct parser {
	const struct fx_sizes *sizes;
	const char *at, *end, *symbol;
	size_t length;
	int depth;
	bool wrong;
};

static int64_t fx_size_sum(struct parser *parser);

static char peek(struct parser *parser)
{
	while (parser->at < parser->end && *parser->at == ' ')
		parser->at++;
	return parser->at < parser->end ? *parser->at : '\0';
}

static bool fx_size_take(struct parser *parser, const char *word)
{
	size_t length = strlen(word);
	if (peek(parser) != *word || (size_t)(parser->end - parser->at) < length || memcmp(parser->at, word, length) != 0)
		return false;
	parser->at += length;
	return true;
}

static int64_t fault(struct parser *parser)
{
	parser->wrong = true;
	return 1; /* nothing divides by it */
}

static bool fx_size_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static int64_t floor_divide(struct parser *parser, int64_t a, int64_t b)
{
	if (b <= 0)
		return fault(parser);
	return a / b - (a % b < 0);
}

static int64_t fx_size_multiply(struct parser *parser, int64_t a, int64_t b)
{
	int64_t product;
	return __builtin_mul_overflow(a, b, &product) || product > VALUE_MOST || product < -VALUE_MOST ? fault(parser)
		: product;
}

static int64_t symbol(struct parser *parser, const char *name, size_t length)
{
	FOR(i, parser->sizes->dims) {
		const char *dim = parser->sizes->dim[i];
		size_t known = strcspn(dim, "=");
		bool all = known > 1 && dim[known - 1] == '*';
		if (!dim[known] || (all ? length < known - 1 : length != known) || memcmp(dim, name, all ? known - 1 : known) != 0)
			continue;
		int64_t value = strtoll(dim + known + 1, NULL, 10);
		return value >= 0 && value < VALUE_MOST ? value : fault(parser);
	}
	if (!parser->symbol) {
		parser->symbol = name;
		parser->length = length;
	}
	return fault(parser);
}

/* What follows a function's name. */
static int64_t call(struct parser *parser, const char *name, size_t length)
{
	static const char *const words[] = { "Max", "Min", "FloorDiv", "CeilDiv", "Mod", "PythonMod", "ModularIndexing",
		"floor", "ceiling" };
	int64_t argument[3] = { 0, 1, 1 };
	int arguments = 0, word = 0;
	while (word < 9 && (strlen(words[word]) != length || memcmp(words[word], name, length) != 0))
		word++;
	do {
		int64_t value = fx_size_sum(parser);
		if (word <= 1 && arguments > 0)
			value = (value > argument[0]) == (word == 0) ? value : argument[0];
		argument[word <= 1 || arguments > 2 ? 0 : arguments] = value;
		arguments++;
	} while (fx_size_take(parser, ",") && !parser->wrong);
	if (!fx_size_take(parser, ")") || parser->wrong)
		return fault(parser);
	switch (word) {
	case 0: case 1: case 7: case 8: return argument[0];
	case 2: return floor_divide(parser, argument[0], argument[1]);
	case 3: return -floor_divide(parser, -argument[0], argument[1]);
	case 4:
	case 5:
		return argument[1] > 0 ? argument[0] - argument[1] * floor_divide(parser, argument[0], argument[1])
			: fault(parser);
	case 6: return argument[2] > 0 ? floor_divide(parser, argument[0], argument[1]) % argument[2] : fault(parser);
	default: return fault(parser);
	}
}

static int64_t atom(struct parser *parser)
{
	if (++parser->depth > DEPTH_MOST || parser->wrong)
		return fault(parser);
	char first = peek(parser);
	int64_t value = 0;
	if (fx_size_take(parser, "(")) {
		value = fx_size_sum(parser);
		if (!fx_size_take(parser, ")"))
			fault(parser);
	} else if (fx_size_take(parser, "-")) {
		value = -atom(parser);
	} else if (first >= '0' && first <= '9') {
		for (; parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9'; parser->at++)
			value = value < VALUE_MOST / 16 ? value * 10 + (*parser->at - '0') : fault(parser);
	} else if (fx_size_letter(first)) {
		const char *name = parser->at;
		while (parser->at < parser->end && fx_size_letter(*parser->at))
			parser->at++;
		size_t length = (size_t)(parser->at - name);
		value = fx_size_take(parser, "(") ? call(parser, name, length) : symbol(parser, name, length);
	} else {
		fault(parser);
	}
	parser->depth--;
	return value;
}

static int64_t fx_size_power(struct parser *parser)
{
	int64_t base = atom(parser), value = 1;
	if (!fx_size_take(parser, "**"))
		return base;
	int64_t exponent = atom(parser);
	if (exponent < 0 || exponent > 62)
		return fault(parser);
	for (int64_t i = 0; i < exponent; i++)
		value = fx_size_multiply(parser, value, base);
	return value;
}

static int64_t fx_size_product(struct parser *parser)
{
	int64_t value = fx_size_power(parser);
	for (;;) {
		if (fx_size_take(parser, "//") || fx_size_take(parser, "/")) {
			value = floor_divide(parser, value, fx_size_power(parser));
		} else if (fx_size_take(parser, "*")) {
			value = fx_size_multiply(parser, value, fx_size_power(parser));
		} else if (fx_size_take(parser, "%")) {
			int64_t by = fx_size_power(parser);
			value = by > 0 ? value - by * floor_divide(parser, value, by) : fault(parser);
		} else {
			return value;
		}
	}
}

static int64_t fx_size_sum(struct parser *parser)
{
	int64_t value = fx_size_product(parser);
	for (;;) {
		bool minus = peek(parser) == '-';
		if (!fx_size_take(parser, "+") && !fx_size_take(parser, "-"))
			return value;
		int64_t more = fx_size_product(parser);
		if (__builtin_add_overflow(value, minus ? -more : more, &value) || value > VALUE_MOST || value < -VALUE_MOST)
			return fault(parser);
	}
}

bool fx_size(const struct fx_sizes *sizes, const char *text, const char *end, int64_t *value, const char **symbol,
	size_t *length)
{
	struct parser parser = { .sizes = sizes, .at = text, .end = end };
	int64_t got = fx_size_sum(&parser);
	bool whole = peek(&parser) == '\0';
	*symbol = parser.symbol;
	*length = parser.length;
	*value = !parser.wrong && whole && got >= 0 ? got : 0;
	return !parser.wrong && whole && got >= 0;
}
