/* plan_file.c: plan files as JSON. */
#include "plan_file.h"

#include "src/base/json_memory.h"

#define PLAN_BYTES_MAX ((size_t)1 << 30)

json_t *plan_file_take(struct input *input, struct error *error)
{
	size_t size;
	char *text = input_all(input, PLAN_BYTES_MAX, &size, error);
	json_error_t problem;
	if (!text)
		return NULL;
	json_t *plan = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	mem_free(text);
	if (json_memory_failed()) {
		json_decref(plan);
		fail_memory(error);
		return NULL;
	}
	if (!plan) {
		error->line = problem.line > 0 ? (unsigned)problem.line : 0;
		fail(error, BAD_INPUT, "not a plan file: %s", problem.text);
	}
	return plan;
}

json_t *plan_file_read(const char *path, struct error *error)
{
	struct input *input = input_open(path, error);
	json_t *plan = input ? plan_file_take(input, error) : NULL;
	if (input)
		input_close(input);
	return plan;
}
