/* tikz.c: head, end and texts of LaTeX sources: each is a document by itself, and a part of one that takes it in. */

#include "canvas.h"
#include "src/base/safe_text.h"

#define LATIN    0x17fu /* pdflatex stops at what its fonts don't have */
#define ELLIPSIS 0x2026u

/* Where Latin Modern is missing, T1's letters are bitmaps, which publishers refuse: only those that the old encoding
 * lacks are taken from there. */
void tikz_head(FILE *stream)
{
	fputs(
		"% pdflatex and lualatex make a page of this file; \\input takes it into a document with "
		"\\usepackage{tikz,textcomp}.\n"
		"\\expandafter\\ifx\\csname @nodocument\\endcsname\\relax\\else % no document has begun\n"
		"\\IfFileExists{standalone.cls}{\\documentclass{standalone}}{\\documentclass{article}\\pagestyle{empty}"
		"\\parindent=0pt}\n"
		"\\IfFileExists{lmodern.sty}{\\usepackage[T1]{fontenc}\\usepackage{lmodern}}{\\usepackage[T1,OT1]{fontenc}"
		"\\def\\do##1{\\DeclareTextSymbolDefault{##1}{T1}}"
		"\\do\\dj\\do\\DJ\\do\\dh\\do\\DH\\do\\th\\do\\TH\\do\\ng\\do\\NG\\DeclareTextAccentDefault{\\k}{T1}}\n"
		"\\usepackage{textcomp}\n\\usepackage{tikz}\n\\def\\tidemarkalone{}\n"
		"\\begin{document}\n\\fi\n",
		stream);
}

void tikz_end(FILE *stream)
{
	fputs("\\ifdefined\\tidemarkalone\\expandafter\\enddocument\\fi\n", stream);
}

void tikz_text(FILE *stream, const char *text)
{
	static const struct { uint32_t character; const char *tex; } table[] = {
		{ '\\', "\\textbackslash{}" },
		{ '^', "\\textasciicircum{}" },
		{ '~', "\\textasciitilde{}" },
		{ '<', "\\textless{}" },
		{ '>', "\\textgreater{}" },
		{ '|', "\\textbar{}" },
		{ '"', "{\\char34}" },
		{ '`', "\\textasciigrave{}" },
		{ '\'', "\\textquotesingle{}" },
		{ ELLIPSIS, "\\ldots{}" },
	};
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		size_t i = 0;
		while (i < COUNT_OF(table) && table[i].character != character)
			i++;
		if (i < COUNT_OF(table))
			fputs(table[i].tex, stream);
		else if (character < 0x80 && strchr("_&%$#{}", (int)character))
			fprintf(stream, "\\%c", (int)character);
		else
			text_put(stream, character < 0x20 ? ' ' : text_hidden(character) || character > LATIN ? '?' : character);
	}
}
