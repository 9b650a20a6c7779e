/* columns.c: which columns the table of tensors has, and in which places. */
#include "columns.h"

#include "src/base/words.h"
#include "src/session/commands.h"

#define X(id, word, title, width, right, descending, help) { word, title, width, right, descending, help },
const struct column_text columns[COLUMN_COUNT] = { COLUMNS(X) };
#undef X

enum { NAME_MIN = 12, NAME_CHOSEN = 20, NAME_WANTED = 32, GAP = 2, LEFT_OUT = 4 /* " +12" */ };

/* The usual columns, those that stay longest first. */
static const enum column usual[] = { COLUMN_BYTES, COLUMN_KIND, COLUMN_FIRST, COLUMN_LAST, COLUMN_OFFSET, COLUMN_LIFE,
				     COLUMN_READERS, COLUMN_SHAPE, COLUMN_MAKER, COLUMN_MODULE, COLUMN_SOURCE };
enum { USUAL = sizeof usual / sizeof *usual, USUAL_FIRST = 4 };

/* ---- lists of columns ---- */

int column_place(const struct column_set *set, enum column column)
{
	for (int i = 0; i < set->count; i++)
		if (set->column[i] == column)
			return i;
	return -1;
}

static enum status column_find(const char *word, enum column *column, struct error *error)
{
	struct nearest nearest = { .wanted = word };
	char near[120];
	for (int i = 0; i < COLUMN_COUNT; i++) {
		*column = (enum column)i;
		if (strcmp(columns[i].word, word) == 0)
			return OK;
		nearest_consider(&nearest, columns[i].word);
	}
	return fail(error, BAD_INPUT, "there is no column \"%s\"%s", word, nearest_text(&nearest, "", near, sizeof near));
}

/* "bytes,name,life". BAD_INPUT: a word that is no column (the nearest is named), one twice, or none at all. */
static enum status column_list_read(const char *text, struct column_set *set, struct error *error)
{
	struct column_set read = { .count = 0 };
	enum column column;
	for (const char *at = text; ; at++) {
		size_t length = strcspn(at, ",");
		char word[COLUMN_NAME_BYTES];
		snprintf(word, sizeof word, "%.*s", (int)length, at);
		TRY(column_find(word, &column, error));
		if (column_place(&read, column) >= 0)
			return fail(error, BAD_INPUT, "column %s is there twice", word);
		read.column[read.count++] = (uint8_t)column;
		at += length;
		if (!*at)
			break;
	}
	*set = read;
	return OK;
}

char *column_list_text(const struct column_set *set, char text[COLUMN_LIST_BYTES])
{
	struct words words = { text, COLUMN_LIST_BYTES, 0 };
	text[0] = '\0';
	for (int i = 0; i < set->count; i++)
		words_add(&words, "%s%s", i ? "," : "", columns[set->column[i]].word);
	return text;
}

/* ---- changing what is shown ---- */

void column_set_usual(struct column_set *set)
{
	*set = (struct column_set){ .count = 0 };
	for (int i = 0; i < COLUMN_COUNT; i++) {
		bool there = i == COLUMN_NAME;
		for (int j = 0; j < USUAL; j++)
			there |= usual[j] == (enum column)i;
		if (there)
			set->column[set->count++] = (uint8_t)i;
	}
}

/* The usual set becomes a list that can be changed. */
static void write_out(struct column_sets *sets)
{
	if (sets->shown.count == 0)
		column_set_usual(&sets->shown);
	sets->shown.name[0] = '\0';
	sets->changed = true;
}

void column_toggle(struct column_sets *sets, enum column column)
{
	struct column_set *shown = &sets->shown;
	write_out(sets);
	int at = column_place(shown, column);
	if (at < 0) {
		shown->column[shown->count++] = (uint8_t)column;
		return;
	}
	if (shown->count == 1)
		return;
	shown->count--;
	for (int i = at; i < shown->count; i++)
		shown->column[i] = shown->column[i + 1];
}

void column_move(struct column_sets *sets, enum column column, int places)
{
	struct column_set *shown = &sets->shown;
	write_out(sets);
	int at = column_place(shown, column), to = at + places;
	if (at < 0 || to < 0 || to >= shown->count)
		return;
	shown->column[at] = shown->column[to];
	shown->column[to] = (uint8_t)column;
}

/* ---- sets with names ---- */

static struct column_set *find_set(struct column_sets *sets, const char *name)
{
	for (int i = 0; i < sets->sets; i++)
		if (strcmp(sets->kept[i].name, name) == 0)
			return &sets->kept[i];
	return NULL;
}

/* Keeps a list under a name; one of that name is replaced. */
static enum status columns_keep(
	struct column_sets *sets, const char *name, const struct column_set *list, struct error *error)
{
	struct column_set *place = find_set(sets, name);
	enum column column;
	struct error none;
	if (strlen(name) >= COLUMN_NAME_BYTES || !*name || strpbrk(name, ", \t"))
		return fail(error, BAD_INPUT, "a set's name has 1 to %d letters, without blanks and commas", COLUMN_NAME_BYTES - 1);
	if (strcmp(name, "usual") == 0 || strcmp(name, "save") == 0 || strcmp(name, "drop") == 0 ||
		column_find(name, &column, &none) == OK)
		return fail(error, BAD_INPUT, "\"%s\" means something already: choose another name", name);
	if (!place && sets->sets == COLUMN_SETS)
		return fail(error, LIMIT, "there are %d sets: drop one first", COLUMN_SETS);
	if (!place)
		place = &sets->kept[sets->sets++];
	*place = *list;
	snprintf(place->name, sizeof place->name, "%s", name);
	return OK;
}

static enum status no_set(const struct column_sets *sets, const char *word, struct error *error)
{
	struct nearest nearest = { .wanted = word };
	char near[120];
	for (int i = 0; i < COLUMN_COUNT; i++)
		nearest_consider(&nearest, columns[i].word);
	for (int i = 0; i < sets->sets; i++)
		nearest_consider(&nearest, sets->kept[i].name);
	return fail(error, BAD_INPUT, "there is neither a set nor a column \"%.40s\"%s", word,
		nearest_text(&nearest, "", near, sizeof near));
}

/* Shows a kept set, the usual columns, or a list. */
static enum status columns_use(struct column_sets *sets, const char *words, struct error *error)
{
	const struct column_set *kept = find_set(sets, words);
	if (kept)
		sets->shown = *kept;
	else if (strcmp(words, "usual") == 0)
		sets->shown = (struct column_set){ .count = 0 };
	else if (column_list_read(words, &sets->shown, error) != OK)
		return strchr(words, ',') ? BAD_INPUT : no_set(sets, words, error);
	return OK;
}

static enum status columns_drop(struct column_sets *sets, const char *name, struct error *error)
{
	struct column_set *kept = find_set(sets, name);
	if (!kept)
		return fail(error, BAD_INPUT, "there is no set \"%.40s\"", name);
	if (strcmp(sets->shown.name, name) == 0)
		sets->shown.name[0] = '\0';
	*kept = sets->kept[--sets->sets];
	return OK;
}

enum status columns_command(
	struct column_sets *sets, const char *arguments, char *said, size_t size, struct error *error)
{
	const char *name = command_arguments(arguments);
	char list[COLUMN_LIST_BYTES];
	enum status status;
	if (*name && strncmp(arguments, "save ", 5) == 0) {
		struct column_sets whole = *sets;
		write_out(&whole);
		status = columns_keep(sets, name, &whole.shown, error);
		if (status == OK)
			status = columns_use(sets, name, error);
		snprintf(said, size, "kept as %s: %s", name, column_list_text(&sets->shown, list));
	} else if (*name && strncmp(arguments, "drop ", 5) == 0) {
		status = columns_drop(sets, name, error);
		snprintf(said, size, "there is no set %s any more", name);
	} else {
		status = columns_use(sets, arguments, error);
		snprintf(said, size, "columns: %s", sets->shown.count ? column_list_text(&sets->shown, list) : "the usual ones");
	}
	sets->changed |= status == OK;
	return status;
}

enum status columns_statement(struct column_sets *sets, const char *line, struct error *error)
{
	char word[8], name[COLUMN_NAME_BYTES + 1], list[COLUMN_LIST_BYTES];
	struct column_set set;
	int words = sscanf(line, "%7s %24s %159s", word, name, list);
	if (words == 3 && strcmp(word, "set") == 0) {
		TRY(column_list_read(list, &set, error));
		return columns_keep(sets, name, &set, error);
	}
	if (sscanf(line, "%7s %159s", word, list) == 2 && strcmp(word, "use") == 0)
		return columns_use(sets, list, error);
	return fail(error, BAD_INPUT, "expected set NAME COLUMN,COLUMN,... or use NAME");
}

/* ---- places ---- */

/* Which usual columns fit, the last ones going first; the name grows before the rarer columns come. */
static void arrange_usual(int width, struct column_layout *layout)
{
	bool show[COLUMN_COUNT] = { [COLUMN_NAME] = true };
	int used = NAME_MIN + GAP;
	for (int i = 0; i < USUAL; i++) {
		int more = columns[usual[i]].width + GAP, name = i < USUAL_FIRST ? 0 : NAME_WANTED - NAME_MIN;
		show[usual[i]] = used + more + name <= width;
		used += show[usual[i]] ? more : 0;
	}
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (show[i])
			layout->column[layout->count++] = (enum column)i;
}

/* How many of the user's columns fit; one does. */
static int columns_fitting(const struct column_set *set, int width)
{
	int count = 0;
	for (int used = 0; count < set->count; count++) {
		used += (set->column[count] == COLUMN_NAME ? NAME_CHOSEN : columns[set->column[count]].width) + GAP;
		if (used > width && count > 0)
			break;
	}
	return count;
}

void columns_arrange(const struct column_set *set, int width, struct column_layout *layout)
{
	int used = 0, x = 0, fits = columns_fitting(set, width);
	*layout = (struct column_layout){ .count = 0 };
	if (set->count == 0)
		arrange_usual(width, layout);
	if (fits < set->count)
		fits = columns_fitting(set, width -= LEFT_OUT);
	for (int i = 0; i < fits; i++)
		layout->column[layout->count++] = (enum column)set->column[i];
	layout->left_out = set->count - fits;
	for (int i = 0; i < layout->count; i++)
		used += columns[layout->column[i]].width + GAP;
	for (int i = 0; i < layout->count; i++) {
		layout->x[i] = x;
		layout->width[i] = layout->column[i] != COLUMN_NAME ? columns[layout->column[i]].width
			: width > used ? width - used
			: 1;
		x += layout->width[i] + GAP;
	}
}
