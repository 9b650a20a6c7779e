/* model_source.h: where the steps of a configuration search come from: a built-in model, or a captured step that is
 * scaled. */
#pragma once

#include "config_search.h"
#include "src/models/open.h"

struct model_source {
	const char *name;
	const struct scenario *scenario; /* precision, optimizer, sequence length */
	struct named_model model; /* its name is NULL where the source is a file */
	struct graph *graph;
	struct read_options reading;  /* how it was read */
	struct model_config config;  /* as searched: few of its equal layers */
	struct model_config asked;  /* all of them */
	uint32_t repeat;
	config_step *step;
	struct stage_context stage;
	struct control control;
	struct rules *rules;
	struct store *store;
};

/* A model's name, with other sizes behind it if one likes ("llama3-70b:layers=12:seq=4096"), a Hugging Face
 * model's folder or config.json ("FOLDER:seq=4096"), or a graph file, which is
 * read with the options (NULL: as it is). The scenario must outlive it. Complains; an exit status. Close it in any
 * case. */
int model_source_open(
	struct model_source *source, const char *name, const struct read_options *reading, const struct scenario *scenario);
void model_source_close(struct model_source *source);
/* The same of a graph that is open, with somebody's store, rules and control; nothing is to be closed. */
void model_source_of(struct model_source *source, struct graph *graph, const struct scenario *scenario,
	const struct stage_context *stage);
/* Of the step as the scenario has it; 0: it can't be told. */
int64_t model_source_batch(struct model_source *source);
/* The whole step of a batch, to be planned: a new reference, NULL with *error; and the scenario in which it is planned,
 * without what the graph has already. Where the source is a file, the batch is the scenario's. OK or NO_MEMORY. */
struct graph *model_source_whole(struct model_source *source, int64_t batch, struct error *error);
enum status model_source_scenario(const struct model_source *source, int64_t batch, struct scenario *scenario);
/* The command line that plans it, with the assignments in set: "tidemark model llama3-8b --batch 8 | tidemark plan -
 * --set ...". Returns text. */
char *model_source_line(const struct model_source *source, int64_t batch, const char *set, char *text, size_t size);
/* What a search takes for granted: precision, sequence, optimizer, attention, dropout, what is computed again. Returns
 * text. */
char *model_source_assumptions(const struct model_source *source, char *text, size_t size);
/* Fills in step, context and repeat. */
void model_source_request(struct model_source *source, struct config_request *request);
