/* devices_curve.c: the least time at each amount of redundant memory. */
#include "devices.h"

int devices_draw_curve(struct frame *frame, const struct model *model)
{
	(void)model;
	frame_wrapped(frame, (struct rect){ 1, 0, frame->window.width - 1, 2 }, ROLE_FAINT, ":set strategy=minred computes the curve of time against redundancy");
	return 2;
}
