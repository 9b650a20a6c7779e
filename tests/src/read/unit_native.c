/* unit_native.c: the native format: round trips, and an error with its line for everything that is wrong. */
#include <stdio.h>
#include <string.h>

#include "tests/common/native_text.h"
#include "tests/common/random_graph.h"
#include "src/read/card.h"
#include "src/read/input.h"
#include "tests/common/support.h"

static struct graph *parse_bytes(const char *text, size_t size, struct error *error)
{
	char path[] = "/tmp/tidemark-test-XXXXXX";
	int descriptor = mkstemp(path);
	FILE *file = fdopen(descriptor, "w");
	fwrite(text, 1, size, file);
	fclose(file);
	struct graph *graph = graph_open(path, NULL, error);
	remove(path);
	return graph;
}

static struct graph *parse(const char *text, struct error *error)
{
	return parse_bytes(text, strlen(text), error);
}

static char *print(const struct graph *graph)
{
	size_t size;
	return text_of_graph(graph, &size);
}

#define HEAD "{\"k\":\"graph\",\"v\":1,\"name\":\"x\"}\n"
#define OP(id, type, members) "{\"k\":\"op\",\"id\":\"" id "\",\"op\":\"" type "\",\"in\":[],\"out\":[]" members "}\n"
#define END(tensors, ops) "{\"k\":\"end\",\"tensors\":" #tensors ",\"ops\":" #ops "}\n"
#define BATCHES(list) "{\"k\":\"graph\",\"v\":1,\"name\":\"x\",\"batch\":2,\"batches\":" list "}\n"
#define GROWS BATCHES("[2,3]")
#define B(members) \
	"{\"k\":\"tensor\",\"id\":\"b\",\"bytes\":8,\"dtype\":\"f32\",\"shape\":[2,1],\"per_sample\":" members "}\n"
#define A "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4}\n"

Test(native, unknown_keys_survive_byte_for_byte)
{
	static const char text[] =
		"{\"k\":\"graph\",\"v\":1,\"name\":\"x\",\"seq\":null,\"note\":[1.50,{\"a,}\":\"\\\"\"}]}\n"
		"{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"dtype\":\"f32\",\"shape\":[1],\"kind\":\"activation\",\"stride\":"
		"[1.0e0]}\n"
		"{\"k\":\"op\",\"id\":\"p\",\"op\":\"f\",\"phase\":\"forward\",\"mod\":\"m.0\",\"in\":[],\"out\":[\"a\"],"
		"\"flops\":3,\"workspace\":9,\"args\":[[0.1,true]]}\n" END(1, 1);
	struct error error;
	OWN(graph) *graph = parse(text, &error);
	cr_assert_not_null(graph, "%s", error.text);
	char *again = print(graph);
	cr_assert_str_eq(again, text);
	free(again);
}

/* A step, and behind it how it grows with its batch. */
#define GROWN_STEP HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"kind\":\"activation\"}\n" END(1, 0) \
	"{\"k\":\"graph\",\"v\":1,\"name\":\"x\",\"batch\":2,\"batches\":[2,3]}\n" \
	"{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":8,\"dtype\":\"f32\",\"shape\":[2,1],\"kind\":\"activation\",\"per_sample\":{\"shape\":[1,0]}}\n" \
	"{\"k\":\"tensor\",\"id\":\"b\",\"bytes\":8,\"dtype\":\"u8\",\"shape\":[1],\"kind\":\"activation\",\"per_sample\":{\"bytes\":4}}\n" \
	OP("p", "f", \
		",\"flops\":6,\"args\":[[2,3],true],\"kwargs\":{\"k\":7},\"per_sample\":{\"flops\":3,\"arguments\":[[0,1],[2,-4]]}") \
	OP("q", "f", ",\"workspace\":9,\"args\":[1],\"workspace_at\":[[2,9],[8,12]]") END(2, 2)

Test(native, how_a_step_grows_with_its_batch_is_read_and_written_again)
{
	static const char text[] = GROWN_STEP;
	struct error error;
	OWN(graph) *graph = parse(text, &error);
	cr_assert_not_null(graph, "%s", error.text);
	cr_assert_eq(graph->line[0], 0);
	const struct graph *other = graph->other;
	cr_assert(other->line[0] == 2 && other->line[1] == 3 && other->line[2] == 0);
	cr_assert_eq(other->tensor[0].grows[0], 1);
	cr_assert_eq(other->tensor[1].grows[1], 4);
	cr_assert_eq(other->op[0].grows->number[1].by, -4);
	cr_assert(other->op[1].grows->workspaces == 2 && other->op[1].grows->workspace[1].bytes == 12);
	char *again = print(graph);
	cr_assert_str_eq(again, text);
	free(again);
}

Test(native, what_an_op_is_called_with_becomes_values_and_is_written_again)
{
	static const char text[] = HEAD
		"{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"kind\":\"gradient\",\"gradient_of\":\"w\",\"stride\":[1]}\n" OP(
			"p", "f",
			",\"args\":[{\"t\":\"a\"},[1,-2],0.1,1e-05,2.0,true,null,[],{\"torch\":\"float32\"}],\"kwargs\":{\"alpha\":"
			"\"one\"},\"result\":[\"b\",null],\"random\":true") OP("q", "f", ",\"args\":7") END(1, 2);
	struct error error;
	OWN(graph) *graph = parse(text, &error);
	cr_assert_not_null(graph, "%s", error.text);
	char *again = print(graph);
	cr_assert_str_eq(again, text);
	cr_assert_str_eq(graph->tensor[0].gradient_of, "w");
	cr_assert_str_eq(graph->op[0].extra, "\"random\":true");
	const struct arguments *said = graph->op[0].arguments;
	int64_t number;
	cr_assert_str_eq(arguments_item(said, 0)->text, "a");
	cr_assert(arguments_item(said, 1)->kind == ARGUMENT_LIST &&
		argument_integer(arguments_item(said, 1) + 2, &number) && number == -2);
	cr_assert(!argument_integer(arguments_item(said, 2), &number) && !argument_integer(arguments_item(said, 5), &number));
	cr_assert(arguments_item(said, 8)->kind == ARGUMENT_MAP && !arguments_item(said, 9) &&
		!arguments_item(graph->op[1].arguments, 0));
	free(again);
}

Test(native, state_that_a_step_replaces_ends_at_its_last_use)
{
	static const char text[] = HEAD
		"{\"k\":\"tensor\",\"id\":\"m\",\"bytes\":4,\"kind\":\"optimizer\",\"replaced\":true}\n"
		"{\"k\":\"tensor\",\"id\":\"w\",\"bytes\":8,\"kind\":\"parameter\"}\n"
		"{\"k\":\"tensor\",\"id\":\"new\",\"bytes\":4,\"kind\":\"output\"}\n"
		"{\"k\":\"op\",\"id\":\"p\",\"op\":\"f\",\"in\":[\"m\",\"w\"],\"out\":[\"new\"]}\n" END(3, 1);
	struct error error;
	OWN(graph) *graph = parse(text, &error);
	cr_assert_not_null(graph, "%s", error.text);
	cr_assert(graph->tensor[0].replaced && !graph->storage[0].persistent && !graph->storage[0].live_out);
	cr_assert(!graph->tensor[1].replaced && graph->storage[1].persistent);
	cr_assert_eq(graph->persistent_bytes, 8);
	char *again = print(graph);
	cr_assert_str_eq(again, text);
	free(again);
}

Test(native, members_of_device_graphs_become_words_and_are_written_again)
{
	static const char text[] = HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"kind\":\"activation\",\"note\":1,"
									"\"placement\":[\"S(0)\",\"R\"]}\n" OP("p", "comm.reduce_scatter",
										",\"axis\":\"dp\",\"size\":4,\"group\":0,\"moved\":12,\"from\":[\"P\",\"R\"],"
										"\"to\":[\"S(1:3)\",\"R\"],\"recomputed\":true")
										OP("q", "comm.send", ",\"axis\":\"pp\",\"size\":2,\"moved\":8,\"to\":1")
											OP("r", "comm.recv", ",\"axis\":\"pp\",\"size\":2,\"moved\":0,\"from\":0")
												OP("s", "tidemark.offload", ",\"in_flight\":3") END(1, 4);
	struct error error;
	OWN(graph) *graph = parse(text, &error);
	cr_assert_not_null(graph, "%s", error.text);
	char *again = print(graph);
	cr_assert_str_eq(again, text);
	const struct collective *said = graph->op[0].collective;
	cr_assert(graph->op[0].recomputed && said->kind == COLLECTIVE_REDUCE_SCATTER && said->size == 4 &&
		said->group == 0 && said->rank == NONE && said->moved == 12);
	cr_assert_str_eq(said->axis, "dp");
	cr_assert(said->from.axes == 2 && said->from.on[0].dim == PLACE_PARTIAL && said->to.on[0].dim == 1 &&
		said->to.on[0].blocks == 3);
	cr_assert(graph->op[1].collective->rank == 1 && graph->op[2].collective->rank == 0 &&
		graph->op[2].collective->kind == COLLECTIVE_RECEIVE);
	cr_assert(graph->op[3].in_flight == 3 && !graph->op[3].collective);
	cr_assert(graph->tensor[0].places->axes == 2 && graph->tensor[0].places->on[1].dim == PLACE_WHOLE);
	free(again);
}

/* The same keys on another op, or with other values, are somebody else's; a key may be written with escapes. */
Test(native, other_members_of_the_same_names_stay_as_they_are)
{
	static const char text[] = HEAD
		"{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"kind\":\"activation\",\"placement\":[\"S(01)\"]}\n" OP(
			"p", "aten.cat", ",\"axis\":\"dp\",\"size\":4,\"recomputed\":false")
			OP("q", "comm.all_gather", ",\"axis\":1,\"size\":0,\"group\":-1,\"moved\":2.5,\"from\":[],\"to\":1")
				OP("r", "comm.mine", ",\"from\":[\"R\",\"R\",\"R\",\"R\",\"R\"],\"in_flight\":0") END(1, 3);
	static const char escaped[] = HEAD OP("p", "comm.slice", ",\"a\\u0078is\":\"dp\"") END(0, 1);
	struct error error;
	struct graph *graph = parse(text, &error);
	cr_assert_not_null(graph, "%s", error.text);
	char *again = print(graph);
	cr_assert_str_eq(again, text);
	cr_assert(!graph->op[0].collective && graph->op[1].collective->kind == COLLECTIVE_ALL_GATHER &&
		!*graph->op[1].collective->axis);
	cr_assert_eq(graph->op[2].collective->kind, COLLECTIVE_OTHER);
	free(again);
	graph_release(graph);
	graph = parse(escaped, &error);
	cr_assert_not_null(graph, "%s", error.text);
	again = print(graph);
	cr_assert_str_eq(again, HEAD OP("p", "comm.slice", ",\"axis\":\"dp\"") END(0, 1));
	free(again);
	graph_release(graph);
}

Test(native, the_card_says_once_what_the_ops_are)
{
	static const struct { const char *ops, *step;
	} cases[] = { { OP("p", "f", "") OP("q", "f", "") END(0, 2), "step: 2 of unknown phase; no optimizer state" },
		{ OP("p", "f", ",\"phase\":\"forward\"") OP("q", "f", "") END(0, 2),
			"step: forward 1, 1 of unknown phase; no optimizer state" },
		{ OP("p", "f", ",\"phase\":\"forward\"") END(0, 1), "step: forward 1; no backward pass; no optimizer state" },
		{ END(0, 0), "step: no ops; no backward pass; no optimizer state" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char text[1000];
		struct error error;
		snprintf(text, sizeof text, HEAD "%s", cases[i].ops);
		OWN(graph) *graph = parse(text, &error);
		cr_assert_not_null(graph, "%s", error.text);
		HELD char *card = card_text(graph);
		cr_assert(card && strstr(card, cases[i].step), "%s", card);
	}
}

Test(native, random_graphs_survive_a_round_trip)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 200; round++) {
		OWN(graph) *graph = random_graph(&random, 20);
		char *text = print(graph);
		struct error error;
		OWN(graph) *again = parse(text, &error);
		cr_assert_not_null(again, "%s", error.text);
		cr_assert_eq(graph->fingerprint, again->fingerprint);
		char *twice = print(again);
		cr_assert_str_eq(twice, text);
		free(text);
		free(twice);
	}
}

static const struct { const char *text; unsigned line; const char *expected;
} wrong[] = {
	{ "", 0, "empty" },
	{ "\n\n", 2, "empty" },
	{ HEAD A, 2, "truncated" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"by", 2, "not a JSON record" },
	{ HEAD "[1,2]\n", 2, "no \"k\"" },
	{ A END(1, 0), 1, "first record" },
	{ HEAD A A END(2, 0), 3, "two tensors named \"a\"" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":-4}\n" END(1, 0), 2, "-4 bytes" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":9000000000000000000}\n" END(1, 0), 2, "not between 0 and 2^60" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":99999999999999999999}\n" END(1, 0), 2, "not a JSON record" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":1.5}\n" END(1, 0), 2, "must be an integer" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"shape\":[1000000000,1000000000,1000000000],\"dtype\":\"f32\"}\n" END(1, 0),
		2, "overflows" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\"}\n" END(1, 0), 2, "neither \"bytes\"" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"dtype\":\"f33\"}\n" END(1, 0), 2,
		"unknown dtype \"f33\": expected f64, f32," },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"dtype\":\"bfloat16\"}\n" END(1, 0), 2, "; the nearest is bf16" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"size\":4}\n" END(1, 0), 2, "\"size\", but no \"bytes\"" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"outputs\":[\"a\"]}\n" END(1, 1), 3, "\"outputs\", but no \"out\"" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"kind\":\"thing\"}\n" END(1, 0), 2, "unknown kind" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"alias\":\"b\"}\n" END(1, 0), 2, "no tensor named \"b\"" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\\u0000b\",\"bytes\":4}\n" END(1, 0), 2, "" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"in\":[\"zz\"],\"out\":[]}\n" END(1, 1), 3, "no tensor named \"zz\"" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"after\":[\"zz\"]}\n" END(1, 1), 3, "no op named \"zz\"" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"out\":[\"a\"]}\n{\"k\":\"op\",\"id\":\"q\",\"out\":[\"a\"]}\n" END(1, 2), 4,
		"two writers" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"in\":[\"a\"]}\n{\"k\":\"op\",\"id\":\"p\"}\n" END(1, 2), 4,
		"two ops named" },
	{ HEAD "{\"k\":\"op\",\"id\":\"p\",\"after\":[\"q\"]}\n{\"k\":\"op\",\"id\":\"q\",\"after\":[\"p\"]}\n" END(0, 2),
		0, "cycle of 2 ops" },
	{ HEAD A END(2, 0), 3, "counts 2 tensors" },
	{ HEAD A END(1, 0) A, 4, "after the end" },
	{ HEAD A END(1, 0) HEAD A END(1, 0), 6, "one of the two have \"batches\"" },
	{ HEAD A END(1, 0) GROWS A END(1, 0) GROWS A END(1, 0), 7, "after the end" },
	{ GROWS A END(1, 0) GROWS A END(1, 0), 6, "one of the two have \"batches\"" },
	{ GROWS A END(1, 0) "{\"k\":\"graph\",\"v\":1,\"batch\":2}\n" A END(1, 0), 6, "at another \"batch\"" },
	{ BATCHES("[3,4]") A END(1, 0), 1, "\"batch\" among them" },
	{ BATCHES("[2]") A END(1, 0), 1, "two or three" },
	{ BATCHES("[1,2,3,4]") A END(1, 0), 1, "two or three" },
	{ BATCHES("[2,2]") A END(1, 0), 1, "ascending" },
	{ BATCHES("7") A END(1, 0), 1, "two or three" },
	{ GROWS B("{\"shape\":[1]}") END(1, 0), 2, "a number for each dim" },
	{ GROWS B("{\"shape\":[1,0.5]}") END(1, 0), 2, "a number for each dim" },
	{ GROWS B("{\"bytes\":1,\"more\":2}") END(1, 0), 2, "a number for each dim" },
	{ GROWS B("4") END(1, 0), 2, "a number for each dim" },
	{ GROWS OP("q", "f", ",\"args\":[1],\"per_sample\":{\"arguments\":[[1,1]]}") END(0, 1), 2,
		"pairs of a place and a number" },
	{ GROWS OP("q", "f", ",\"args\":[1,2],\"per_sample\":{\"arguments\":[[1,1],[0,1]]}") END(0, 1), 2,
		"both ascending" },
	{ GROWS OP("q", "f", ",\"workspace\":9,\"workspace_at\":[[2,9]]") END(0, 1), 2, "pairs of a batch and bytes" },
	{ GROWS OP("q", "f", ",\"workspace\":9,\"workspace_at\":[[2,8],[3,9]]") END(0, 1), 2, "the graph's own" },
	{ GROWS OP("q", "f", ",\"workspace\":9,\"workspace_at\":[[3,9],[2,9]]") END(0, 1), 2, "both ascending" },
	{ GROWS OP("q", "f", ",\"workspace\":9,\"workspace_at\":[[2,9],[3,-1]]") END(0, 1), 2,
		"pairs of a batch and bytes" },
	{ HEAD A END(1, 0) GROWS A, 5, "truncated" },
	{ "{\"k\":\"graph\",\"v\":2}\n" END(0, 0), 1, "version 2" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\xff\",\"bytes\":4}\n" END(1, 0), 2, "not a JSON record" },
	{ HEAD "{\"k\":\"tensor\",\"id\":\"a\",\"bytes\":4,\"bytes\":5}\n" END(1, 0), 2, "not a JSON record" },
	{ HEAD "{\"k\":\"op\",\"id\":\"p\",\"phase\":\"sideways\"}\n" END(0, 1), 2, "unknown phase" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"in\":[\"a\"],\"inplace\":[[\"zz\",\"a\"]]}\n" END(1, 1), 3,
		"no tensor named" },
	{ HEAD A "{\"k\":\"op\",\"id\":\"p\",\"in\":[\"a\"],\"inplace\":[\"a\"]}\n" END(1, 1), 3, "pairs" },
};

Test(native, every_mistake_is_named_with_its_line)
{
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct error error = { 0 };
		struct graph *graph = parse_bytes(wrong[i].text, strlen(wrong[i].text), &error);
		cr_assert_null(graph, "case %zu was accepted", i);
		cr_assert_eq(error.status, BAD_INPUT);
		cr_assert(strstr(error.text, wrong[i].expected), "case %zu: \"%s\" instead of \"%s\"", i, error.text,
			wrong[i].expected);
		if (wrong[i].line)
			cr_assert_eq(error.line, wrong[i].line, "case %zu: line %u instead of %u (%s)", i, error.line,
				wrong[i].line, error.text);
	}
}

Test(native, nul_bytes_and_deep_nesting_are_errors)
{
	static const char nul[] = HEAD "{\"k\":\"op\",\"id\":\"p\"}\0\n" END(0, 1);
	struct error error;
	cr_assert_null(parse_bytes(nul, sizeof nul - 1, &error));
	cr_assert(strstr(error.text, "NUL") && error.line == 2, "%u: %s", error.line, error.text);
	size_t depth = 10000, size = sizeof HEAD + 2 * depth + 100;
	char *deep = malloc(size);
	int used = snprintf(deep, size, HEAD "{\"k\":\"op\",\"id\":\"p\",\"args\":");
	memset(deep + used, '[', depth);
	memset(deep + used + depth, ']', depth);
	snprintf(deep + used + 2 * depth, size - (size_t)used - 2 * depth, "}\n");
	cr_assert_null(parse(deep, &error));
	cr_assert_eq(error.line, 2);
	free(deep);
}

Test(native, files_that_cannot_be_read_say_why)
{
	struct error error;
	cr_assert_null(graph_open("/nowhere/at/all", NULL, &error));
	cr_assert_str_eq(error.text, "no such file");
	cr_assert_null(graph_open("tests/bench", NULL, &error));
	cr_assert_eq(strncmp(error.text, "is a directory", 14), 0);
	static const char cut[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56";
	cr_assert_null(parse_bytes(cut, sizeof cut - 1, &error));
	cr_assert(strstr(error.text, "truncated"), "%s", error.text);
}

Test(native, every_allocation_of_a_second_graph_may_fail)
{
	EACH_REFUSAL(refused) {
		struct error error = { 0 };
		graph_release(graph_of_text(GROWN_STEP, sizeof GROWN_STEP - 1, &error));
		refused.status = error.status;
	}
}

Test(native, every_allocation_may_fail)
{
	static const char text[] = HEAD A "{\"k\":\"op\",\"id\":\"p\",\"in\":[],\"out\":[\"a\"],\"x\":1}\n" END(1, 1);
	EACH_REFUSAL(refused) {
		struct error error;
		struct graph *graph = parse_bytes(text, sizeof text - 1, &error);
		graph_release(graph);
		if (graph)
			break;
	}
}
