/* session_file.c: the lines of a session file, run one after the other. */

#include "log.h"
#include "src/read/input.h"
#include "src/tidemark.h"

static enum status session_file_version(const char *line, struct error *error)
{
	unsigned version;
	return sscanf(line, SESSION_HEAD "%u", &version) == 1 && version > SESSION_VERSION
		? refuse(error, "the session is of version %u, of a newer tidemark: this one reads %u", version,
			  SESSION_VERSION)
		: OK;
}

enum status session_replay(struct session *session, struct source *source, bool execute_exports, session_after *after,
	void *context, struct error *error)
{
	char line[8192];
	size_t used = 0;
	unsigned number = 0;
	*error = (struct error){ 0 };
	for (;;) {
		char byte;
		ssize_t got = source->read(source->context, &byte, 1, error);
		if (got < 0)
			return BAD_INPUT;
		if (got == 1 && byte != '\n') {
			if (byte == '\0' || used + 1 >= sizeof line) {
				error->line = number + 1;
				return refuse(error, byte ? "the line is too long" : "the line contains a NUL byte");
			}
			line[used++] = byte;
			continue;
		}
		line[used] = '\0';
		if (used && line[used - 1] == '\r')
			line[used - 1] = '\0';
		number++;
		enum status status = session_file_version(line, error);
		THEN(status, session_line(session, line, execute_exports, error));
		if (status != OK) {
			error->line = number;
			return status;
		}
		if (after)
			after(context, session, line);
		used = 0;
		if (got == 0)
			return OK;
	}
}
