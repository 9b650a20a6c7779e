/* theme.c: the looks of all roles, as data. */
#include "theme.h"

#define X(id, name) name,
const char *const theme_names[THEME_COUNT] = { THEMES(X) };
#undef X

/* One row per fixed role: ansi, dark, light, mono. */
static const struct look fixed[ROLE_FIXED][THEME_COUNT] = {
	[ROLE_TEXT] = { { -1, 0 }, { -1, 0 }, { -1, 0 }, { -1, 0 } },
	[ROLE_FAINT] = { { 8, 0 }, { 245, 0 }, { 243, 0 }, { -1, MARK_DIM } },
	[ROLE_TITLE] = { { -1, MARK_BOLD }, { -1, MARK_BOLD }, { -1, MARK_BOLD }, { -1, MARK_BOLD } },
	[ROLE_TAB] = { { -1, 0 }, { 250, 0 }, { 238, 0 }, { -1, 0 } },
	[ROLE_TAB_ACTIVE] = { { -1, MARK_BOLD | MARK_REVERSE }, { -1, MARK_BOLD | MARK_REVERSE }, { -1, MARK_BOLD | MARK_REVERSE },
			      { -1, MARK_BOLD | MARK_REVERSE } },
	[ROLE_KEY] = { { 6, MARK_BOLD }, { 80, MARK_BOLD }, { 25, MARK_BOLD }, { -1, MARK_BOLD } },
	[ROLE_LABEL] = { { 6, 0 }, { 110, 0 }, { 24, 0 }, { -1, 0 } },
	[ROLE_LINE] = { { 8, 0 }, { 240, 0 }, { 249, 0 }, { -1, MARK_DIM } },
	[ROLE_GOOD] = { { 2, MARK_BOLD }, { 114, MARK_BOLD }, { 28, MARK_BOLD }, { -1, MARK_BOLD } },
	[ROLE_WARN] = { { 3, 0 }, { 221, 0 }, { 130, 0 }, { -1, MARK_BOLD } },
	[ROLE_BAD] = { { 1, MARK_BOLD }, { 203, MARK_BOLD }, { 160, MARK_BOLD }, { -1, MARK_BOLD | MARK_UNDERLINE } },
	[ROLE_PEAK] = { { -1, MARK_BOLD }, { 231, MARK_BOLD }, { 16, MARK_BOLD }, { -1, MARK_BOLD } },
	[ROLE_BOUND] = { { 2, 0 }, { 151, 0 }, { 22, 0 }, { -1, 0 } },
	[ROLE_BUDGET] = { { 1, MARK_BOLD }, { 203, MARK_BOLD }, { 160, MARK_BOLD }, { -1, MARK_BOLD } },
	[ROLE_BASELINE] = { { 3, 0 }, { 222, 0 }, { 94, 0 }, { -1, 0 } },
	[ROLE_CURSOR] = { { -1, MARK_BOLD }, { 231, MARK_BOLD }, { 16, MARK_BOLD }, { -1, MARK_BOLD } },
	[ROLE_SELECTED] = { { -1, MARK_REVERSE }, { -1, MARK_REVERSE }, { -1, MARK_REVERSE }, { -1, MARK_REVERSE } },
	[ROLE_MATCH] = { { 3, MARK_BOLD | MARK_UNDERLINE }, { 221, MARK_UNDERLINE }, { 130, MARK_UNDERLINE }, { -1, MARK_UNDERLINE } },
	[ROLE_MESSAGE] = { { -1, MARK_BOLD }, { 252, 0 }, { 235, 0 }, { -1, MARK_BOLD } },
	[ROLE_EMPTY] = { { 8, 0 }, { 236, 0 }, { 254, 0 }, { -1, MARK_DIM } },
};

/* Two shades for each category: ansi, dark, light. */
static const int16_t shades[CATEGORIES][3][2] = {
	[KIND_INPUT] = { { 6, 14 }, { 73, 80 }, { 30, 37 } },
	[KIND_PARAMETER] = { { 4, 12 }, { 67, 74 }, { 25, 32 } },
	[KIND_BUFFER] = { { 6, 14 }, { 66, 109 }, { 66, 109 } },
	[KIND_CONSTANT] = { { 8, 8 }, { 101, 144 }, { 101, 144 } },
	[KIND_OPTIMIZER] = { { 5, 13 }, { 97, 140 }, { 91, 134 } },
	[KIND_GRADIENT] = { { 3, 11 }, { 178, 221 }, { 136, 178 } },
	[KIND_ACTIVATION] = { { 2, 10 }, { 65, 108 }, { 28, 71 } },
	[KIND_TEMPORARY] = { { 1, 9 }, { 167, 210 }, { 124, 167 } },
	[KIND_OUTPUT] = { { 7, 15 }, { 145, 188 }, { 240, 246 } },
	[CATEGORY_WORKSPACE] = { { 8, 7 }, { 241, 247 }, { 245, 250 } },
};

struct look theme_look(enum theme theme, enum role role)
{
	if (role < ROLE_KIND)
		return fixed[role][theme];
	if (theme == THEME_MONO)
		return (struct look){ -1, (role - ROLE_KIND) & 1 ? MARK_BOLD : 0 };
	return (struct look){ shades[(role - ROLE_KIND) / 2][theme][(role - ROLE_KIND) & 1], 0 };
}

enum theme theme_possible(enum theme wanted, int colours)
{
	if (colours < 8)
		return THEME_MONO;
	return colours < 256 && (wanted == THEME_DARK || wanted == THEME_LIGHT) ? THEME_ANSI : wanted;
}
