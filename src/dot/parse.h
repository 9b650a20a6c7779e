/* parse.h: what tidemark-dot reads and draws.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     main        the program tidemark-dot
 *     guard       limits on the process
 *     parse       runs libcgraph's parser
 *     dump        what it has parsed, as JSON
 *     figure      figures by Cairo and Pango, from a list of what is drawn
 *     pdf_date    the date in a PDF */
#pragma once

#include <graphviz/cgraph.h>
#include <stdio.h>

#include "solver/base/base.h"

/* Parses one graph; what follows its closing brace is ignored. NULL with *error (line included). Ends the process when
 * memory runs out. libcgraph 2.42 refuses chains of more than 2,500 nodes, braces nested as deep, and names, comments
 * and pieces of strings of 16,383 bytes; thousands of attribute names take it long. More than a million edges end
 * the process. */
Agraph_t *parse_dot(const char *text, size_t size, struct error *error);
/* What libcgraph and libgvc have said since the last parse_dot(), "" if nothing: warnings about labels and the like. */
const char *parse_messages(void);

/* dump: writes a graph and the text that it was as one line of JSON:
 * {"name", "directed", "attributes", "declared": attributes of nodes, "nodes": [name, attributes], "edges", "groups",
 * "text"}. O(text + edges). */
void parse_dump(Agraph_t *graph, const char *text, FILE *stream);

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
