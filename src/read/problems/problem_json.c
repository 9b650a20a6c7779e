/* problem_json.c: reads the contest's JSON: a scanner for lists of lists of integers, which is what such files consist of.
 *
 * Files have tens of millions of characters, nearly all of them numbers: no tree is built of them.
 */
#include <string.h>

#include "problem_json.h"

struct scan {
	const char *at, *end;
	unsigned line;
	enum status status;        /* not OK: everything returns at once */
	struct error *error;
};

/* Rows of integers; row i holds value[start[i]] .. value[start[i + 1] - 1]. */
struct rows {
	int64_t *value;
	size_t *start;
	size_t count, values, row_room, value_room;
	bool given;
};

struct document {
	struct rows intervals, costs, usages, ends, pairs;
	int64_t limit;
	char *name;
	bool given;
};

/* ---- scanning -------------------------------------------------------------------------------------------- */

static bool wrong(struct scan *scan, const char *text)
{
	if (scan->status == OK) {
		scan->status = fail(scan->error, BAD_INPUT, "%s", text);
		scan->error->line = scan->line;
	}
	return false;
}

static bool out_of_memory(struct scan *scan)
{
	scan->status = fail_memory(scan->error);
	return false;
}

/* The next character that is not white space; '\0' at the end. */
static char look(struct scan *scan)
{
	while (scan->at < scan->end && (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r'))
		scan->line += *scan->at++ == '\n';
	return scan->at < scan->end ? *scan->at : '\0';
}

static bool accept(struct scan *scan, char wanted)
{
	if (scan->status != OK || look(scan) != wanted)
		return false;
	scan->at++;
	return true;
}

static bool expect(struct scan *scan, char wanted)
{
	char text[] = "expected '?'";
	text[sizeof text - 3] = wanted;
	return accept(scan, wanted) || wrong(scan, look(scan) ? text : "the file is truncated");
}

/* A string as it stands, escapes kept. */
static bool take_string(struct scan *scan, const char **text, size_t *length)
{
	if (!expect(scan, '"'))
		return false;
	*text = scan->at;
	while (scan->at < scan->end && *scan->at != '"' && *scan->at != '\n')
		scan->at += *scan->at == '\\' && scan->end - scan->at > 1 ? 2 : 1;
	if (scan->at >= scan->end || *scan->at != '"')
		return wrong(scan, "a string does not end");
	*length = (size_t)(scan->at++ - *text);
	return true;
}

static bool is_digit(const struct scan *scan)
{
	return scan->at < scan->end && *scan->at >= '0' && *scan->at <= '9';
}

static bool take_integer(struct scan *scan, int64_t *value)
{
	bool negative = look(scan) == '-';
	uint64_t sum = 0;
	scan->at += negative;
	if (!is_digit(scan))
		return wrong(scan, "expected an integer");
	for (; is_digit(scan); scan->at++) {
		uint64_t digit = (uint64_t)(*scan->at - '0');
		if (sum > (INT64_MAX - digit) / 10)
			return wrong(scan, "an integer does not fit 64 bits: its magnitude is above 2^63 - 1");
		sum = 10 * sum + digit;
	}
	if (scan->at < scan->end && (*scan->at == '.' || *scan->at == 'e' || *scan->at == 'E'))
		return wrong(scan, "expected an integer, not a fraction");
	*value = negative ? -(int64_t)sum : (int64_t)sum;
	return true;
}

/* Passes over a value of any kind. */
static bool skip_value(struct scan *scan)
{
	size_t depth = 0, length;
	const char *text;
	do {
		char next = look(scan);
		if (next == '"') {
			if (!take_string(scan, &text, &length))
				return false;
		} else if (next == '\0') {
			return wrong(scan, "the file is truncated");
		} else {
			if (depth == 0 && (next == ']' || next == '}' || next == ','))
				return wrong(scan, "expected a value");
			depth += next == '[' || next == '{';
			depth -= next == ']' || next == '}';
			scan->at++;
			while (depth == 0 && next != ']' && next != '}' && scan->at < scan->end && !strchr(" \t\r\n,]}", *scan->at))
				scan->at++;
		}
	} while (depth > 0);
	return true;
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

static bool add_value(struct scan *scan, struct rows *rows, int64_t value)
{
	if (!mem_reserve(&rows->value, &rows->value_room, rows->values + 1, sizeof *rows->value))
		return out_of_memory(scan);
	rows->value[rows->values++] = value;
	return true;
}

/* Ends a row, or, at first, begins row 0. */
static bool mark_row(struct scan *scan, struct rows *rows, size_t count)
{
	if (!mem_reserve(&rows->start, &rows->row_room, count + 1, sizeof *rows->start))
		return out_of_memory(scan);
	rows->start[count] = rows->values;
	rows->count = count;
	return true;
}

static bool take_row(struct scan *scan, struct rows *rows)
{
	int64_t value;
	if (!expect(scan, '['))
		return false;
	if (accept(scan, ']'))
		return true;
	do {
		if (!take_integer(scan, &value) || !add_value(scan, rows, value))
			return false;
	} while (accept(scan, ','));
	return expect(scan, ']');
}

static bool take_rows(struct scan *scan, struct rows *rows)
{
	if (rows->given)
		return wrong(scan, "a key stands twice");
	rows->given = true;
	if (!mark_row(scan, rows, 0) || !expect(scan, '['))
		return false;
	if (accept(scan, ']'))
		return true;
	do {
		if (rows->count == UINT32_MAX / 4)
			return wrong(scan, "too many rows");
		if (!take_row(scan, rows) || !mark_row(scan, rows, rows->count + 1))
			return false;
	} while (accept(scan, ','));
	return expect(scan, ']');
}

/* ---- keys ---------------------------------------------------------------------------------------------------- */

typedef bool take_key(struct scan *scan, struct document *document, const char *key, size_t length);

static bool is(const char *key, size_t length, const char *name)
{
	return length == strlen(name) && memcmp(key, name, length) == 0;
}

static bool take_object(struct scan *scan, struct document *document, take_key *take)
{
	const char *key;
	size_t length;
	if (!expect(scan, '{'))
		return false;
	if (accept(scan, '}'))
		return true;
	do {
		if (!take_string(scan, &key, &length) || !expect(scan, ':') || !take(scan, document, key, length))
			return false;
	} while (accept(scan, ','));
	return expect(scan, '}');
}

static bool node_key(struct scan *scan, struct document *document, const char *key, size_t length)
{
	if (is(key, length, "intervals"))
		return take_rows(scan, &document->intervals);
	if (is(key, length, "costs"))
		return take_rows(scan, &document->costs);
	if (is(key, length, "usages"))
		return take_rows(scan, &document->usages);
	return skip_value(scan);
}

static bool edge_key(struct scan *scan, struct document *document, const char *key, size_t length)
{
	if (is(key, length, "nodes"))
		return take_rows(scan, &document->ends);
	if (is(key, length, "costs"))
		return take_rows(scan, &document->pairs);
	return skip_value(scan);
}

static bool take_name(struct scan *scan, struct document *document)
{
	const char *text;
	size_t length;
	if (document->name)
		return wrong(scan, "a key stands twice");
	if (!take_string(scan, &text, &length))
		return false;
	document->name = mem_alloc(length + 1, 1);
	if (!document->name)
		return out_of_memory(scan);
	memcpy(document->name, text, length);
	return true;
}

static bool problem_key(struct scan *scan, struct document *document, const char *key, size_t length)
{
	if (is(key, length, "nodes"))
		return take_object(scan, document, node_key);
	if (is(key, length, "edges"))
		return take_object(scan, document, edge_key);
	if (is(key, length, "name"))
		return take_name(scan, document);
	if (!is(key, length, "usage_limit"))
		return skip_value(scan);
	if (look(scan) == 'n')
		return skip_value(scan);   /* null: no limit */
	return take_integer(scan, &document->limit) && (document->limit >= 0 || wrong(scan, "usage_limit is negative"));
}

static bool top_key(struct scan *scan, struct document *document, const char *key, size_t length)
{
	if (!is(key, length, "problem"))
		return skip_value(scan);
	document->given = true;
	return take_object(scan, document, problem_key);
}

/* ---- the problem ------------------------------------------------------------------------------------------------ */

/* Rows of two integers, as two arrays. */
static bool split(const struct rows *rows, int64_t *left, int64_t *right)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->start[i + 1] - rows->start[i] != 2)
			return false;
		left[i] = rows->value[rows->start[i]];
		right[i] = rows->value[rows->start[i] + 1];
	}
	return true;
}

static enum status take_nodes(struct document *document, struct shard_problem *problem, struct error *error)
{
	const struct rows *costs = &document->costs;
	size_t nodes = costs->count;
	problem->first = mem_alloc(nodes + 1, sizeof *problem->first);
	problem->begin = mem_alloc(nodes, sizeof *problem->begin);
	problem->end = mem_alloc(nodes, sizeof *problem->end);
	NEED_IN(error, problem->first && problem->begin && problem->end);
	if (document->usages.count != nodes || document->intervals.count != nodes)
		return fail(error, BAD_INPUT, "costs of %zu nodes, usages of %zu, intervals of %zu", nodes, document->usages.count,
			document->intervals.count);
	if (costs->values > UINT32_MAX / 2)
		return fail(error, BAD_INPUT, "too many strategies");
	for (size_t i = 0; i < nodes; i++) {
		problem->first[i + 1] = (uint32_t)costs->start[i + 1];
		if (costs->start[i + 1] != document->usages.start[i + 1])
			return fail(error, BAD_INPUT, "node %zu has more costs than usages, or fewer", i);
	}
	if (!split(&document->intervals, problem->begin, problem->end))
		return fail(error, BAD_INPUT, "an interval is not of the form [begin, end]");
	problem->nodes = (uint32_t)nodes;
	return OK;
}

static enum status take_edges(struct document *document, struct shard_problem *problem, struct error *error)
{
	const struct rows *ends = &document->ends;
	problem->from = mem_alloc(ends->count, sizeof *problem->from);
	problem->to = mem_alloc(ends->count, sizeof *problem->to);
	NEED_IN(error, problem->from && problem->to);
	if (document->pairs.count != ends->count)
		return fail(error, BAD_INPUT, "there are costs of %zu edges, but ends of %zu", document->pairs.count, ends->count);
	for (size_t i = 0; i < ends->count; i++) {
		const int64_t *end = ends->value + ends->start[i];
		if (ends->start[i + 1] - ends->start[i] != 2 || end[0] < 0 || end[0] >= problem->nodes || end[1] < 0
		    || end[1] >= problem->nodes)
			return fail(error, BAD_INPUT, "edge %zu does not join two nodes", i);
		problem->from[i] = (uint32_t)end[0];
		problem->to[i] = (uint32_t)end[1];
	}
	problem->edges = (uint32_t)ends->count;
	return OK;
}

/* Moves the document's arrays into the problem. */
static enum status build(struct document *document, struct shard_problem *problem, struct error *error)
{
	if (!document->given)
		return fail(error, BAD_INPUT, "no \"problem\": not a sharding problem");
	if (!document->costs.given || !document->usages.given || !document->intervals.given)
		return fail(error, BAD_INPUT, "the nodes' costs, usages or intervals are missing");
	TRY(take_nodes(document, problem, error));
	TRY(take_edges(document, problem, error));
	problem->cost = document->costs.value;
	problem->usage = document->usages.value;
	problem->pair = document->pairs.value;
	problem->table = document->pairs.start;
	problem->name = document->name;
	problem->limit = document->limit;
	document->costs.value = document->usages.value = document->pairs.value = NULL;
	document->pairs.start = NULL;
	document->name = NULL;
	if (!problem->table && !(problem->table = mem_alloc(1, sizeof *problem->table)))
		return fail_memory(error);
	return shard_problem_valid(problem, error);
}

enum status problem_json_read(const char *text, size_t size, struct shard_problem *problem, struct error *error)
{
	struct document document = { .limit = -1 };
	struct scan scan = { text, text + size, 1, OK, error };
	*problem = (struct shard_problem) { 0 };
	*error = (struct error) { 0 };
	if (look(&scan) != '{')
		wrong(&scan, "not a JSON object");
	if (take_object(&scan, &document, top_key) && look(&scan))
		wrong(&scan, "something follows the object");
	enum status status = scan.status == OK ? build(&document, problem, error) : scan.status;
	struct rows *const rows[] = { &document.intervals, &document.costs, &document.usages, &document.ends, &document.pairs };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		mem_free(rows[i]->value);
		mem_free(rows[i]->start);
	}
	mem_free(document.name);
	return status;
}
