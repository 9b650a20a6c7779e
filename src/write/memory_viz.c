/* memory_viz.c: a PyTorch memory snapshot. The viewer (torch/utils/viz/MemoryViz.js) has an unpickler of its
 * own: only what it knows is used, and
 *   addresses stay below 2^53, above which it turns to big integers;
 *   lists are appended to in blocks of 1,000, because it spreads a block as arguments of a call;
 *   every free is a request and a completion;
 *   no event has a category. */
#include "data.h"
#include "src/base/safe_text.h"

#define BASE  INT64_C(0x7f0000000000) /* of the addresses */
#define BLOCK 1000u

struct pickle {
	FILE *stream;
	const char *known[40]; /* texts that stand in the memo under their index */
	uint32_t memos;
};

static void put_32(struct pickle *pickle, uint32_t value)
{
	for (int shift = 0; shift < 32; shift += 8)
		putc((int)(value >> shift & 255), pickle->stream);
}

static void memory_viz_put_text(struct pickle *pickle, const char *text)
{
	char clean[1000];
	text_clean(text, clean, sizeof clean);
	putc('X', pickle->stream);
	put_32(pickle, (uint32_t)strlen(clean));
	fputs(clean, pickle->stream);
}

/* A text of ours, written out once. */
static void put_word(struct pickle *pickle, const char *word)
{
	FOR(i, pickle->memos)
		if (text_is(pickle->known[i], word)) {
			putc('j', pickle->stream);
			put_32(pickle, i);
			return;
		}
	memory_viz_put_text(pickle, word);
	putc('r', pickle->stream);
	put_32(pickle, pickle->memos);
	pickle->known[pickle->memos++] = word;
}

/* 0 or more. */
static void put_number(struct pickle *pickle, int64_t value)
{
	if (value < 256) {
		putc('K', pickle->stream);
		putc((int)value, pickle->stream);
	} else if (value <= INT32_MAX) {
		putc('J', pickle->stream);
		put_32(pickle, (uint32_t)value);
	} else {
		int bytes = 8;
		while (bytes > 1 && value >> (8 * bytes - 9) == 0) /* the topmost bit is the sign's */
			bytes--;
		putc(0x8a, pickle->stream);
		putc(bytes, pickle->stream);
		FOR_INT(i, bytes)
			putc((int)(value >> (8 * i) & 255), pickle->stream);
	}
}

static void put_pair(struct pickle *pickle, const char *key, int64_t value)
{
	put_word(pickle, key);
	put_number(pickle, value);
}

static void put_words(struct pickle *pickle, const char *key, const char *value)
{
	put_word(pickle, key);
	put_word(pickle, value);
}

static void open_dict(struct pickle *pickle)
{
	fputs("}(", pickle->stream);
}

static void close_dict(struct pickle *pickle)
{
	putc('u', pickle->stream);
}

static void open_list(struct pickle *pickle)
{
	fputs("](", pickle->stream);
}

static void close_list(struct pickle *pickle)
{
	putc('e', pickle->stream);
}

/* Who makes an item of the layout, as a stack of one frame. */
static void put_frames(struct pickle *pickle, const struct plan *plan, uint32_t item)
{
	const struct graph *graph = plan->graph;
	uint32_t maker = item < graph->storages ? graph->storage[item].allocator : item - graph->storages;
	put_word(pickle, "frames");
	open_list(pickle);
	open_dict(pickle);
	put_word(pickle, "filename");
	memory_viz_put_text(pickle, maker == NONE ? kind_names[graph->storage[item].kind] : graph->op[maker].module);
	put_pair(pickle, "line", plan->laid_out->first[item]);
	put_word(pickle, "name");
	memory_viz_put_text(pickle, item_name(plan, item));
	close_dict(pickle);
	close_list(pickle);
}

static void put_event(struct pickle *pickle, const struct plan *plan, uint32_t item, const char *action)
{
	open_dict(pickle);
	put_words(pickle, "action", action);
	put_pair(pickle, "addr", BASE + plan->laid_out->offset[item]);
	put_pair(pickle, "size", plan->laid_out->bytes[item]);
	put_pair(pickle, "stream", 0);
	put_frames(pickle, plan, item);
	close_dict(pickle);
}

/* The whole arena is one segment with one block. */
static void put_segments(struct pickle *pickle, const struct plan *plan)
{
	put_word(pickle, "segments");
	open_list(pickle);
	open_dict(pickle);
	put_pair(pickle, "device", 0);
	put_pair(pickle, "address", BASE);
	put_pair(pickle, "total_size", plan_arena(plan));
	put_pair(pickle, "allocated_size", 0);
	put_pair(pickle, "active_size", 0);
	put_pair(pickle, "stream", 0);
	put_words(pickle, "segment_type", "large");
	put_word(pickle, "blocks");
	open_list(pickle);
	open_dict(pickle);
	put_pair(pickle, "size", plan_arena(plan));
	put_pair(pickle, "requested_size", plan_arena(plan));
	put_pair(pickle, "address", BASE);
	put_words(pickle, "state", "inactive");
	put_word(pickle, "frames");
	putc(']', pickle->stream);
	close_dict(pickle);
	close_list(pickle);
	close_dict(pickle);
	close_list(pickle);
}

struct moment { uint32_t position, item; bool free; };

/* Frees come before allocations: addresses are used again at once. */
COMPARATOR(memory_viz_by_time, struct moment,
	COMPARE(a->position, b->position, COMPARE(b->free, a->free, COMPARE(a->item, b->item, 0))))

static void put_trace(struct pickle *pickle, const struct plan *plan, const struct moment *moment, uint32_t moments)
{
	put_word(pickle, "device_traces");
	open_list(pickle);
	putc(']', pickle->stream);
	FOR(i, moments) {
		if (i % BLOCK == 0)
			putc('(', pickle->stream);
		if (moment[i].free)
			put_event(pickle, plan, moment[i].item, "free_requested");
		put_event(pickle, plan, moment[i].item, moment[i].free ? "free_completed" : "alloc");
		if (i % BLOCK == BLOCK - 1 || i == moments - 1)
			close_list(pickle);
	}
	close_list(pickle);
}

enum status export_memory_viz(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	struct pickle pickle = { .stream = job->stream };
	uint32_t moments = 0;
	if (plan_arena(plan) >= (INT64_C(1) << 53) - BASE)
		return refuse(job->error, "the arena has addresses that the viewer can't show");
	struct moment *MAKE(moment, (size_t)plan->laid_out->items * 2);
	NEEDED(job->error, moment);
	FOR(item, plan->laid_out->items) {
		if (plan->laid_out->first[item] == NONE)
			continue;
		moment[moments++] = (struct moment){ plan->laid_out->first[item], item, false };
		moment[moments++] = (struct moment){ plan->laid_out->last[item] + 1, item, true };
	}
	if (moments)
		qsort(moment, moments, sizeof *moment, memory_viz_by_time);
	fwrite("\x80\x02", 1, 2, job->stream);
	open_dict(&pickle);
	put_segments(&pickle, plan);
	put_trace(&pickle, plan, moment, moments);
	close_dict(&pickle);
	putc('.', job->stream);
	mem_free(moment);
	return OK;
}
