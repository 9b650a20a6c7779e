/* normal.c: what libcgraph 2.42 can't take, and what is done about it:
 *
 *   chains a -> b -> ... of more than 2,500 nodes   a partial graph    divided: a -> .. -> x; x -> .. -> b
 *   strings of 16,383 bytes and more                syntax error       divided: "..." + "..."
 *   comments of that length                         syntax error       left out
 *   names, numbers, <html> of that length           syntax error       refused
 *   braces nested thousands of levels deep          a partial graph    refused
 *   many distinct attribute names                   cubic time         refused
 *   byte order mark                                 syntax error       left out
 *   NUL bytes, text that is not UTF-8, 12e          syntax error       refused with a better message */
#include <strings.h>
#include <unistr.h>

#include "lex.h"
#include "normal.h"

#define CHAIN_MOST  1000u    /* edge operators in a piece of a chain */
#define TOKEN_MOST  16000u   /* bytes */
#define PIECE_MOST  8000u    /* bytes of a piece of a string */
#define DEPTH_MOST  1000     /* nested braces */
#define KEYS_MOST   128u     /* distinct attribute names */

struct range { const char *begin, *end; };

/* A chain is divided after a node: the attributes and the node are written once more. */
struct cut { struct range node, attributes; bool done; };

/* A statement being read, one for each level of braces. */
struct statement {
	struct range operand;      /* the node read last */
	struct range attributes;   /* all its [...] */
	size_t first_cut;
	uint32_t edges;            /* since the chain's beginning or last cut */
	bool plain;                /* operand is a node, not a subgraph */
	bool subgraph;             /* operand is `subgraph`, perhaps with a name */
	bool wants_operand;        /* after -> */
	bool wants_more;           /* after : + = and `subgraph` */
};

struct builder {
	struct normal *normal;
	struct error *error;
	const char *source;
	struct statement *statement;   /* [DEPTH_MOST] */
	size_t depth;
	struct cut *cut;               /* done: its statement has ended, attributes is valid */
	size_t cuts, capacity;
	struct names keys;
	size_t room;                   /* of normal->text */
};

static enum status normal_bad(struct builder *builder, unsigned line, const char *text)
{
	builder->error->line = line;
	return fail(builder->error, BAD_INPUT, "%s", text);
}

/* ---- statements ------------------------------------------------------------------- */

/* What a string stands for: without quotes, escaped quotes and continued lines. */
static char *atom_text(struct arena *arena, const struct token *token)
{
	bool string = token->kind == TOKEN_STRING, html = token->kind == TOKEN_HTML;
	char *text = arena_text(arena, token->begin + (string || html), token->length - (string || html ? 2 : 0));
	if (!text || !string)
		return text;
	char *to = text;
	for (const char *from = text; *from; from++) {
		if (from[0] == '\\' && from[1] == '"')
			from++;
		else if (from[0] == '\\' && from[1] == '\n') {
			from++;
			continue;
		} else if (from[0] == '\\' && from[1] == '\\')
			*to++ = *from++;
		*to++ = *from;
	}
	*to = '\0';
	return text;
}

static enum status note_line(struct builder *builder, const struct token *token)
{
	struct normal *normal = builder->normal;
	char *name = atom_text(&normal->arena, token);
	NEED_IN(builder->error, name && names_add(&normal->line, name, token->line) != NONE);
	return OK;
}

/* Ends the statement of the innermost braces: its cuts get the attributes. */
static void normal_finish(struct builder *builder)
{
	struct statement *statement = &builder->statement[builder->depth];
	for (size_t i = statement->first_cut; i < builder->cuts; i++)
		if (!builder->cut[i].done) {
			builder->cut[i].attributes = statement->attributes;
			builder->cut[i].done = true;
		}
	*statement = (struct statement){ .first_cut = builder->cuts };
}

static enum status normal_add_cut(struct builder *builder, struct statement *statement)
{
	if (builder->cuts == builder->capacity) {
		size_t capacity = builder->capacity ? builder->capacity * 2 : 64;
		struct cut *cut = mem_resize(builder->cut, capacity, sizeof *cut);
		NEED_IN(builder->error, cut);
		builder->cut = cut;
		builder->capacity = capacity;
	}
	builder->cut[builder->cuts++] = (struct cut){ .node = statement->operand };
	statement->edges = 0;
	return OK;
}

static enum status take_edge(struct builder *builder)
{
	struct statement *statement = &builder->statement[builder->depth];
	statement->wants_operand = true;
	if (++statement->edges <= CHAIN_MOST || !statement->plain)
		return OK;
	enum status status = normal_add_cut(builder, statement);
	statement->edges = 1;
	return status;
}

static enum status take_atom(struct builder *builder, const struct token *token)
{
	struct statement *statement = &builder->statement[builder->depth];
	const char *end = token->begin + token->length;
	if (statement->wants_more) {
		statement->wants_more = false;
		statement->operand.end = end;
		return OK;
	}
	if (!statement->wants_operand)
		normal_finish(builder);
	statement->wants_operand = false;
	statement->subgraph = statement->wants_more = token->length == 8 && strncasecmp(token->begin, "subgraph", 8) == 0;
	statement->plain = !statement->subgraph;
	statement->operand = (struct range){ token->begin, end };
	return note_line(builder, token);
}

static enum status open_brace(struct builder *builder, const struct token *token)
{
	struct statement *statement = &builder->statement[builder->depth];
	if (!statement->wants_operand && !statement->subgraph)
		normal_finish(builder);
	if (builder->depth + 1 == DEPTH_MOST)
		return normal_bad(builder, token->line, "braces are nested too deeply");
	statement->plain = statement->subgraph = statement->wants_operand = statement->wants_more = false;
	builder->statement[++builder->depth] = (struct statement){ .first_cut = builder->cuts };
	return OK;
}

static void close_brace(struct builder *builder)
{
	normal_finish(builder);
	if (builder->depth)
		builder->depth--;
}

static enum status take_token(struct builder *builder, const struct token *token)
{
	struct statement *statement = &builder->statement[builder->depth];
	if (token->kind == TOKEN_EDGE)
		return take_edge(builder);
	if (token_atom(token))
		return take_atom(builder, token);
	if (token_is(token, '{'))
		return open_brace(builder, token);
	if (token_is(token, '}'))
		close_brace(builder);
	else if (token_is(token, ':') || token_is(token, '+'))
		statement->wants_more = true;
	else if (token_is(token, '=')) {
		statement->wants_more = true;
		statement->plain = false;
	} else if (token_is(token, ';') || token_is(token, ','))
		normal_finish(builder);
	return OK;
}

/* ---- the scan -------------------------------------------------------------------------- */

static enum status check_encoding(struct builder *builder, const char *source, size_t size)
{
	const char *nul = memchr(source, '\0', size), *odd = (const char *)u8_check((const uint8_t *)source, size);
	const char *wrong = nul && (!odd || nul < odd) ? nul : odd;
	unsigned line = 1;
	for (const char *at = source; wrong && at < wrong; at++)
		line += *at == '\n';
	return !wrong ? OK
		: normal_bad(builder, line,
						wrong == nul ? "the text contains a NUL byte"
						: "the text is not UTF-8 (iconv -f LATIN1 -t UTF-8 converts)");
}

static enum status count_key(struct builder *builder, const struct token *key)
{
	char *name = atom_text(&builder->normal->arena, key);
	NEED_IN(builder->error, name && names_add(&builder->keys, name, 0) != NONE);
	if (builder->keys.used > KEYS_MOST)
		return normal_bad(builder, key->line, "more than 128 different attribute names");
	return OK;
}

static enum status check_token(struct builder *builder, const struct token *token, const struct token *before)
{
	if (token->kind == TOKEN_BROKEN)
		return normal_bad(builder, token->line, *token->begin == '"' ? "a string without an end" : *token->begin == '/' ?
			"a comment without an end" : *token->begin == '<' ? "<html> without an end" :
			"a character that is not allowed here: put names in quotes");
	if (token->length >= TOKEN_MOST && token_atom(token) && token->kind != TOKEN_STRING)
		return normal_bad(builder, token->line, "a name or <html> of more than 16,000 bytes");
	if (before->kind == TOKEN_NUMBER && token->kind == TOKEN_NAME)
		return normal_bad(builder, token->line, "a number that runs into a name: put it in quotes");
	return OK;
}

static struct lexer lexer_of(const char *begin, const char *end)
{
	return (struct lexer){ .at = begin, .end = end, .line = 1, .line_start = true };
}

static enum status normal_scan(struct builder *builder, const char *begin, const char *end)
{
	struct lexer lexer = lexer_of(begin, end);
	struct token token, before = { 0 }, solid = { 0 };
	bool brackets = false;
	enum status status = OK;
	while (status == OK && (token = lex_next(&lexer)).kind != TOKEN_END) {
		status = check_token(builder, &token, &before);
		before = token;
		if (status != OK || token.kind == TOKEN_SPACE)
			continue;
		struct statement *statement = &builder->statement[builder->depth];
		if (token_is(&token, '=') && token_atom(&solid))
			status = count_key(builder, &solid);
		solid = token;
		if (status == OK && !brackets && !token_is(&token, '['))
			status = take_token(builder, &token);
		if (token_is(&token, '[')) {
			brackets = true;
			if (!statement->attributes.begin)
				statement->attributes.begin = token.begin;
		} else if (token_is(&token, ']')) {
			brackets = false;
			statement->attributes.end = token.begin + 1;
		}
	}
	while (builder->depth)
		close_brace(builder);
	normal_finish(builder);
	return status;
}

/* ---- the new text --------------------------------------------------------------------------- */

static enum status normal_put(struct builder *builder, const char *text, size_t length)
{
	struct normal *normal = builder->normal;
	if (builder->room - normal->length <= length) {
		size_t room = builder->room * 2 + length + 1;
		char *grown = mem_resize(normal->text, room, 1);
		NEED_IN(builder->error, grown);
		normal->text = grown;
		builder->room = room;
	}
	memcpy(normal->text + normal->length, text, length);
	normal->length += length;
	normal->text[normal->length] = '\0';
	return OK;
}

static enum status put_string(struct builder *builder, const struct token *token)
{
	const char *at = token->begin, *end = token->begin + token->length;
	while ((size_t)(end - at) > PIECE_MOST) {
		const char *stop = at;
		while (stop - at < (ptrdiff_t)PIECE_MOST)
			stop += *stop == '\\' ? 2 : 1;   /* an escape stays whole */
		if (stop >= end - 1)
			break;
		TRY(normal_put(builder, at, (size_t)(stop - at)));
		TRY(normal_put(builder, "\"+\"", 3));
		at = stop;
	}
	return normal_put(builder, at, (size_t)(end - at));
}

static enum status put_space(struct builder *builder, const struct token *token)
{
	enum status status = normal_put(builder, " ", 1);
	for (size_t i = 0; i < token->length && status == OK; i++)
		if (token->begin[i] == '\n')
			status = normal_put(builder, "\n", 1);
	return status;
}

static enum status put_range(struct builder *builder, struct range range)
{
	struct lexer lexer = lexer_of(range.begin, range.end);
	lexer.line_start = range.begin > builder->source && range.begin[-1] == '\n';
	struct token token;
	enum status status = OK;
	while (status == OK && (token = lex_next(&lexer)).kind != TOKEN_END) {
		if (token.kind == TOKEN_STRING)
			status = put_string(builder, &token);
		else if (token.kind == TOKEN_SPACE)
			status = put_space(builder, &token);
		else
			status = normal_put(builder, token.begin, token.length);
	}
	return status;
}

static int normal_by_place(const void *a, const void *b)
{
	const struct cut *one = a, *two = b;
	return one->node.end < two->node.end ? -1 : one->node.end > two->node.end;
}

static enum status normal_rewrite(struct builder *builder, const char *begin, const char *end)
{
	if (builder->cuts)
		qsort(builder->cut, builder->cuts, sizeof *builder->cut, normal_by_place);
	enum status status = OK;
	for (size_t i = 0; i < builder->cuts && status == OK; i++) {
		const struct cut *cut = &builder->cut[i];
		status = put_range(builder, (struct range){ begin, cut->node.end });
		if (status == OK && cut->attributes.end)
			status = put_range(builder, cut->attributes);
		if (status == OK)
			status = normal_put(builder, "; ", 2);
		THEN(status, put_range(builder, cut->node));
		begin = cut->node.end;
		if (builder->normal->length > (size_t)1 << 30)
			return fail(builder->error, BAD_INPUT, "a chain of edges with too many attributes");
	}
	return status == OK ? put_range(builder, (struct range){ begin, end }) : status;
}

enum status normal_form(const char *source, size_t size, struct normal *normal, struct error *error)
{
	*normal = (struct normal){ 0 };
	struct error unused = { 0 };
	struct builder builder = { .normal = normal, .error = error ? error : &unused };
	if (size >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0) {
		source += 3;
		size -= 3;
	}
	builder.source = source;
	enum status status = check_encoding(&builder, source, size);
	builder.statement = mem_alloc(DEPTH_MOST, sizeof *builder.statement);
	if (!builder.statement)
		status = fail_memory(builder.error);
	THEN(status, normal_scan(&builder, source, source + size));
	THEN(status, normal_rewrite(&builder, source, source + size));
	mem_free(builder.statement);
	mem_free(builder.cut);
	names_free(&builder.keys);
	return status;
}

void normal_free(struct normal *normal)
{
	mem_free(normal->text);
	names_free(&normal->line);
	arena_free(&normal->arena);
	*normal = (struct normal){ 0 };
}

unsigned normal_line(const struct normal *normal, const char *name)
{
	uint32_t line = names_find(&normal->line, name);
	return line == NONE ? 0 : line;
}
