/* key_script.c: keys from text. */
#include "explore.h"

#include <strings.h>

static const char *const names[] = { "up", "down", "left", "right", "PgUp", "PgDn", "Home", "End", "Tab", "S-Tab",
	"S-left", "S-right", "Backspace", "Delete", "Insert", "Enter", "Esc", "F1", "space", "wheel-up", "wheel-down" };

/* Whether it is ^A or a named key, in letters of either case ("Space", "pgup"); *key gets its name. */
static bool take_name(const char *word, size_t length, struct key_press *key)
{
	if (length == 2 && word[0] == '^' && word[1] >= '@' && word[1] <= '_') {
		PRINT_TO(key->name, "%.2s", word);
		return true;
	}
	FOR(i, COUNT_OF(names))
		if (strlen(names[i]) == length && strncasecmp(names[i], word, length) == 0) {
			PRINT_TO(key->name, "%s", names[i]);
			return true;
		}
	return false;
}

bool key_script_next(struct key_script *script, struct key_press *key)
{
	*key = (struct key_press){ .code = 0 };
	if (!script->end) {
		script->at += strspn(script->at, " \t\n");
		size_t length = strcspn(script->at, " \t\n");
		if (length == 0)
			return false;
		if (sscanf(script->at, "click@%d,%d", &key->x, &key->y) == 2) {
			PRINT_TO(key->name, "click");
			script->at += length;
			return true;
		}
		if (take_name(script->at, length, key)) {
			key->code = text_is(key->name, "space") ? ' ' : 0;
			script->at += length;
			return true;
		}
		script->end = script->at + length;
	}
	key->code = text_next(&script->at);
	text_encode(key->code, key->name);
	if (script->at >= script->end)
		script->end = NULL;
	return true;
}
