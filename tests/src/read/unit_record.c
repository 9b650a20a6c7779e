/* unit_record.c: a line's values are those that jansson reads, and what isn't JSON is refused as jansson refuses it. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "src/base/json.h"
#include "src/read/record.h"
#include "tests/common/support.h"

/* Whether both say the same of a value. Members may stand in another order. */
static bool same(const struct value *value, const json_t *json)
{
	static const uint8_t kinds[] = { [JSON_OBJECT] = VALUE_OBJECT,
		[JSON_ARRAY] = VALUE_LIST,
		[JSON_STRING] = VALUE_TEXT,
		[JSON_INTEGER] = VALUE_INTEGER,
		[JSON_REAL] = VALUE_REAL,
		[JSON_TRUE] = VALUE_TRUE,
		[JSON_FALSE] = VALUE_FALSE,
		[JSON_NULL] = VALUE_NULL };
	size_t i = 0;
	bool fine = json && value->kind == kinds[json_typeof(json)];
	if (!fine)
		return false;
	if (json_is_string(json))
		return strcmp(value->text, json_string_value(json)) == 0;
	if (json_is_integer(json))
		return value->integer == json_integer_value(json);
	if (json_is_real(json))
		return memcmp(&value->real, &(double){ json_real_value(json) }, sizeof value->real) == 0;
	if (value->kind == VALUE_LIST || value->kind == VALUE_OBJECT)
		for EACH_INSIDE(item, value)
			fine = fine && same(item, item->key ? json_object_get(json, item->key) : json_array_get(json, i++));
	return fine && (value->kind != VALUE_LIST || value->items == json_array_size(json)) &&
		(value->kind != VALUE_OBJECT || value->items == json_object_size(json));
}

/* Each member's bytes are a part of the line as it was. */
static bool raw_is_there(const struct value *object, const char *line)
{
	char copy[1024];
	for EACH_INSIDE(member, object->kind == VALUE_OBJECT ? object : NULL) {
		record_raw(member, copy);
		copy[member->end - member->begin] = '\0';
		if (!strstr(line, copy) || copy[0] != '"')
			return false;
	}
	return true;
}

static bool agrees(struct record *record, const char *line)
{
	char changed[1024];
	struct error error = { 0 };
	json_error_t problem;
	json_t *json = json_loadb(line, strlen(line), JSON_REJECT_DUPLICATES, &problem);
	enum status status = record_read(record, memcpy(changed, line, strlen(line) + 1), strlen(line), &error);
	bool fine = json ? status == OK && same(record->value, json) && raw_is_there(record->value, line)
		: status == BAD_INPUT && strstr(error.text, json_wrong(&problem)) != NULL;
	if (!fine)
		printf("%s\n  jansson: %s; read: %s\n", line, json ? "fine" : problem.text, status == OK ? "fine" : error.text);
	json_decref(json);
	return fine;
}

static const char *const lines[] = {
	"{\"k\":\"tensor\",\"id\":\"h.0\",\"bytes\":8192,\"dtype\":\"i64\",\"shape\":[1,1024],\"kind\":\"input\"}",
	" { \"a\" : [ ] , \"b\" : { } , \"c\" : [ null , true , false ] }\t",
	"{\"a\":-0,\"b\":0,\"c\":999999999999999999,\"d\":9223372036854775807,\"e\":-9223372036854775808}",
	"{\"big\":9223372036854775808}",
	"{\"a\":1.5e3,\"b\":-0.0,\"c\":1E400}",
	"{\"a\":01}",
	"{\"a\":-}",
	"{\"a\":1.}",
	"{\"a\":+1}",
	"{\"a\":.5}",
	"{\"a\":1e}",
	"{\"a\":0x1}",
	"{\"a\\u0062\":\"\\n\\t\\\"\\\\\\/\"}",
	"{\"a\":\"\\ud83d\\ude00\"}",
	"{\"a\":\"\\ud83d\"}",
	"{\"a\":\"\\u0000\"}",
	"{\"a\":\"\\x\"}",
	"{\"a\":\"gr\xc3\xbc\xc3\x9f\"}",
	"{\"a\":\"\xc3\"}",
	"{\"a\":\"\xff\"}",
	"{\"a\":\"\x01\"}",
	"{\"a\":\"b",
	"{\"a\":\"b\\",
	"{\"a\":\"b\\\"",
	"{\"a\":1,\"a\":2}",
	"{\"a\":1,\"\\u0061\":2}",
	"{\"a\":{\"b\":1,\"b\":2}}",
	"{\"a\":1,}",
	"{,}",
	"[1,]",
	"[,1]",
	"[1 2]",
	"{\"a\" 1}",
	"{\"a\":}",
	"{a:1}",
	"{\"a\":nul}",
	"{\"a\":nullx}",
	"{\"a\":True}",
	"{} {}",
	"{}x",
	"[",
	"{",
	"]",
	"\"a\"",
	"7",
	"null",
	"[[[[{\"a\":[[]]}]]]]",
	"[1,[2,{\"b\":[3,4]},5],6]",
	"{\"\":\"\"}",
};

Test(record, values_and_refusals_are_janssons)
{
	struct record record = { 0 };
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cr_expect(agrees(&record, lines[i]));
	record_free(&record);
}

/* Lines of the table joined and changed at random; more members than are compared pair by pair. */
Test(record, so_are_those_of_random_lines)
{
	static const char bytes[] = "{}[]\",:\\ 0123456789-+.eEtrufalsn\x7f\x80\xc3\xa4\x01ud8";
	uint64_t seed = test_seed();
	struct record record = { 0 };
	for (uint32_t round = 0; round < test_rounds(40000, 4000000); round++) {
		char line[600];
		size_t used = (size_t)snprintf(line, sizeof line, "%s", lines[random_next(&seed) % (sizeof lines / sizeof *lines)]);
		if (random_next(&seed) % 4 == 0)
			used = (size_t)snprintf(line, sizeof line, "{\"x\":%s,\"y\":[%s]}",
				lines[random_next(&seed) % (sizeof lines / sizeof *lines)],
				lines[random_next(&seed) % (sizeof lines / sizeof *lines)]);
		for (uint64_t changes = random_next(&seed) % 4; changes; changes--)
			line[random_next(&seed) % used] = bytes[random_next(&seed) % (sizeof bytes - 1)];
		cr_assert(agrees(&record, line));
	}
	record_free(&record);
}

Test(record, many_members_and_deep_lists)
{
	struct record record = { 0 };
	struct error error = { 0 };
	static char line[40000];
	for (int twice = 0; twice < 2; twice++) {
		size_t used = (size_t)snprintf(line, sizeof line, "{");
		for (int i = 0; i < 1000; i++)
			used += (size_t)snprintf(
				line + used, sizeof line - used, "%s\"member %d\":%d", i ? "," : "", twice && i == 999 ? 3 : i, i);
		used += (size_t)snprintf(line + used, sizeof line - used, "}");
		cr_expect_eq(record_read(&record, line, used, &error), twice ? BAD_INPUT : OK);
		if (!twice)
			cr_expect_eq(value_integer(value_member(record.value, "member 999")), 999);
	}
	for (size_t depth = 100; depth <= 10000; depth *= 100) {
		memset(line, '[', depth);
		memset(line + depth, ']', depth);
		line[2 * depth] = '\0';
		cr_expect_eq(record_read(&record, line, 2 * depth, &error), depth == 100 ? OK : BAD_INPUT);
	}
	record_free(&record);
}

Test(record, a_refused_allocation_is_told)
{
	EACH_REFUSAL(refused) {
		struct record record = { 0 };
		struct error error = { 0 };
		char line[] = "{\"a\\n\":[1,2,3,4,5,6,7,8,9,1.5,\"\\t\"],\"b\":{\"c\":\"\\u00e4\"}}";
		refused.status = record_read(&record, line, strlen(line), &error);
		record_free(&record);
	}
}
