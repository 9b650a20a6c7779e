/* state.c: members of a plan file, and what is said of them. */
#include <inttypes.h>
#include <stdarg.h>

#include "members.h"
#include "state.h"

enum status check_wrong(struct check *check, const char *format, ...)
{
	va_list arguments;
	char text[400];
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return fail(check->error, INFEASIBLE, "%s", text);
}

void check_passed(const struct check *check, const char *what)
{
	report_passed(check->report, what);
}

void check_skipped(const struct check *check, const char *what)
{
	report_skipped(check->report, what);
}

void check_trusted(const struct check *check, const char *what)
{
	if (check->report)
		fprintf(check->report, "--  taken on trust: %s\n", what);
}

const json_t *check_member(const struct check *check, const char *part, const char *key)
{
	return json_object_get(json_object_get(check->plan, part), key);
}

enum status check_integer(struct check *check, const char *part, const char *key, int64_t *value)
{
	const json_t *number = check_member(check, part, key);
	if (!json_is_integer(number))
		return refuse(check->error, "not a plan file: \"%s\".\"%s\" is not an integer", part, key);
	*value = json_integer_value(number);
	return OK;
}

enum status check_expect(struct check *check, const char *part, const char *key, int64_t expected)
{
	int64_t value;
	TRY(check_integer(check, part, key, &value));
	if (value != expected)
		return check_wrong(check, "%s.%s is %" PRId64 ", but it must be %" PRId64, part, key, value, expected);
	return OK;
}
