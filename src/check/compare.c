/* compare.c: two objects member by member, and where they first differ. */
#include "members.h"

#include <math.h>

#include "src/base/streams.h"

#define PATH_MOST 300

/* The path grows and shrinks with the walk: path[0..length] is that of the values at hand. */
struct walk {
	const struct free_member *free;
	struct error *error;
	char path[PATH_MOST];
};

static bool compare_is_free(const struct walk *walk, const char *name)
{
	for (const struct free_member *member = walk->free; member->name; member++)
		if (strcmp(member->name, name) == 0)
			return true;
	return false;
}

static enum status compare_compare(struct walk *walk, size_t length, const json_t *file, const json_t *again);

static size_t check_compare_grown(size_t length, int more)
{
	size_t after = length + (more > 0 ? (size_t)more : 0);
	return after < PATH_MOST ? after : PATH_MOST - 1;
}

static size_t into_member(struct walk *walk, size_t length, const char *name)
{
	return check_compare_grown(
		length, snprintf(walk->path + length, PATH_MOST - length, "%s%.60s", length ? "." : "", name));
}

static size_t into_element(struct walk *walk, size_t length, size_t i)
{
	return check_compare_grown(length, snprintf(walk->path + length, PATH_MOST - length, "[%zu]", i));
}

static enum status compare_differs(struct walk *walk, const json_t *file, const json_t *again)
{
	char *ours = json_dumps(file, JSON_ENCODE_ANY | JSON_COMPACT),
		 *theirs = json_dumps(again, JSON_ENCODE_ANY | JSON_COMPACT);
	enum status status = fail(walk->error, INFEASIBLE, "%.200s is %.80s, but what was asked leads to %.80s", walk->path,
		ours ? ours : "nothing", theirs ? theirs : "nothing");
	free(ours);
	free(theirs);
	return status;
}

static enum status compare_objects(struct walk *walk, size_t length, const json_t *file, const json_t *again)
{
	const char *name;
	json_t *value;
	enum status status = OK;
	json_object_foreach((json_t *)(uintptr_t)again, name, value) {
		size_t inner = into_member(walk, length, name);
		if ((length > 0 || !compare_is_free(walk, name)) &&
			(status = compare_compare(walk, inner, json_object_get(file, name), value)) != OK)
			return status;
	}
	json_object_foreach((json_t *)(uintptr_t)file, name, value) {
		into_member(walk, length, name);
		if ((length > 0 || !compare_is_free(walk, name)) && !json_object_get(again, name))
			return fail(walk->error, INFEASIBLE, "%.200s is not a member that a file of this kind has here", walk->path);
	}
	return OK;
}

/* -0.0 is 0.0 in arithmetic, but nothing that is written here. */
static bool is_same(const json_t *file, const json_t *again)
{
	return json_equal(file, again) &&
		(!json_is_real(file) || !signbit(json_real_value(file)) == !signbit(json_real_value(again)));
}

static enum status compare_compare(struct walk *walk, size_t length, const json_t *file, const json_t *again)
{
	walk->path[length] = '\0';
	if (!file)
		return fail(walk->error, INFEASIBLE, "%.200s is missing", walk->path);
	if (json_is_object(file) && json_is_object(again))
		return compare_objects(walk, length, file, again);
	if (!json_is_array(file) || !json_is_array(again) || json_array_size(file) != json_array_size(again))
		return is_same(file, again) ? OK : compare_differs(walk, file, again);
	FOR_SIZE(i, json_array_size(again)) {
		size_t inner = into_element(walk, length, i);
		TRY(compare_compare(walk, inner, json_array_get(file, i), json_array_get(again, i)));
	}
	return OK;
}

enum status compare_files(
	const json_t *file, const json_t *again, const struct free_member *free_members, struct error *error)
{
	struct walk walk = { .free = free_members, .error = error };
	return compare_compare(&walk, 0, file, again);
}

void written_begin(struct written *written)
{
	*written = (struct written){ 0 };
	written->stream = text_stream(&written->text, &written->size);
}

json_t *written_json(struct written *written)
{
	bool whole = written->stream && fclose(written->stream) == 0;
	json_t *json = whole ? json_loadb(written->text, written->size, 0, NULL) : NULL;
	free(written->text);
	return json;
}

void report_passed(FILE *report, const char *what)
{
	if (report)
		fprintf(report, "ok  %s\n", what);
}

void report_skipped(FILE *report, const char *what)
{
	if (report)
		fprintf(report, "--  not looked at: %s\n", what);
}
