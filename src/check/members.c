/* members.c: see members.h. */
#include "members.h"

#include <math.h>

#define PATH_MOST 200

struct walk { const struct member_row *row; size_t rows; unsigned has; struct error *error; char path[PATH_MOST]; };

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = words; *word && !strpbrk(word, " ?") && (at = strstr(at, word)); at += length)
		if ((at == words || at[-1] == ' ') && (strchr(" ?", at[length]) || !at[length]))
			return true;
	return false;
}

/* *any: the object may have members of any name. */
static bool may_have(const struct walk *walk, const char *name, bool *any)
{
	bool fine = false;
	for (size_t i = 0; i < walk->rows && !fine; i++) {
		const struct member_row *row = &walk->row[i];
		bool here = !(row->with & ~walk->has) && strcmp(row->path, walk->path) == 0;
		*any |= here && !row->names;
		fine = here && (!row->names || has_word(row->names, name));
	}
	return fine;
}

/* Whether a row says what the objects here have. */
static bool knows(const struct walk *walk)
{
	FOR_SIZE(i, walk->rows)
		if (strcmp(walk->row[i].path, walk->path) == 0)
			return true;
	return false;
}

/* The first of the names without a question mark that the object lacks; NULL: none. */
static const char *missing(const json_t *object, const char *names, char word[60])
{
	for (const char *at = names; *at; at += strspn(at, " ")) {
		size_t length = strcspn(at, " ");
		snprintf(word, 60, "%.*s", (int)length, at);
		if (at[length - 1] != '?' && !json_object_get(object, word))
			return word;
		at += length;
	}
	return NULL;
}

static enum status check_missing(const struct walk *walk, const json_t *object)
{
	char word[60];
	FOR_SIZE(i, walk->rows) {
		const struct member_row *row = &walk->row[i];
		bool sure = row->with == 0 || (walk->has != ~0u && !(row->with & ~walk->has));
		if (sure && row->names && strcmp(row->path, walk->path) == 0 && missing(object, row->names, word))
			return fail(walk->error, INFEASIBLE, "%.200s%s%.60s is missing", walk->path, *walk->path ? "." : "", word);
	}
	return OK;
}

static enum status walk_through(struct walk *walk, const json_t *value);

static enum status walk_object(struct walk *walk, const json_t *object)
{
	size_t length = strlen(walk->path);
	const char *name;
	json_t *value;
	TRY(check_missing(walk, object));
	json_object_foreach((json_t *)(uintptr_t)object, name, value) {
		bool any = false;
		if (!may_have(walk, name, &any))
			return fail(walk->error, INFEASIBLE, "%.200s%s%.60s is not a member that such a file has here", walk->path,
				length ? "." : "", name);
		snprintf(walk->path + length, PATH_MOST - length, "%s%.60s", length ? "." : "", any ? "*" : name);
		if (!any || knows(walk))
			TRY(walk_through(walk, value));
		walk->path[length] = '\0';
	}
	return OK;
}

static enum status walk_through(struct walk *walk, const json_t *value)
{
	size_t length = strlen(walk->path), i;
	const json_t *item;
	enum status status = OK;
	if (json_is_object(value))
		return walk_object(walk, value);
	if (json_is_real(value) && json_real_value(value) == 0 && signbit(json_real_value(value)))
		return fail(walk->error, INFEASIBLE, "%.200s is -0, which is written nowhere in such a file", walk->path);
	if (!json_is_array(value))
		return OK;
	snprintf(walk->path + length, PATH_MOST - length, "[]");
	json_array_foreach(value, i, item)
		if (status == OK && (json_is_object(item) || json_is_array(item) || json_is_real(item)))
			status = walk_through(walk, item);
	walk->path[length] = '\0';
	return status;
}

enum status members_check(
	const json_t *file, const struct member_row *rows, size_t count, unsigned has, struct error *error)
{
	struct walk walk = { rows, count, has, error, "" };
	return walk_through(&walk, file);
}
