/* terminal.h: the terminal: keys in, frames out, signals. Implemented by curses.c, the only file that knows curses.
 * There is one terminal per process: signal handlers restore it whatever happens. */
#pragma once

#include "line_edit.h"
#include "theme.h"

struct terminal;

/* Standard output is a terminal, and of a kind that can place its cursor; unknown kinds are taken for a vt100. */
bool terminal_possible(void);

/* Takes over the terminal: keys from standard input, or from /dev/tty where that is no terminal. Standard error is held
 * back until terminal_close(). NULL, with the reason, when there is no terminal or curses doesn't know it. */
struct terminal *terminal_open(struct error *error);
void terminal_close(struct terminal *terminal);

void terminal_size(const struct terminal *terminal, int *width, int *height);
int terminal_colours(const struct terminal *terminal);
/* The locale's characters are UTF-8. */
bool terminal_unicode(void);

/* Readable when a key or a signal waits. */
int terminal_key_fd(const struct terminal *terminal);
int terminal_signal_fd(const struct terminal *terminal);
/* The next key, false when none waits. */
bool terminal_key(struct terminal *terminal, struct key_press *key);
/* The next signal that arrived, 0 for none. Size changes are handled inside and come out as SIGWINCH. */
int terminal_signal(struct terminal *terminal);
/* No more keys will come: the terminal is gone. */
bool terminal_gone(const struct terminal *terminal);

/* Shows the frame; the cursor at column x of row y, or hidden where x < 0. */
void terminal_draw(struct terminal *terminal, const struct frame *frame, const struct palette *palette, int x, int y);
/* Takes the mouse from the terminal, or leaves it: its clicks and wheel are keys then. */
void terminal_mouse(struct terminal *terminal, bool wanted);
/* Draws everything anew at the next terminal_draw(). */
void terminal_redraw(struct terminal *terminal);
/* Gives a text to the terminal's clipboard (OSC 52); terminals that don't know it show nothing. */
void terminal_copy(struct terminal *terminal, const char *text);
/* While a file is read ^C ends the program that reads it: no key is looked at. Returns whether it has. */
bool terminal_reading(struct terminal *terminal, bool reading);
/* Gives the terminal to a program, found by PATH, and takes it back when that has ended. words: [..., NULL]. */
void terminal_run(struct terminal *terminal, const char *const *words);
/* Gives the terminal back and stops the process; returns when it is continued. */
void terminal_suspend(struct terminal *terminal);

/* The version of the terminal library, "ncurses 6.4.20221231". */
const char *curses_version_text(void);

/* screen: where things stand: the rectangles of a terminal of any size. */

#define SCREEN_WIDTH_MIN 40
#define SCREEN_HEIGHT_MIN 10

struct screen {
	bool small; /* below the minimum: nothing but one line fits, all rectangles are empty */
	struct rect tabs, status, body, panel, message, footer; /* panel and message may be empty (0 x 0) */
};

/* Rectangles that neither overlap nor leave the screen. The panel stands at the right where there is room for it beside
 * the view; on a narrow screen it appears, over a part of the view or all of it, while it has the keys. */
struct screen screen_layout(int width, int height, bool panel_has_keys, bool hidden);

/* The line for screens that are too small, centred. */
void screen_draw_small(struct frame *frame);
