/* snapshot.c: reads events, segments and blocks out of a memory snapshot's pickle. */

#include "snapshot.h"

/* page: the page that `python -m torch.cuda._memory_viz` makes of a snapshot: HTML with the pickle in it, in base64.
 */

#define PAGE_CHUNK ((size_t)64 << 10)
struct page {
	struct source inner;
	bool begun, encoded, ended; /* encoded: it is a page; ended: its text is */
	uint32_t bits;              /* of letters that make no whole byte yet */
	unsigned letters;
	size_t have, at;
	unsigned char chunk[PAGE_CHUNK];
};

static const char mark[] = "\"base64\": \"";

/* Fills the chunk; false with *error. An empty chunk: the end. */
static bool page_refill(struct page *page, struct error *error)
{
	page->have = page->at = 0;
	while (page->have < PAGE_CHUNK) {
		ssize_t got = page->inner.read(page->inner.context, page->chunk + page->have, PAGE_CHUNK - page->have, error);
		if (got < 0)
			return false;
		if (got == 0)
			break;
		page->have += (size_t)got;
	}
	return true;
}

static bool page_begin(struct page *page, struct error *error)
{
	page->begun = true;
	if (!page_refill(page, error))
		return false;
	size_t at = 0, length = sizeof mark - 1;
	while (at < page->have && strchr(" \t\r\n", page->chunk[at]) && page->chunk[at])
		at++;
	page->encoded = at < page->have && page->chunk[at] == '<';
	if (!page->encoded)
		return true;
	for (; at + length <= page->have; at++)
		if (memcmp(page->chunk + at, mark, length) == 0) {
			page->at = at + length;
			return true;
		}
	refuse(error, "the page holds no snapshot in base64");
	return false;
}

/* 0 to 63, 64 for what ends the text, 65 for what is no letter of it. */
static unsigned page_value_of(unsigned char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return letter - 'A';
	if (letter >= 'a' && letter <= 'z')
		return letter - 'a' + 26u;
	if (letter >= '0' && letter <= '9')
		return letter - '0' + 52u;
	return letter == '+' ? 62 : letter == '/' ? 63 : letter == '"' || letter == '=' ? 64 : 65;
}

static ssize_t page_decode(struct page *page, unsigned char *out, size_t size, struct error *error)
{
	size_t made = 0;
	while (made < size && !page->ended) {
		if (page->at == page->have && !page_refill(page, error))
			return -1;
		unsigned value = page->have ? page_value_of(page->chunk[page->at++]) : 65;
		if (value == 65) {
			refuse(error, page->have ? "the page's snapshot is not base64" : "the page ends within its snapshot");
			return -1;
		}
		page->ended = value == 64;
		page->bits = page->bits << 6 | (value & 63);
		unsigned place = page->letters++ % 4; /* of four letters that make three bytes */
		if (place > 0 && !page->ended)
			out[made++] = (unsigned char)(page->bits >> (6 - 2 * place));
	}
	return (ssize_t)made;
}

static ssize_t read_page(void *context, void *buffer, size_t size, struct error *error)
{
	struct page *page = context;
	if (!page->begun && !page_begin(page, error))
		return -1;
	if (page->encoded)
		return page_decode(page, buffer, size, error);
	if (page->at == page->have && page->have)
		return page->inner.read(page->inner.context, buffer, size, error);
	size_t part = SMALLER(page->have - page->at, size);
	memcpy(buffer, page->chunk + page->at, part);
	page->at += part;
	return (ssize_t)part;
}

/* The bytes of inner, or where these are a page the pickle in it. BAD_INPUT for a page without one, and for what is no
 * base64. `page` must outlive the source. */
static struct source page_source(struct page *page, struct source inner)
{
	memset(page, 0, offsetof(struct page, chunk));
	page->inner = inner;
	return (struct source){ read_page, page };
}

#define RECORDS_MOST (UINT32_MAX / 8)

/* Words of which anything depends; actions stand in the order of their enum. */
enum word {
	WORD_ALLOC = SNAPSHOT_ALLOC,
	WORD_SEGMENT_UNMAP = SNAPSHOT_SEGMENT_UNMAP,
	WORD_ACTION,
	WORD_ADDR,
	WORD_SIZE,
	WORD_STATE,
	WORD_ACTIVE,
	WORD_PENDING,
	WORD_AWAITING,
	WORD_REQUESTED_SIZE,
	WORD_ADDRESS,
	WORD_TOTAL_SIZE,
	WORD_BLOCKS,
	WORD_DEVICE,
	WORD_SEGMENTS,
	WORD_TRACES,
	WORD_FRAMES,
	WORD_FILENAME,
	WORD_LINE,
	WORD_NAME,
	WORDS
};
static const char *const words[WORDS + 1] = { "", "alloc", "free_requested", "free_completed", "segment_alloc",
	"segment_free", "segment_map", "segment_unmap", "action", "addr", "size", "state", "active_allocated",
	"active_pending_free", "active_awaiting_free", "requested_size", "address", "total_size", "blocks", "device",
	"segments", "device_traces", "frames", "filename", "line", "name", NULL };

/* What is noted in a dict: a record of that kind; in a list: records of that kind, from number on. */
enum note { NOTE_NONE, NOTE_EVENT, NOTE_BLOCK, NOTE_SEGMENT, NOTE_TRACE, NOTE_ROOT };

struct reader {
	struct snapshot *snapshot;
	bool traced; /* device_traces was there */
};

static const struct pickle_value absent;

/* The values of the keys that are known, by the keys' words. The last one of a key counts, as in Python. */
static void by_word(const struct pickle_value *pair, uint32_t count, const struct pickle_value *value[WORDS])
{
	FOR_INT(i, WORDS)
		value[i] = &absent;
	FOR(i, count)
		if (pair[2 * i].kind == PICKLE_WORD)
			value[pair[2 * i].number] = &pair[2 * i + 1];
}

static bool there(const struct pickle_value *value)
{
	return value != &absent;
}

static enum status snapshot_read_size(
	const struct pickle_value *value, const char *whose, int64_t *size, struct error *error)
{
	*size = value->number;
	if (value->kind == PICKLE_NUMBER && value->number >= 0 && value->number <= BYTES_MAX)
		return OK;
	return refuse(error, "%s is missing, or is not a number from 0 to 2^60", whose);
}

static enum status read_address(
	const struct pickle_value *value, const char *whose, int64_t *address, struct error *error)
{
	*address = value->number;
	if (value->kind == PICKLE_NUMBER)
		return OK;
	return refuse(error, "%s is missing, or is not a number of 64 bits", whose);
}

/* What is kept of a list is a stack. Older snapshots have a block's stack in its history: it is not looked for there.
 */
static uint32_t stack_of(const struct pickle_value *const value[WORDS])
{
	return value[WORD_FRAMES]->kind == PICKLE_LIST ? value[WORD_FRAMES]->kept : 0;
}

/* Room for one more record, whose number is the dict's. */
static enum status note_record(struct pickle_value *dict, enum note note, void *records, size_t *room, uint32_t *count,
	size_t size, struct error *error)
{
	if (*count >= RECORDS_MOST)
		return refuse(error, "there are too many events or blocks");
	if (!mem_reserve(records, room, (size_t)*count + 1, size))
		return fail_memory(error);
	dict->note = (uint8_t)note;
	dict->number = (*count)++;
	return OK;
}

static enum status read_event(struct reader *reader, struct pickle_value *dict,
	const struct pickle_value *const value[WORDS], struct error *error)
{
	struct snapshot *snapshot = reader->snapshot;
	struct snapshot_event event = { .action = SNAPSHOT_OTHER, .stack = stack_of(value) };
	const struct pickle_value *action = value[WORD_ACTION];
	if (action->kind == PICKLE_WORD && action->number >= WORD_ALLOC && action->number <= WORD_SEGMENT_UNMAP) {
		event.action = (enum snapshot_action)action->number;
		TRY(snapshot_read_size(value[WORD_SIZE], "an event's size", &event.size, error));
		TRY(read_address(value[WORD_ADDR], "an event's addr", &event.address, error));
	}
	TRY(note_record(dict, NOTE_EVENT, &snapshot->event, &snapshot->event_room, &snapshot->events, sizeof event, error));
	snapshot->event[dict->number] = event;
	return OK;
}

static enum status read_block(struct reader *reader, struct pickle_value *dict,
	const struct pickle_value *const value[WORDS], struct error *error)
{
	struct snapshot *snapshot = reader->snapshot;
	const struct pickle_value *state = value[WORD_STATE];
	struct snapshot_block block = { .placed = there(value[WORD_ADDRESS]), .stack = stack_of(value) };
	block.active = state->kind == PICKLE_WORD && state->number >= WORD_ACTIVE && state->number <= WORD_AWAITING;
	TRY(snapshot_read_size(value[WORD_SIZE], "a block's size", &block.size, error));
	if (block.placed)
		TRY(read_address(value[WORD_ADDRESS], "a block's address", &block.address, error));
	TRY(note_record(dict, NOTE_BLOCK, &snapshot->block, &snapshot->block_room, &snapshot->blocks, sizeof block, error));
	snapshot->block[dict->number] = block;
	return OK;
}

static enum status read_segment(struct reader *reader, struct pickle_value *dict,
	const struct pickle_value *const value[WORDS], struct error *error)
{
	struct snapshot *snapshot = reader->snapshot;
	struct snapshot_segment segment = { 0 };
	const struct pickle_value *blocks = value[WORD_BLOCKS], *device = value[WORD_DEVICE];
	TRY(snapshot_read_size(value[WORD_TOTAL_SIZE], "a segment's total_size", &segment.bytes, error));
	TRY(read_address(value[WORD_ADDRESS], "a segment's address", &segment.address, error));
	if (device->kind == PICKLE_NUMBER && device->number > 0)
		segment.device = device->number < RECORDS_MOST ? (uint32_t)device->number : RECORDS_MOST;
	if (blocks->kind == PICKLE_LIST && blocks->note == NOTE_BLOCK) {
		segment.first_block = (uint32_t)blocks->number;
		segment.blocks = blocks->count;
	}
	TRY(note_record(
		dict, NOTE_SEGMENT, &snapshot->segment, &snapshot->segment_room, &snapshot->segments, sizeof segment, error));
	snapshot->segment[dict->number] = segment;
	return OK;
}

static enum status read_root(
	struct reader *reader, struct pickle_value *dict, const struct pickle_value *traces, struct error *error)
{
	if (traces->kind != PICKLE_LIST || traces->again ||
		(traces->count && traces->note != NOTE_NONE && traces->note != NOTE_TRACE))
		return refuse(error, "device_traces is not a list of lists of events");
	if (reader->traced)
		return refuse(error, "device_traces appears twice");
	reader->traced = true;
	dict->note = NOTE_ROOT;
	return OK;
}

/* What is kept of a text is a text of stacks, of a dict a frame. */
static void keep_frame(struct reader *reader, struct pickle_value *dict, const struct pickle_value *const value[WORDS])
{
	const struct pickle_value *file = value[WORD_FILENAME], *name = value[WORD_NAME], *line = value[WORD_LINE];
	dict->kept = stacks_frame(&reader->snapshot->stacks, file->kind == PICKLE_OTHER ? file->kept : 0,
		name->kind == PICKLE_OTHER ? name->kept : 0, line->kind == PICKLE_NUMBER ? line->number : 0);
}

static uint32_t visit_text(void *context, const char *text, size_t length)
{
	struct reader *reader = context;
	return stacks_text(&reader->snapshot->stacks, text, length);
}

/* Frames join a list of frames. */
static void keep_stack(
	struct reader *reader, struct pickle_value *list, const struct pickle_value *item, uint32_t count)
{
	uint32_t frame[STACK_FRAMES_MOST], frames = 0;
	for (uint32_t i = 0; i < count && frames < STACK_FRAMES_MOST; i++)
		if (item[i].kind == PICKLE_DICT && item[i].kept)
			frame[frames++] = item[i].kept;
	if (frames)
		list->kept = stacks_add(&reader->snapshot->stacks, list->kept, frame, frames);
}

static enum status visit_pairs(
	void *context, struct pickle_value *dict, const struct pickle_value *pair, uint32_t count, struct error *error)
{
	const struct pickle_value *value[WORDS];
	by_word(pair, count, value);
	bool event = there(value[WORD_ACTION]), segment = there(value[WORD_TOTAL_SIZE]);
	bool block = there(value[WORD_STATE]) && there(value[WORD_SIZE]), root = there(value[WORD_TRACES]);
	if (event + segment + block + root == 0) {
		if (there(value[WORD_FILENAME]) && there(value[WORD_LINE]))
			keep_frame(context, dict, value);
		return OK;
	}
	if (event + segment + block + root > 1 || dict->note != NOTE_NONE)
		return refuse(error,
			"one record is in two places: as an event, a block, a segment or the snapshot itself");
	if (event)
		return read_event(context, dict, value, error);
	if (segment)
		return read_segment(context, dict, value, error);
	return block ? read_block(context, dict, value, error) : read_root(context, dict, value[WORD_TRACES], error);
}

/* A list of events joins a list of traces. */
static enum status snapshot_add_trace(struct reader *reader, struct pickle_value *list,
	const struct pickle_value *events, uint32_t device, struct error *error)
{
	struct snapshot *snapshot = reader->snapshot;
	if (list->note != NOTE_NONE && list->note != NOTE_TRACE)
		return refuse(error, "a list holds both events and lists of them");
	if (!mem_reserve(&snapshot->trace, &snapshot->trace_room, (size_t)snapshot->traces + 1, sizeof *snapshot->trace))
		return fail_memory(error);
	list->note = NOTE_TRACE;
	snapshot->trace[snapshot->traces++] = (struct snapshot_trace){
		.first = (uint32_t)events->number, .events = events->count, .device = device };
	return OK;
}

static enum status visit_items(
	void *context, struct pickle_value *list, const struct pickle_value *item, uint32_t count, struct error *error)
{
	if (count && item->kind == PICKLE_DICT && item->kept)
		keep_stack(context, list, item, count);
	FOR(i, count) {
		uint32_t before = list->count + i;
		if (item[i].kind == PICKLE_LIST && item[i].note == NOTE_EVENT) {
			TRY(snapshot_add_trace(context, list, &item[i], before, error));
			continue;
		}
		bool record = item[i].kind == PICKLE_DICT && item[i].note >= NOTE_EVENT && item[i].note <= NOTE_SEGMENT;
		bool holds = list->note >= NOTE_EVENT && list->note <= NOTE_SEGMENT;
		if (!record && !holds)
			continue;
		if (before == 0) {
			list->note = item[i].note;
			list->number = item[i].number;
		}
		/* Records lie behind each other, as they were read. */
		if (item[i].kind != PICKLE_DICT || item[i].note != list->note || item[i].number != list->number + before)
			return refuse(error, "a list of events, blocks or segments has other things in it, or one of them twice");
	}
	return OK;
}

static enum status check_root(const struct reader *reader, const struct pickle_value *root, struct error *error)
{
	if (root->kind == PICKLE_LIST && root->note == NOTE_SEGMENT)
		return refuse(error,
			"this is a list of segments, as torch.cuda.memory_snapshot() returns it: it has no events, so nothing says "
			"when blocks came and went; "
			"torch.cuda.memory._dump_snapshot() behind _record_memory_history() writes them");
	if (root->kind != PICKLE_DICT || root->note != NOTE_ROOT)
		return refuse(error,
			"this pickle is not a memory snapshot: it has no device_traces (torch.cuda.memory._dump_snapshot writes "
			"them)");
	if (reader->snapshot->traces == 0)
		return refuse(error,
			"the snapshot has no events: call torch.cuda.memory._record_memory_history() before the step");
	return OK;
}

enum status snapshot_read(struct source source, struct snapshot *snapshot, struct error *error)
{
	*snapshot = (struct snapshot){ 0 };
	struct reader reader = { .snapshot = snapshot };
	struct pickle_visitor visitor = { words, visit_pairs, visit_items, visit_text, &reader };
	struct pickle_value root;
	struct page page;
	TRY(pickle_walk(page_source(&page, source), &visitor, &root, error));
	if (snapshot->stacks.no_memory)
		return fail_memory(error);
	return check_root(&reader, &root, error);
}

void snapshot_free(struct snapshot *snapshot)
{
	mem_free(snapshot->event);
	mem_free(snapshot->block);
	mem_free(snapshot->segment);
	mem_free(snapshot->trace);
	stacks_free(&snapshot->stacks);
	*snapshot = (struct snapshot){ 0 };
}
