/* json.c: a snapshot that somebody kept as JSON is read as the pickle that it was. */
#include "src/base/json.h"

#include "snapshot.h"
#include "src/base/streams.h"

#define BYTES_MOST ((size_t)1 << 30)

/* So many bytes of a number, the lowest first. */
static void snapshot_json_number(int64_t number, int bytes, FILE *stream)
{
	for (; bytes > 0; bytes--, number >>= 8)
		fputc((int)(number & 0xff), stream);
}

static void snapshot_json_text(const char *text, FILE *stream)
{
	fputc('X', stream);
	snapshot_json_number((int64_t)strlen(text), 4, stream);
	fputs(text, stream);
}

/* Real numbers say nothing here. */
static void snapshot_json_value(json_t *value, FILE *stream)
{
	const char *key;
	json_t *item;
	size_t i;
	if (json_is_object(value)) {
		fputs("}(", stream);
		json_object_foreach(value, key, item) {
			snapshot_json_text(key, stream);
			snapshot_json_value(item, stream);
		}
		fputc('u', stream);
	} else if (json_is_array(value)) {
		fputs("](", stream);
		json_array_foreach(value, i, item)
			snapshot_json_value(item, stream);
		fputc('e', stream);
	} else if (json_is_string(value)) {
		snapshot_json_text(json_string_value(value), stream);
	} else if (json_is_integer(value)) {
		fputs("\x8a\x08", stream);
		snapshot_json_number(json_integer_value(value), 8, stream);
	} else {
		fputc(json_is_true(value) ? 0x88 : json_is_false(value) ? 0x89 : 'N', stream);
	}
}

enum status snapshot_of_input(struct input *input, bool trace, struct snapshot *snapshot, struct error *error)
{
	if (trace || !input_begins_json(input))
		return (trace ? trace_read : snapshot_read)(input_source(input), snapshot, error);
	size_t size, length = 0;
	char *pickle = NULL, *text = input_all(input, BYTES_MOST, &size, error);
	*snapshot = (struct snapshot){ 0 };
	json_t *value = text ? json_read_text(text, size, "a memory snapshot", error) : NULL;
	mem_free(text);
	if (!value)
		return error->status;
	FILE *stream = text_stream(&pickle, &length);
	bool written = stream;
	if (stream) {
		fputs("\x80\x02", stream);
		snapshot_json_value(value, stream);
		fputc('.', stream);
		written = fclose(stream) == 0;
	}
	json_decref(value);
	struct text_left left = { pickle, length };
	enum status status = written ? snapshot_read(source_of_text(&left), snapshot, error) : fail_memory(error);
	free(pickle);
	return status;
}
