/* child.c: fork, exec, and a poll loop over three pipes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "output.h"

#define POLL_MILLISECONDS 20
#define HEARD_MOST ((size_t)64 << 20) /* of warnings, which no program of ours writes so many of */

enum { IN, OUT, ERR, PIPES };

struct child {
	pid_t pid;
	int here[PIPES], there[PIPES]; /* our and its ends; -1: closed */
	const char *input;
	size_t left, capacity, said, heard;
	struct child_result *result;
};

static void close_end(int *end)
{
	if (*end >= 0)
		close(*end);
	*end = -1;
}

/* A socket pair for its input, so that writing to a child that is gone gives no SIGPIPE. */
static bool open_pipes(struct child *child, int file)
{
	FOR_INT(i, PIPES)
		child->here[i] = child->there[i] = -1;
	if (file && (child->there[IN] = fcntl(file, F_DUPFD_CLOEXEC, PIPES)) < 0)
		return false;
	FOR_FROM(i, file ? OUT : IN, PIPES) {
		int pair[2];
		if ((i == IN ? socketpair(AF_UNIX, SOCK_STREAM, 0, pair) : pipe(pair)) != 0)
			return false;
		child->here[i] = pair[0];
		child->there[i] = pair[1];
		fcntl(child->here[i], F_SETFL, O_NONBLOCK);
		fcntl(child->here[i], F_SETFD, FD_CLOEXEC);
		fcntl(child->there[i], F_SETFD, FD_CLOEXEC);
	}
	return true;
}

/* In the new process, with all signals blocked: just calls that are safe beside threads. A group of its own, which ends
 * with us: the kernel ends the program even where nobody here can. */
static _Noreturn void become(const struct child *child, const char *const *arguments, pid_t parent, int told)
{
	setpgid(0, 0);
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	for (int number = 1; number < NSIG; number++) {
		struct sigaction now;
		if (sigaction(number, NULL, &now) == 0 && ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_IGN))
			signal(number, SIG_DFL);
	}
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	bool ready = getppid() == parent;
	for (int i = 0; i < PIPES && ready; i++)
		ready = dup2(child->there[i], i) >= 0;
	if (ready)
		execvp(arguments[0], (char *const *)(uintptr_t)arguments); /* exec promises not to write */
	int code = errno;
	ssize_t written = write(told, &code, sizeof code);
	_exit(written == sizeof code ? 127 : 126);
}

/* Starts the program: 0, or why not (an errno), which it tells through a pipe that exec closes. */
static int child_start(struct child *child, const char *const *arguments)
{
	int told[2], code = 0;
	sigset_t all, before;
	if (pipe(told) != 0)
		return errno;
	fcntl(told[0], F_SETFD, FD_CLOEXEC);
	fcntl(told[1], F_SETFD, FD_CLOEXEC);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t parent = getpid();
	child->pid = fork();
	if (child->pid == 0)
		become(child, arguments, parent, told[1]);
	code = child->pid < 0 ? errno : 0;
	if (code == 0) {
		setpgid(child->pid, child->pid); /* whoever of the two comes first */
		output_end_with_us(child->pid);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(told[1]);
	ssize_t got = -1;
	while (code == 0 && (got = read(told[0], &code, sizeof code)) < 0 && errno == EINTR)
		;
	close(told[0]);
	FOR_INT(i, PIPES)
		close_end(&child->there[i]);
	if (child->pid > 0 && got > 0) {
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		output_outlived(child->pid);
	}
	return code;
}

static void feed(struct child *child)
{
	ssize_t sent = child->left ? send(child->here[IN], child->input, child->left, MSG_NOSIGNAL) : 0;
	if (sent > 0) {
		child->input += sent;
		child->left -= (size_t)sent;
	}
	if (child->left == 0 || (sent < 0 && errno != EAGAIN && errno != EINTR))
		close_end(&child->here[IN]);
}

static enum status take_output(struct child *child, size_t most, struct error *error)
{
	struct child_result *result = child->result;
	if (child->capacity - result->length < 4096) {
		size_t capacity = child->capacity ? child->capacity * 2 : 1 << 16;
		char *output = mem_resize(result->output, capacity, 1);
		NEEDED(error, output);
		result->output = output;
		child->capacity = capacity;
	}
	ssize_t got = read(child->here[OUT], result->output + result->length, child->capacity - result->length - 1);
	if (got > 0)
		result->length += (size_t)got;
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		return fail(error, LIMIT, "can't read its output: %s", strerror(errno));
	result->output[result->length] = '\0';
	if (got == 0)
		close_end(&child->here[OUT]);
	return result->length > most ? fail(error, LIMIT, "its output is too long") : OK;
}

/* Keeps the end: what a program says of its failure comes after its libraries' warnings. */
static enum status child_take_message(struct child *child, struct error *error)
{
	char buffer[4096];
	ssize_t got = read(child->here[ERR], buffer, sizeof buffer);
	if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
		close_end(&child->here[ERR]);
	size_t most = sizeof child->result->message - 1, taken = got < 0 ? 0 : (size_t)got;
	const char *end = buffer + taken;
	taken = SMALLER(taken, most);
	size_t kept = child->said + taken > most ? most - taken : child->said;
	memmove(child->result->message, child->result->message + child->said - kept, kept);
	memcpy(child->result->message + kept, end - taken, taken);
	child->said = kept + taken;
	child->heard += got > 0 ? (size_t)got : 0;
	return child->heard > HEARD_MOST ? fail(error, LIMIT, "its warnings are too long") : OK;
}

static int64_t now_milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until it has closed its output. */
static enum status talk(struct child *child, const struct child_limits *limits, struct error *error)
{
	int64_t end = limits->milliseconds ? now_milliseconds() + limits->milliseconds : INT64_MAX;
	size_t most = limits->output ? limits->output : (size_t)1 << 30;
	while (child->here[OUT] >= 0 || child->here[ERR] >= 0) {
		struct pollfd polled[PIPES] = {
			{ .fd = child->here[IN], .events = POLLOUT },
			{ .fd = child->here[OUT], .events = POLLIN },
			{ .fd = child->here[ERR], .events = POLLIN },
		};
		if (limits->cancel && atomic_load(limits->cancel))
			return fail(error, CANCELLED, "cancelled");
		if (now_milliseconds() >= end)
			return fail(error, LIMIT, "took too long");
		if (poll(polled, PIPES, POLL_MILLISECONDS) < 0 && errno != EINTR)
			return fail(error, LIMIT, "can't wait for it: %s", strerror(errno));
		if (polled[IN].revents)
			feed(child);
		enum status status = polled[ERR].revents ? child_take_message(child, error) : OK;
		if (polled[OUT].revents && status == OK)
			status = take_output(child, most, error);
		TRY(status);
	}
	return OK;
}

#define LEAVE_MILLISECONDS 2000

/* Whether a child that has closed its output goes, too; it has said all, so that nobody misses it. */
static bool child_leaves(const struct child *child)
{
	int64_t end = now_milliseconds() + LEAVE_MILLISECONDS;
	siginfo_t state = { 0 };
	for (;;) {
		if (waitid(P_PID, (id_t)child->pid, &state, WEXITED | WNOWAIT | WNOHANG) == 0 && state.si_pid == child->pid)
			return true;
		if (now_milliseconds() >= end)
			return false;
		poll(NULL, 0, 1);
	}
}

static void reap(struct child *child, bool kill_it)
{
	int state = 0;
	if (kill_it)
		kill(-child->pid, SIGKILL);
	output_outlived(child->pid);
	while (waitpid(child->pid, &state, 0) < 0 && errno == EINTR)
		;
	child->result->code = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

static enum status child_complain(const char *program, const struct child_result *result, struct error *error)
{
	char head[60], line_head[60];
	PRINT_TO(head, "%s: ", program);
	PRINT_TO(line_head, "\n%s: ", program);
	const char *text = result->message, *own = strstr(text, line_head);
	if (own && strncmp(text, head, strlen(head)) != 0)
		text = own + 1;
	if (strncmp(text, head, strlen(head)) == 0 && text_begins(text + strlen(head), "-:"))
		text += strlen(head) + 2;
	char *end;
	unsigned long line = strtoul(text, &end, 10);
	if (end > text && *end == ':') {
		error->line = (unsigned)line;
		text = end + 1;
	}
	text += *text == ' ';
	int length = (int)strcspn(text, "\n");
	/* What it can't do for another reason is not the file's fault. */
	enum status status = result->code == 3 ? BAD_INPUT : LIMIT;
	if (result->stayed)
		return fail(error, LIMIT, "%s closed its output, but did not end", program);
	if (result->code > 128)
		return fail(
			error, LIMIT, "%s was ended by signal %d (%s)", program, result->code - 128, strsignal(result->code - 128));
	if (length == 0)
		return fail(error, status, "%s ended with status %d", program, result->code);
	return fail(error, status, "%.*s", length, text);
}

enum status child_run(const char *program, const char *const *arguments, const char *input, size_t size,
	const struct child_limits *limits, struct child_result *result, struct error *error)
{
	*result = (struct child_result){ 0 };
	struct child child = { .input = input, .left = size, .result = result };
	enum status status = OK;
	int code = open_pipes(&child, limits->file) ? child_start(&child, arguments) : errno;
	if (code != 0) {
		status = fail(error, code == ENOMEM ? NO_MEMORY : LIMIT, "can't run %s: %s", arguments[0], strerror(code));
	} else {
		status = talk(&child, limits, error);
		result->stayed = status == OK && !child_leaves(&child);
		reap(&child, status != OK || result->stayed);
	}
	FOR_INT(i, PIPES) {
		close_end(&child.here[i]);
		close_end(&child.there[i]);
	}
	if (status == OK && program && result->code != 0)
		status = child_complain(program, result, error);
	if (status != OK) {
		mem_free(result->output);
		result->output = NULL;
		result->length = 0;
	}
	return status;
}
