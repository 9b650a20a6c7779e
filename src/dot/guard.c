/* guard.c: resource limits and crash handlers. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include "guard.h"
#include "src/base/output.h"

#ifndef __has_feature
#define __has_feature(feature) 0 /* gcc, which has macros for them; clang has none */
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
	__has_feature(thread_sanitizer)
#define SANITIZED 1 /* sanitizers need terabytes of address space */
#else
#define SANITIZED 0
#endif

static const char *input_name = "-";

/* Only write(2): this runs in signal handlers too. */
static void guard_say(const char *text)
{
	ssize_t written = write(STDERR_FILENO, text, strlen(text));
	(void)written;
}

_Noreturn void guard_end(int status, const char *text)
{
	guard_say("tidemark-dot: ");
	guard_say(input_name);
	guard_say(": ");
	guard_say(text);
	guard_say("\n");
	output_take_away();
	_exit(status);
}

static void guard_on_signal(int number)
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

/* ---- threads of libraries ---- */

enum { STACK = 1 << 16 }; /* the handler must run after a stack overflow, too */

#if !SANITIZED /* sanitizers give threads such stacks themselves */
struct started {
	void *(*run)(void *);
	void *argument;
	char stack[STACK];
};

static void *run_guarded(void *context)
{
	struct started *started = context;
	sigaltstack(&(stack_t){ .ss_sp = started->stack, .ss_size = STACK }, NULL);
	return started->run(started->argument);
}

/* In the place of the C library's, for threads that Pango starts: where memory ends in one, GLib calls itself without
 * end, and only a handler with a stack of its own can say so. That stays, also when the thread has returned: what
 * libraries do for its end comes after that. They start one or two. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	create *real;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	struct started *started = real
		? mmap(NULL, sizeof *started, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
		: MAP_FAILED;
	if (started == MAP_FAILED)
		return EAGAIN;
	started->run = run;
	started->argument = argument;
	int code = real(thread, attributes, run_guarded, started);
	if (code != 0)
		munmap(started, sizeof *started);
	return code;
}
#endif

/* ---- limits ---- */

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
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP,
		SIGXCPU }; /* SIGTRAP: GLib without memory */
	static char stack[STACK];
	input_name = name;
	atexit(on_exit_of_others);
	sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof stack }, NULL);
	FOR(i, COUNT_OF(signals)) {
		struct sigaction old, action = { .sa_handler = guard_on_signal, .sa_flags = SA_ONSTACK };
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
