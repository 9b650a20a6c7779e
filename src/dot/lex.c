/* lex.c: the lexical rules of Graphviz 2.42's lib/cgraph/scan.l. */
#include "lex.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Bytes above 127 are letters, whatever the encoding. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 128;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v';
}

static bool starts_with(const struct lexer *lexer, const char *text)
{
	size_t length = strlen(text);
	return (size_t)(lexer->end - lexer->at) >= length && memcmp(lexer->at, text, length) == 0;
}

static void lex_step(struct lexer *lexer)
{
	lexer->line_start = *lexer->at == '\n';
	lexer->line += lexer->line_start;
	lexer->at++;
}

static bool lex_skip_until(struct lexer *lexer, const char *text)
{
	while (lexer->at < lexer->end && !starts_with(lexer, text))
		lex_step(lexer);
	return lexer->at < lexer->end;
}

/* Spaces and comments in a row; false when a comment has no end. */
static bool lex_skip_space(struct lexer *lexer)
{
	while (lexer->at < lexer->end) {
		if (is_space(*lexer->at)) {
			lex_step(lexer);
		} else if (starts_with(lexer, "//") || (*lexer->at == '#' && lexer->line_start)) {
			lex_skip_until(lexer, "\n");
		} else if (starts_with(lexer, "/*")) {
			lex_step(lexer), lex_step(lexer);
			if (!lex_skip_until(lexer, "*/"))
				return false;
			lex_step(lexer), lex_step(lexer);
		} else {
			return true;
		}
	}
	return true;
}

static bool skip_string(struct lexer *lexer)
{
	for (lex_step(lexer); lexer->at < lexer->end && *lexer->at != '"'; lex_step(lexer))
		if (*lexer->at == '\\' && lexer->at + 1 < lexer->end)
			lex_step(lexer);
	if (lexer->at == lexer->end)
		return false;
	lex_step(lexer);
	return true;
}

static bool skip_html(struct lexer *lexer)
{
	size_t depth = 0;
	do {
		depth += *lexer->at == '<';
		depth -= *lexer->at == '>';
		lex_step(lexer);
	} while (depth && lexer->at < lexer->end);
	return depth == 0;
}

static void skip_number(struct lexer *lexer)
{
	lex_step(lexer);
	while (lexer->at < lexer->end && (is_digit(*lexer->at) || *lexer->at == '.'))
		lex_step(lexer);
}

static bool number_starts(const struct lexer *lexer)
{
	const char *at = lexer->at + (*lexer->at == '-');
	if (at < lexer->end && *at == '.')
		at++;
	return at < lexer->end && is_digit(*at);
}

static enum token_kind lex_scan(struct lexer *lexer)
{
	char c = *lexer->at;
	if (is_space(c) || starts_with(lexer, "//") || starts_with(lexer, "/*") || (c == '#' && lexer->line_start))
		return lex_skip_space(lexer) ? TOKEN_SPACE : TOKEN_BROKEN;
	if (c == '"')
		return skip_string(lexer) ? TOKEN_STRING : TOKEN_BROKEN;
	if (c == '<')
		return skip_html(lexer) ? TOKEN_HTML : TOKEN_BROKEN;
	if (starts_with(lexer, "->") || starts_with(lexer, "--")) {
		lex_step(lexer), lex_step(lexer);
		return TOKEN_EDGE;
	}
	if (number_starts(lexer)) {
		skip_number(lexer);
		return TOKEN_NUMBER;
	}
	lex_step(lexer);
	if (!is_letter(c))
		return c && strchr("{}[];,=:+", c) ? TOKEN_MARK : TOKEN_BROKEN;
	while (lexer->at < lexer->end && (is_letter(*lexer->at) || is_digit(*lexer->at)))
		lex_step(lexer);
	return TOKEN_NAME;
}

struct token lex_next(struct lexer *lexer)
{
	struct token token = { .begin = lexer->at, .line = lexer->line };
	if (lexer->at < lexer->end)
		token.kind = lex_scan(lexer);
	token.length = (size_t)(lexer->at - token.begin);
	return token;
}
