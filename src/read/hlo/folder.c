/* folder.c: the modules in a folder of XLA dumps.
 *
 * module_0042.jit_step.cpu_after_optimizations.hlo.pb, and .txt, lie beside those of many small modules, of what was
 * before optimization, of each pass where those were asked for, and beside reports. */
#include <inttypes.h>

#include "hlo.h"
#include "src/base/files.h"
#include "src/base/words.h"

/* Endings, the better ones of one module first. */
static const char *const endings[] = { "after_optimizations.hlo.pb", "after_optimizations.txt",
	"before_optimizations.hlo.pb", "before_optimizations.txt" };
enum { ENDINGS = COUNT_OF(endings), BEFORE = 2 };

/* Which ending a name has, gzip or not; ENDINGS for none. *length: of what stands before it. */
static int ending_of(const char *name, size_t *length)
{
	size_t size = strlen(name);
	size -= size > 3 && strcmp(name + size - 3, ".gz") == 0 ? 3 : 0;
	FOR_INT(i, ENDINGS) {
		size_t end = strlen(endings[i]);
		if (size >= end && memcmp(name + size - end, endings[i], end) == 0) {
			*length = size - end;
			return i;
		}
	}
	return ENDINGS;
}

static bool folder_is_module(const char *base)
{
	size_t length;
	return strncmp(base, "module_", 7) == 0 && ending_of(base, &length) < ENDINGS;
}

/* Length of "module_0042.jit_step" in "module_0042.jit_step.cpu_after_optimizations.txt": without the platform. */
static size_t stem_of(const char *name, size_t length)
{
	size_t end = length;
	while (end > 0 && name[end - 1] != '.' && name[end - 1] != '/')
		end--;
	return end > 0 && name[end - 1] == '.' ? end - 1 : length;
}

static bool folder_same(const char *a, const char *b)
{
	size_t length, other;
	ending_of(a, &length);
	ending_of(b, &other);
	length = stem_of(a, length);
	return stem_of(b, other) == length && memcmp(a, b, length) == 0;
}

/* Leaves one file of each module, those after optimization alone where there are such. Returns how many. */
static size_t choose_files(struct folder_files *list)
{
	size_t kept = 0, length;
	int best = ENDINGS;
	FOR_SIZE(i, list->files)
		best = ending_of(list->file[i].name, &length) < best ? ending_of(list->file[i].name, &length) : best;
	FOR_SIZE(i, list->files) {
		const char *name = list->file[i].name;
		int ending = ending_of(name, &length);
		if (best < BEFORE && ending >= BEFORE)
			continue;
		if (!kept || !folder_same(list->file[kept - 1].name, name))
			list->file[kept++] = list->file[i];
		else if (ending_of(list->file[kept - 1].name, &length) > ending)
			list->file[kept - 1] = list->file[i];
	}
	return kept;
}

static enum status list_modules(const struct folder_files *files, struct hlo_folder *found, struct error *error)
{
	size_t size = 1, length;
	FOR_SIZE(i, files->files)
		size += strlen(files->file[i].name) + 32;
	found->list = mem_alloc(size, 1);
	if (!found->list)
		return fail_memory(error);
	struct words words = { found->list, size, 0 };
	for (size_t i = 0; i < files->files && files->files > 1; i++) {
		ending_of(files->file[i].name, &length);
		words_add(&words, "%s%.*s, %s", i ? "\n" : "", (int)stem_of(files->file[i].name, length), files->file[i].name,
			BYTES(files->file[i].bytes));
	}
	return OK;
}

/* JAX's own functions that make random numbers and start values run before the step, and may be larger than a small
 * one. A user's own function may begin with an underscore too, and a lambda does (jit__lambda). */
static bool is_helper(const struct folder_file *file)
{
	static const char *const helpers[] = { "threefry", "normal", "truncated_normal", "uniform", "orthogonal", "randint",
		"bernoulli", "categorical", "gamma", "gumbel", "shuffle", "permutation", "choice", "poisson", "multi_slice",
		"unstack", "take" };
	const char *name = strstr(file->name, ".jit__");
	for (size_t i = 0; name && i < COUNT_OF(helpers); i++) {
		size_t length = strlen(helpers[i]);
		if (strncmp(name + 6, helpers[i], length) == 0 && (name[6 + length] == '.' || i == 0))
			return true;
	}
	return false;
}

/* The larger one, and of a user's function before a helper. */
static bool folder_is_better(const struct folder_file *a, const struct folder_file *b)
{
	return is_helper(a) != is_helper(b) ? is_helper(b) : a->bytes > b->bytes;
}

static enum status folder_choose(
	const struct folder_files *files, const char *path, uint32_t wanted, struct hlo_folder *found, struct error *error)
{
	size_t at = 0;
	for (size_t i = 1; i < files->files; i++)
		at = folder_is_better(&files->file[i], &files->file[at]) ? i : at;
	if (wanted > files->files)
		return refuse(error, "--graph %" PRIu32 ": the folder has %zu module%s of XLA", wanted, files->files,
			files->files == 1 ? "" : "s");
	at = wanted ? wanted - 1 : at;
	found->modules = (uint32_t)files->files;
	found->number = (uint32_t)at + 1;
	if (PRINT_TO(found->path, "%s/%s", path, files->file[at].name) >= (int)sizeof found->path)
		return refuse(error, "the file's name is too long");
	return list_modules(files, found, error);
}

enum status hlo_folder_find(const char *path, uint32_t wanted, struct hlo_folder *found, struct error *error)
{
	struct folder_files files;
	*found = (struct hlo_folder){ .list = NULL };
	enum status status = folder_walk(path, folder_is_module, &files, error);
	files.files = choose_files(&files);
	if (status == OK && files.files)
		status = folder_choose(&files, path, wanted, found, error);
	folder_files_free(&files);
	return status;
}

void hlo_folder_free(struct hlo_folder *found)
{
	mem_free(found->list);
	found->list = NULL;
}
