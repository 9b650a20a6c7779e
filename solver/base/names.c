/* names.c: an index from unique names to dense ids. */
#include <stdio.h>
#include <string.h>

#include "names.h"

static uint32_t names_hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (uint32_t)hash_mix(hash);
}

/* The slot that holds the name of that hash, or the free one where it would go. */
static uint32_t names_slot_of(const struct names *names, const char *name, uint32_t hash)
{
	uint32_t i = hash & names->mask;
	while (names->slot[i].name && (names->slot[i].hash != hash || strcmp(names->slot[i].name, name) != 0))
		i = (i + 1) & names->mask;
	return i;
}

static bool names_grow(struct names *names)
{
	struct names bigger = { .mask = names->slot ? names->mask * 2 + 1 : 255, .used = names->used };
	MAKE(bigger.slot, (size_t)bigger.mask + 1);
	if (!bigger.slot)
		return false;
	for (uint32_t i = 0; names->slot && i <= names->mask; i++)
		if (names->slot[i].name)
			bigger.slot[names_slot_of(&bigger, names->slot[i].name, names->slot[i].hash)] = names->slot[i];
	mem_free(names->slot);
	*names = bigger;
	return true;
}

uint32_t names_add(struct names *names, const char *name, uint32_t id)
{
	if (!names->slot || names->used > names->mask / 4 * 3) {
		if (!names_grow(names))
			return NONE;
	}
	uint32_t hash = names_hash_text(name), i = names_slot_of(names, name, hash);
	if (!names->slot[i].name) {
		names->slot[i].name = name;
		names->slot[i].hash = hash;
		names->slot[i].id = id;
		names->used++;
	}
	return names->slot[i].id;
}

uint32_t names_find(const struct names *names, const char *name)
{
	if (!names->slot)
		return NONE;
	uint32_t i = names_slot_of(names, name, names_hash_text(name));
	return names->slot[i].name ? names->slot[i].id : NONE;
}

void names_renumber(struct names *names, const uint32_t *id)
{
	for (uint32_t i = 0; names->slot && i <= names->mask; i++)
		if (names->slot[i].name)
			names->slot[i].id = id[names->slot[i].id];
}

void names_free(struct names *names)
{
	mem_free(names->slot);
	*names = (struct names){ 0 };
}

const char *texts_keep(struct texts *texts, struct arena *arena, const char *text)
{
	uint32_t id = names_find(&texts->names, text);
	if (id != NONE)
		return texts->text[id];
	const char *copy = GROWN(texts->text, texts->room, (size_t)texts->count + 1)
		? arena_text(arena, text, strlen(text))
		: NULL;
	if (!copy || names_add(&texts->names, copy, texts->count) == NONE)
		return NULL;
	return texts->text[texts->count++] = copy;
}

void texts_free(struct texts *texts)
{
	names_free(&texts->names);
	mem_free(texts->text);
	*texts = (struct texts){ 0 };
}

static char names_left_out[256];

void steps_leave_out(const char *names)
{
	PRINT_TO(names_left_out, "%s", names);
}

bool step_runs(const char *name)
{
	size_t length = strlen(name);
	for (const char *at = names_left_out; (at = strstr(at, name)); at += length)
		if ((at == names_left_out || at[-1] == ',') && (at[length] == ',' || !at[length]))
			return false;
	return true;
}
