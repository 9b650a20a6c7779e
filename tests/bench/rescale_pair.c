/* rescale_pair.c: scales one captured step and compares it with another capture of the same model at that size:
 *     rescale_pair GIVEN.jsonl.gz REAL.jsonl.gz BATCH SEQUENCE        (0: as given)
 * Prints one line: ops and tensors that agree, program-order peaks, their ratio, and the time of scaling.
 * Ops are compared in program order by type, and by the bytes and shapes of all their tensors; where the
 * tracer recorded other ops, both sides are brought together again and the differing ops are listed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "solver/graph/problem.h"
#include "solver/step/scale.h"
#include "src/read/input.h"

static struct graph *open_graph(const char *path)
{
	struct error error = { 0 };
	struct graph *graph = graph_open(path, NULL, &error);
	if (!graph) {
		fprintf(stderr, "%s: %s\n", path, error.text);
		exit(3);
	}
	return graph;
}

static int64_t program_peak(const struct graph *graph)
{
	struct memory_rules rules = { .alignment = 1 };
	struct problem problem;
	struct error error = { 0 };
	if (problem_of_graph(graph, &rules, &problem, &error) != OK)
		exit(3);
	int64_t peak = problem_peak(&problem, problem.program, NULL, NULL);
	problem_free(&problem);
	return peak;
}

static const char *plain_type(const char *type)
{
	return strcmp(type, "aten._unsafe_view.default") == 0 || strcmp(type, "aten._reshape_alias.default") == 0
		? "aten.view.default"
		: type;
}

static bool same_op(const struct graph *a, uint32_t i, const struct graph *b, uint32_t j)
{
	return strcmp(plain_type(a->op[i].type), plain_type(b->op[j].type)) == 0 &&
		strcmp(a->op[i].module, b->op[j].module) == 0 && csr_length(&a->reads, i) == csr_length(&b->reads, j) &&
		csr_length(&a->writes, i) == csr_length(&b->writes, j);
}

static bool same_tensor(const struct tensor *a, const struct tensor *b)
{
	return a->bytes == b->bytes && a->dims == b->dims && (a->alias == NONE) == (b->alias == NONE)
		&& memcmp(a->shape, b->shape, a->dims * sizeof *a->shape) == 0;
}

static uint32_t differing_tensors(const struct graph *a, uint32_t i, const struct graph *b, uint32_t j, bool print)
{
	uint32_t count = 0;
	const struct csr *sides[2][2] = { { &a->reads, &b->reads }, { &a->writes, &b->writes } };
	for (int s = 0; s < 2; s++)
		for (uint32_t n = 0; n < csr_length(sides[s][0], i); n++) {
			const struct tensor *x = &a->tensor[sides[s][0]->item[sides[s][0]->start[i] + n]];
			const struct tensor *y = &b->tensor[sides[s][1]->item[sides[s][1]->start[j] + n]];
			if (same_tensor(x, y))
				continue;
			count++;
			if (!print)
				continue;
			printf("  %s %s: %s", a->op[i].name, a->op[i].module, x->name);
			for (int d = 0; d < x->dims; d++)
				printf("%c%ld", d ? ',' : '[', (long)x->shape[d]);
			printf("] real");
			for (int d = 0; d < y->dims; d++)
				printf("%c%ld", d ? ',' : '[', (long)y->shape[d]);
			printf("]%s\n", (x->alias == NONE) == (y->alias == NONE) ? "" : " aliases differ");
		}
	return count;
}

/* Where both sides agree again: the smallest step ahead after which two ops in a row are the same. */
static bool rejoin(const struct graph *a, uint32_t *i, const struct graph *b, uint32_t *j)
{
	for (uint32_t ahead = 1; ahead < 80; ahead++)
		for (uint32_t x = 0; x <= ahead; x++) {
			uint32_t p = *i + x, q = *j + ahead - x;
			if (p + 1 < a->ops && q + 1 < b->ops && same_op(a, p, b, q) && same_op(a, p + 1, b, q + 1)) {
				*i = p;
				*j = q;
				return true;
			}
		}
	return false;
}

static void compare(const struct graph *scaled, const struct graph *real, int verbose)
{
	uint32_t same = 0, different = 0, extra = 0, missing = 0, flops = 0;
	uint32_t i = 0, j = 0;
	while (i < scaled->ops && j < real->ops) {
		uint32_t p = i, q = j;
		if (same_op(scaled, i, real, j)) {
			uint32_t bad = differing_tensors(scaled, i, real, j, verbose > 0 && different < 20);
			different += bad;
			same += bad == 0;
			flops += scaled->op[i].flops != real->op[j].flops;
			i++;
			j++;
			continue;
		}
		if (!rejoin(scaled, &i, real, &j))
			break;
		for (; p < i; p++, extra++)
			if (verbose > 1)
				printf("  ours only: %s %s %s\n", scaled->op[p].module, scaled->op[p].type, scaled->op[p].name);
		for (; q < j; q++, missing++)
			if (verbose > 1)
				printf("  real only: %s %s %s\n", real->op[q].module, real->op[q].type, real->op[q].name);
	}
	int64_t ours = program_peak(scaled), theirs = program_peak(real);
	printf("ops %u/%u equal %u  ours only %u  real only %u  tensors differing %u  flops differing %u  peak %ld / %ld  "
		   "%+.4f %%",
		scaled->ops, real->ops, same, extra + scaled->ops - i, missing + real->ops - j, different, flops, (long)ours,
		(long)theirs, 100.0 * ((double)ours / (double)theirs - 1));
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	struct graph *given = open_graph(argv[1]), *real = open_graph(argv[2]), *scaled;
	struct scale_request request = { strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10) };
	struct rules *rules = rules_new();
	struct factors factors;
	struct scale_report report;
	struct error error = { 0 };
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (factors_find(given, rules, &factors) != OK)
		return 4;
	double found = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	enum status status = graph_scale(given, rules, &factors, &request, &report, &scaled, &error);
	double end = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (status != OK) {
		printf("unavailable: %s\n", error.text);
	} else {
		compare(scaled, real, getenv("VERBOSE") ? (int)strtol(getenv("VERBOSE"), NULL, 10) : 0);
		printf("  copies %u sums %u", report.copies, report.sums);
	}
	printf("  factors %.1f ms, scale %.1f ms\n", 1e3 * (found - start), 1e3 * (end - found));
	graph_release(scaled);
	graph_release(given);
	graph_release(real);
	factors_free(&factors);
	rules_free(rules);
	return 0;
}
