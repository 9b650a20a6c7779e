/* plan_file.c: plan files as JSON. */
#include "plan_file.h"

#include "src/base/json.h"

#define PLAN_BYTES_MAX ((size_t)1 << 30)

json_t *plan_file_take(struct input *input, struct error *error)
{
	size_t size;
	if (!input_begins_json(input)) {
		const char *begin = input_peek(input, &size);
		return json_read_text(begin, size, "a plan file", error); /* which says what is wrong with it */
	}
	char *text = input_all(input, PLAN_BYTES_MAX, &size, error);
	if (!text)
		return NULL;
	json_t *plan = json_read_text(text, size, "a plan file", error);
	mem_free(text);
	return plan;
}

json_t *plan_file_read(const char *path, struct error *error)
{
	struct input *input = input_open(path, error);
	json_t *plan = input ? plan_file_take(input, error) : NULL;
	input_close(input);
	return plan;
}
