/* config_words.c: configurations in words, and how far apart they are. */

#include "config_search.h"

/* X(field, name, words, least value worth saying) */
static const char *const numbers[1];
#define CHOICES(X) X(dp, "dp", numbers, 2) X(tp, "tp", numbers, 2) X(pp, "pp", numbers, 2) X(cp, "cp", numbers, \
	2) X(ep, "ep", numbers, 2) \
	X(sp, "sp", numbers, 1) X(zero, "zero", numbers, 1) X(recompute, "recompute", recompute_names, \
		1) X(recompute_layers, "recompute_layers", numbers, 1) \
	X(schedule, "schedule", schedule_names, 2) X(chunks, "chunks", numbers, 2) X(offload, "offload", offload_names, \
		1) X(microbatch, "mbs", numbers, 1)

static uint32_t config_words_changed(const struct config *a, const struct config *b)
{
	uint32_t count = 0;
#define X(field, name, words, least) count += a->field != b->field;
	CHOICES(X)
#undef X
	return count;
}

const char *config_biggest(const struct rank_memory *memory, int64_t *bytes)
{
	const struct {
		const char *name;
		int64_t bytes;
	} part[] = { { "parameters", memory->parameters }, { "gradients", memory->gradients },
		{ "optimizer state", memory->optimizer }, { "activations", memory->activations },
		{ "short-lived tensors", memory->transient }, { "gathered parameters", memory->gathered },
		{ "overheads", memory->overhead } };
	size_t most = 0;
	for (size_t i = 1; i < COUNT_OF(part); i++)
		if (part[i].bytes > part[most].bytes)
			most = i;
	*bytes = part[most].bytes;
	return part[most].name;
}

bool config_equal(const struct config *a, const struct config *b)
{
	return config_words_changed(a, b) == 0 && a->microbatches == b->microbatches;
}

uint32_t config_nearest(const struct config_list *list, const struct config *wanted)
{
	uint32_t best = NONE, least = UINT32_MAX;
	FOR(i, list->fitting) {
		uint32_t changes = config_words_changed(&list->entry[i]->config, wanted);
		if (changes < least) {
			least = changes;
			best = i;
		}
	}
	return best;
}

static size_t add_text(
	char *text, size_t size, size_t at, const char *before, const char *name, const char *const *words, uint32_t value)
{
	int length = words != numbers ? snprintf(text + at, size - at, "%s%s %s", before, name, words[value])
		: snprintf(text + at, size - at, "%s%s %u", before, name, value);
	at += length > 0 ? (size_t)length : 0;
	return at < size ? at : size - 1;
}

char *config_changes(const struct config *from, const struct config *to, char *text, size_t size)
{
	size_t at = 0;
	text[0] = '\0';
#define X(field, name, words, least) \
	if (from->field != to->field) { \
		at = add_text(text, size, at, at ? ", " : "", name, words, from->field); \
		at = add_text(text, size, at, " ", "->", words, to->field); \
	}
	CHOICES(X)
#undef X
	return text;
}

char *config_text(const struct config *config, char *text, size_t size)
{
	size_t at = 0;
	text[0] = '\0';
#define X(field, name, words, least) \
	if (config->field >= least) \
		at = add_text(text, size, at, at ? " " : "", name, words, config->field);
	CHOICES(X)
#undef X
	if (config->schedule == SCHEDULE_GPIPE)
		add_text(text, size, at, at ? " " : "", "schedule", schedule_names, config->schedule);
	return text;
}

enum status config_refuse(const struct config_request *request, bool dense, const char *unsplit, uint32_t blocks,
	struct error *error)
{
	const struct {
		const char *name;
		uint32_t wanted;
	} degree[] = { { "dp", request->dp }, { "tp", request->tp }, { "pp", request->pp }, { "cp", request->cp },
		{ "ep", request->ep } };
	uint64_t product = 1;
	char text[120] = "";
	struct words words = { text, sizeof text, 0 };
	FOR(i, COUNT_OF(degree))
		if (degree[i].wanted) {
			product *= degree[i].wanted;
			words_add(&words, "%s%s %u", words.at ? " x " : "", degree[i].name, degree[i].wanted);
		}
	if (product == 0 || request->devices % product != 0)
		return refuse(error, "no configuration: %s doesn't divide the %u devices", text, request->devices);
	if (request->ep > 1 && dense)
		return refuse(error, "no configuration: the model has no experts for ep %u", request->ep);
	if (*unsplit)
		return refuse(error, "no configuration: %s", unsplit);
	if (request->pp > blocks && blocks > 0)
		return refuse(error, "no configuration: pp %u, but the model has %u blocks", request->pp,
			blocks);
	return refuse(error,
		"no configuration: the degrees must multiply to %u devices, and %lld samples must be whole microbatches",
		request->devices, (long long)request->batch);
}
