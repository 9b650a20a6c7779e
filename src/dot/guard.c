/* guard.c: resource limits and crash handlers. */
#include <signal.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include "guard.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1   /* sanitizers need terabytes of address space */
#else
#define SANITIZED 0
#endif

static const char *input_name = "-";

/* Only write(2): this runs in signal handlers too. */
static void say(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));
	(void)written;
}

_Noreturn void guard_end(int status, const char *text)
{
	say("tidemark-dot: ");
	say(input_name);
	say(": ");
	say(text);
	say("\n");
	_exit(status);
}

static void on_signal(int number)
{
	guard_end(EXIT_LIMIT, number == SIGXCPU ? "took too long (--time)" :
		"Graphviz failed: out of memory (--memory), or a graph that it can't handle");
}

static bool end_expected;

/* Scanners and libraries that call exit() where they have no memory, with a status of theirs. */
static void on_exit_of_others(void)
{
	if (!end_expected)
		guard_end(EXIT_LIMIT, "Graphviz failed: out of memory (--memory), or a graph that it can't handle");
}

void guard_expect_end(void)
{
	end_expected = true;
}

static void set_limit(int resource, int64_t limit)
{
	struct rlimit now;
	if (limit <= 0 || getrlimit(resource, &now) != 0)
		return;
	now.rlim_cur = now.rlim_max == RLIM_INFINITY || (rlim_t)limit < now.rlim_max ? (rlim_t)limit : now.rlim_max;
	setrlimit(resource, &now);
}

void guard_start(const struct limits *limits, const char *name)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGXCPU };   /* SIGTRAP: GLib without memory */
	static char stack[1 << 16];   /* the handler must run after a stack overflow, too */
	input_name = name;
	atexit(on_exit_of_others);
	sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
		struct sigaction old, action = { .sa_handler = on_signal, .sa_flags = SA_ONSTACK };
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
	}
	if (!SANITIZED)
		set_limit(RLIMIT_AS, limits->memory);
	set_limit(RLIMIT_CPU, limits->seconds);
}

void guard_with_parent(void)
{
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}
