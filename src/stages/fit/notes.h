/* notes.h: what is told of recomputation that fits a step into the memory cap. */
#ifndef TIDEMARK_STAGES_FIT_NOTES_H
#define TIDEMARK_STAGES_FIT_NOTES_H

#include "stage.h"
#include "src/stages/notes.h"

/* left: bytes of the cap that were left to the layout, of the wish. */
void fit_notes(char notes[NOTES_BYTES], const struct fitted *fitted, int64_t left);

#endif
