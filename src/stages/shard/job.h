/* job.h: what the files of the shard stage share. */
#pragma once

#include "src/stages/base/notes.h"
#include "stage.h"

#define CANDIDATES_MAX 200
#define EXPERTS_PLANNED 3

/* An expert's sharding over degrees, and what it is estimated to cost. */
struct shard_choice { struct degrees degrees; int zero; struct sharding_cost cost; uint32_t candidate; bool any; };

/* What a strategy decides with. */
struct shard_job {
	struct stage_context *stage;
	const struct plan_wish *wish;
	struct shared_units *shared;
	const struct scenario *scenario;
	struct shard_clock clock;
	int64_t cap;                 /* bytes that may stay on a device; < 0: any */
	struct shard_choice expert[SHARD_EXPERTS]; /* auto: what experts write, the best first */
	uint32_t experts;
	int64_t least;               /* minred: see struct sharding_options */
	const struct sharding *first;
	bool by_axes;                /* see struct sharding_options */
	struct mixture mixture;      /* of the first search */
	bool apart, alone;           /* see struct sharding_options */
	struct shard_candidate candidate[CANDIDATES_MAX];
	uint32_t candidates, patterns;
	char notes[NOTES_BYTES];
	struct arena arena;
	struct error *error;
};

/* What the memory cap leaves to what stays: earlier rounds have shown what comes and goes beside it. < 0: any. */
int64_t shard_job_cap(const struct plan_wish *wish, const struct scenario *scenario);
/* What is sought: the scenario's strategy, or what it wants of another for the moment. */
enum shard_strategy shard_job_strategy(const struct shard_job *job);
/* Whether a is better than b by estimates: within the cap first. */
bool shard_job_better(const struct shard_job *job, const struct sharding_cost *a, const struct sharding_cost *b);
/* An expert's sharding over degrees, pins included. Free it in any case but a failure. BAD_INPUT: a pin that this mesh
 * can't keep. */
enum status shard_job_split(struct shard_job *job, const struct degrees *degrees, int zero, struct sharding *sharding,
	struct axis_roles roles[MESH_AXES]);
/* Lists what was looked at; what a search found as the chosen one. */
void shard_job_list(struct shard_job *job, const char *text, const struct sharding_cost *cost);
void shard_job_list_found(struct shard_job *job, const struct sharding *sharding, const struct sharding_cost *cost);
/* Adds what isn't split at all to notes. */
void shard_note_unsplit(const struct units *units, const struct sharding *sharding, char *notes);
/* What a result says of how it came about. False: out of memory. */
bool shard_job_describe(struct shard_job *job, struct sharded *sharded);
/* The result of a decision, which it takes over. NULL with the job's error. */
struct sharded *shard_job_build(struct shard_job *job, struct sharding *sharding);

/* What tap or minred finds over all meshes that the knobs leave open: published.c. Free report in any case. INFEASIBLE:
 * no mesh has any. */
enum status shard_job_published(struct shard_job *job, struct sharding *sharding, struct sharding_report *report);

void shard_stage_show(const struct shard_clock *clock, const struct sharding_report *report,
	const struct sharded *sharded, struct shown *shown);

/* Searches begin with what is the larger sum for an expert's sharding. */
void shard_job_begin_mixture(struct shard_job *job, const struct sharding_cost *expert);
/* Searches a mesh as the job wants it; options are filled in. Free found and report in any case. */
enum status shard_job_search(struct shard_job *job, const struct mesh *mesh, const struct axis_roles *roles,
	struct sharding_options *options, struct sharding *found, struct sharding_report *report);
/* Searches over the mesh of a sharding; what is found takes its place where it is better. */
enum status shard_job_improve(struct shard_job *job, const struct axis_roles *roles, struct sharding *sharding,
	const struct sharding_cost *cost, struct sharding_report *report);

/* The best of what experts write by hand over all meshes that the knobs leave open: what searches start from, and a
 * first plan. */
enum status shard_job_expert(struct shard_job *job, uint32_t most, struct shard_choice *best);
/* A candidate for whoever looks on: of the searches of one axis that are made anyway the first one's, which is kept for
 * them. INFEASIBLE: there is none. */
enum status shard_job_soon(struct shard_job *job, const struct shard_choice *choice, struct sharding *sharding,
	struct sharding_report *report);
/* What experts write and what the search passed by, for the planner to compare with. */
enum status shard_job_rivals(
	struct shard_job *job, const struct shard_choice *choice, struct sharding_report *report, struct sharded *sharded);
/* The plan of one of first's rivals, or of what moves have led to: what was looked at is as with the first one. NULL
 * with the job's error. */
struct sharded *shard_job_rival(struct shard_job *job, const struct sharded *first, const struct sharding *rival);
