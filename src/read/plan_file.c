/* plan_file.c: plan files as JSON. */
#include "plan_file.h"

#include "input.h"
#include "src/base/json_memory.h"

#define PLAN_BYTES_MAX ((size_t)1 << 30)

json_t *plan_file_read(const char *path, struct error *error)
{
	struct input *input = input_open(path, error);
	size_t size;
	char *text = input ? input_all(input, PLAN_BYTES_MAX, &size, error) : NULL;
	json_error_t problem;
	if (input)
		input_close(input);
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
