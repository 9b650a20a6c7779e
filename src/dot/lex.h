/* lex.h: tokens of the DOT language, for looking at a text before libcgraph parses it. */
#pragma once

#include "solver/base/base.h"

enum token_kind {
	TOKEN_END,
	TOKEN_SPACE,     /* white space, comments and lines that begin with # */
	TOKEN_NAME,      /* an unquoted id or keyword */
	TOKEN_NUMBER,
	TOKEN_STRING,    /* "..." */
	TOKEN_HTML,      /* <...> */
	TOKEN_EDGE,      /* -> or -- */
	TOKEN_MARK,      /* one of { } [ ] ; , = : + */
	TOKEN_BROKEN     /* a string, comment or <...> without an end, or a character that has no place here */
};

struct token {
	enum token_kind kind;
	const char *begin;
	size_t length;
	unsigned line;       /* where it begins */
};

struct lexer {
	const char *at, *end;
	unsigned line;       /* of *at, from 1 */
	bool line_start;     /* nothing but the line's beginning before *at */
};

/* The next token; spaces are tokens too, so that tokens cover the text. Linear. */
struct token lex_next(struct lexer *lexer);

static inline bool token_is(const struct token *token, char mark)
{
	return token->kind == TOKEN_MARK && *token->begin == mark;
}

static inline bool token_atom(const struct token *token)
{
	return token->kind >= TOKEN_NAME && token->kind <= TOKEN_HTML;
}
