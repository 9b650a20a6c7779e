/* theme.c: the looks of all roles, as data. */
#include "theme.h"

#define X(id, name) name,
const char *const theme_names[THEME_COUNT] = { THEMES(X) };
#undef X

/* One row per fixed role: ansi, dark, light, mono. */
static const struct look fixed[ROLE_FIXED][THEME_COUNT] = {
	[ROLE_TEXT] = { { -1, 0, 0 }, { -1, 0, 0 }, { -1, 0, 0 }, { -1, 0, 0 } },
	[ROLE_FAINT] = { { 8, 0, 0 }, { 247, 0, 0 }, { 241, 0, 0 }, { -1, MARK_DIM, 0 } },
	[ROLE_TITLE] = { { -1, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_TAB] = { { -1, 0, 0 }, { 250, 0, 0 }, { 238, 0, 0 }, { -1, 0, 0 } },
	[ROLE_TAB_ACTIVE] = { { -1, MARK_BOLD | MARK_REVERSE, 0 }, { -1, MARK_BOLD | MARK_REVERSE, 0 },
		{ -1, MARK_BOLD | MARK_REVERSE, 0 }, { -1, MARK_BOLD | MARK_REVERSE, 0 } },
	[ROLE_KEY] = { { 6, MARK_BOLD, 0 }, { 80, MARK_BOLD, 0 }, { 25, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_LABEL] = { { 6, 0, 0 }, { 110, 0, 0 }, { 24, 0, 0 }, { -1, 0, 0 } },
	[ROLE_LINE] = { { 8, 0, 0 }, { 243, 0, 0 }, { 244, 0, 0 }, { -1, MARK_DIM, 0 } },
	[ROLE_GOOD] = { { 2, MARK_BOLD, 0 }, { 114, MARK_BOLD, 0 }, { 22, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_WARN] = { { 3, 0, 0 }, { 221, 0, 0 }, { 94, 0, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_BAD] = { { 1, MARK_BOLD, 0 }, { 210, MARK_BOLD, 0 }, { 124, MARK_BOLD, 0 },
		{ -1, MARK_BOLD | MARK_UNDERLINE, 0 } },
	[ROLE_PEAK] = { { -1, MARK_BOLD, 0 }, { 231, MARK_BOLD, 0 }, { 16, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_BOUND] = { { 2, 0, 0 }, { 151, 0, 0 }, { 22, 0, 0 }, { -1, 0, 0 } },
	[ROLE_BUDGET] = { { 1, MARK_BOLD, 0 }, { 210, MARK_BOLD, 0 }, { 124, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_BASELINE] = { { 3, 0, 0 }, { 222, 0, 0 }, { 94, 0, 0 }, { -1, 0, 0 } },
	[ROLE_CURSOR] = { { -1, MARK_BOLD, 0 }, { 231, MARK_BOLD, 0 }, { 16, MARK_BOLD, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_MESSAGE] = { { -1, MARK_BOLD, 0 }, { 252, 0, 0 }, { 235, 0, 0 }, { -1, MARK_BOLD, 0 } },
	[ROLE_EMPTY] = { { 8, 0, 0 }, { 236, 0, 0 }, { 254, 0, 0 }, { -1, MARK_DIM, 0 } },
};

/* Two shades for each category: ansi, dark, light; the second one is for words, too. The hues are those of the figures
 * (src/plan/timeline.h): what persists grey to blue and green, activations blue, gradients vermilion, temporaries
 * yellow, workspace violet. Colour-blind people tell them apart (unit_palette). */
static const int16_t shades[CATEGORIES][3][2] = {
	[KIND_INPUT] = { { 2, 10 }, { 72, 79 }, { 29, 30 } },
	[KIND_PARAMETER] = { { 8, 7 }, { 237, 245 }, { 250, 244 } },
	[KIND_BUFFER] = { { 2, 10 }, { 65, 108 }, { 65, 59 } },
	[KIND_CONSTANT] = { { 8, 8 }, { 101, 144 }, { 101, 95 } },
	[KIND_OPTIMIZER] = { { 4, 12 }, { 61, 68 }, { 103, 60 } },
	[KIND_GRADIENT] = { { 1, 9 }, { 130, 166 }, { 88, 124 } },
	[KIND_ACTIVATION] = { { 6, 14 }, { 75, 39 }, { 32, 25 } },
	[KIND_TEMPORARY] = { { 3, 11 }, { 227, 221 }, { 227, 136 } },
	[KIND_OUTPUT] = { { 7, 15 }, { 145, 188 }, { 240, 243 } },
	[CATEGORY_WORKSPACE] = { { 5, 13 }, { 57, 99 }, { 55, 56 } },
};

static struct look theme_look_of(enum theme theme, enum role role)
{
	if (role < ROLE_KIND)
		return fixed[role][theme];
	int shade = (int)(role - ROLE_KIND), word = shade - 2 * CATEGORIES;
	if (theme == THEME_MONO)
		return (struct look){ .colour = -1, .marks = word < 0 && (shade & 1) ? MARK_BOLD : 0 };
	return (struct look){ .colour = word < 0 ? shades[shade / 2][theme][shade & 1]
		: shades[word][theme][theme != THEME_ANSI] };
}

void palette_fill(struct palette *palette, enum theme theme)
{
	FOR_INT(i, CELL_ROLES)
		palette->look[i] = theme_look_of(theme, (enum role)i);
	palette->mono = theme == THEME_MONO;
}

/* -1 for the terminal's own, -2 for an unknown name. */
static int theme_colour_of(const char *name)
{
	static const char *const names[] = { "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white" };
	char *end;
	if (!*name || strcmp(name, "default") == 0)
		return -1;
	int named = name_index(names, 8, name);
	if (named >= 0)
		return named;
	long number = strtol(name, &end, 10);
	return *end || number < 0 || number > 255 ? -2 : (int)number;
}

static int marks_of(const char *attributes)
{
	static const char *const names[] = { "bold", "reverse", "dim", "underline" };
	int marks = 0;
	for (attributes += strspn(attributes, " "); *attributes; attributes += strspn(attributes, " ")) {
		char name[16];
		size_t length = strcspn(attributes, " ");
		PRINT_TO(name, "%.*s", (int)length, attributes);
		int named = name_index(names, 4, name);
		if (named < 0 || length >= sizeof name)
			return -1;
		marks |= 1 << named;
		attributes += length;
	}
	return marks;
}

bool palette_change(
	struct palette *palette, const char *role, const char *colour, const char *ground, const char *attributes)
{
	static const char *const names[] = { "text", "faint", "title", "tab", "tab_active", "key", "label", "line", "good",
		"warn", "bad", "peak", "bound", "budget", "baseline", "cursor", "message", "empty" };
	_Static_assert(COUNT_OF(names) == ROLE_KIND, "a name for each role");
	int fixed_role = name_index(names, ROLE_KIND, role), category = name_index(category_names, CATEGORIES, role);
	int foreground = theme_colour_of(colour), background = theme_colour_of(ground), marks = marks_of(attributes);
	if ((fixed_role < 0 && category < 0) || foreground == -2 || background == -2 || marks < 0)
		return false;
	struct look look = { (int16_t)foreground, (uint8_t)marks, (int16_t)(background + 1) };
	if (fixed_role >= 0)
		palette->look[fixed_role] = look;
	else
		palette->look[role_of_category(category, 0)] = palette->look[role_of_category(category, 1)] =
			palette->look[role_of_word(category)] = look;
	return true;
}

struct look cell_look(const struct palette *palette, const struct cell *cell)
{
	struct look look = palette->look[cell->role];
	uint8_t marks = look.marks | cell->marks;
	if (look.marks & cell->marks & MARK_REVERSE)
		marks &= (uint8_t)~MARK_REVERSE;
	if (palette->mono)
		return (struct look){ .colour = -1, .marks = marks };
	int16_t ground = cell->ground == ROLE_TEXT ? look.ground : (int16_t)(palette->look[cell->ground].colour + 1);
	return (struct look){ .colour = look.colour, .marks = marks, .ground = ground };
}

enum theme theme_find(const char *name)
{
	int theme = name_index(theme_names, THEME_COUNT, name);
	return theme < 0 ? THEME_COUNT : (enum theme)theme;
}

enum theme theme_possible(enum theme wanted, int colours)
{
	if (colours < 8)
		return THEME_MONO;
	return colours < 256 && (wanted == THEME_DARK || wanted == THEME_LIGHT) ? THEME_ANSI : wanted;
}
