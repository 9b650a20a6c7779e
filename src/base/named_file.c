/* named_file.c: folders are compared once links are followed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "named_file.h"

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
	bool there = lstat(path, &state) == 0;   /* a link that leads nowhere is there: what would be made lies elsewhere */
	if (!there)
		named_file_folder(path, parent);
	if ((!there && !writing) || !realpath(there ? path : parent, real) || !realpath(folder, within))
		return false;
	if (there && (stat(path, &state) != 0 || !S_ISREG(state.st_mode)))
		return false;
	size_t length = strcmp(within, "/") == 0 ? 0 : strlen(within);
	return strncmp(real, within, length) == 0 && (real[length] == '/' || real[length] == '\0');
}
