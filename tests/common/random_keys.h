/* random_keys.h: keys and clicks of a monkey at the explorer. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "src/base/safe_text.h"
#include "ui/screen/line_edit.h"

/* Keys that do something, most of them often. */
static inline void random_key(uint64_t *random, struct key_press *key)
{
	static const char *const names[] = {
		"up",
		"down",
		"left",
		"right",
		"PgUp",
		"PgDn",
		"Home",
		"End",
		"Tab",
		"S-Tab",
		"Enter",
		"Enter",
		"Esc",
		"Backspace",
		"^U",
		"^W",
		"^L",
		"^R",
		"space",
		"F1",
		"click",
		"click",
		"click",
		"wheel-up",
		"wheel-down",
		"^C",
	};
	*key = (struct key_press){ .code = 0 };
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint32_t pick = (uint32_t)(*random >> 33);
	if (pick % 3 == 0) {
		snprintf(key->name, sizeof key->name, "%s", names[pick / 3 % (sizeof names / sizeof *names)]);
		key->code = strcmp(key->name, "space") == 0 ? ' ' : 0;
	} else {
		key->code = '!' + pick / 3 % 94;
		text_encode(key->code, key->name);
	}
	key->x = (int)(pick / 7 % 120);
	key->y = (int)(pick / 840 % 40);
}
