/* read_options.h: how a graph is read where its file leaves it open: which of several graphs, sizes of symbolic dims,
 * fusions. */
#pragma once

#include "solver/base/base.h"

#define READ_DIMS_MOST 16

struct read_options {
	bool open_fusions; /* of HLO: an op for each instruction in a fusion */
	uint32_t graph;    /* of a log: which of its graphs, from 1; 0: the largest step */
	uint32_t device;   /* of a snapshot: which of its devices, from 1; 0: as `graph` says */
	uint32_t dims;
	char dim[READ_DIMS_MOST][64]; /* "batch=8": sizes of symbolic dims */
};

/* Takes the value of one option: "graph", "fusions" or "dim", as the command line names them. OK, or BAD_INPUT with
 * what is expected. */
enum status read_options_take(struct read_options *options, const char *name, const char *value, struct error *error);
/* The same of words, " --graph 2 --dim batch=8": a session's `open` has them behind the file. */
enum status read_options_parse(struct read_options *options, const char *words, struct error *error);
/* Those words; "" where all is as the file has it. Returns text. */
char *read_options_text(const struct read_options *options, char *text, size_t size);
