/* curses.c: the only file that talks to curses.
 *
 * Raw mode: ^C, ^Z and ^\ arrive as keys. Signals write their number into a pipe that the event loop polls; those
 * that kill at once restore the terminal from the handler with text that was fetched from terminfo before, because
 * curses itself may not be called there. A second SIGTERM does the same, in case the loop hangs. */
#include "src/base/output.h"
#include "terminal.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

enum { COLOURS = 257, ESCAPE_DELAY = 25 };

struct terminal {
	SCREEN *screen;
	FILE *in, *out;
	FILE *held; /* standard error until the end */
	bool own_in, gone;
	int colours; /* 0: none */
	bool default_colours;
	int pairs, pairs_max;
	uint16_t pair[COLOURS][COLOURS]; /* by foreground + 1 and background + 1; 0: not made yet */
};

/* What signal handlers need: plain data, written before they are installed. */
static struct {
	volatile sig_atomic_t active, terminating, reading, stopped;
	int in, out, error, pipe[2];
	struct termios modes;
	char restore[256];
	size_t length;
} rescue = { .error = -1, .pipe = { -1, -1 } };

/* ---- signals ---- */

/* Async-signal-safe. */
static void restore_terminal(void)
{
	if (!rescue.active)
		return;
	rescue.active = 0;
	if (write(rescue.out, rescue.restore, rescue.length) < 0)
		rescue.length = 0;
	tcsetattr(rescue.in, TCSANOW, &rescue.modes);
	if (rescue.error >= 0)
		dup2(rescue.error, STDERR_FILENO);
}

static void on_crash(int number)
{
	static const char text[] = "tidemark: crashed; this is a bug\n";
	restore_terminal();
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(128 + number);
	signal(number, SIG_DFL);
	raise(number);
}

static void curses_on_signal(int number)
{
	int saved = errno;
	unsigned char byte = (unsigned char)number;
	if (number == SIGINT && rescue.reading) {
		rescue.stopped = 1;
		output_end_groups();
		return;
	}
	bool ends = number == SIGTERM || number == SIGINT || number == SIGHUP || number == SIGQUIT;
	if (ends && rescue.terminating) {
		restore_terminal();
		_exit(128 + number);
	}
	if (ends)
		rescue.terminating = 1;
	if (write(rescue.pipe[1], &byte, 1) < 0)
		errno = saved;
	errno = saved;
}

static void install(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	if (handler == on_crash)
		action.sa_flags = SA_NODEFER | (int)SA_RESETHAND;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

static void install_all(void)
{
	static const int ours[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	FOR(i, COUNT_OF(ours))
		install(ours[i], curses_on_signal);
	FOR(i, COUNT_OF(crashes))
		install(crashes[i], on_crash);
}

static void uninstall_all(void)
{
	static const int all[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGSEGV, SIGBUS, SIGFPE, SIGILL,
		SIGABRT };
	FOR(i, COUNT_OF(all))
		signal(all[i], SIG_DFL);
}

/* ---- opening and closing ---- */

static void remember_capability(const char *name)
{
	const char *text = tigetstr(name);
	size_t length = text && text != (const char *)-1 ? strlen(text) : 0;
	if (rescue.length + length > sizeof rescue.restore)
		return;
	if (length > 0)
		memcpy(rescue.restore + rescue.length, text, length);
	rescue.length += length;
}

static bool open_streams(struct terminal *terminal, struct error *error)
{
	terminal->out = stdout;
	terminal->in = isatty(STDIN_FILENO) ? stdin : fopen("/dev/tty", "r");
	terminal->own_in = terminal->in && terminal->in != stdin;
	if (!terminal->in) {
		refuse(error, "no terminal to read keys from");
		return false;
	}
	if (pipe(rescue.pipe) < 0) {
		refuse(error, "no pipe: %s", strerror(errno));
		return false;
	}
	FOR_INT(i, 2) {
		fcntl(rescue.pipe[i], F_SETFL, O_NONBLOCK);
		fcntl(rescue.pipe[i], F_SETFD, FD_CLOEXEC);
	}
	rescue.in = fileno(terminal->in);
	rescue.out = fileno(terminal->out);
	tcgetattr(rescue.in, &rescue.modes);
	return true;
}

/* From here on what goes to standard error waits in a file. */
static void hold_errors(struct terminal *terminal)
{
	fflush(stderr);
	terminal->held = tmpfile();
	if (!terminal->held)
		return;
	rescue.error = dup(STDERR_FILENO);
	dup2(fileno(terminal->held), STDERR_FILENO);
}

static void release_errors(struct terminal *terminal)
{
	if (!terminal->held)
		return;
	fflush(stderr);
	dup2(rescue.error, STDERR_FILENO);
	close(rescue.error);
	rescue.error = -1;
	rewind(terminal->held);
	char text[4096];
	for (size_t n; (n = fread(text, 1, sizeof text, terminal->held)) > 0; )
		fwrite(text, 1, n, stderr);
	fclose(terminal->held);
	terminal->held = NULL;
}

static void set_modes(struct terminal *terminal)
{
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	meta(stdscr, TRUE);
	leaveok(stdscr, FALSE);
	if (has_colors() && start_color() != ERR) {
		terminal->default_colours = use_default_colors() != ERR;
		terminal->colours = COLORS > 256 ? 8 : COLORS; /* beyond: numbers are no palette */
		terminal->pairs_max = SMALLER(COLOR_PAIRS, UINT16_MAX);
	}
}

static void close_streams(struct terminal *terminal)
{
	FOR_INT(i, 2) {
		if (rescue.pipe[i] >= 0)
			close(rescue.pipe[i]);
		rescue.pipe[i] = -1;
	}
	if (terminal->own_in)
		fclose(terminal->in);
}

bool terminal_possible(void)
{
	int known;
	if (!isatty(STDOUT_FILENO))
		return false;
	if (setupterm(NULL, STDOUT_FILENO, &known) == ERR || known != 1)
		return true;
	const char *place = tigetstr("cup");
	bool possible = place && place != (const char *)-1;
	del_curterm(cur_term);
	return possible;
}

struct terminal *terminal_open(struct error *error)
{
	struct terminal *MAKE(terminal, 1);
	if (!terminal) {
		fail_memory(error);
		return NULL;
	}
	if (!open_streams(terminal, error)) {
		close_streams(terminal);
		mem_free(terminal);
		return NULL;
	}
	install_all();
	set_escdelay(ESCAPE_DELAY);
	terminal->screen = newterm(NULL, terminal->out, terminal->in);
	if (!terminal->screen)
		terminal->screen = newterm("vt100", terminal->out, terminal->in);
	if (!terminal->screen) {
		uninstall_all();
		close_streams(terminal);
		mem_free(terminal);
		refuse(error, "curses knows neither this terminal nor vt100");
		return NULL;
	}
	install_all(); /* newterm() took some signals over */
	rescue.length = 0;
	static const char *const capabilities[] = { "sgr0", "op", "cnorm", "rmkx", "rmcup" };
	FOR(i, COUNT_OF(capabilities))
		remember_capability(capabilities[i]);
	set_modes(terminal);
	hold_errors(terminal);
	rescue.active = 1;
	return terminal;
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal)
		return;
	rescue.active = 0;
	endwin();
	delscreen(terminal->screen);
	tcsetattr(rescue.in, TCSADRAIN, &rescue.modes);
	uninstall_all();
	release_errors(terminal);
	close_streams(terminal);
	mem_free(terminal);
}

/* ---- what it is ---- */

void terminal_size(const struct terminal *terminal, int *width, int *height)
{
	(void)terminal;
	getmaxyx(stdscr, *height, *width);
}

int terminal_colours(const struct terminal *terminal)
{
	return terminal->colours;
}

bool terminal_unicode(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int terminal_key_fd(const struct terminal *terminal)
{
	return fileno(terminal->in);
}

int terminal_signal_fd(const struct terminal *terminal)
{
	(void)terminal;
	return rescue.pipe[0];
}

bool terminal_gone(const struct terminal *terminal)
{
	return terminal->gone;
}

int terminal_signal(struct terminal *terminal)
{
	unsigned char number;
	struct winsize size;
	if (read(rescue.pipe[0], &number, 1) != 1)
		return 0;
	if (number == SIGWINCH && ioctl(fileno(terminal->out), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	return number;
}

/* ---- keys ---- */

static const struct { int code; const char *name; } key_names[] = {
	{ KEY_UP, "up" }, { KEY_DOWN, "down" }, { KEY_LEFT, "left" }, { KEY_RIGHT, "right" }, { KEY_PPAGE, "PgUp" },
	{ KEY_NPAGE, "PgDn" }, { KEY_HOME, "Home" }, { KEY_END, "End" }, { KEY_BTAB, "S-Tab" }, { KEY_BACKSPACE, "Backspace" },
	{ KEY_DC, "Delete" }, { KEY_IC, "Insert" }, { KEY_ENTER, "Enter" }, { KEY_SLEFT, "S-left" }, { KEY_SRIGHT, "S-right" },
	{ KEY_F(1), "F1" },
};

static void name_function_key(struct key_press *key, wint_t code)
{
	PRINT_TO(key->name, "this key");
	FOR(i, COUNT_OF(key_names))
		if (key_names[i].code == (int)code)
			PRINT_TO(key->name, "%s", key_names[i].name);
}

static void name_character(struct key_press *key, wint_t code)
{
	char bytes[5];
	if (code == 27)
		PRINT_TO(key->name, "Esc");
	else if (code == '\r' || code == '\n')
		PRINT_TO(key->name, "Enter");
	else if (code == '\t')
		PRINT_TO(key->name, "Tab");
	else if (code == 127 || code == 8)
		PRINT_TO(key->name, "Backspace");
	else if (code < ' ')
		PRINT_TO(key->name, "^%c", (int)code + '@');
	else {
		key->code = code;
		text_encode(code, bytes);
		PRINT_TO(key->name, "%s", code == ' ' ? "space" : bytes);
	}
}

/* Releases, drags and other buttons are no keys: false. */
static bool name_mouse(struct key_press *key)
{
	MEVENT event;
	if (getmouse(&event) == ERR)
		return false;
	key->x = event.x;
	key->y = event.y;
	if (event.bstate & BUTTON1_PRESSED)
		PRINT_TO(key->name, "click");
	else if (event.bstate & BUTTON4_PRESSED)
		PRINT_TO(key->name, "wheel-up");
	else if (event.bstate & BUTTON5_PRESSED)
		PRINT_TO(key->name, "wheel-down");
	return *key->name != '\0';
}

void terminal_mouse(struct terminal *terminal, bool wanted)
{
	(void)terminal;
	setenv("NCURSES_GPM_TERMS", "", 1); /* no mouse library of the Linux console: ncurses would load it, and it leaks */
	mouseinterval(0);
	mousemask(wanted ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
}

bool terminal_reading(struct terminal *terminal, bool reading)
{
	(void)terminal;
	bool stopped = rescue.stopped;
	rescue.stopped = 0;
	rescue.reading = reading;
	if (reading)
		cbreak();
	else
		raw();
	return stopped;
}

bool terminal_key(struct terminal *terminal, struct key_press *key)
{
	wint_t code;
	int kind;
	do { /* a change of the screen's size comes as a signal, too: as a key it is none */
		*key = (struct key_press){ .code = 0 };
		kind = get_wch(&code);
	} while (kind == KEY_CODE_YES && (code == KEY_RESIZE || (code == KEY_MOUSE && !name_mouse(key))));
	if (kind == ERR) {
		/* Readable without a key to read: the other end is closed. */
		struct pollfd gone = { .fd = fileno(terminal->in), .events = POLLIN };
		terminal->gone = poll(&gone, 1, 0) > 0 && (gone.revents & (POLLHUP | POLLERR));
		return false;
	}
	if (kind == KEY_CODE_YES && code != KEY_MOUSE)
		name_function_key(key, code);
	else if (kind != KEY_CODE_YES)
		name_character(key, code);
	return true;
}

/* ---- drawing ---- */

/* The pair of two colours (-1: the terminal's own); 0 where there are no more pairs. */
static int curses_pair_of(struct terminal *terminal, int colour, int ground)
{
	if (!terminal->default_colours) {
		colour = colour < 0 ? COLOR_WHITE : colour;
		ground = ground < 0 ? COLOR_BLACK : ground;
	}
	uint16_t *pair = &terminal->pair[colour + 1][ground + 1];
	if (*pair == 0 && terminal->pairs + 1 < terminal->pairs_max &&
		init_extended_pair(terminal->pairs + 1, colour, ground) != ERR)
		*pair = (uint16_t)++terminal->pairs;
	return *pair;
}

/* Terminals of 8 colours have no bright ones: bright black becomes the default, dim; others lose their brightness. */
static int possible_colour(const struct terminal *terminal, int colour, attr_t *attributes)
{
	if (colour < terminal->colours)
		return colour;
	if (colour == 8) {
		*attributes |= A_DIM;
		return -1;
	}
	*attributes |= A_BOLD;
	return colour & 7;
}

static void curses_look_of(
	struct terminal *terminal, const struct cell *cell, const struct palette *palette, attr_t *attributes, int *pair)
{
	struct look look = cell_look(palette, cell);
	uint8_t marks = look.marks;
	*attributes = (marks & MARK_BOLD ? A_BOLD : 0) | (marks & MARK_REVERSE ? A_REVERSE : 0) |
		(marks & MARK_DIM ? A_DIM : 0) | (marks & MARK_UNDERLINE ? A_UNDERLINE : 0);
	*pair = 0;
	if (terminal->colours == 0)
		return;
	attr_t none = 0;
	int colour = possible_colour(terminal, look.colour, attributes);
	int ground = possible_colour(terminal, look.ground - 1, &none);
	if (colour >= 0 || ground >= 0)
		*pair = curses_pair_of(terminal, colour, ground);
}

void terminal_draw(struct terminal *terminal, const struct frame *frame, const struct palette *palette, int x, int y)
{
	int width, height;
	terminal_size(terminal, &width, &height);
	for (int row = 0; row < height && row < frame->height; row++)
		for (int column = 0; column < width && column < frame->width; column++) {
			const struct cell *cell = &frame->cell[row * frame->width + column];
			wchar_t text[2] = { (wchar_t)cell->code, 0 };
			attr_t attributes;
			int pair;
			cchar_t picture;
			if (cell->code == 0)
				continue;
			curses_look_of(terminal, cell, palette, &attributes, &pair);
			setcchar(&picture, text, attributes, 0, &pair);
			mvadd_wch(row, column, &picture);
		}
	curs_set(x >= 0);
	if (x >= 0)
		move(y, x < width ? x : width - 1);
	refresh();
}

void terminal_redraw(struct terminal *terminal)
{
	(void)terminal;
	clearok(curscr, TRUE);
}

/* The terminal as it was before, and standard error with it. */
static void give_back(void)
{
	rescue.active = 0;
	endwin();
	if (rescue.error >= 0) {
		fflush(stderr);
		dup2(rescue.error, STDERR_FILENO);
	}
}

static void take_again(struct terminal *terminal)
{
	if (terminal->held)
		dup2(fileno(terminal->held), STDERR_FILENO);
	struct winsize size;
	if (ioctl(fileno(terminal->out), TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
	terminal_redraw(terminal);
	refresh();
	rescue.active = 1;
}

void terminal_suspend(struct terminal *terminal)
{
	give_back();
	signal(SIGTSTP, SIG_DFL);
	kill(0, SIGTSTP);
	install(SIGTSTP, curses_on_signal);
	take_again(terminal);
}

void terminal_run(struct terminal *terminal, const char *const *words)
{
	give_back();
	pid_t child = fork();
	if (child == 0) {
		dup2(terminal_key_fd(terminal), STDIN_FILENO);
		dup2(fileno(terminal->out), STDOUT_FILENO);
		execvp(words[0], (char *const *)(uintptr_t)words);
		_exit(127);
	}
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	take_again(terminal);
}

void terminal_copy(struct terminal *terminal, const char *text)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *at = (const unsigned char *)text;
	size_t left = strlen(text);
	fputs("\033]52;c;", terminal->out);
	for (; left > 0; at += 3, left -= SMALLER(left, 3)) {
		unsigned three = (unsigned)at[0] << 16 | (left > 1 ? (unsigned)at[1] << 8 : 0) | (left > 2 ? at[2] : 0u);
		FOR_INT(i, 4)
			putc(i <= (int)SMALLER(left, 3) ? digits[three >> (18 - 6 * i) & 63] : '=', terminal->out);
	}
	putc('\a', terminal->out);
	fflush(terminal->out);
}

const char *curses_version_text(void)
{
	return curses_version();
}
