/* pdf_date.h: the date in a PDF of Cairo's, which is the clock's: equal pictures would be different files. */
#pragma once

#include <stddef.h>

/* Sets the date of creation to SOURCE_DATE_EPOCH (seconds since 1970), or to 1970. No byte moves: the zone behind it is
 * that of the process, which has to be UTC. */
void pdf_set_date(char *pdf, size_t length);
