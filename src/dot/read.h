/* read.h: a DOT graph of either dialect as a graph.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     main        the program tidemark-dot
 *     guard       limits on the process
 *     parse       runs libcgraph's parser
 *     attributes  the attributes that we know
 *     label_size  sizes in labels of other tools
 *     read        from nodes and edges to a graph
 *     figure      figures by Cairo and Pango, from a list of what is drawn
 *     pdf_date    the date in a PDF */
#pragma once

#include <graphviz/cgraph.h>
#include <stdio.h>

#include "solver/graph/graph.h"

/* Full dialect where a node has kind=, else teaching dialect (docs/design.md section 6, tidemark(5)). text is what dot
 * was parsed of: it gives errors their lines. NULL with *status and *error. O(text + edges + nodes x depth of their
 * clusters). */
struct graph *read_dot(Agraph_t *dot, const char *text, struct error *error);

/* label_size: what another tool's label says. */

struct label_size {
	int64_t bytes;
	bool assumed, unknown; /* no dtype is there: float32; an extent of None counts as 1 */
};
/* False: it tells no size. label is changed; tags: it is in HTML. O(text^2) at worst, of one label. */
bool label_size(char *label, bool tags, struct label_size *size);

/* parse: DOT text to libcgraph's graph. */

/* Parses one graph; what follows its closing brace is ignored. NULL with *error (line included). Ends the process when
 * there are more than edges_most edges or memory runs out. libcgraph 2.42 refuses chains of more than 2,500 nodes,
 * braces nested as deep, and names, comments and pieces of strings of 16,383 bytes; thousands of attribute names take
 * it long. */
Agraph_t *parse_dot(const char *text, size_t size, int64_t edges_most, struct error *error);
/* What libcgraph and libgvc have said since the last parse_dot(), "" if nothing: warnings about labels and the like. */
const char *parse_messages(void);

/* figure: figures of src/draw/canvas.h as PDF and PNG, by Cairo and Pango: any script, fonts embedded. It is here,
 * not in tidemark, whose start these libraries would slow down. */

/* A drawing list begins with this word. */
bool figure_is(const char *content, size_t size);
/* Draws a list as "pdf" or "png". Equal lists give equal bytes: a PDF is dated by SOURCE_DATE_EPOCH, or 1970.
 * BAD_INPUT: not a list. */
enum status figure_draw(const char *content, const char *format, FILE *stream, struct error *error);

/* pdf_date: the date in a PDF of Cairo's, which is the clock's: equal pictures would be different files. */

/* Sets the date of creation to SOURCE_DATE_EPOCH (seconds since 1970), or to 1970. No byte moves: the zone behind it is
 * that of the process, which has to be UTC. */
void pdf_set_date(char *pdf, size_t length);
