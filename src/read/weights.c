/* weights.c: what the header of a safetensors file says; no weight is read. */
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
		for (size_t i = 0; i < json_array_size(shape); i++)
			numbers *= (double)json_integer_value(json_array_get(shape, i));
		if ((type = json_string_value(json_object_get(tensor, "dtype"))))
			weights_add(weights, type, numbers);
	}
}

char *weights_say(const char *data, size_t size, char *said, size_t room)
{
	struct weights weights = { 0 };
	struct words words = { said, room, 0 };
	char text[2][32];
	double numbers = 0;
	size_t length = 0;
	for (int i = 7; i >= 0 && size > 8; i--) /* the lowest byte first */
		length = length << 8 | (unsigned char)data[i];
	json_t *file = size > 8 && length <= size - 8 ? json_loadb(data + 8, length, 0, NULL) : NULL;
	weights_safetensors(file, &weights);
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
