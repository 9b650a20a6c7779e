/* dot_child.h: what children of this program read and draw, with limits on memory and time: tidemark-dot, the only way
 * from here to Graphviz, and the readers of big and rare formats in Python (src/read/python). */
#pragma once

#include "read_options.h"
#include "solver/graph/graph.h"

struct dot_limits {
	int64_t memory;            /* bytes; 0: 4 GiB */
	int64_t milliseconds;      /* of wall time; 0: 60 s */
	const atomic_bool *cancel; /* may be NULL; answered within 100 ms */
};

/* Reads DOT text of either dialect: libcgraph parses it, in tidemark-dot, and the reader "dot" in Python makes ops and
 * tensors of it. Errors of both are passed on, with their line. */
struct graph *dot_child_read(const char *text, size_t size, const struct read_options *options, struct error *error);

/* Draws DOT text as "svg", "pdf" or "png". positions: nodes stand at their pos=, nothing is laid out. LIMIT when
 * it takes too long, or what comes is no whole picture. *picture: length bytes; free with mem_free(). limits may be
 * NULL. */
enum status dot_child_render(const char *text, size_t size, const char *format, bool positions,
	const struct dot_limits *limits, char **picture, size_t *length, struct error *error);

/* python_child: what the reader NAME, "inductor", gets: bytes as its standard input, or in their place an open file,
 * which may be larger than memory, as a reader can map it (0: none); or a folder, through which it looks (else NULL).
 * path: of the file, beside which it may find more, or NULL. options may be NULL. */
struct python_job {
	const char *name, *data, *path, *folder;
	size_t size;
	int file;
	const struct read_options *options;
};
/* Reads a graph. Errors of the reader are passed on, with their line; LIMIT where python3 or the readers aren't there,
 * or it needs more memory or time than a child may take. O(size). */
struct graph *python_child_graph(const struct python_job *job, struct error *error);
/* The text of a reader that writes no graph, or one that another reader of this program takes. text: length bytes and a
 * NUL; memory: what to mem_free(). list: a line on each graph of a file with several, NULL without; number: which of
 * them it is, from 1 on, 0: there is one. */
struct python_text { char *memory, *text, *list; size_t length; uint32_t number; };
enum status python_child_text(const struct python_job *job, struct python_text *text, struct error *error);

/* The graph, which says which of several it is; NULL with *error. Takes the reference that it is given. */
struct graph *graph_of_several(struct graph *graph, uint32_t number, bool asked, const char *list, struct error *error);
