/* files.c: paths: what a file may name, the program's folder, where state is kept. */
#include <errno.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "files.h"

/* ---- folders are compared once links are followed ---- */

enum { PATH_BYTES = 4096 };

void named_file_folder(const char *path, char folder[4096])
{
	const char *slash = strrchr(path, '/');
	snprintf(folder, PATH_BYTES, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

bool named_file_within(const char *path, const char *folder, bool writing)
{
	char real[PATH_BYTES], within[PATH_BYTES], parent[PATH_BYTES];
	struct stat state;
	bool there = lstat(path, &state) == 0; /* a link that leads nowhere is there: what would be made lies elsewhere */
	if (!there)
		named_file_folder(path, parent);
	if ((!there && !writing) || !realpath(there ? path : parent, real) || !realpath(folder, within))
		return false;
	if (there && (stat(path, &state) != 0 || !S_ISREG(state.st_mode)))
		return false;
	size_t length = strcmp(within, "/") == 0 ? 0 : strlen(within);
	return strncmp(real, within, length) == 0 && (real[length] == '/' || real[length] == '\0');
}

/* from the path that the kernel was given to run: argv[0] is the caller's to choose, and /proc may
 * not be mounted. */

bool program_folder(char folder[PROGRAM_PATH_BYTES])
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	if (!given || !realpath(given, folder))
		return false;
	*strrchr(folder, '/') = '\0';
	return true;
}

/* ---- the XDG state directory ---- */

bool state_path(const char *name, char path[STATE_PATH_BYTES])
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int length;
	if (state && *state == '/')
		length = snprintf(path, STATE_PATH_BYTES, "%s/tidemark/%s", state, name);
	else if (home && *home == '/')
		length = snprintf(path, STATE_PATH_BYTES, "%s/.local/state/tidemark/%s", home, name);
	else
		return false;
	return length < STATE_PATH_BYTES - 64;
}

bool state_make_directories(char *path)
{
	for (char *slash = strchr(path + 1, '/'); ; slash = strchr(slash + 1, '/')) {
		if (slash)
			*slash = '\0';
		bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
		if (slash)
			*slash = '/';
		if (!made || !slash)
			return made;
	}
}
