/* aliases.c: short words for settings: fsdp, knobs as frameworks name them, GPUs by the names people say. */
#include <ctype.h>

#include "knobs.h"

static const struct { const char *word, *set; } aliases[] = {
	{ "fsdp", "strategy=zero zero=3" },
	{ "hsdp", "strategy=zero zero=3 replicate=2" },
	{ "ddp", "strategy=data" },
	{ "zero1", "strategy=zero zero=1" },
	{ "zero2", "strategy=zero zero=2" },
	{ "zero3", "strategy=zero zero=3" },
};

static const struct { const char *word; enum knob_id knob; } names[] = {
	{ "ac", K_recompute }, { "bs", K_batch }, { "seqlen", K_seq }, { "gpus", K_devices }, { "mb", K_microbatches },
	{ "grad_accum", K_accumulation }, { "order_effort", K_effort }, { "layout_effort", K_effort },
};

enum knob_id alias_of_knob(const char *name)
{
	FOR(i, COUNT_OF(names))
		if (strcmp(names[i].word, name) == 0)
			return names[i].knob;
	return KNOB_COUNT;
}

bool alias_of_device(const char *word, char name[ALIAS_SIZE])
{
	size_t length = strlen(word);
	char preset[ALIAS_SIZE];
	*name = '\0';
	for (int64_t i = 1; length > 0 && i <= knobs[K_device].maximum; i++) {
		knob_text(K_device, i, preset, sizeof preset);
		const char *at = text_begins(preset, "rtx") && isdigit((unsigned char)*word) ? preset + 3 : preset;
		bool whole = strcmp(preset, word) == 0;
		if (whole || (strncmp(at, word, length) == 0 && (at += length + (at[length] == 'x'), *at == '-') &&
			isdigit((unsigned char)at[1]) &&
			(!*name || strcmp(at, "-80gb") == 0)))
			memcpy(name, preset, sizeof preset);
		if (whole)
			break;
	}
	return *name;
}

bool alias_settings(const char *word, char *text, size_t size)
{
	char *rest, device[ALIAS_SIZE];
	FOR(i, COUNT_OF(aliases))
		if (strcmp(aliases[i].word, word) == 0)
			return snprintf(text, size, "%s", aliases[i].set) > 0;
	long devices = strtol(word, &rest, 10);
	bool several = rest > word && *rest == 'x' && devices > 0;
	if (!alias_of_device(several ? rest + 1 : word, device))
		return false;
	return several ? snprintf(text, size, "devices=%ld device=%s", devices, device) > 0
		: snprintf(text, size, "device=%s", device) > 0;
}
