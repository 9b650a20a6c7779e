/* fuzz_hugging_face.c: any text as a config.json: a configuration with sizes in their ranges, or an error. */
#include <string.h>

#include "src/models/hugging_face.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[40];
	struct error error = { 0 };
	struct hugging_face model = { 0 }, again = { 0 };
	enum status status = hugging_face_read((const char *)data, size, &model, &error);
	must(status == OK || (status == BAD_INPUT && error.text[0] && error.status == BAD_INPUT));
	int descriptor = as_file(data, size, path);
	if (status == OK) {
		must(hugging_face_is(path) && hugging_face_open(path, &again, NULL) == OK &&
			again.config.hidden == model.config.hidden);
		const struct model_config *config = &model.config;
		must(model.name && config->layers >= 1 && config->layers <= 4096 && config->hidden >= 1 && config->hidden <= 1 << 20);
		must(config->family == FAMILY_VIT ? config->classes >= 2
			: config->vocab >= 2 && config->seq >= 2 && config->seq <= HUGGING_FACE_SEQ);
	}
	close(descriptor);
	return 0;
}
