/* fuzz_session.c: session files take anything: they run up to the first line that is wrong, which is named. Nothing is
 * exported. */
#include <string.h>

#include "src/read/input.h"
#include "src/scenario/knobs.h"
#include "src/tidemark.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source source = source_of_text(&(struct text_left){ (const char *)data, size < 400 ? size : 400 });
	struct error error = { 0 };
	OWN(scenario) scenario;
	scenario_init(&scenario);
	scenario.value[K_effort] = 0;
	struct graph *graph = graph_open("samples/diamond.jsonl", NULL, &error);
	must(graph != NULL);
	OWN(session) *session = session_new(
		graph, "samples/diamond.jsonl", &scenario, &(struct session_options){ .interactive = false }, &error);
	must(session != NULL);
	if (session_replay(session, &source, false, NULL, NULL, &error) != OK)
		must(error.text[0] != '\0');
	return 0;
}
