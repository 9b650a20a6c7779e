/* export.h: the export table: every kind of file that a plan or graph can be written as.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     export          the table of exports; CSV of the timeline
 *     native          the native format
 *     dot             DOT, full dialect
 *     drawing         drawings through tidemark-dot
 *     report          text for people
 *     plan_json       plan files
 *     recompute_json  their part on recomputation
 *     shard_json      their part on sharding
 *     pipeline_json   their part on pipelines
 *     factors         factors of dims in words
 *     shard           tables on sharding
 *     sharding_words  placements in frameworks' words
 *     pipeline        tables and sources of a schedule
 *     schedule_rows   its order in PyTorch's words
 *     time            a step's time by phase and by what limits it
 *     mesh            tables and sources of the mesh
 *     segments        ROAM's segments
 *     plan_curves     several plan files over each other
 *     beside_report   two plans of different graphs
 *     file_figures    what commands wrote as figures
 *     caption         a figure's caption
 *     data            formats of other programs, as follow
 *     minimalloc      MiniMalloc's CSV
 *     launcher        configurations with which launchers run a plan
 *     memory_viz      PyTorch's memory snapshot
 *     html            plans as one page, page.html, for a browser
 *     slowdown_plot   time over memory: table and sources */
#pragma once

#include "src/draw/canvas.h"
#include "src/plan/plan.h"

/* What an export needs beside the plan. */
struct export_options {
	const char *view;  /* one of export_views that the kind has; NULL: the kind's own */
	const char *stage; /* "input" or "device"; NULL: device */
	bool utf8;
	bool with_run;          /* json: also how the run went, the part that differs between equal runs */
	bool factors;           /* json: also the factors of every dim */
	const char *rules_file; /* a user's operator rules, or NULL */
	double width;           /* figures: points; 0: a page's text width */
	bool no_title, no_legend;/* figures: what a paper's caption says */
	struct words *said;     /* figures: gets what their legends say, or NULL */
};

/* X(name, needs a plan (else the graph alone), help) */
#define EXPORT_KINDS(X) \
	X(native, false, "the graph in the native format") \
	X(json, true, "the plan for scripts and for `check`; --factors: with what every dim carries") \
	X(csv, true, "a table; without --view the timeline: live bytes at every op") \
	X(text, true, "the report") \
	X(minimalloc, true, "buffers with lifetimes, sizes and offsets, in MiniMalloc's CSV") \
	X(trace, true, "a trace for Perfetto or chrome://tracing") \
	X(memory_viz, true, "a snapshot for pytorch.org/memory_viz") \
	X(tikz, true, "a figure's LaTeX source; without --view the timeline") \
	X(dot, true, "the graph as DOT with all it holds; with --view, a drawing's source") \
	X(svg, true, "a drawing of the graph, or a figure") \
	X(pdf, true, "the drawing or figure as PDF") \
	X(png, true, "the drawing or figure as PNG") \
	X(torchtitan, true, "TOML with which torchtitan runs the plan") \
	X(deepspeed, true, "the same for DeepSpeed, JSON") \
	X(accelerate, true, "the same for accelerate, YAML") \
	X(megatron, true, "the same for Megatron-LM, arguments") \
	X(html, true, "a page for a browser: the plan to point at; --vary: several plans to choose from")

enum export_kind_id {
#define X(name, plan, help) EXPORT_##name,
	EXPORT_KINDS(X)
#undef X
	EXPORT_KIND_COUNT
};

/* What a writer is given. */
struct export_job {
	const struct plan *plan;
	const struct export_options *options;
	enum export_kind_id kind;
	FILE *stream;
	struct error *error;
};

static inline bool export_is_picture(enum export_kind_id kind)
{
	return kind == EXPORT_svg || kind == EXPORT_pdf || kind == EXPORT_png || kind == EXPORT_tikz;
}

/* What a figure is drawn on. */
static inline struct canvas_paper export_paper(const struct export_options *options, enum export_kind_id kind)
{
	return (struct canvas_paper){ kind == EXPORT_svg ? CANVAS_SVG
		: kind == EXPORT_png ? CANVAS_PNG
		: kind == EXPORT_tikz ? CANVAS_TIKZ
		: CANVAS_PDF,
		options->width > 0 ? options->width : CANVAS_PAGE, options->no_title, options->no_legend, options->said };
}

struct export_kind { const char *name, *help; bool needs_plan; };
extern const struct export_kind export_kinds[EXPORT_KIND_COUNT];

/* What can be written of a plan, and as which kinds. */
struct export_view {
	const char *name; /* NULL: without --view. With a colon at its end something follows: "around:NAME" */
	const char *help; /* NULL: without --view */
	unsigned kinds;   /* 1 << enum export_kind_id */
	bool figure;      /* takes --width, --no-title, --no-legend and --caption */
	enum status (*write)(const struct export_job *job);
};
extern const struct export_view export_views[];
extern const int export_view_count;

/* The kind of that name, or EXPORT_KIND_COUNT. */
enum export_kind_id export_find(const char *name);
/* What writes that view (NULL: the kind's own) as that kind. NULL with error: the kind doesn't have it; its own are
 * listed. */
const struct export_view *export_view_find(enum export_kind_id kind, const char *view, struct error *error);
/* What a help prints: every kind with its views, then every view with what it shows. */
void export_help(FILE *stream);
/* The names of a kind's views, between the words given: "graph, modules". Empty where --view is not for it. */
char *export_view_names(enum export_kind_id kind, const char *between, char *text, size_t size);

/* The views that are figures: "timeline, map". */
void export_figure_names(char *text, size_t size);

/* The graph that the options ask for: as planned, or as read. */
const struct graph *export_graph(const struct plan *plan, const struct export_options *options);

/* Writes to path ("-" or NULL: standard output). A file appears whole or not at all. force: replaces what is there. */
enum status export_to(enum export_kind_id kind, const struct plan *plan, const struct export_options *options,
	const char *path, bool force, struct error *error);
