/* key_script.h: keys written as text: "2 down down : set space tp=4 Enter". */
#pragma once

#include "ui/screen/line_edit.h"

struct key_script {
	const char *at;
	const char *end;      /* of the word that is being typed, or NULL */
};

/* The next key of a script, false at its end. Words stand between blanks: a key's name as the command table writes it
 * ("q",
 * "^L", "PgUp", "space") is that key; any other word is typed character by character. "click@X,Y" is a click
 * on a cell, counted from 0. */
bool key_script_next(struct key_script *script, struct key_press *key);
