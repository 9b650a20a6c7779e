/* sweep_merge.c: the pieces of one sweep, put together. */

#include <inttypes.h>

#include "src/base/complain.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/read/input.h"
#include "sweep_row.h"

#define PIECE_BYTES_MAX ((size_t)1 << 30)
#define NAMES "scenario,"

struct piece_line {
	uint32_t number; /* of the scenario */
	unsigned line;   /* in its file, from 1 */
	int file;
	const char *text; /* without its newline */
};

struct merge {
	char *const *path;
	uint64_t total;
	char **content; /* [count]: of the files, cut into lines */
	struct piece_line *line;
	size_t lines, room;
	const char *names; /* CSV's line of names; NULL: none so far */
	uint64_t sweep;    /* fingerprint of the lines so far */
	bool json;
};

/* ---- lines ---- */

/* Commas outside of quotes. */
static int commas(const char *text)
{
	int count = 0;
	bool quoted = false;
	for (; *text; text++) {
		quoted ^= *text == '"';
		count += *text == ',' && !quoted;
	}
	return quoted ? -1 : count;
}

static enum status check_json(const char *text, struct error *error)
{
	json_t *record = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	bool fine = json_is_object(record) && json_is_object(json_object_get(record, "set"));
	json_decref(record);
	if (json_memory_failed())
		return fail_memory(error);
	return fine ? OK : refuse(error, "is not a whole line of a sweep");
}

static enum status take_names(struct merge *merge, const char *text, struct error *error)
{
	if (merge->json)
		return refuse(error, "is CSV, and lines before it are JSON");
	if (merge->names && !text_is(merge->names, text))
		return refuse(error, "has other columns than the files before it: not of the same sweep");
	merge->names = text;
	return OK;
}

static enum status sweep_merge_take_line(
	struct merge *merge, const char *text, int file, unsigned number, struct error *error)
{
	uint64_t k, sweep;
	bool json = *text == '{';
	if (strncmp(text, NAMES, sizeof NAMES - 1) == 0)
		return take_names(merge, text, error);
	TRY(sweep_row_read(text, &k, &sweep, error));
	if (merge->lines && sweep != merge->sweep)
		return refuse(error, "is a line of another sweep than those before it");
	if (merge->total && k >= merge->total)
		return refuse(error, "scenario %" PRIu64 " is not of this sweep, which has %" PRIu64, k, merge->total);
	if (json && merge->names)
		return refuse(error, "is JSON, and lines before it are CSV");
	if (!json && !merge->names)
		return refuse(error, "a CSV file begins with its line of names");
	if (!json && commas(text) != commas(merge->names))
		return refuse(error, "is not a whole line of a sweep");
	if (json && check_json(text, error) != OK)
		return error->status;
	merge->json = json;
	merge->sweep = sweep;
	NEEDED(error, mem_reserve(&merge->line, &merge->room, merge->lines + 1, sizeof *merge->line));
	merge->line[merge->lines++] = (struct piece_line){ (uint32_t)k, number, file, text };
	return OK;
}

/* ---- files ---- */

static enum status read_piece(struct merge *merge, int file, struct error *error)
{
	size_t size = 0;
	merge->content[file] = input_text(merge->path[file], PIECE_BYTES_MAX, &size, error);
	enum status status = merge->content[file] ? OK : error->status;
	char *at = merge->content[file], *end = at ? at + size : at, *stop;
	unsigned number = 1;
	for (; status == OK && at < end; at = stop + 1, number++) {
		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop) {
			complain_line("%s:%u: the last line is torn and left out", merge->path[file], number);
			break;
		}
		*stop = '\0';
		status = strlen(at) == (size_t)(stop - at) ? sweep_merge_take_line(merge, at, file, number, error)
			: refuse(error, "a byte 0 is not text");
		if (status != OK)
			error->line = number;
	}
	return status;
}

/* ---- together ---- */

COMPARATOR(sweep_merge_by_number, struct piece_line,
	COMPARE(a->number, b->number, COMPARE(a->file, b->file, COMPARE(a->line, b->line, 0))))

/* Sorts, and leaves one line of each scenario. */
static int sweep_merge_unite(struct merge *merge)
{
	size_t kept = 0;
	if (merge->lines)
		qsort(merge->line, merge->lines, sizeof *merge->line, sweep_merge_by_number);
	FOR_SIZE(i, merge->lines) {
		const struct piece_line *line = &merge->line[i], *before = kept ? &merge->line[kept - 1] : NULL;
		if (!before || before->number != line->number) {
			merge->line[kept++] = *line;
		} else if (!text_is(before->text, line->text)) {
			complain_line("%s:%u: scenario %u differs from that of %s:%u", merge->path[line->file], line->line,
				line->number, merge->path[before->file], before->line);
			return EXIT_INPUT;
		}
	}
	merge->lines = kept;
	return EXIT_FINE;
}

/* Says which are missing: "4, 9-12". */
static int say_missing(const struct merge *merge)
{
	char text[400] = "";
	struct words words = { text, sizeof text, 0 };
	uint64_t total = merge->total ? merge->total : merge->lines ? (uint64_t)merge->line[merge->lines - 1].number + 1 : 0;
	uint64_t missing = total - merge->lines, next = 0, said = 0;
	for (size_t i = 0; i <= merge->lines; i++) {
		uint64_t here = i < merge->lines ? merge->line[i].number : total;
		if (here > next && words.at < sizeof text - 50) {
			words_add(&words, here - next > 1 ? "%s%" PRIu64 "-%" PRIu64 : "%s%" PRIu64, said ? ", " : "", next, here - 1);
			said += here - next;
		}
		next = here + 1;
	}
	if (said < missing)
		words_add(&words, " and %" PRIu64 " more", missing - said);
	if (missing)
		complain_line("%" PRIu64 " of %s%" PRIu64 " scenarios are missing: %s", missing,
			merge->total ? "" : "at least ", total, text);
	else if (!merge->total)
		complain_line("scenarios 0 to %" PRIu64 " are there; whether more are missing shows with the sweep's --vary",
			total ? total - 1 : 0);
	return missing || total == 0 ? EXIT_CONSTRAINT : EXIT_FINE;
}

static enum status sweep_merge_write_lines(const struct merge *merge, const char *path, struct error *error)
{
	struct output output;
	TRY(output_open(&output, path, true, error));
	if (merge->names)
		fprintf(output.stream, "%s\n", merge->names);
	FOR_SIZE(i, merge->lines)
		fprintf(output.stream, "%s\n", merge->line[i].text);
	return output_close(&output, OK, error);
}

int sweep_merge(char *const *path, int count, uint64_t total, const char *output)
{
	struct merge merge = { .path = path, .total = total, .content = mem_alloc((size_t)count, sizeof *merge.content) };
	struct error error = { 0 };
	enum status status = merge.content ? OK : fail_memory(&error);
	int code = EXIT_FINE;
	for (int i = 0; i < count && status == OK && code == EXIT_FINE; i++)
		if ((status = read_piece(&merge, i, &error)) != OK)
			code = complain(path[i], &error, status);
	if (!merge.content)
		code = complain(NULL, &error, status);
	if (code == EXIT_FINE)
		code = sweep_merge_unite(&merge);
	if (code == EXIT_FINE && (status = sweep_merge_write_lines(&merge, output, &error)) != OK)
		code = complain(NULL, &error, status);
	if (code == EXIT_FINE)
		code = say_missing(&merge);
	for (int i = 0; merge.content && i < count; i++)
		mem_free(merge.content[i]);
	mem_free(merge.content);
	mem_free(merge.line);
	return code;
}
