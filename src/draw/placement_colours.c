/* placement_colours.c: colours of a drawing's nodes by where their results lie on the mesh. */

#include "groups.h"

#define DISTINCT 64 /* placements that are counted */

/* Tints that are told apart beside each other; the last one is for the rest. */
static const char *const areas[PLACEMENT_COLOURS] = { "#CFE8FF", "#FFE2B8", "#D3F2D0", "#F3D1EC", "#FFF7A8", "#D9D2F5",
	"#DDDDDD" };

char *placement_of_node(const struct drawing *drawing, const struct draw_node *node, char *text, size_t size)
{
	const struct graph *graph = drawing->graph;
	const struct sharded *sharded = drawing->plan ? drawing->plan->sharded : NULL;
	text[0] = '\0';
	if (!sharded || graph->op[node->main].phase == PHASE_COMMUNICATION || csr_length(&graph->writes, node->main) == 0)
		return text;
	uint32_t tensor = sharded_tensor(sharded, graph, graph_result(graph, node->main, 0));
	return tensor == NONE ? text : sharded_place(sharded, tensor, sharded->sharding.produced[tensor], text, size);
}

struct counted { char text[48]; uint32_t nodes; };

COMPARATOR(more_nodes, struct counted, COMPARE(b->nodes, a->nodes, strcmp(a->text, b->text)))

void placement_colours_find(const struct drawing *drawing, struct placement_colours *colours)
{
	struct counted counted[DISTINCT] = { { .nodes = 0 } };
	uint32_t count = 0;
	*colours = (struct placement_colours){ 0 };
	FOR(n, drawing->nodes) {
		char text[48];
		uint32_t i = 0;
		if (!*placement_of_node(drawing, &drawing->node[n], text, sizeof text))
			continue;
		while (i < count && !text_is(counted[i].text, text))
			i++;
		if (i == count && count < DISTINCT) {
			counted[count].nodes = 0;
			memcpy(counted[count++].text, text, sizeof text);
		}
		if (i < count)
			counted[i].nodes++;
	}
	qsort(counted, count, sizeof *counted, more_nodes);
	colours->more = count > PLACEMENT_COLOURS;
	FOR_WHILE(i, count, i < PLACEMENT_COLOURS) {
		memcpy(colours->text[i], counted[i].text, sizeof colours->text[i]);
		colours->count++;
	}
}

const char *placement_area(uint32_t i)
{
	return areas[i < PLACEMENT_COLOURS ? i : PLACEMENT_COLOURS - 1];
}

const char *placement_colour(
	const struct drawing *drawing, const struct placement_colours *colours, const struct draw_node *node)
{
	char text[48];
	if (colours->count == 0 || !*placement_of_node(drawing, node, text, sizeof text))
		return NULL;
	uint32_t i = 0;
	while (i < colours->count && !text_is(colours->text[i], text))
		i++;
	return placement_area(i);
}
