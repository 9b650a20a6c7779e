/* view.h: what all views share: the model they show, and the small table of functions that a view is.
 *
 * Views read a model and draw cells: they know no terminal, no session and no file. What they want done beyond
 * moving the shared cursor they ask for with view_request(), in the words of the `:` prompt.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     view             what views share
 *     plan_index       what they look up in a plan
 *     holders          what holds memory, in groups
 *     step             what it needs, and the timeline
 *     fit              what makes the step fit
 *     finder           what is found beside the screen
 *     ways             where that comes from
 *     fit_curve        time over memory
 *     slowdowns        where that comes from
 *     search           all configurations
 *     configurations   where these come from
 *     runs             every plan so far
 *     runs_plot        its plot
 *     devices          how the step is split; its parts follow
 *     gantt            schedule of ranks
 *     gantt_memory     their memory
 *     devices_traffic  what is sent
 *     devices_places   placements
 *     devices_figures  what is counted with of a device, and where from
 *     map              addresses
 *     order            ops in their order
 *     order_rows       its rows
 *     segment_rows     ROAM's segments among them
 *     schedule         an order changed by hand
 *     challenge        an order made by hand
 *     tensors          the table of tensors
 *     columns          its columns
 *     tensor_values    what is in them
 *     details          such columns in other views
 *     row_filter       which of its rows are shown
 *     frequency        its rows counted
 *     graph            ops in their modules
 *     graph_factors    factors of dims */
#pragma once

#include <pthread.h>

#include "solver/pipeline/timetable.h"
#include "src/configs/config_search.h"
#include "src/configs/fit_list.h"
#include "src/plan/beside.h"
#include "src/plan/came_to.h"
#include "src/decide/slowdown.h"
#include "src/plan/verdict.h"
#include "src/session/commands.h"
#include "src/tidemark.h"
#include "ui/screen/frame.h"

/* finder: what is found of a plan beside the screen, on a thread of its own, and shown as far as it is there. It is the
 * first member of what it finds. */

struct finder {
	struct background *background;
	struct plan *plan;
	const char *rules_file;
	uint64_t fingerprint; /* of what was asked for */
	pthread_mutex_t lock; /* of `changed` and what the screen takes over meanwhile */
	bool changed;
	void (*take)(void *owner, void *job);
	struct error error;
};

/* A job of so many bytes, run on its thread; NULL with *error where there is no memory or no thread. take: or NULL. */
void *finder_start(size_t size, const struct plan *plan, const char *rules_file, uint64_t fingerprint,
	void (*run)(void *job, const atomic_bool *cancel), void (*take)(void *owner, void *job), struct error *error);
/* Hands what a job has by now to its owner by its `take`. Waits for its end where asked to; an ended job is freed, and
 * *error is its. Returns the job, NULL once it has ended. */
void *finder_look(void *job, bool wait, void *owner, struct error *error);
/* Gives up what is under way; false where there is nothing (NULL). */
bool finder_cancel(void *job);
/* Of a job whose thread has ended. */
void finder_free(void *job);

/* ways: what would make the step fit its memory cap: the list of `tidemark fit`, planned beside the screen, row by
 * row. */

struct ways {
	uint64_t fingerprint; /* of the plan that was asked about */
	struct fit_list list; /* as far as it is there */
	struct error error;
	struct ways_job *job; /* under way, more rows may come; or NULL */
};

/* Plans changes of the plan's scenario that may fit its cap; what was being planned before is given up. Out of memory:
 * the error says so. */
void ways_find(struct ways *ways, const struct plan *plan, const char *rules_file);
/* Takes the rows that are there by now. */
const struct ways *ways_look(struct ways *ways);
void ways_wait(struct ways *ways);
void ways_free(struct ways *ways);

/* slowdowns: time over memory of the step on the screen: found beside the screen, shown as far as it is there. */

struct slowdowns {
	bool there; /* the curve holds something */
	struct slowdown curve;
	struct error error;
	struct slowdowns_job *job; /* under way, more may come; or NULL */
};

/* Finds the curve of a plan's step, unless it is there or on its way; another one that is on its way is given up. Out
 * of memory: the error says so. */
void slowdowns_find(struct slowdowns *slowdowns, const struct plan *plan, const char *rules_file);
/* Takes what is there by now. */
const struct slowdowns *slowdowns_look(struct slowdowns *slowdowns);
void slowdowns_wait(struct slowdowns *slowdowns);
void slowdowns_free(struct slowdowns *slowdowns);

/* plan_index: what the views look up in a plan again and again, computed once per plan. */

struct plan_index {
	const struct plan *plan;
	int64_t *category;   /* [ops * CATEGORIES] live bytes by category at each position; they add up to plan->live */
	uint32_t present;    /* items of the layout, workspaces too, that are there at some time */
	uint32_t *by_bytes;  /* [present] largest first */
	uint32_t *by_offset; /* [present] lowest first */
	bool shapes, modules, sources; /* some tensor has dims, some op a module, a place in the program */
	struct arena arena;
};

/* OK or NO_MEMORY (an empty index). O(storages log storages + ops). The plan must outlive the index. */
enum status plan_index_build(const struct plan *plan, struct plan_index *index);
void plan_index_free(struct plan_index *index);

/* Holes between what is live at a position, below the arena's end. */
struct holes {
	uint32_t count;
	int64_t total, largest, largest_offset;
};
struct holes plan_holes(const struct plan_index *index, uint32_t position);

/* What lies next to an item of the layout in address at a position, and the free bytes between. NONE: nothing on that
 * side, and the free bytes reach the arena's end. */
struct neighbours {
	uint32_t below, above;
	int64_t hole_below, hole_above;
};
/* The item must be live at the position. O(items). */
struct neighbours plan_neighbours(const struct plan_index *index, uint32_t item, uint32_t position);

/* The position with the most live bytes among [first, last]. */
uint32_t plan_highest(const struct plan *plan, uint32_t first, uint32_t last);
/* The next local peak after (direction 1) or before (-1) a position: a position that nothing within
 * 1/100 of the step on either side surpasses. The position itself where there is none. O(ops). */
uint32_t plan_local_peak(const struct plan *plan, uint32_t position, int direction);

/* What a span finds, makes, frees and leaves. */
#define CHANGES_OF(X) X(FOUND, "found") X(MADE, "made") X(FREED, "freed") X(LEFT, "left")
#define X(id, name) CHANGE_##id,
enum change { CHANGES_OF(X) CHANGES };
#undef X
extern const char *const change_names[CHANGES];

/* holders: what is there at a position or in a span, in groups of what is alike. */

/* Storages that are alike: equal bytes, kind, operator, module but for numbers, and reason; what is always there is one
 * group for each kind. */
struct holder {
	uint64_t alike;
	uint32_t first, count; /* the lowest number of them */
	int64_t bytes;         /* of all */
	int64_t of[CHANGES];   /* of all, what a span finds, makes, frees and leaves */
	enum alive_reason reason;
};
struct holders {
	struct holder *group; /* [groups] there from position `from` to `to` of plan `serial`, most bytes first */
	uint32_t groups, tensors, from, to;
	uint64_t serial;
	struct order_explainer *explainer; /* of plan `serial`, or NULL */
};

/* Keeps what was found of the same plan and positions. reasons: of one position, why each is there. False where memory
 * is out. O(storages log storages), with reasons a max-flow. */
bool holders_find(struct holders *holders, const struct plan *plan, uint32_t from, uint32_t to, bool reasons);
void holders_free(struct holders *holders);
/* The op that makes a storage, or NULL. */
const struct op *holder_maker(const struct plan *plan, uint32_t storage);
/* "softmax" of "aten._softmax.default"; "h.*.attn" of "h.0.attn" and "h.11.attn". Return text. */
const char *holder_operator(const char *type, char text[40]);
char *holder_pattern(const char *module, char *text, size_t size);
/* "48 x softmax", "optimizer", "left.out". Returns text. */
char *holder_text(const struct plan *plan, const struct holder *holder, char *text, size_t size);

/* Groups that are alike but for their bytes: what the second plan has more of them. */
enum { CHANGES_MOST = 200 };
struct holder_change { uint64_t alike; int64_t bytes; const struct holder *holder; const struct plan *plan; };
/* Of two plans without reasons; the largest first. Returns how many; more than CHANGES_MOST are left out. */
uint32_t holders_compare(
	const struct holders holders[2], const struct plan *const plan[2], struct holder_change change[CHANGES_MOST]);

/* graph_factors: the factors of the dims of the graph on the screen, found once per graph and only when a view shows
 * them. */

/* solver/rules/factors.h and ui/screen/frame.h both have words that begin with ROLE_: views see factors through this
 * header alone. */
struct factors;

struct graph_factors {
	bool asked;
	uint64_t fingerprint;    /* of the graph that they were asked for */
	struct factors *factors; /* NULL when they could not be found */
	struct factors_job *job; /* the thread that looks for them, or NULL */
};

/* The factors of a graph: those from the last call when the graph is equal. rules_file: a user's operator rules, or
 * NULL. NULL when memory is out or the rules can't be read, and for large graphs while a thread of its own looks for
 * them. */
const struct factors *graph_factors_of(struct graph_factors *kept, const struct graph *graph, const char *rules_file);
/* True while that thread has not been waited for; graph_factors_of() or graph_factors_wait() do so. */
bool graph_factors_pending(const struct graph_factors *kept);
void graph_factors_wait(struct graph_factors *kept);
void graph_factors_free(struct graph_factors *kept);

/* A tensor's type and dims with what they carry, "f32[1024=batch*sequence, 2304]"; "" where the shape is unknown.
 * factors: of its graph, or NULL for the dims alone. Cut off to fit size. Returns text. */
char *carried_text(const struct graph *graph, uint32_t tensor, const struct factors *factors, char *text, size_t size);

/* configurations: what the model of whole configurations says of the plan on the screen, and the ranked list of all
 * configurations: found beside the screen, kept until something else is asked. */

enum { CONFIGS_BEST = 10 };

/* All configurations of a step on a cluster. */
struct config_ranking {
	uint64_t fingerprint;    /* of what it was searched for */
	bool searching;          /* it isn't there yet */
	bool planning;           /* it is; its best rows are planned one after the other, of CONFIGS_BEST */
	uint64_t serial;         /* another one with every change of the list */
	struct config_list list; /* empty with error where nothing can be evaluated */
	uint32_t devices;
	int64_t batch, memory; /* bytes of a device, < 0: any */
	struct error error;
};

struct configurations {
	struct timetable timetable;   /* of the plan that was asked for last; of no ranks: there is none */
	struct error problem;    /* why there is none */
	uint64_t fingerprint;    /* of what timetable or problem belong to */
	struct timetable_job *job; /* under way, or NULL */
	struct config_ranking ranking;
	struct search_job *search;
};

/* The timetable of a plan, NULL while it is looked for or where there is none: then *problem says why, "" while it is
 * looked for. */
const struct timetable *configurations_timetable(
	struct configurations *kept, const struct plan *plan, const char *rules_file, const char **problem);
/* Looks for all configurations of a plan's step on its devices, then plans the best of them; the last list stays until
 * the estimates of the new one are there, and planned rows come one by one. A search that is under way for another
 * scenario is given up. Out of memory: the list's error says so. */
void configurations_search(struct configurations *kept, const struct plan *plan, const char *rules_file);
/* The list as far as it is there. */
const struct config_ranking *configurations_ranking(struct configurations *kept);
/* What ranking_current compares: of a plan's step and the cluster. */
uint64_t configurations_fingerprint(const struct plan *plan);

void configurations_wait(struct configurations *kept);
void configurations_free(struct configurations *kept);

struct column_set;

struct model {
	const struct plan *plan;        /* NULL before the first; all views need one to draw */
	const struct plan_index *index; /* of plan */
	const struct factors *factors;  /* of plan's graph, while a view shows them; else NULL */
	const struct plan *baseline;    /* or NULL */
	const struct beside
		*beside; /* baseline and plan, [0] and [1], where they are of different graphs as read; else NULL */
	struct plan *const *run; /* [runs] every plan so far, oldest first */
	uint32_t runs;
	const char *missed[MISSED_MOST + 1]; /* settings without a plan, up to NULL */
	const char *path; /* of the graph; "": standard input */
	const struct scenario *scenario; /* what is asked for; plan->scenario is what the plan answers */
	struct session_status status;
	const struct timetable *timetable; /* of plan, while a view shows it; else NULL */
	const char *timetable_problem;     /* why, "" while it is looked for */
	const struct config_ranking *ranking; /* all configurations, as far as they have been searched; or NULL */
	const struct ways *ways; /* changes that make the step fit, as far as they were asked for and are there; or NULL */
	const struct slowdowns
		*slowdowns; /* time over memory of plan's step, as far as it was asked for and is there; or NULL */
	struct given given; /* what the graph is as read: what knobs mean by "given" */
	const struct preview
		*preview[2]; /* what the panel's knob would come to one step down and up, as far as known; else NULL */

	uint32_t op, storage;            /* the shared cursor: ids of the plan's graph; storage may be NONE */
	uint32_t span;                   /* 1 + the position at which a span begins, which ends at the cursor; 0: none */
	uint32_t peaked;                 /* 1 + the position of the local peak that was gone to last */
	uint32_t zoom_first, zoom_count; /* the positions that curve and map show */
	char filter[100];                /* rows that don't contain it are hidden; "" shows all */
	char search[100];                /* what n and N look for */

	struct column_set *columns; /* the user's choice of columns; or NULL, the usual ones */

	int64_t since; /* the clock when Fit or Search began */
	int64_t clock; /* seconds; 0 where screens are made of keys alone, and equal keys make equal screens */
	bool ticks; /* the view shows the time: draw again when a second is over */

	int click_x, click_y; /* the mouse, from the view's upper left corner, for COMMAND_CLICK */

	char request[1000]; /* a line for the prompt's interpreter, "" for none */
	bool request_edit;  /* let the user finish it first */
	bool request_here;  /* and at its place in the view, which draws it */
	const char *typed;  /* what is typed so by now, or NULL */
	char copied[1000];  /* what a view copies */
	char message[1000]; /* what a view has to say in the message line */
	bool bad;           /* that is an error */
};

struct view_ops {
	const char *name;
	enum context context;
	size_t state_size; /* of the view's own state, zeroed before first use */
	void (*draw)(void *state, struct model *model, struct frame *frame);
	/* Runs a command; false when the view doesn't know it. */
	bool (*command)(void *state, struct model *model, enum command_id command);
	void (*free)(void *state); /* NULL where the state owns nothing */
	/* Whose commands are valid, where that depends on the state; NULL: always those of `context`. */
	enum context (*context_now)(const void *state, const struct model *model);
};

#define X(id, name, digit) extern const struct view_ops view_##name;
VIEW_TABLE(X)
#undef X
extern const struct view_ops *const views[VIEWS];

/* ---- the shared cursor ---- */

uint32_t model_position(const struct model *model);
/* Puts the cursor at a position; the zoom follows. */
void model_go(struct model *model, int64_t position);
/* Takes over a new plan: a cursor at the peak stays at the peak, another one at its op, in another graph by name; the
 * zoom stays in the same graph. */
void model_take_plan(struct model *model, const struct plan *plan, const struct plan_index *index);
/* Moves and zooms that all views along the order share. False for other commands. */
bool view_command(struct model *model, enum command_id command);
/* The positions that column x of width shows, inclusive; with few ops several columns show the same one. */
void model_column(const struct model *model, int x, int width, uint32_t *first, uint32_t *last);
/* The column in which a position stands, clipped to -1 and width. */
int model_column_of(const struct model *model, uint32_t position, int width);

/* The span's positions: its first, *to its last; without one the cursor's. */
uint32_t view_span(const struct model *model, uint32_t *to);
/* Adds the bytes of a storage that is there in a span. */
void view_span_add(const struct plan *plan, uint32_t storage, uint32_t from, uint32_t to, int64_t bytes[CHANGES]);
/* Two lines: its ops, and what they do to the bytes in use. O(storages). */
void view_draw_span(struct frame *frame, int y, const struct model *model);

/* ---- for views ---- */

void view_request(struct model *model, bool edit, const char *format, ...) __attribute__((format(printf, 3, 4)));
void view_say(struct model *model, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Turns all knobs to a scenario's, in one step. */
void view_request_scenario(struct model *model, const struct scenario *scenario);
/* The command line of a subcommand with the scenario's knobs and, where it takes them, pins. */
void view_command_line(
	const struct model *model, const struct scenario *scenario, const char *what, char *text, size_t size);
enum role item_role(const struct plan *plan, uint32_t item);
/* "f32[1024,768]": type of number and dims, as far as they are known. Returns text. */
char *tensor_shape_text(const struct tensor *tensor, char *text, size_t size);
/* True when text contains part, letters of either case alike; an empty part is contained. */
bool text_contains(const char *text, const char *part);
/* "11,737" */
char *count_text(uint64_t count, char text[32]);
#define COUNT(count) count_text(count, (char[32]){ 0 })
/* How far a value is above its bound: "1.25 %", and not 0.00 % where it is above; "unknown" without a bound. */
char *gap_text(int64_t value, int64_t bound, char *text, size_t size);
/* Where an op is in the program's source, as much of it as fits: all, without the folders, without the function.
 * Nothing of one that nobody knows. Returns the cells. */
int view_source(struct frame *frame, int x, int y, int width, const struct op *op);
extern const char *const ledger_names[LEDGER_PARTS];
/* Parts and, last, the sum in hundredths of a unit that suits `largest`, which is returned: rounded parts add up to the
 * rounded sum, as what rounding leaves goes to the largest remainders. */
const char *ledger_cents(int64_t largest, const struct verdict *verdict, int64_t cents[LEDGER_PARTS + 1]);
/* First row to show so that row stays inside a list of so many visible rows, moving as little as possible. */
uint32_t scroll_to(uint32_t top, uint32_t row, uint32_t rows, int visible);
/* Moves a row number by a movement command within rows; false for other commands. page: rows of a page. */
bool row_command(enum command_id command, uint32_t *row, uint32_t rows, int page);
