/* fx_folder.c: the graphs that torch.compile leaves in a folder: which files, and in which order. */
#include <stdio.h>
#include <stdlib.h>

#include "fx.h"
#include "src/base/files.h"
#include "src/base/source.h"

#define BYTES_ALL ((size_t)1 << 30) /* of all files */

struct file {
	const char *name; /* below the folder */
	bool readable;    /* an fx_graph_readable.py, not a log */
	long number;      /* of its folder, "model__0_forward_1.7": 7 */
};

struct folder {
	struct arena arena;
	struct file *file;
	size_t files, room;
	struct error *error;
};

/* ---- which files ---- */

static bool is_readable(const char *base)
{
	return strcmp(base, "fx_graph_readable.py") == 0;
}

static bool is_graph(const char *base)
{
	return is_readable(base) || strncmp(base, "dedicated_log_torch_trace", 25) == 0;
}

static enum status add_file(struct folder *folder, const char *name)
{
	const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name, *dot = NULL;
	for (const char *at = name; at < base; at++)
		dot = *at == '.' ? at : dot;
	struct file file = { .name = name, .readable = is_readable(base), .number = dot ? strtol(dot + 1, NULL, 10) : 0 };
	if (!mem_reserve(&folder->file, &folder->room, folder->files + 1, sizeof file))
		return fail_memory(folder->error);
	folder->file[folder->files++] = file;
	return OK;
}

/* ---- what their folders say ---- */

/* Length of what lies before "model__0_forward_1.7/fx_graph_readable.py". */
static size_t parent_of(const char *name)
{
	const char *base = strrchr(name, '/');
	size_t length = base ? (size_t)(base - name) : 0;
	while (length && name[length - 1] != '/')
		length--;
	return length;
}

/* Processes one after the other, each in the order of its compilations: the backward graph is compiled after the
 * forward graph. */
static int fx_folder_compare(const void *a, const void *b)
{
	const struct file *left = a, *right = b;
	size_t parent[2] = { parent_of(left->name), parent_of(right->name) };
	int order = memcmp(left->name, right->name, SMALLER(parent[0], parent[1]));
	if (order || parent[0] != parent[1])
		return order ? order : parent[0] < parent[1] ? -1 : 1;
	if (left->number != right->number)
		return left->number < right->number ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* "model__0" of "model__0_forward_1.7" and its kind. several: of several processes, whose folders stand before it. */
static const char *fx_folder_origin_of(
	struct folder *folder, const struct file *file, bool several, struct fx_origin *origin)
{
	static const struct { const char *word; enum fx_kind kind; } kinds[] = {
		{ "_forward", FX_FORWARD }, { "_backward", FX_BACKWARD }, { "_inference", FX_INFERENCE }, { "_joint", FX_JOINT },
	};
	const char *base = strrchr(file->name, '/');
	size_t parent = parent_of(file->name), end = base ? (size_t)(base - file->name) : 0;
	origin->kind = FX_OTHER;
	for (size_t i = 0; i < COUNT_OF(kinds) && file->readable; i++) {
		const char *found = strstr(file->name + parent, kinds[i].word);
		if (!found || found >= file->name + end)
			continue;
		origin->kind = kinds[i].kind;
		end = (size_t)(found - file->name);
	}
	/* Of "run_2026_11_22-pid_17793/torchinductor/model__0" the process and the compilation. */
	char id[300];
	const char *process = strstr(file->name, "pid_"), *slash = process ? strchr(process, '/') : NULL;
	bool short_id = several && slash && slash < file->name + parent;
	PRINT_TO(id, "%.*s/%.*s", short_id ? (int)SMALLER(100, slash - process) : 0,
		short_id ? process : "", end - parent > 150 ? 150 : (int)(end - parent), file->name + parent);
	const char *text = short_id ? id : several ? file->name : id + 1;
	return origin->id = arena_text(&folder->arena, text, text == file->name ? end : strlen(text));
}

/* A log has no folder of its own: of several ones its name says whose it is. */
static const char *log_id(struct folder *folder, const struct file *file, bool several)
{
	const char *rank = strstr(file->name, "rank_");
	const char *name = !several ? "" : rank ? rank : file->name;
	return arena_text(
		&folder->arena, name, rank && several ? strcspn(name, "_") + 1 + strspn(name + 5, "0123456789") : strlen(name));
}

/* ---- reading ---- */

static enum status fx_folder_add(struct folder *folder, const char *top, const struct file *file, bool several,
	size_t *left, const char *const *dim, uint32_t dims, struct fx_log *log)
{
	char path[4096];
	struct fx_origin origin = { .kind = FX_OTHER };
	size_t size = 0;
	PRINT_TO(path, "%s/%s", top, file->name);
	if (file->readable ? !fx_folder_origin_of(folder, file, several, &origin)
		: !(origin.id = log_id(folder, file, several)))
		return fail_memory(folder->error);
	char *content = input_text(path, *left, &size, folder->error);
	enum status status = content ? fx_add(log, content, size, &origin, dim, dims, folder->error) : folder->error->status;
	mem_free(content);
	*left -= size < *left ? size : *left;
	return status == BAD_INPUT ? input_name(file->name, folder->error) : status;
}

static enum status read_files(
	struct folder *folder, const char *top, const char *const *dim, uint32_t dims, struct fx_log *log)
{
	size_t kept = 0, left = BYTES_ALL;
	bool readable = false, several = false;
	FOR_SIZE(i, folder->files)
		readable |= folder->file[i].readable;
	FOR_SIZE(i, folder->files)
		if (folder->file[i].readable == readable)
			folder->file[kept++] = folder->file[i];
	if (kept == 0)
		return refuse(folder->error,
			"is a directory without graphs: TORCH_COMPILE_DEBUG=1 leaves fx_graph_readable.py in one, "
			"TORCH_TRACE=FOLDER logs, XLA_FLAGS=--xla_dump_to=FOLDER modules");
	log->fused = readable;
	qsort(folder->file, kept, sizeof *folder->file, fx_folder_compare);
	for (size_t i = 1; i < kept; i++) {
		size_t length = parent_of(folder->file[i].name);
		several |= !readable || length != parent_of(folder->file[i - 1].name) ||
			memcmp(folder->file[i].name, folder->file[i - 1].name, length) != 0;
	}
	FOR_SIZE(i, kept)
		TRY(fx_folder_add(folder, top, &folder->file[i], several, &left, dim, dims, log));
	return OK;
}

enum status fx_folder_read(
	const char *path, const char *const *dim, uint32_t dims, struct fx_log *log, struct error *error)
{
	struct folder folder = { .error = error };
	struct folder_files list;
	*log = (struct fx_log){ 0 };
	*error = (struct error){ 0 };
	enum status status = folder_walk(path, is_graph, &list, error);
	for (size_t i = 0; i < list.files && status == OK; i++)
		status = add_file(&folder, list.file[i].name);
	if (status == OK)
		status = read_files(&folder, path, dim, dims, log);
	mem_free(folder.file);
	folder_files_free(&list);
	arena_free(&folder.arena);
	return error_set(error, status);
}
