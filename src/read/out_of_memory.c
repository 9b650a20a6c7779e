/* out_of_memory.c: what the text of a GPU's out-of-memory error says, of PyTorch 1 and 2 and of JAX. */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "detect.h"
#include "src/base/words.h"

enum figure { ASKED, TOTAL, FREE, HELD, PIECES, RESERVED, FIGURES };

/* Words that a figure is behind (after) or before. */
static const struct { const char *words; enum figure figure; bool after; } places[] = {
	{ "ried to allocate ", ASKED, true },
	{ "trying to allocate ", ASKED, true },
	{ "emory allocating ", ASKED, true },
	{ "otal capacity of ", TOTAL, true },
	{ "otal capacty of ", TOTAL, true }, /* as PyTorch 2.0 and 2.1 write it */
	{ " total capacity;", TOTAL, false },
	{ "max allowed: ", TOTAL, true },
	{ "MPS allocated: ", HELD, true },
	{ "of which ", FREE, true },
	{ " free;", FREE, false },
	{ " is allocated by PyTorch", HELD, false },
	{ " already allocated;", HELD, false },
	{ " is reserved by PyTorch but unallocated", PIECES, false },
	{ " reserved in total by PyTorch", RESERVED, false },
};

/* "2.00 GiB", "8.81 GB" (as MPS writes the same) or "5368709120 bytes"; -1: none. */
static int64_t oom_size(const char *text)
{
	static const char units[] = "bKMGT";
	char *end;
	double value = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
	const char *unit = value >= 0 && *end == ' ' && end[1] ? strchr(units, end[1]) : NULL;
	for (; unit && unit > units; unit--)
		value *= 1024;
	return unit && value < 1e18 ? (int64_t)value : -1;
}

/* The beginning of the figure that ends at `end`: two words back. */
static const char *oom_before(const char *text, const char *end)
{
	for (int words = 0; end > text; end--)
		if ((end[-1] == ' ' || end[-1] == '(') && (++words == 2 || end[-1] == '('))
			return end;
	return text;
}

static void oom_read(const char *text, int64_t figure[FIGURES])
{
	for (int i = 0; i < FIGURES; i++)
		figure[i] = -1;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const char *at = strstr(text, places[i].words);
		if (at && figure[places[i].figure] < 0)
			figure[places[i].figure] = oom_size(places[i].after ? at + strlen(places[i].words) : oom_before(text, at));
	}
	if (figure[PIECES] < 0 && figure[RESERVED] >= 0 && figure[RESERVED] >= figure[HELD])
		figure[PIECES] = figure[RESERVED] - figure[HELD];
}

char *out_of_memory_says(const char *text, char *said, size_t size)
{
	int64_t figure[FIGURES];
	struct words words = { said, size, 0 };
	oom_read(text, figure);
	*said = '\0';
	if (figure[ASKED] < 0)
		return said;
	words_add(&words, "%s were asked for", BYTES(figure[ASKED]));
	if (figure[FREE] >= 0 && figure[TOTAL] >= 0)
		words_add(&words, ", %s of %s were free", BYTES(figure[FREE]),
			BYTES(figure[TOTAL]));
	if (figure[HELD] >= 0)
		words_add(&words, ", tensors hold %s", BYTES(figure[HELD]));
	if (figure[PIECES] >= figure[ASKED])
		words_add(&words, ", %s are reserved and free, but not in one piece: "
			"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True may be enough",
			BYTES(figure[PIECES]));
	words_add(&words, "; ");
	return said;
}
