/* program_folder.c: from the path that the kernel was given to run: argv[0] is the caller's to choose, and /proc may
 * not be mounted. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "program_folder.h"

bool program_folder(char folder[PROGRAM_PATH_BYTES])
{
	const char *given = (const char *)getauxval(AT_EXECFN);
	if (!given || !realpath(given, folder))
		return false;
	*strrchr(folder, '/') = '\0';
	return true;
}
