/* columns_file.c: a line for each set, then the one that is shown. */
#include "history_file.h"

#include <unistd.h>

#include "src/base/lines.h"
#include "src/base/output.h"

void columns_file_load(struct column_sets *sets, const char *path, bool warn)
{
	struct lines lines;
	struct error error = { 0 };
	*sets = (struct column_sets){ .sets = 0 };
	if (access(path, F_OK) != 0)
		return;
	enum status status = lines_open(&lines, path, &error);
	for (int got; status == OK && (got = lines_next(&lines, &error)) != 0; ) {
		if (got > 0 && (*lines.text == '#' || !*lines.text || columns_statement(sets, lines.text, &error) == OK))
			continue;
		if (warn)
			fprintf(stderr, "tidemark: %s:%u: warning: %s\n", path, lines.number, error.text);
	}
	if (status == OK)
		lines_close(&lines);
	else if (warn)
		fprintf(stderr, "tidemark: %s: warning: %s\n", path, error.text);
}

enum status columns_file_save(struct column_sets *sets, const char *path, struct error *error)
{
	char list[COLUMN_LIST_BYTES];
	struct output output;
	TRY(output_open(&output, path, true, error));
	fputs("# tidemark writes this file: sets of columns of view 4\n", output.stream);
	for (int i = 0; i < sets->sets; i++)
		fprintf(output.stream, "set %s %s\n", sets->kept[i].name, column_list_text(&sets->kept[i], list));
	fprintf(output.stream, "use %s\n",
		*sets->shown.name ? sets->shown.name
		: sets->shown.count ? column_list_text(&sets->shown, list)
		: "usual");
	sets->changed = false;
	return output_close(&output, OK, error);
}
