/* notes.h: what is told of recomputation that fits a step into the memory cap. */
#pragma once

#include "stage.h"
#include "src/stages/notes.h"

/* left: bytes of the cap that were left to the layout, of the wish. */
void fit_notes(char notes[NOTES_BYTES], const struct fitted *fitted, const struct scenario *scenario, int64_t left);
