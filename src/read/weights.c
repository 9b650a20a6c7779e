/* weights.c: what the headers of safetensors and GGUF files say; no weight is read. */
#include <string.h>

#include "detect.h"
#include "src/base/json.h"
#include "src/base/words.h"

#define KINDS 16

struct weights { double tensors, numbers[KINDS]; const char *name[KINDS]; };

static void weights_add(struct weights *weights, const char *name, double numbers)
{
	int at = 0;
	while (at < KINDS - 1 && weights->name[at] && strcmp(weights->name[at], name) != 0)
		at++;
	weights->name[at] = name;
	weights->numbers[at] += numbers;
	weights->tensors++;
}

static void weights_safetensors(json_t *file, struct weights *weights)
{
	const char *name, *type;
	json_t *tensor;
	json_object_foreach(file, name, tensor) {
		const json_t *shape = json_object_get(tensor, "shape");
		double numbers = 1;
		FOR_SIZE(i, json_array_size(shape))
			numbers *= (double)json_integer_value(json_array_get(shape, i));
		if ((type = json_string_value(json_object_get(tensor, "dtype"))))
			weights_add(weights, type, numbers);
	}
}

/* What is left of a GGUF file; at NULL: it ended too early. */
struct gguf { const char *at, *end; };

static uint64_t weights_take(struct gguf *gguf, uint64_t bytes)
{
	uint64_t number = 0;
	if (!gguf->at || (uint64_t)(gguf->end - gguf->at) < bytes) {
		gguf->at = NULL;
		return 0;
	}
	for (uint64_t i = SMALLER(bytes, 8); i-- > 0;) /* the lowest byte first */
		number = number << 8 | (unsigned char)gguf->at[i];
	gguf->at += bytes;
	return number;
}

/* So many values of one type of metadata: 8 is a text, 9 a list. */
static void weights_skip(struct gguf *gguf, uint64_t type, uint64_t count)
{
	static const uint8_t bytes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
	if (type < COUNT_OF(bytes) && bytes[type])
		weights_take(gguf, count > (uint64_t)1 << 40 ? UINT64_MAX : count * bytes[type]);
	else if (type != 8)
		gguf->at = NULL;
	for (uint64_t i = 0; i < count && gguf->at && type == 8; i++)
		weights_take(gguf, weights_take(gguf, 8));
}

static void weights_gguf(struct gguf gguf, struct weights *weights)
{
	static const char *const types[] = { "F32", "F16", "Q4_0", "Q4_1", NULL, NULL, "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K",
		"Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S",
		"IQ4_XS", "I8", "I16", "I32", "I64", "F64", "IQ1_M", "BF16", [39] = "MXFP4" };
	weights_take(&gguf, 8);
	uint64_t tensors = weights_take(&gguf, 8), pairs = weights_take(&gguf, 8), type;
	for (; pairs > 0 && gguf.at; pairs--) {
		weights_take(&gguf, weights_take(&gguf, 8));
		type = weights_take(&gguf, 4);
		bool list = type == 9;
		type = list ? weights_take(&gguf, 4) : type;
		weights_skip(&gguf, type, list ? weights_take(&gguf, 8) : 1);
	}
	for (; tensors > 0 && gguf.at; tensors--) {
		double numbers = 1;
		weights_take(&gguf, weights_take(&gguf, 8));
		for (uint64_t dims = weights_take(&gguf, 4); dims > 0 && gguf.at; dims--)
			numbers *= (double)weights_take(&gguf, 8);
		type = weights_take(&gguf, 4);
		weights_take(&gguf, 8);
		if (gguf.at)
			weights_add(weights, type < COUNT_OF(types) && types[type] ? types[type] : "another type", numbers);
	}
	if (!gguf.at)
		*weights = (struct weights){ 0 };
}

char *weights_say(const char *data, size_t size, char *said, size_t room)
{
	struct weights weights = { 0 };
	struct words words = { said, room, 0 };
	char text[2][32];
	double numbers = 0;
	struct gguf gguf = { data, data + size };
	uint64_t length = weights_take(&gguf, 8);
	json_t *file = size > 8 && length <= size - 8 ? json_loadb(data + 8, length, 0, NULL) : NULL;
	weights_safetensors(file, &weights);
	if (size > 4 && memcmp(data, "GGUF", 4) == 0)
		weights_gguf((struct gguf){ data, data + size }, &weights);
	words_add(&words, "%.0f tensors", weights.tensors);
	for (int i = 0; i < KINDS && weights.name[i]; numbers += weights.numbers[i++])
		words_add(&words, ", %.4g million numbers in %.12s", weights.numbers[i] / 1e6, weights.name[i]);
	if (numbers > 0 && numbers < 1e17)
		words_add(&words, ": to load it takes %s, to train it with Adam in mixed precision %s, activations aside; ",
			bytes_text((int64_t)size, text[0], sizeof text[0]),
			bytes_text((int64_t)(numbers * 16), text[1], sizeof text[1]));
	else
		*said = '\0';
	json_memory_failed();
	json_decref(file);
	return said;
}
