/* pins.c: checks the names in pins against a graph and suggests the nearest. */
#include <string.h>

#include "shard_mesh.h"
#include "scenario.h"

/* Levenshtein distance, both texts cut at 63 bytes; stops early above limit. O(length^2). */
static unsigned distance(const char *a, const char *b, unsigned limit)
{
	unsigned row[64];
	size_t width = strnlen(b, 63);
	for (size_t j = 0; j <= width; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; i < 63 && a[i]; i++) {
		unsigned diagonal = row[0], least = row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < width; j++) {
			unsigned replace = diagonal + (a[i] != b[j]);
			diagonal = row[j + 1];
			unsigned best = row[j] < diagonal ? row[j] + 1 : diagonal + 1;
			row[j + 1] = replace < best ? replace : best;
			if (row[j + 1] < least)
				least = row[j + 1];
		}
		if (least > limit)
			return least;
	}
	return row[width];
}

#define SUGGESTIONS 3

struct nearest {
	const char *name[SUGGESTIONS];
	unsigned distance[SUGGESTIONS];
	int count;
};

static void consider(struct nearest *nearest, const char *wanted, const char *name)
{
	unsigned limit = nearest->count == SUGGESTIONS ? nearest->distance[SUGGESTIONS - 1] : 60;
	/* A name that starts as the wanted one does is a likely slip: "mm_12" for "mm_12#345". */
	unsigned d = strncmp(wanted, name, strlen(wanted)) == 0 ? 0 : distance(wanted, name, limit);
	if (nearest->count == SUGGESTIONS && d >= limit)
		return;
	int i = nearest->count < SUGGESTIONS ? nearest->count++ : SUGGESTIONS - 1;
	for (; i > 0 && nearest->distance[i - 1] > d; i--) {
		nearest->distance[i] = nearest->distance[i - 1];
		nearest->name[i] = nearest->name[i - 1];
	}
	nearest->distance[i] = d;
	nearest->name[i] = name;
}

static enum status unknown(const char *what, const char *name, const struct nearest *nearest, struct error *error)
{
	char text[300] = "";
	size_t used = 0;
	for (int i = 0; i < nearest->count && used < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s\"%.80s\"", i ? ", " : "; the nearest are ", nearest->name[i]);
	return fail(error, BAD_INPUT, "there is no %s named \"%.80s\"%s", what, name, text);
}

static enum status check_op(const struct graph *graph, const char *name, struct error *error)
{
	if (graph_find_op(graph, name) != NONE)
		return OK;
	struct nearest nearest = { .count = 0 };
	for (uint32_t op = 0; op < graph->ops; op++)
		consider(&nearest, name, graph->op[op].name);
	return unknown("op", name, &nearest, error);
}

static enum status check_tensor(const struct graph *graph, const char *name, struct error *error)
{
	if (graph_find_tensor(graph, name) != NONE)
		return OK;
	struct nearest nearest = { .count = 0 };
	for (uint32_t tensor = 0; tensor < graph->tensors; tensor++)
		consider(&nearest, name, graph->tensor[tensor].name);
	return unknown("tensor", name, &nearest, error);
}

enum status check_pins(const struct graph *graph, const struct scenario *scenario, struct error *error)
{
	enum status status = OK;
	for (uint32_t i = 0; i < scenario->pins && status == OK; i++) {
		const struct pin *pin = &scenario->pin[i];
		switch (pin->kind) {
		case PIN_ORDER:
			status = check_op(graph, pin->a, error);
			if (status == OK)
				status = check_op(graph, pin->b, error);
			break;
		case PIN_BEHIND:
			status = check_tensor(graph, pin->a, error);
			if (status == OK)
				status = check_tensor(graph, pin->b, error);
			break;
		case PIN_PLACEMENT:
			status = check_tensor(graph, pin->a, error);
			if (status == OK && !scenario_shards(scenario))
				status = fail(error, BAD_INPUT, "tensor \"%.100s\" can't be sharded on %.20s: the step is not split; set devices and strategy",
					pin->a, pin->b);
			break;
		case PIN_RECOMPUTE:
			break;   /* layers are counted when they are found */
		default:
			status = check_tensor(graph, pin->a, error);
		}
	}
	return status;
}
