/* canvas.h: figures of boxes, lines and texts. SVG is written here, with names to point at, and TikZ; PDF and PNG are
 * drawn by tidemark-dot with Cairo, which embeds fonts of any script. Points, y downwards from the top left corner. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"
#include "src/base/words.h"

enum canvas_kind { CANVAS_SVG, CANVAS_PDF, CANVAS_PNG, CANVAS_TIKZ };
enum canvas_anchor { ANCHOR_START, ANCHOR_MIDDLE, ANCHOR_END };

struct canvas_point { double x, y; };

/* What a figure is drawn on; its height follows from what stands on it. */
struct canvas_paper {
	enum canvas_kind kind;
	double width;     /* points */
	bool untitled;    /* without the title above */
	bool unexplained; /* without legend and notes below */
	struct words *said; /* gets legend and notes as text, for a caption; NULL: nothing does */
};
#define CANVAS_PAGE  468.0 /* a page's text width */
#define CANVAS_LEAST 180.0 /* narrower, figures are illegible */
#define CANVAS_MOST  2000.0
#define CANVAS_SMALL 7.0 /* publishers want no smaller letters */
#define SMALL   8.0  /* numbers, names, legends */
#define NORMAL  9.0  /* titles */
#define BOLD    9.8  /* as wide as bold letters of the normal size */
#define LEADING 11.0 /* between rows of small letters */
#define EDGE    4.0  /* of the paper */
#define INK     "#222222"

/* What a colour stands for, in a legend, beside what looks like it does in the plot. */
enum canvas_sign { SIGN_BOX, SIGN_LINE, SIGN_DASHES, SIGN_CROSS };
struct canvas_key { const char *colour, *name; enum canvas_sign sign; };

struct canvas_line {
	const char *colour; /* "#RRGGBB"; NULL: none */
	double width;
	bool dashed;
};

struct canvas {
	struct canvas_paper paper;
	double height;      /* with the row of the title, even if it is left out, and what canvas_legend() adds */
	bool explained;     /* something was added */
	double raise;       /* how much higher all is drawn for want of it */
	FILE *body;         /* in memory */
	char colour[24][8]; /* TikZ: that have a name so far */
	int colours;
	char *text;
	size_t length;
};

/* height: without what explains it. NO_MEMORY, or OK; then canvas_close() must follow. */
enum status canvas_open(struct canvas *canvas, struct canvas_paper paper, double height);
/* The first row, in bold letters whose base line begins at (x, y); nothing on untitled paper, where the rest moves up
 * by its height. */
void canvas_title(struct canvas *canvas, double x, double y, const char *text);
/* fill "#RRGGBB" or NULL. title: what an SVG viewer shows for it, or NULL. */
void canvas_box(struct canvas *canvas, double x, double y, double width, double height, const char *fill,
	const struct canvas_line *line, const char *title);
/* A line through the points, or an area with fill. */
void canvas_path(struct canvas *canvas, const struct canvas_point *point, size_t points, const char *fill,
	const struct canvas_line *line);
void canvas_stroke(
	struct canvas *canvas, double x, double y, double to_x, double to_y, const struct canvas_line *line);
/* Two strokes that meet at (x, y), each from `half` left of it to half right of it. */
void canvas_cross(struct canvas *canvas, double x, double y, double half, const char *colour);
/* The text's base line begins, is centred or ends at (x, y). What doesn't fit the paper is cut, with an ellipsis. */
void canvas_text(struct canvas *canvas, double x, double y, double size, enum canvas_anchor anchor, bool bold,
	const char *colour, const char *text);
/* Small letters. */
void canvas_label(struct canvas *canvas, double x, double y, enum canvas_anchor anchor, const char *text);
#define CANVAS_CUT 400
/* The text, or what of it and an ellipsis has room in so many points, in cut. */
const char *canvas_cut(double size, double room, const char *text, char cut[CANVAS_CUT]);
/* About the width of a text, in points. */
double canvas_text_width(double size, const char *text);
/* The text in small rows of at most that width, broken at blanks; returns how many. canvas NULL: only counts. */
int canvas_rows(struct canvas *canvas, double x, double y, double width, const char *text);
/* Signs with names below all that was drawn and explained before, in rows of at most that width. */
void canvas_legend(struct canvas *canvas, double x, double width, const struct canvas_key *key, int keys);
/* A text there. */
void canvas_note(struct canvas *canvas, double x, double width, const char *text);
/* Writes the figure and frees everything. PDF and PNG need tidemark-dot beside the program: BAD_INPUT or LIMIT, error
 * says why it can't draw. */
enum status canvas_close(struct canvas *canvas, FILE *stream, struct error *error);

/* tikz: what all LaTeX sources of figures have in common. */

/* A figure up to its first line: a document for pdflatex and lualatex, with the class standalone or without; where
 * \input takes it in, the figure alone. */
void tikz_head(FILE *stream);
/* Its last line. */
void tikz_end(FILE *stream);
/* A text that LaTeX prints as it is; letters that pdflatex's fonts don't have become "?". */
void tikz_text(FILE *stream, const char *text);
