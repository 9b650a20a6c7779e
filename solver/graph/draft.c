/* draft.c: the mutable form of a graph: records and pairs, in the order they are given. */
#include <stdio.h>

#include "draft.h"
#include "growth.h"

struct draft *draft_new(void)
{
	return mem_alloc(1, sizeof(struct draft));
}

static void pairs_free(struct pairs *pairs)
{
	mem_free(pairs->op);
	mem_free(pairs->other);
}

void draft_free(struct draft *draft)
{
	if (!draft)
		return;
	mem_free(draft->tensor);
	mem_free(draft->op);
	pairs_free(&draft->reads);
	pairs_free(&draft->writes);
	pairs_free(&draft->after);
	pairs_free(&draft->inplace_out);
	pairs_free(&draft->inplace_in);
	names_free(&draft->op_names);
	names_free(&draft->tensor_names);
	texts_free(&draft->shared);
	graph_release(draft->lender);
	arena_free(&draft->arena);
	mem_free(draft);
}

enum status pairs_add(struct pairs *pairs, uint32_t op, uint32_t other)
{
	size_t room = pairs->room;
	if (!GROWN(pairs->op, room, pairs->count + 1) ||
	    !GROWN(pairs->other, pairs->room, pairs->count + 1))
		return NO_MEMORY;
	pairs->op[pairs->count] = op;
	pairs->other[pairs->count++] = other;
	return OK;
}

/* *copy = text in the draft's arena; NULL stays NULL. */
static bool keep_text(struct draft *draft, const char **text)
{
	if (!*text)
		return true;
	*text = arena_text(&draft->arena, *text, strlen(*text));
	return *text != NULL;
}

/* The same for a text that many ops have. */
static bool keep_shared(struct draft *draft, const char **text)
{
	return !*text || (*text = texts_keep(&draft->shared, &draft->arena, *text)) != NULL;
}

void *arena_copy(struct arena *arena, const void *of, size_t size)
{
	void *copy = arena_alloc(arena, 1, size);
	return copy ? memcpy(copy, of, size) : NULL;
}

static bool draft_keep(struct arena *arena, const char **text)
{
	return !*text || (*text = arena_text(arena, *text, strlen(*text))) != NULL;
}

/* Copies the texts of *about into an arena. False when out of memory. */
static bool about_keep(struct arena *arena, struct about *about)
{
	struct intake *intake = &about->intake;
	const char **opaque = NULL;
	bool fine = ROOM(arena, opaque, about->opaques);
	FOR_WHILE(i, about->opaques, fine)
		fine = (opaque[i] = arena_text(arena, about->opaque[i], strlen(about->opaque[i]))) != NULL;
	about->opaque = opaque;
	return fine && draft_keep(arena, &about->teaches) && draft_keep(arena, &about->asks) &&
		draft_keep(arena, &about->synthesised) &&
		draft_keep(arena, &about->one_sample) && draft_keep(arena, &intake->format) &&
		draft_keep(arena, &intake->version) && draft_keep(arena, &intake->assumed) &&
		draft_keep(arena, &intake->advice) && draft_keep(arena, &intake->peak_by) && draft_keep(arena, &intake->graphs) &&
		draft_keep(arena, &intake->segments) && draft_keep(arena, &intake->grows);
}

enum status draft_describe(
	struct draft *draft, const char *name, const char *source, const char *extra, const struct about *about)
{
	struct about copy = about ? *about : draft->about;
	if (about && !about_keep(&draft->arena, &copy))
		return NO_MEMORY;
	NEED(keep_text(draft, &name) && keep_text(draft, &source) && keep_text(draft, &extra));
	draft->name = name ? name : draft->name;
	draft->source = source ? source : draft->source;
	draft->extra = extra ? extra : draft->extra;
	draft->about = copy;
	return OK;
}

static const void *draft_recent(struct draft *draft, struct recent *recent, const void *of, size_t size)
{
	FOR_WHILE(i, COUNT_OF(recent->kept), recent->kept[i])
		if (recent->size[i] == size && memcmp(recent->kept[i], of, size) == 0)
			return recent->kept[i];
	const void *copy = arena_copy(&draft->arena, of, size);
	uint32_t at = recent->next++ % COUNT_OF(recent->kept);
	recent->kept[at] = copy;
	recent->size[at] = size;
	return copy;
}

void draft_lend(struct draft *draft, const struct graph *graph)
{
	memcpy(&draft->lender, &graph, sizeof draft->lender);
	graph_retain(draft->lender);
}

const char *draft_text(struct draft *draft, const char *text)
{
	return keep_text(draft, &text) ? text : NULL;
}

uint32_t draft_tensor(struct draft *draft, const struct tensor *tensor)
{
	if (!GROWN(draft->tensor, draft->tensor_room, draft->tensors + 1))
		return NONE;
	struct tensor copy = *tensor;
	copy.grows = NULL;
	if (!draft->lender && (!keep_text(draft, &copy.name) || !keep_text(draft, &copy.of) ||
		!keep_text(draft, &copy.gradient_of) || !keep_text(draft, &copy.extra)))
		return NONE;
	size_t size = copy.dims * sizeof *copy.shape;
	if ((copy.shape && !(copy.shape = draft_recent(draft, &draft->shapes, copy.shape, size))) ||
		(copy.places && !(copy.places = draft_recent(draft, &draft->places, copy.places, sizeof *copy.places))) ||
		names_add(&draft->tensor_names, copy.name, draft->tensors) == NONE)
		return NONE;
	draft->tensor[draft->tensors] = copy;
	return draft->tensors++;
}

uint32_t draft_op(struct draft *draft, const struct op *op)
{
	if (!GROWN(draft->op, draft->op_room, draft->ops + 1))
		return NONE;
	struct op copy = *op;
	copy.grows = NULL;
	if (!draft->lender && (!keep_text(draft, &copy.name) || !keep_shared(draft, &copy.type) ||
		!keep_shared(draft, &copy.module) || !keep_shared(draft, &copy.src) || !keep_shared(draft, &copy.part) ||
		!keep_text(draft, &copy.of) || !keep_text(draft, &copy.extra)))
		return NONE;
	if (names_add(&draft->op_names, copy.name, draft->ops) == NONE)
		return NONE;
	if (copy.collective) {
		struct collective collective = *copy.collective;
		collective.kind = collective_of_type(copy.type ? copy.type : "");
		copy.collective = draft_recent(draft, &draft->collectives, &collective, sizeof collective);
		if (!copy.collective)
			return NONE;
	}
	if (copy.arguments && !draft->lender && !(copy.arguments = arguments_copy(&draft->arena, copy.arguments)))
		return NONE;
	draft->op[draft->ops] = copy;
	return draft->ops++;
}

enum status draft_op_arguments(struct draft *draft, uint32_t op, const struct arguments *arguments)
{
	draft_op_at(draft, op)->arguments = arguments_copy(&draft->arena, arguments);
	return draft_op_at(draft, op)->arguments ? OK : NO_MEMORY;
}

enum status draft_op_of(struct draft *draft, uint32_t op, const char *of)
{
	draft_op_at(draft, op)->of = of;
	return keep_text(draft, &draft_op_at(draft, op)->of) ? OK : NO_MEMORY;
}

enum status draft_tensor_grows(struct draft *draft, uint32_t tensor, const int64_t *grows)
{
	struct tensor *at = draft_tensor_at(draft, tensor);
	at->grows = growth_copy(&draft->arena, at, grows);
	return at->grows ? OK : NO_MEMORY;
}

enum status draft_op_grows(struct draft *draft, uint32_t op, const struct op_growth *grows)
{
	draft_op_at(draft, op)->grows = growth_copy_op(&draft->arena, grows);
	return draft_op_at(draft, op)->grows ? OK : NO_MEMORY;
}

void draft_line(struct draft *draft, const int64_t line[LINE_BATCHES])
{
	memcpy(draft->line, line, sizeof draft->line);
}

enum status draft_read(struct draft *draft, uint32_t op, uint32_t tensor)
{
	return pairs_add(&draft->reads, op, tensor);
}

enum status draft_write(struct draft *draft, uint32_t op, uint32_t tensor)
{
	return pairs_add(&draft->writes, op, tensor);
}

enum status draft_inplace(struct draft *draft, uint32_t op, uint32_t out, uint32_t in)
{
	enum status status = pairs_add(&draft->inplace_out, op, out);
	if (status == OK && (status = pairs_add(&draft->inplace_in, op, in)) != OK)
		draft->inplace_out.count--;
	return status;
}

enum status draft_after(struct draft *draft, uint32_t op, uint32_t before)
{
	return pairs_add(&draft->after, op, before);
}

static uint32_t draft_named(const uint32_t *tensor, uint32_t t)
{
	return tensor && t != NONE ? tensor[t] : t;
}

uint32_t draft_copy_op(
	struct draft *draft, const struct op *record, const struct graph *graph, uint32_t op, const uint32_t *tensor)
{
	uint32_t copy = draft_op(draft, record);
	bool fine = copy != NONE;
	FOR_ITEMS(read, &graph->reads, op)
		fine = fine && draft_read(draft, copy, draft_named(tensor, read)) == OK;
	FOR_ITEMS(written, &graph->writes, op)
		fine = fine && draft_write(draft, copy, draft_named(tensor, written)) == OK;
	FOR_SPAN(i, graph->inplace_start, op) {
		struct inplace pair = graph->inplace[i];
		fine = fine && draft_inplace(draft, copy, draft_named(tensor, pair.out), draft_named(tensor, pair.in)) == OK;
	}
	return fine ? copy : NONE;
}

uint32_t draft_find_op(const struct draft *draft, const char *name)
{
	return names_find(&draft->op_names, name);
}

uint32_t draft_find_tensor(const struct draft *draft, const char *name)
{
	return names_find(&draft->tensor_names, name);
}

struct tensor *draft_tensor_at(struct draft *draft, uint32_t tensor)
{
	return &draft->tensor[tensor];
}

struct op *draft_op_at(struct draft *draft, uint32_t op)
{
	return &draft->op[op];
}
