/* state_files.c: the XDG state directory. */
#include "state_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
