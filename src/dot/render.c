/* render.c: one layout, one picture. */
#include <graphviz/gvc.h>
#include <stdlib.h>
#include <string.h>

#include "pdf_date.h"
#include "render.h"

/* Graphviz opens no file that a graph names (image, shapefile, IMG in labels) where it takes itself for a part of a web
 * server. It looks for that, once and for all, with the arguments of a command line. */
static void open_no_files(void)
{
	char *arguments[] = { (char[]){ "dot" }, NULL };
	setenv("SERVER_NAME", "tidemark-dot", 1);
	unsetenv("GV_FILE_PATH");
	GVC_t *context = gvContext();
	if (context) {
		gvParseArgs(context, 1, arguments);
		gvFreeContext(context);
	}
}

enum status render(Agraph_t *dot, const char *engine, const char *format, FILE *stream, struct error *error)
{
	char *data = NULL;
	union { unsigned narrow; size_t wide; } written = { .wide = 0 };   /* wide from Graphviz 13 on */
	size_t length = 0;
	open_no_files();
	GVC_t *context = gvContext();
	NEED_IN(error, context);
	enum status status = OK;
	if (gvLayout(context, dot, engine) != 0)
		status = fail(error, LIMIT,
			"Graphviz could not lay out the graph with %s: out of memory, or a graph that it can't handle", engine);
	else if (gvRenderData(context, dot, format, &data, (void *)&written) != 0 || !data)
		status = fail(error, LIMIT, "Graphviz could not write %s: out of memory, or a graph that it can't handle", format);
	else
		length = _Generic(&gvRenderData, int (*)(GVC_t *, graph_t *, const char *, char **, unsigned *): written.narrow,
			default: written.wide);
	if (status == OK && strcmp(format, "pdf") == 0)
		pdf_set_date(data, length);
	if (status == OK && fwrite(data, 1, length, stream) != length)
		status = fail(error, LIMIT, "can't write the picture");
	gvFreeRenderData(data);
	gvFreeLayout(context, dot);
	gvFreeContext(context);
	return status;
}
