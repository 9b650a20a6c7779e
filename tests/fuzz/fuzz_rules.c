/* fuzz_rules.c: the file of a user's operator rules takes anything: rules or an error. */
#include "src/read/rules_file.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[40];
	struct error error = { 0 };
	int descriptor = as_file(data, size, path);
	struct rules *rules = rules_load(path, &error);
	must(rules || (error.status == BAD_INPUT && error.text[0]));
	rules_free(rules);
	close(descriptor);
	return 0;
}
