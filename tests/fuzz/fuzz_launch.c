/* fuzz_launch.c: any file is settings and notes, or an error; settings are lines of one piece. */
#include "src/read/launch.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[40];
	struct error error = { 0 };
	OWN(launch) launch;
	int descriptor = as_file(data, size, path);
	enum status status = launch_read(&launch, path, size % 3 ? 64 : 1, &error);
	must(status == OK || (status == BAD_INPUT && error.text[0]));
	FOR(i, launch.lines)
		must(launch.line[i].said.text[0] && !strchr(launch.line[i].said.text, '\n'));
	close(descriptor);
	return 0;
}
