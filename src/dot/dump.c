/* dump.c: what libcgraph has parsed, as JSON, for the reader of both dialects: src/read/python/dot.py. */
#include "parse.h"
#include "src/base/json.h"

struct dump_number { Agrec_t header; int64_t number; };   /* of a node, in the order of their first mention */

static char dump_record[] = "tidemark";

static int64_t dump_node_number(Agnode_t *node)
{
	return ((struct dump_number *)aggetrec(node, dump_record, 0))->number;
}

/* A text, or {"html": text}: HTML is a name of its own. */
static void dump_value(struct json *json, const char *key, char *text)
{
	if (!aghtmlstr(text)) {
		json_write_text(json, key, text);
		return;
	}
	json_open_object(json, key);
	json_write_text(json, "html", text);
	json_close(json);
}

/* The attributes of a graph, node or edge that aren't empty. */
static void dump_attributes(struct json *json, Agraph_t *graph, int kind, void *object)
{
	json_open_object(json, kind == AGRAPH ? "attributes" : NULL);
	for (Agsym_t *symbol = agnxtattr(graph, kind, NULL); symbol; symbol = agnxtattr(graph, kind, symbol)) {
		char *text = agxget(object, symbol);
		if (text && *text)
			dump_value(json, symbol->name, text);
	}
	json_close(json);
}

/* [name, the group around it or -1, its nodes], those within others behind them. Returns the next number. */
static int64_t dump_groups(struct json *json, Agraph_t *around, int64_t number, int64_t next)
{
	for (Agraph_t *group = agfstsubg(around); group; group = agnxtsubg(group)) {
		int64_t mine = next++;
		json_open_array(json, NULL);
		json_write_text(json, NULL, agnameof(group));
		json_write_integer(json, NULL, number);
		json_open_array(json, NULL);
		for (Agnode_t *node = agfstnode(group); node; node = agnxtnode(group, node))
			json_write_integer(json, NULL, dump_node_number(node));
		json_close(json);
		json_close(json);
		next = dump_groups(json, group, mine, next);
	}
	return next;
}

/* [place in the file, from, to, attributes]: libcgraph lists a node's edges by neighbour. */
static void dump_edges(struct json *json, Agraph_t *graph)
{
	json_open_array(json, "edges");
	for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node))
		for (Agedge_t *edge = agfstout(graph, node); edge; edge = agnxtout(graph, edge)) {
			json_open_array(json, NULL);
			json_write_integer(json, NULL, AGSEQ(edge));
			json_write_integer(json, NULL, dump_node_number(agtail(edge)));
			json_write_integer(json, NULL, dump_node_number(aghead(edge)));
			dump_attributes(json, graph, AGEDGE, edge);
			json_close(json);
		}
	json_close(json);
}

static void dump_nodes(struct json *json, Agraph_t *graph)
{
	int64_t number = 0;
	json_open_array(json, "declared");
	for (Agsym_t *symbol = agnxtattr(graph, AGNODE, NULL); symbol; symbol = agnxtattr(graph, AGNODE, symbol))
		json_write_text(json, NULL, symbol->name);
	json_close(json);
	json_open_array(json, "nodes");
	for (Agnode_t *node = agfstnode(graph); node; node = agnxtnode(graph, node)) {
		struct dump_number *record = agbindrec(node, dump_record, sizeof *record, 0);
		record->number = number++;
		json_open_array(json, NULL);
		json_write_text(json, NULL, agnameof(node));
		dump_attributes(json, graph, AGNODE, node);
		json_close(json);
	}
	json_close(json);
}

void parse_dump(Agraph_t *graph, const char *text, FILE *stream)
{
	struct json json = { .stream = stream };
	json_open_object(&json, NULL);
	json_write_text(&json, "name", agnameof(graph));
	json_write_bool(&json, "directed", agisdirected(graph));
	dump_attributes(&json, graph, AGRAPH, graph);
	dump_nodes(&json, graph);
	dump_edges(&json, graph);
	json_open_array(&json, "groups");
	dump_groups(&json, graph, -1, 0);
	json_close(&json);
	json_write_text(&json, "text", text);
	json_end(&json);
}
