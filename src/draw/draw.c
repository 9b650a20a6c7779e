/* draw.c: writes the DOT of a drawing: clusters, nodes, edges, and a caption with the legend. */
#include <math.h>

#include "src/base/dot_text.h"
#include "src/base/safe_text.h"
#include "groups.h"

/* Okabe and Ito's colours, which colour-blind readers can tell apart, and tints of them for areas. */
static const struct { const char *line, *area; } phase_colour[PHASE_COUNT] = {
	[PHASE_FORWARD] = { "#0072B2", "#DCEDF7" },
	[PHASE_BACKWARD] = { "#CC79A7", "#F7E7F0" },
	[PHASE_UPDATE] = { "#00694D", "#DDF2EB" },
	[PHASE_COMMUNICATION] = { "#B89B00", "#FBF7D0" },
};
#define ALARM "#D55E00"
#define FONT  "Helvetica,Arial,sans-serif"

#define NODES_QUICK 150u /* of more nodes dot's best positions take too long */
#define EDGE_THICK 5.0 /* points, of the most bytes */
#define BLANK 2.2 /* points of a blank in an edge label */
#define EDGE_THIN  0.5

struct writer {
	const struct drawing *drawing;
	FILE *stream;
	int64_t most; /* bytes of the widest edge */
	const struct draw_place *place; /* NULL: dot places the nodes */
	bool control; /* there are control dependencies */
	struct cluster_pair *pair;
	uint32_t pairs;
	struct placement_colours places;
};

/* ---- texts ---- */

/* Text inside an HTML label, cut after so many characters. */
static void html_text(FILE *stream, const char *text, int most)
{
	for (; *text && most > 0; most--) {
		uint32_t character = text_next(&text);
		if (character == '&')
			fputs("&amp;", stream);
		else if (character == '<')
			fputs("&lt;", stream);
		else if (character == '>')
			fputs("&gt;", stream);
		else
			text_put(stream, character < 0x20 ? ' ' : text_hidden(character) ? UNREADABLE : character);
	}
	if (*text)
		fputs("…", stream);
}

/* A name in a DOT string. A picture shows it: what is hidden can't be an entity there. */
static void clean_name(FILE *stream, const char *name)
{
	dot_write_text(stream, text_clean(name, TEXT(400)), NULL);
}

/* "aten.native_layer_norm.default" is native_layer_norm. */
static const char *short_type(const char *type, char *text, size_t size)
{
	const char *begin = text_begins(type, "aten.") ? type + 5 : type;
	size_t length = begin > type ? strcspn(begin, ".") : strlen(begin);
	return printed(text, size, "%.*s", (int)length, begin);
}

static const char *draw_bytes_of(int64_t bytes, char text[32])
{
	return bytes_text(bytes, text, 32);
}

/* ---- modules ---- */

/* A module's path below the cluster around it. */
static const char *path_below(const struct drawing *drawing, uint32_t id)
{
	const struct module *module = &drawing->modules.module[id];
	const char *outer = drawing->modules.module[cluster_of(drawing, module->parent)].path;
	return module->path + strlen(outer) + (*outer != '\0');
}

/* ---- nodes ---- */

/* The heading: an op's name; of a module its own name, or the type of the main op for the ops between its parts. */
static void node_heading(const struct writer *writer, const struct draw_node *node)
{
	const struct drawing *drawing = writer->drawing;
	const struct module *module = &drawing->modules.module[node->module];
	const struct op *op = &drawing->graph->op[node->main];
	char type[100];
	fputs("<B>", writer->stream);
	enum phase phase = drawing->graph->op[node->first].phase;
	bool whole = phase == PHASE_UPDATE || !drawing->depth,
		 between = module->depth == 0 || cluster_is(drawing, node->module) || whole;
	int most = drawing->terse ? 16 : 28;
	if (drawing->ops)
		html_text(writer->stream, op->name, most);
	else if (between)
		html_text(writer->stream, whole ? phase_names[phase] : short_type(op->type, type, sizeof type), most);
	else
		html_text(writer->stream, path_below(drawing, node->module), most);
	if (!between && module->repeats > 1) {
		fputs(" … ", writer->stream);
		html_text(writer->stream, drawing->modules.module[module->last_of_row].name, 28);
		fprintf(writer->stream, " ×%u", module->repeats);
	}
	bool typed = !drawing->terse && (drawing->ops ? !text_is(op->type, "op") : !between),
		 several = !drawing->ops && node->ops > 1;
	if (several && !whole && !typed) /* as bold as the name: a viewer with wider letters moves the row as a whole */
		fprintf(writer->stream, " +%u", node->ops - 1);
	fputs("</B>", writer->stream);
	if (typed) {
		fputs("<BR/>", writer->stream);
		html_text(writer->stream, short_type(op->type, type, sizeof type), 26);
		if (several && !whole)
			fprintf(writer->stream, " +%u", node->ops - 1);
	}
	if (several && whole)
		fprintf(writer->stream, "<BR/>%u ops", node->ops);
}

static void node_label(const struct writer *writer, const struct draw_node *node)
{
	const struct plan *plan = writer->drawing->plan;
	char text[32];
	fputs("label=<", writer->stream);
	node_heading(writer, node);
	if (plan && writer->drawing->ops)
		fprintf(writer->stream, "<BR/><FONT POINT-SIZE=\"9\">step %u</FONT>", plan->ordered->position[node->main]);
	if (node->bytes)
		fprintf(writer->stream, "<BR/><FONT POINT-SIZE=\"9\">%s</FONT>", draw_bytes_of(node->bytes, text));
	char where[48];
	if (*placement_of_node(writer->drawing, node, where, sizeof where))
		fprintf(writer->stream, "<BR/><FONT POINT-SIZE=\"9\">%s</FONT>", where);
	if (node->alive && node->alive >= plan_peak(plan) / 1000)
		fprintf(writer->stream, "<BR/><FONT POINT-SIZE=\"9\" COLOR=\"" ALARM "\">%s at the peak</FONT>",
			draw_bytes_of(node->alive, text));
	if (node->peak)
		fprintf(writer->stream, "<BR/><FONT COLOR=\"" ALARM "\"><B>PEAK %s</B></FONT>", draw_bytes_of(plan_peak(plan), text));
	fputs(">", writer->stream);
}

static void draw_write_node(const struct writer *writer, uint32_t id)
{
	const struct drawing *drawing = writer->drawing;
	const struct draw_node *node = &drawing->node[id];
	enum phase phase = drawing->graph->op[node->first].phase;
	fprintf(writer->stream, "n%u [", id);
	node_label(writer, node);
	const char *area = placement_colour(drawing, &writer->places, node);
	fprintf(writer->stream, ", fillcolor=\"%s\", color=\"%s\"", area ? area : phase_colour[phase].area,
		node->peak ? ALARM : node->centre ? "#000000" : phase_colour[phase].line);
	if (node->peak || node->centre)
		fputs(", penwidth=3", writer->stream);
	else if (node->bytes == 0)
		fputs(", style=\"filled,rounded,dashed\"", writer->stream);
	const struct op *main = &drawing->graph->op[node->main];
	fprintf(writer->stream, "%s, tooltip=", main->recomputed ? ", peripheries=2" : "");
	clean_name(writer->stream, PRINTED(400, "%.200s%s%.150s", main->name, main->src ? " at " : "",
		main->src ? words_of_place(main->src) : ""));
	if (writer->place)
		fprintf(writer->stream, ", pos=\"%.0f,%.0f\"", writer->place[id].x, writer->place[id].y);
	fputs("];\n", writer->stream);
}

/* ---- clusters ---- */

static void open_cluster(const struct writer *writer, uint32_t id)
{
	const struct modules *modules = &writer->drawing->modules;
	const struct module *module = &modules->module[id];
	fprintf(writer->stream, "subgraph cluster_%u {\nlabelloc=t; labeljust=l; label=<<B>", id);
	html_text(writer->stream, path_below(writer->drawing, id), 60);
	if (module->repeats > 1) {
		fputs(" … ", writer->stream);
		html_text(writer->stream, modules->module[module->last_of_row].name, 40);
		fprintf(writer->stream, " (%u equal layers, drawn once)</B>>;\nstyle=\"rounded,bold\"; color=\"#555555\";\n",
			module->repeats);
		return;
	}
	fputs("</B>>;\nstyle=rounded; color=\"#AAAAAA\";\n", writer->stream);
}

struct placed { uint32_t number, node; };

COMPARATOR(draw_by_number, struct placed, COMPARE(a->number, b->number, COMPARE(a->node, b->node, 0)))

/* The modules' places in a walk parent, children. */
static void number_modules(const struct modules *modules, uint32_t *number)
{
	uint32_t count = 0, at = 0;
	for (;;) {
		number[at] = count++;
		if (modules->module[at].first != NONE) {
			at = modules->module[at].first;
			continue;
		}
		while (at && modules->module[at].next == NONE)
			at = modules->module[at].parent;
		if (!at)
			return;
		at = modules->module[at].next;
	}
}

static bool lies_in(const struct modules *modules, uint32_t module, uint32_t outer)
{
	while (modules->module[module].depth > modules->module[outer].depth)
		module = modules->module[module].parent;
	return module == outer;
}

/* Opens the clusters between the open one and the module's, outermost first. */
static uint32_t enter(const struct writer *writer, uint32_t open, uint32_t target)
{
	const struct modules *modules = &writer->drawing->modules;
	while (!lies_in(modules, target, open)) {
		fputs("}\n", writer->stream);
		open = cluster_of(writer->drawing, modules->module[open].parent);
	}
	while (open != target) {
		uint32_t next = target, up = target;
		for (; up != open; up = modules->module[up].parent)
			if (cluster_is(writer->drawing, up))
				next = up;
		open_cluster(writer, next);
		open = next;
	}
	return open;
}

static enum status write_nodes(const struct writer *writer)
{
	const struct drawing *drawing = writer->drawing;
	HELD uint32_t *MAKE(number, drawing->modules.count);
	HELD struct placed *MAKE(list, drawing->nodes);
	if (number && list) {
		number_modules(&drawing->modules, number);
		FOR(i, drawing->nodes)
			list[i] = (struct placed){ number[drawing->node[i].module], i };
		if (drawing->nodes)
			qsort(list, drawing->nodes, sizeof *list, draw_by_number);
		uint32_t open = 0;
		FOR(i, drawing->nodes) {
			if (!writer->place)
				open = enter(writer, open, cluster_of(drawing, drawing->node[list[i].node].module));
			draw_write_node(writer, list[i].node);
		}
		enter(writer, open, 0);
	}
	bool made = number && list;
	return made ? OK : NO_MEMORY;
}

/* ---- edges ---- */

static double width_of(const struct writer *writer, int64_t bytes)
{
	return writer->most > 0 ? EDGE_THIN + (EDGE_THICK - EDGE_THIN) * sqrt((double)bytes / (double)writer->most) : 1;
}

/* Clear of the edge, which Graphviz takes for a line of no width, and of the one that may run to its right. */
static void write_edge_label(const struct writer *writer, const char *text, double width)
{
	int blanks = 1 + (int)(width / 2 / BLANK + 0.5);
	fprintf(writer->stream, ", label=\"%*s%s  \"", blanks, "", text);
}

static void write_edge(const struct writer *writer, const struct draw_edge *edge)
{
	const struct drawing *drawing = writer->drawing;
	enum phase from = drawing->graph->op[drawing->node[edge->from].first].phase,
			   to = drawing->graph->op[drawing->node[edge->to].first].phase;
	bool back = cluster_edge_back(drawing, edge), saved = from == PHASE_FORWARD && to == PHASE_BACKWARD;
	uint32_t tail = back ? edge->to : edge->from, head = back ? edge->from : edge->to;
	fprintf(writer->stream, "n%u -> n%u [", tail, head);
	if (edge->tensor == NONE) {
		fputs("style=dotted, color=\"#888888\", penwidth=1", writer->stream);
	} else {
		char text[32];
		fprintf(writer->stream, "penwidth=%.2f, color=\"%s\", tooltip=", width_of(writer, edge->bytes),
			edge->alive ? ALARM : phase_colour[from].line);
		clean_name(writer->stream, drawing->graph->tensor[edge->tensor].name);
		if (drawing->ops && drawing->selected <= 60)
			write_edge_label(writer, draw_bytes_of(edge->bytes, text), width_of(writer, edge->bytes));
		if (saved)
			fputs(", style=dashed", writer->stream);
		else if (from == to)
			fprintf(writer->stream, ", weight=%d", from == PHASE_FORWARD ? 12 : 6); /* straight columns */
	}
	fputs(back ? ", dir=back];\n" : "];\n", writer->stream);
}

/* ---- the caption ---- */

/* A row of the legend: Graphviz widens all columns of a table that has room, here almost only the empty ones at both
 * ends. */
#define ROW_TABLE "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR>"
#define ROW_FILL  "<TD COLSPAN=\"20\"></TD>"
#define ROW_BEGIN ROW_TABLE ROW_FILL "<TD><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"2\" CELLPADDING=\"0\"><TR>"
#define ROW_END   "</TR></TABLE></TD>" ROW_FILL "</TR></TABLE>"
#define NEXT_LINE "</TD></TR><TR><TD>"
#define NEXT_ROW  ROW_END NEXT_LINE ROW_BEGIN

static void legend_area(const struct writer *writer, const char *area, const char *line, const char *text)
{
	fprintf(writer->stream, "<TD BGCOLOR=\"%s\" COLOR=\"%s\" BORDER=\"1\" WIDTH=\"14\" HEIGHT=\"10\" FIXEDSIZE=\"TRUE\">"
		"</TD><TD ALIGN=\"LEFT\">%s  </TD>\n",
		area, line, text);
}

/* A bar as high as the line is wide. */
static void legend_bar(const struct writer *writer, double width, const char *colour, const char *text)
{
	int height = width < 1 ? 1 : (int)(width + 0.5);
	fprintf(writer->stream,
		"<TD WIDTH=\"24\"><TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"0\"><TR><TD "
		"BGCOLOR=\"%s\" "
		"WIDTH=\"24\" HEIGHT=\"%d\" FIXEDSIZE=\"TRUE\"></TD></TR></TABLE></TD><TD ALIGN=\"LEFT\">%s  </TD>\n",
		colour, height, text);
}

/* With several devices areas say where a node's result lies. */
static void legend_places(const struct writer *writer)
{
	char mesh[96];
	if (writer->places.count == 0)
		return;
	fprintf(writer->stream, NEXT_LINE "on %s:" NEXT_LINE ROW_BEGIN,
		mesh_text(&writer->drawing->plan->sharded->sharding.mesh, mesh, sizeof mesh));
	FOR(i, writer->places.count) {
		if (i && i % 3 == 0)
			fputs(NEXT_ROW, writer->stream);
		legend_area(writer, placement_area(i), "#777777",
			i + 1 == writer->places.count && writer->places.more ? "others" : writer->places.text[i]);
	}
	fputs(ROW_END, writer->stream);
}

static void legend(const struct writer *writer)
{
	const struct drawing *drawing = writer->drawing;
	bool there[PHASE_COUNT] = { false }, alive = false;
	char text[32];
	FOR(i, drawing->nodes)
		there[drawing->graph->op[drawing->node[i].first].phase] = true;
	FOR(i, drawing->edges)
		alive |= drawing->edge[i].alive;
	fputs(ROW_BEGIN "\n", writer->stream);
	FOR_INT(phase, PHASE_COUNT)
		if (there[phase])
			legend_area(writer, phase_colour[phase].area, phase_colour[phase].line, phase_names[phase]);
	fputs(NEXT_ROW, writer->stream);
	if (drawing->plan && drawing->plan->ordered->peak_position != NONE)
		legend_area(writer, "#FFFFFF", ALARM, "op at the peak");
	if (alive)
		legend_bar(writer, 3, ALARM, "alive at the peak");
	fputs(NEXT_ROW, writer->stream);
	if (writer->most > 0)
		legend_bar(writer, EDGE_THICK, "#777777", draw_bytes_of(writer->most, text));
	if (writer->most >= 100)
		legend_bar(writer, width_of(writer, writer->most / 16), "#777777", draw_bytes_of(writer->most / 16, text));
	fputs(ROW_END, writer->stream);
	legend_places(writer);
	if (there[PHASE_FORWARD] && there[PHASE_BACKWARD])
		fputs(NEXT_LINE "dashed: saved for the backward pass", writer->stream);
	for (uint32_t i = 0, seen = 0; i < drawing->nodes && !seen; i++)
		if ((seen = drawing->graph->op[drawing->node[i].main].recomputed))
			fputs(NEXT_LINE "double: recomputed", writer->stream);
	if (writer->control)
		fputs(NEXT_LINE "dotted: order only", writer->stream);
	if (!drawing->ops)
		fprintf(writer->stream, NEXT_LINE "+n: n more ops. Sizes: what a node allocates%s",
			drawing->depth ? ", in one layer" : "");
}

static void caption(const struct writer *writer, const struct draw_options *options)
{
	const struct drawing *drawing = writer->drawing;
	const struct plan *plan = drawing->plan;
	char text[32];
	fputs("label=<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\"><TR><TD><B>", writer->stream);
	html_text(writer->stream, drawing->graph->name, 60);
	fprintf(writer->stream, "</B></TD></TR><TR><TD>%u ops", drawing->graph->ops);
	if (options->around) {
		fprintf(writer->stream, ", %u within %u hop%s of ", drawing->selected, options->hops, options->hops == 1 ? "" : "s");
		html_text(writer->stream, options->around, 40);
	} else if (options->alive) {
		fprintf(writer->stream, ", %u that make" NEXT_LINE "or next use what is alive at the peak", drawing->selected);
	}
	if (drawing->graph->persistent_bytes)
		fprintf(writer->stream, "; %s persistent", draw_bytes_of(drawing->graph->persistent_bytes, text));
	if (plan && plan->ordered->peak_position != NONE) {
		fprintf(writer->stream, NEXT_LINE "peak %s at ", draw_bytes_of(plan_peak(plan), text));
		html_text(writer->stream, drawing->graph->op[plan->ordered->result.order[plan->ordered->peak_position]].name, 36);
	}
	fputs("</TD></TR><TR><TD>", writer->stream);
	legend(writer);
	fputs("</TD></TR></TABLE>>; labelloc=b;\n", writer->stream);
}

/* ---- all ---- */

static void head(const struct writer *writer, double width)
{
	fputs("digraph ", writer->stream);
	clean_name(writer->stream, writer->drawing->graph->name);
	bool many = writer->drawing->collectives > 0; /* short nodes on many ranks */
	fprintf(writer->stream,
		" {\ngraph [fontname=\"" FONT "\", fontsize=11, ranksep=%s, nodesep=%s, pad=0.05, margin=0, compound=true];\n"
		"node [shape=box, style=\"filled,rounded\", fontname=\"" FONT
		"\", fontsize=10, margin=\"0.09,%s\", height=%s];\n"
		"edge [fontname=\"" FONT "\", fontsize=9, fontcolor=\"#555555\", arrowsize=0.6];\n",
		many ? "0.12" : "0.28", writer->drawing->terse ? "0.12" : "0.22", many ? "0.02" : "0.045", many ? "0.2" : "0.3");
	if (!writer->place && writer->drawing->nodes > NODES_QUICK)
		fputs("nslimit=1; nslimit1=1;\n",
			writer->stream); /* minutes become seconds, and columns are hardly less straight */
	if (writer->pairs)
		fputs("newrank=true;\n", writer->stream); /* else dot ranks every cluster apart and the pairs say nothing */
	if (width > 0)
		fprintf(writer->stream, "size=\"%.4f,10\";\n", width / 72); /* inches; and a page is no higher */
	if (writer->place)
		fputs("splines=line; size=\"120,120\";\n", writer->stream); /* inches: bitmaps have limits */
}

enum status draw_write(const struct graph *graph, const struct plan *plan, const struct draw_options *options,
	FILE *stream, uint32_t *nodes, struct error *error)
{
	OWN(drawing) drawing;
	HELD struct draw_place *place = NULL;
	enum status status = drawing_make(graph, plan, options, &drawing, error);
	struct writer writer = { .drawing = &drawing, .stream = stream };
	if (status == OK && options->positions && !(place = draw_places(&drawing)))
		status = fail_memory(error);
	if (status == OK) {
		writer.place = place;
		placement_colours_find(&drawing, &writer.places);
		FOR(i, drawing.edges) {
			if (drawing.edge[i].bytes > writer.most)
				writer.most = drawing.edge[i].bytes;
			writer.control |= drawing.edge[i].tensor == NONE;
		}
		if (nodes)
			*nodes = drawing.nodes;
		if (!place && !options->unfold && drawing.nodes <= DRAW_LAYOUT_MOST &&
			cluster_stack(&drawing, &writer.pair, &writer.pairs) != OK)
			status = fail_memory(error);
		head(&writer, options->width);
		caption(&writer, options);
		if (write_nodes(&writer) != OK)
			status = fail_memory(error);
		FOR(i, drawing.edges)
			write_edge(&writer, &drawing.edge[i]);
		FOR(i, writer.pairs)
			fprintf(stream, "n%u -> n%u [style=invis, weight=0];\n", writer.pair[i].above, writer.pair[i].below);
		fputs("}\n", stream);
	}
	mem_free(writer.pair);
	return status;
}

enum status draw_options_of(
	const char *view, char *buffer, size_t size, struct draw_options *options, struct error *error)
{
	*options = (struct draw_options){ 0 };
	if (!view || text_is(view, "graph"))
		return OK;
	if (text_is(view, "ops"))
		options->detail = DRAW_OPS;
	else if (text_is(view, "layers"))
		options->unfold = true, options->detail = DRAW_MODULES;
	else if (text_is(view, "alive"))
		options->alive = true;
	else if (text_begins(view, "around:") && view[7] && strlen(view + 7) < size) {
		memcpy(buffer, view + 7, strlen(view + 7) + 1);
		options->around = buffer;
		options->hops = 2;
		options->detail = DRAW_OPS;
		char *colon = strrchr(buffer, ':');
		if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
			options->hops = (uint32_t)strtoul(colon + 1, NULL, 10);
			*colon = '\0';
		}
	} else {
		return refuse(error, "no view \"%.60s\": graph, ops, layers, alive, around:NAME or "
			"around:NAME:HOPS", view);
	}
	return OK;
}
