/* theme.h: what roles look like: colours by number, -1 being the terminal's own. */
#ifndef TIDEMARK_THEME_H
#define TIDEMARK_THEME_H

#include "frame.h"

/* ansi: the terminal's 16 colours; dark and light: 256 colours for such backgrounds; mono: attributes only. */
#define THEMES(X) X(ANSI, "ansi") X(DARK, "dark") X(LIGHT, "light") X(MONO, "mono")
#define X(id, name) THEME_##id,
enum theme { THEMES(X) THEME_COUNT };
#undef X
extern const char *const theme_names[THEME_COUNT];

struct look {
	int16_t colour;    /* of the character, -1: the terminal's default */
	uint8_t marks;     /* enum mark */
};

struct look theme_look(enum theme theme, enum role role);

/* The theme that a terminal with so many colours can show: mono below 8, ansi below 256. */
enum theme theme_possible(enum theme wanted, int colours);

#endif
