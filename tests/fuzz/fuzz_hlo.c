/* fuzz_hlo.c: anything read as the text of an HLO module is refused with a reason, or becomes a graph, with fusions
 * closed and open. What begins with a line "BufferAssignment:" is read as the file of XLA's addresses that
 * lies beside the module's. */

#include "must.h"
#include "solver/graph/problem.h"
#include "src/read/hlo/hlo.h"
#include "tests/common/order_valid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct graph *graph, const struct error *error)
{
	struct problem problem;
	struct memory_rules rules = { .alignment = 64, .workspace = true };
	struct error ignored = { 0 };
	must(graph || (error->status == BAD_INPUT && error->text[0]), "no reason is given");
	if (graph && problem_of_graph(graph, &rules, &problem, &ignored) == OK) {
		must(problem_order_valid(&problem, problem.program), "the program order is not valid");
		problem_free(&problem);
	}
	graph_release(graph);
}

static enum status read_module(const uint8_t *data, size_t size, struct hlo_module *module, struct error *error)
{
	char *copy = malloc(size + 1);   /* the sanitizer watches its end */
	must(copy != NULL, "out of memory");
	memcpy(copy + 1, data, size);
	enum status status = hlo_text_read(copy + 1, size, module, error);
	must(status == OK || (status == BAD_INPUT && error->text[0]), "no reason is given");
	free(copy);
	return status;
}

static void read_assignment(const uint8_t *data, size_t size, struct hlo_module *module, struct error *error)
{
	char *copy = malloc(size + 1);
	must(copy != NULL, "out of memory");
	memcpy(copy + 1, data, size);
	enum status status = hlo_assignment_text(copy + 1, size, module, error);
	must(status == OK || (status == BAD_INPUT && error->text[0]), "no reason is given for an assignment");
	free(copy);
}

static size_t module_size(const uint8_t *data, size_t size)
{
	static const char head[] = "\nBufferAssignment:";
	const uint8_t *end = data + size, *at = data;
	while ((at = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL) &&
		((size_t)(end - at) < sizeof head - 1 || memcmp(at, head, sizeof head - 1) != 0))
		at++;
	return at ? (size_t)(at + 1 - data) : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(hlo_module) module;
	struct error error = { 0 };
	size_t of_module = module_size(data, size);
	enum status status = read_module(data, of_module, &module, &error);
	if (status == OK && of_module < size)
		read_assignment(data + of_module, size - of_module, &module, &error);
	for (int open = 0; open < 2 && status == OK; open++) {
		struct graph *graph = hlo_graph(&module, open, "XLA HLO", &error);
		check(graph, &error);
	}
	return 0;
}
