/* unit_snapshot.c: what the readers of memory snapshots hand over, as buffers and as graphs; snapshot_test looks at what
 * these read. */
#include <inttypes.h>
#include <string.h>

#include "src/read/input.h"
#include "src/read/snapshot.h"
#include "tests/common/named.h"
#include "tests/common/support.h"

enum { LIVES_MOST = 300, LISTS = 6 };

/* A handover made here: [list][buffer]. */
struct made {
	char text[400 + LISTS * LIVES_MOST * 8];
	size_t length;
	int64_t list[LISTS][LIVES_MOST], events, peak, peak_event;
	uint32_t n;
};

static int64_t sum_at(const struct made *made, int64_t step)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < made->n; i++)
		sum += made->list[0][i] <= step && step < made->list[1][i] ? made->list[2][i] : 0;
	return sum;
}

/* The text of its buffers, with the sums that belong to them. */
static void hand_over(struct made *made)
{
	made->peak = made->peak_event = 0;
	for (int64_t step = 0; step < made->events; step++)
		if (sum_at(made, step) > made->peak) {
			made->peak = sum_at(made, step);
			made->peak_event = step;
		}
	for (uint32_t i = 0; i < made->n; i++)
		made->list[4][i] = sum_at(made, made->list[0][i]) - made->list[2][i];
	made->length = (size_t)snprintf(made->text, sizeof made->text,
		"{\"said\": {\"events\": %" PRId64 ", \"buffers\": %u, \"allocated_bytes\": %" PRId64 ", \"peak_places\": [{\"place\": "
		"\"a\\u001bb\", \"bytes\": 1}]}, \"peak_event\": %" PRId64 ", \"assumed\": \"; in turn\", \"says\": "
		"[[\"f\", \"main.f\", \"m.py:6 in f\", \"forward\"]]}\n",
		made->events, made->n, made->peak, made->peak_event);
	for (int k = 0; k < LISTS; k++, made->length += made->n * sizeof **made->list)
		memcpy(made->text + made->length, made->list[k], made->n * sizeof **made->list);
}

/* Random lives of multiples of 512: an event begins one, or ends one that is there. */
static void make_random(struct made *made, uint64_t *seed)
{
	uint32_t live[LIVES_MOST], lives = 0;
	*made = (struct made){ .events = 500 };
	for (int64_t step = 0; step < made->events; step++) {
		if (lives > 0 && (random_next(seed) % 2 || made->n == LIVES_MOST)) {
			uint32_t k = (uint32_t)(random_next(seed) % lives);
			made->list[1][live[k]] = step;
			live[k] = live[--lives];
		} else if (made->n < LIVES_MOST) {
			const int64_t row[LISTS] = { step, made->events, 512 * (1 + (int64_t)(random_next(seed) % 200)), -1, 0, 1 };
			for (int k = 0; k < LISTS; k++)
				made->list[k][made->n] = row[k];
			live[lives++] = made->n++;
		}
	}
	hand_over(made);
}

static enum status take(const struct made *made, struct buffers_csv *csv, struct snapshot *snapshot, struct error *error)
{
	*csv = (struct buffers_csv){ 0 };
	*snapshot = (struct snapshot){ 0 };
	*error = (struct error){ 0 };
	return snapshot_take(made->text, made->length, csv, snapshot, error);
}

/* The peak of random traces, also where allocations are put together. */
Test(snapshot, groups_have_the_peak_of_their_trace)
{
	static struct made made;
	uint64_t seed = test_seed();
	for (int round = 0; round < 50; round++) {
		OWN(buffers_csv) csv;
		OWN(snapshot) snapshot;
		struct error error;
		struct allocated whole, grown;
		make_random(&made, &seed);
		cr_assert_eq(take(&made, &csv, &snapshot, &error), OK, "%s", error.text);
		struct graph *graph = snapshot_graph(&snapshot, &csv, SNAPSHOT_ALLOCS_MOST, false, &error),
					 *grouped = snapshot_graph(&snapshot, &csv, 20, false, &error);
		cr_assert(graph && grouped, "%s", error.text);
		cr_assert(grouped->ops >= 20 && grouped->ops < graph->ops && grouped->tensors <= graph->tensors);
		cr_assert(layout_holds(&csv.buffers, false, -1, &whole) && layout_holds(&csv.buffers, true, -1, &grown));
		cr_assert_eq(grouped->about.intake.caching[0], whole.reserved,
			"round %d: the allocator is simulated with each buffer, joined or not", round);
		cr_assert_eq(grouped->about.intake.caching[1], grown.reserved);
		cr_assert_eq(graph->about.intake.caching[0], 0);
		cr_assert_eq(graph->ops, made.n + 1);
		cr_assert_eq(program_peak(graph), made.peak, "round %d, seed %" PRIu64, round, test_seed());
		cr_assert_eq(program_peak(grouped), made.peak, "round %d, seed %" PRIu64 ": in groups", round, test_seed());
		graph_release(grouped);
		graph_release(graph);
	}
}

/* Two buffers, of which one was there before the first event. */
static void make_two(struct made *made)
{
	static const int64_t row[2][LISTS] = { { 0, 3, 700, 0, 0, -1 }, { 1, 2, 1000, 1024, 0, 1 } };
	*made = (struct made){ .events = 3, .n = 2 };
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < LISTS; k++)
			made->list[k][i] = row[i][k];
	hand_over(made);
}

Test(snapshot, ops_and_rows_say_what_was_handed_over)
{
	static struct made made;
	OWN(buffers_csv) csv;
	OWN(snapshot) snapshot;
	struct error error;
	make_two(&made);
	cr_assert_eq(take(&made, &csv, &snapshot, &error), OK, "%s", error.text);
	cr_assert_eq(snapshot_rows(&csv, &error), OK);
	cr_expect_eq(csv.row[1].length, strlen("1,1,2,1000"));
	cr_expect(memcmp(csv.row[1].text, "1,1,2,1000", csv.row[1].length) == 0);
	const json_t *places = json_object_get(json_object_get(snapshot.head, "said"), "peak_places");
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(places, 0), "place")), "a\xef\xbf\xbd" "b");
	OWN(graph) *graph = snapshot_graph(&snapshot, &csv, 2, false, &error);
	cr_assert(graph, "%s", error.text);
	cr_expect_str_eq(op_named(graph, "f.1")->src, "m.py:6 in f");
	cr_expect_str_eq(op_named(graph, "f.1")->module, "main.f");
	cr_expect_eq(op_named(graph, "f.1")->phase, PHASE_FORWARD);
	cr_expect_eq(tensor_named(graph, "b0")->kind, KIND_BUFFER, "there all the time");
	cr_expect_eq(tensor_named(graph, "b1")->address, 1024);
}

static void expect_bad(const struct made *made, const char *what)
{
	OWN(buffers_csv) csv;
	OWN(snapshot) snapshot;
	struct error error;
	cr_expect_eq(take(made, &csv, &snapshot, &error), LIMIT, "%s", what);
	cr_expect(strstr(error.text, "isn't a snapshot"), "%s: %s", what, error.text);
}

/* The readers are programs of somebody's folder. */
Test(snapshot, what_no_reader_of_ours_writes_is_refused)
{
	static const struct { int list; int64_t value; } wrong[] = { { 0, -1 }, { 0, 3 }, { 1, 4 }, { 2, -1 },
		{ 2, BYTES_MAX + 1 }, { 5, 2 } };
	static struct made made;
	make_two(&made);
	for (size_t cut = made.length; cut-- > 0;) {
		made.length = cut;
		expect_bad(&made, "cut");
	}
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		make_two(&made);
		made.list[wrong[i].list][1] = wrong[i].value;
		hand_over(&made);
		expect_bad(&made, "a list");
	}
}

Test(snapshot, memory_may_end_anywhere)
{
	static struct made made;
	uint64_t seed = 1;
	make_random(&made, &seed);
	EACH_REFUSAL(refused) {
		OWN(buffers_csv) csv;
		OWN(snapshot) snapshot;
		struct error error;
		refused.status = take(&made, &csv, &snapshot, &error);
		if (refused.status == OK)
			refused.status = snapshot_rows(&csv, &error);
		struct graph *graph = refused.status == OK ? snapshot_graph(&snapshot, &csv, 20, false, &error) : NULL;
		refused.status = graph ? OK : error.status;
		graph_release(graph);
	}
}

/* Frames and lists of them are shared through the memo, as PyTorch writes them. */
Test(snapshot, stack_traces_say_who_asked)
{
	static const char *const path[] = { "tests/corpus/snapshot/stacks_2.pickle", "tests/corpus/snapshot/stacks_5.pickle" };
	for (int i = 0; i < 2; i++) {
		struct error error = { 0 };
		struct graph *graph = graph_open(path[i], NULL, &error);
		cr_assert(graph, "%s: %s", path[i], error.text);
		cr_expect_eq(graph->ops, 5, "an op for each allocation, and one for what came before");
		cr_expect_str_eq(
			op_named(graph, "forward.1")->src, "/home/u/model.py:6 in forward", "the innermost frame of one's own");
		cr_expect_str_eq(op_named(graph, "forward.1")->module, "main.forward");
		cr_expect_eq(op_named(graph, "main.3")->phase, PHASE_BACKWARD);
		cr_expect_eq(op_named(graph, "main.4")->phase, PHASE_UPDATE);
		cr_expect_eq(tensor_named(graph, "b4")->kind, KIND_OUTPUT, "never given back");
		cr_expect_eq(tensor_named(graph, "b5")->kind, KIND_BUFFER, "there all the time");
		cr_expect_eq(program_peak(graph), 9608);
		graph_release(graph);
		cr_expect_null(graph_open(path[i], &(struct read_options){ .graph = 2 }, &error), "there is one device");
		cr_expect_eq(error.status, BAD_INPUT);
	}
}
