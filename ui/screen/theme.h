/* theme.h: what roles look like: colours by number, -1 being the terminal's own. */
#pragma once

#include "frame.h"

/* ansi: the terminal's 16 colours; dark and light: 256 colours for such backgrounds; mono: attributes only. */
#define THEMES(X) X(ANSI, "ansi") X(DARK, "dark") X(LIGHT, "light") X(MONO, "mono")
#define X(id, name) THEME_##id,
enum theme { THEMES(X) THEME_COUNT };
#undef X
extern const char *const theme_names[THEME_COUNT];

struct look {
	int16_t colour; /* of the character, -1: the terminal's default */
	uint8_t marks;  /* enum mark */
	int16_t ground; /* where the cell has no ground of its own: 1 + colour, 0: the terminal's default */
};

/* The looks of all roles: a theme's, and what the user changed. */
struct palette {
	struct look look[CELL_ROLES];
	bool mono; /* no colours at all */
};

void palette_fill(struct palette *palette, enum theme theme);
/* Changes a role, named as in HACKING.md ("peak", "faint"; "parameter" and other categories), to colours by name or
 * number 0..255
 * ("" or "default": the terminal's) and attributes ("bold reverse dim underline"). False when a name is unknown. */
bool palette_change(
	struct palette *palette, const char *role, const char *colour, const char *ground, const char *attributes);

/* How a cell looks: colour and ground as in struct look, and the marks of both; reverse twice is none. */
struct look cell_look(const struct palette *palette, const struct cell *cell);

/* The theme of a name: ansi, dark, light, mono; THEME_COUNT where there is none. */
enum theme theme_find(const char *name);
/* The theme that a terminal with so many colours can show: mono below 8, ansi below 256. */
enum theme theme_possible(enum theme wanted, int colours);
