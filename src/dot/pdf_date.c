/* pdf_date.c: Cairo writes the date in plain digits near the end. */
#include "parse.h"

#include <time.h>

void pdf_set_date(char *pdf, size_t length)
{
	static const char key[] = "/CreationDate (D:";
	const char *epoch = getenv("SOURCE_DATE_EPOCH");
	char *end, text[20];
	long long seconds = epoch ? strtoll(epoch, &end, 10) : 0;
	time_t moment = epoch && (end == epoch || *end) ? 0 : (time_t)seconds;
	struct tm date;
	if (!gmtime_r(&moment, &date) || strftime(text, sizeof text, "%Y%m%d%H%M%S", &date) != 14)
		return;
	for (size_t i = length; i-- > sizeof key + 14;) /* from the end: what is drawn may hold anything */
		if (memcmp(pdf + i - sizeof key - 14, key, sizeof key - 1) == 0) {
			memcpy(pdf + i - 15, text, 14);
			return;
		}
}
