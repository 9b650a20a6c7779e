/* unit_json.c: what the writer of JSON puts between items, and that jansson reads what it wrote. */
#include <jansson.h>
#include <stdlib.h>

#include "src/base/json.h"
#include "tests/common/support.h"

static char *written;
static size_t length;

static struct json begin(bool spaced)
{
	return (struct json){ .stream = open_memstream(&written, &length), .spaced = spaced };
}

static void expect(struct json *json, const char *text)
{
	fclose(json->stream);
	cr_assert_str_eq(written, text);
	free(written);
}

Test(json, commas_colons_and_brackets_follow_from_what_is_open)
{
	struct json json = begin(true);
	json_open_object(&json, NULL);
	json_write_text(&json, "name", "a\"b\\\n\x01");
	json_write_text(&json, "nothing", NULL);
	json_open_array(&json, "sizes");
	json_write_integer(&json, NULL, INT64_MIN);
	json_write_bool(&json, NULL, true);
	json_open_object(&json, NULL);
	json_close(&json);
	json_close(&json);
	json_write_decimal(&json, "seconds", 1500, 3);
	json_write_real(&json, "gap", 0.25, 1);
	json_end(&json);
	expect(&json,
		"{\"name\": \"a\\\"b\\\\\\n\\u0001\", \"nothing\": null, \"sizes\": [-9223372036854775808, true, {}], "
		"\"seconds\": 1.500, \"gap\": 0.2}\n");
}

Test(json, lines_are_broken_where_they_are_asked_for)
{
	struct json json = begin(false);
	json_open_array(&json, NULL);
	for (int i = 0; i < 2; i++) {
		json_new_line(&json, i);
		json_write_integer(&json, NULL, i);
	}
	json_new_line(&json, 0);
	json_end(&json);
	json_write_raw(&json, NULL, "{}");
	json_end(&json);
	expect(&json, "[\n0,\n 1\n]\n{}\n");
}

/* Arrays and objects at random, as deep as may be: jansson counts as many values as were written. */
static int write_random(struct json *json, uint64_t *state, int depth, bool keyed)
{
	int count = (int)(random_next(state) % 5), all = 0;
	for (int i = 0; i < count; i++) {
		char key[16];
		snprintf(key, sizeof key, "k%d", i);
		int kind = depth + 1 < JSON_DEPTH ? (int)(random_next(state) % 4) : 3;
		all++;
		if (kind == 0)
			json_open_array(json, keyed ? key : NULL);
		else if (kind == 1)
			json_open_object(json, keyed ? key : NULL);
		else
			json_write_integer(json, keyed ? key : NULL, i);
		if (kind < 2) {
			all += write_random(json, state, depth + 1, kind == 1);
			json_close(json);
		}
	}
	return all;
}

static int count_values(const json_t *value)
{
	int all = 0;
	for (size_t i = 0; i < json_array_size(value); i++)
		all += 1 + count_values(json_array_get(value, i));
	void *at = json_object_iter((json_t *)(uintptr_t)value);
	for (; json_is_object(value) && at; at = json_object_iter_next((json_t *)(uintptr_t)value, at))
		all += 1 + count_values(json_object_iter_value(at));
	return all;
}

Test(json, whatever_is_opened_is_read_back)
{
	uint64_t state = test_seed();
	for (int round = 0; round < 300; round++) {
		struct json json = begin(round % 2);
		json_open_array(&json, NULL);
		int all = write_random(&json, &state, 1, false);
		json_end(&json);
		fclose(json.stream);
		json_t *read = json_loads(written, 0, NULL);
		cr_assert_not_null(read, "%s", written);
		cr_assert_eq(count_values(read), all);
		json_decref(read);
		free(written);
	}
}
