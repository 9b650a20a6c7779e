/* snapshot.c: what the readers of snapshots and traces in Python write, as buffers. */
#include <inttypes.h>

#include "snapshot.h"
#include "src/base/json.h"
#include "src/base/safe_text.h"

#define ROW_MOST 96 /* bytes of "id,lower,upper,size" with numbers of 64 bits */
#define LISTS    6

static enum status snapshot_bad(struct error *error)
{
	return fail(error, LIMIT, "what python3 wrote isn't a snapshot"); /* not the file's fault */
}

/* The lists behind the head, one behind the other. */
static enum status snapshot_lists(
	const char *text, size_t n, struct buffers_csv *csv, struct snapshot *snapshot, struct error *error)
{
	struct buffers *buffers = &csv->buffers;
	int64_t *list[LISTS], says = (int64_t)json_array_size(json_object_get(snapshot->head, "says"));
	FOR_INT(i, LISTS) {
		NEEDED(error, ROOM(&csv->arena, list[i], n + 1));
		memcpy(list[i], text + (size_t)i * n * sizeof **list, n * sizeof **list);
	}
	buffers->n = (uint32_t)n;
	buffers->lower = list[0];
	buffers->upper = list[1];
	buffers->size = list[2];
	buffers->hint = list[3];
	snapshot->alive = list[4];
	snapshot->says = list[5];
	FOR(i, buffers->n)
		if (buffers->lower[i] < 0 || buffers->upper[i] < buffers->lower[i] || buffers->upper[i] > snapshot->events ||
			buffers->size[i] < 0 || buffers->size[i] > BYTES_MAX || snapshot->says[i] > says)
			return snapshot_bad(error);
	return OK;
}

/* Places are shown to people. */
static void snapshot_clean(const json_t *places)
{
	size_t i;
	json_t *place;
	json_array_foreach(places, i, place) {
		const char *text = json_text_in(place, "place");
		json_object_set_new(place, "place", json_string(text_clean(text ? text : "", TEXT(800))));
	}
}

enum status snapshot_take(
	const char *text, size_t length, struct buffers_csv *csv, struct snapshot *snapshot, struct error *error)
{
	const char *end = memchr(text, '\n', length);
	json_memory_failed();
	json_t *head = snapshot->head = end ? json_loadb(text, (size_t)(end - text), 0, NULL) : NULL;
	const json_t *said = json_object_get(head, "said");
	int64_t events = json_integer_in(said, "events");
	int64_t buffers = json_integer_in(said, "buffers");
	size_t left = end ? length - (size_t)(end + 1 - text) : 0;
	if (json_memory_failed())
		return fail_memory(error);
	if (!said || events < 0 || events >= NONE || buffers < 0 || buffers >= NONE ||
		left != (size_t)buffers * LISTS * sizeof(int64_t))
		return snapshot_bad(error);
	snapshot_clean(json_object_get(said, "peak_places"));
	snapshot->events = (uint32_t)events;
	snapshot->peak = json_integer_in(said, "allocated_bytes");
	snapshot->peak_event = json_integer_in(head, "peak_event");
	return snapshot_lists(end + 1, (size_t)buffers, csv, snapshot, error);
}

enum status snapshot_read(
	const struct python_job *job, struct buffers_csv *csv, struct snapshot *snapshot, struct error *error)
{
	struct python_text text = { 0 };
	enum status status = python_child_text(job, &text, error);
	snapshot->number = text.number;
	if (status == OK && text.list && !(snapshot->devices = arena_text(&csv->arena, text.list, strlen(text.list))))
		status = fail_memory(error);
	THEN(status, snapshot_take(text.text, text.length, csv, snapshot, error));
	mem_free(text.memory);
	return status;
}

void snapshot_free(struct snapshot *snapshot)
{
	json_decref(snapshot->head);
	*snapshot = (struct snapshot){ 0 };
}

/* Rows as they would stand in a file. */
enum status snapshot_rows(struct buffers_csv *csv, struct error *error)
{
	static const char header[] = "id,lower,upper,size";
	const struct buffers *buffers = &csv->buffers;
	NEEDED(error, ROOMS(&csv->arena, (size_t)buffers->n + 1, csv->row, csv->id));
	FOR(i, buffers->n) {
		char text[ROW_MOST];
		int id = PRINT_TO(text, "%" PRIu32, i);
		int length = id +
			snprintf(text + id, sizeof text - (size_t)id, ",%" PRId64 ",%" PRId64 ",%" PRId64, buffers->lower[i],
				buffers->upper[i], buffers->size[i]);
		char *row = arena_text(&csv->arena, text, (size_t)length);
		NEEDED(error, row);
		csv->row[i] = (struct slice){ row, (size_t)length };
		csv->id[i] = (struct slice){ row, (size_t)id };
	}
	csv->header = (struct slice){ header, sizeof header - 1 };
	csv->columns = csv->offset_column = 4;
	return OK;
}
