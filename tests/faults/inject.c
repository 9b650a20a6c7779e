/* inject.c: makes the n-th allocation or system call of a program fail, for n = 1, 2, 3 ... until it succeeds, and
 * looks at what the program makes of it.
 *
 *     inject [-r ROUNDS] [-s SEED] [-w END] [-k KIND -n N] LIBRARY NAME STATUS FOLDER COMMAND...
 *
 * The command runs in the empty FOLDER, where it may write the file `out`, of which there is an old one, and has to end
 * with STATUS when nothing fails. A run with a fault has to
 *   - end as it would without, with the same bytes on standard output and in the file: the fault did not matter. -w:
 * pictures may differ, because libraries take another font then; they have to be whole, with END in their last bytes;
 * or
 *   - end with status 4 (a read or an open that fails: 3 or 4) and a line on standard error; the old file, or the new
 * one whole, is there and nothing else. It may not crash, hang or leave blocks of its own code. Once the n-th call
 * alone fails, once all from it on. ROUNDS: of each kind at most so many runs, spread over all n at random; 0: every n.
 * Every ten seconds it tells how far it is, at the end how many of the possible runs it made. -k, -n: this one alone,
 * and where it is. Allocations are refused by refuse.c; system calls by the kernel's filter (seccomp), so those that
 * libraries make count, too. Where the kernel has none, they are left out. Exit status 1: a run that was wrong. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "refuse.h"

enum { CALLS_MOST = 4, SECONDS_MOST = 60, MEMORY = 0, WRITES, OPENS, RENAMES, SYNCS, CLOSES, READS, KINDS };

static const struct kind {
	const char *name;
	int error;
	int calls[CALLS_MOST];
} kinds[KINDS] = {
	{ "allocations", ENOMEM, { -1 } },
	{ "writes", ENOSPC, { SYS_write, SYS_writev, SYS_pwrite64, -1 } },
#ifdef SYS_open
	{ "opens", EMFILE, { SYS_openat, SYS_open, -1 } },
#else
	{ "opens", EMFILE, { SYS_openat, -1 } },
#endif
#ifdef SYS_rename
	{ "renames", EIO, { SYS_renameat2, SYS_renameat, SYS_rename, -1 } },
#else
	{ "renames", EIO, { SYS_renameat2, SYS_renameat, -1 } },
#endif
	{ "syncs", EIO, { SYS_fsync, SYS_fdatasync, -1 } },
	{ "closes", EIO, { SYS_close, -1 } },
	{ "reads", EIO, { SYS_read, SYS_pread64, -1 } },
};

static const char old_file[] = "an old file\n";
static char **command;
static const char *name, *folder, *whole_end;
static int expected;
static struct refuse_state *state;
static long runs, wrong, unharmed, told, possible;

/* What a run came to. */
struct outcome {
	int status;                /* 128 + n: ended by a signal */
	bool hung;
	long count;                /* calls of the kind */
	long live;                 /* blocks left */
	char *printed, *said, *written;
	size_t printed_size, said_size, written_size;
	char others[400];          /* what else is in the folder */
};

static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- files ----------------------------------------------------------------------------------- */

static char *in_folder(const char *file, char *path)
{
	snprintf(path, 4096, "%s/%s", folder, file);
	return path;
}

static char *content(const char *file, size_t *size)
{
	char path[4096], *text = NULL;
	int descriptor = open(in_folder(file, path), O_RDONLY);
	struct stat there;
	*size = 0;
	if (descriptor < 0 || fstat(descriptor, &there) != 0)
		return NULL;
	text = malloc((size_t)there.st_size + 1);
	ssize_t got = text ? read(descriptor, text, (size_t)there.st_size) : -1;
	*size = got > 0 ? (size_t)got : 0;
	if (text)
		text[*size] = '\0';
	close(descriptor);
	return text;
}

static bool ours(const char *entry)
{
	return strcmp(entry, "out") == 0 || strcmp(entry, "state") == 0 || *entry == '.';
}

static void list_others(char *text, size_t size)
{
	DIR *entries = opendir(folder);
	struct dirent *entry;
	*text = '\0';
	while (entries && (entry = readdir(entries)))
		if (!ours(entry->d_name))
			snprintf(text + strlen(text), size - strlen(text), " %s", entry->d_name);
	if (entries)
		closedir(entries);
}

/* An old file of the command's name, and nothing of the last run. */
static void set_stage(void)
{
	char path[4096];
	DIR *entries = opendir(folder);
	struct dirent *entry;
	while (entries && (entry = readdir(entries)))
		if (!ours(entry->d_name))
			unlink(in_folder(entry->d_name, path));
	if (entries)
		closedir(entries);
	FILE *file = fopen(in_folder("out", path), "w");
	if (!file || fputs(old_file, file) < 0 || fclose(file) != 0)
		give_up(path);
}

/* Times differ from run to run. */
static void without_times(char *text, size_t *size)
{
	size_t kept = 0;
	for (size_t i = 0; i < *size; ) {
		size_t digits = 0;
		while (i + digits < *size && (strchr("0123456789.", text[i + digits]) && text[i + digits]))
			digits++;
		bool seconds = digits &&
			(strncmp(text + i + digits, " s\n", 3) == 0 || strncmp(text + i + digits, " s ", 3) == 0 ||
				strncmp(text + i + digits, " s,", 3) == 0);
		if (strncmp(text + i, "\"seconds\":", 10) == 0)   /* of a number, or of an object without others */
			i += 10 + strcspn(text + i + 10, strncmp(text + i + 10, " {", 2) == 0 ? "}" : ",}\n");
		else if (strncmp(text + i, "\nseconds  ", 10) == 0)   /* a line of a table */
			i += 10 + strcspn(text + i + 10, "\n");
		else if (seconds)
			i += digits;
		else
			do
				text[kept++] = text[i++];
			while (digits && --digits);
	}
	*size = kept;
	text[kept] = '\0';
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* Asks the kernel to ask us about these calls; the descriptor, or -1 where the kernel can't. */
static int filter(const struct kind *kind)
{
	struct sock_filter program[CALLS_MOST + 3];
	unsigned short length = 0, calls = 0;
	while (kind->calls[calls] >= 0)
		calls++;
	program[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < calls; i++)
		program[length++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)kind->calls[i], (unsigned char)(calls - i), 0);
	program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	struct sock_fprog all = { length, program };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &all);
}

static void send_descriptor(int socket, int descriptor)
{
	char byte = 0, room[CMSG_SPACE(sizeof descriptor)] = { 0 };
	struct iovec text = { &byte, 1 };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1 };
	if (descriptor >= 0) {
		message.msg_control = room;
		message.msg_controllen = sizeof room;
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		*head = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof descriptor)
		};
		memcpy(CMSG_DATA(head), &descriptor, sizeof descriptor);
	}
	if (sendmsg(socket, &message, 0) < 0)
		_exit(120);
}

static int receive_descriptor(int socket)
{
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec text = { &byte, 1 };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room };
	int descriptor = -1;
	struct cmsghdr *head = recvmsg(socket, &message, 0) > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(&descriptor, CMSG_DATA(head), sizeof descriptor);
	return descriptor;
}

/* A close fails where a disk is behind the file; the loader, and whoever holds the other end of a pipe, rely on those
 * of theirs. */
static bool on_disk(const struct seccomp_notif *call)
{
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/%u/fd/%lld", call->pid, (long long)call->data.args[0]);
	ssize_t length = readlink(link, path, sizeof path - 1);
	path[length > 0 ? length : 0] = '\0';
	return strncmp(path, "/tmp/", 5) == 0;
}

/* One call: fails it when its number is from `from` to `to`. What the loader does before the program begins isn't
 * counted, nor what goes to standard error, where the message has to stand. */
static void answer(int listener, const struct kind *kind, long from, long to, long *count)
{
	struct seccomp_notif call;
	struct seccomp_notif_resp reply = { 0 };
	memset(&call, 0, sizeof call);
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0)
		return;
	bool counts = atomic_load(&state->first) && !(kind == &kinds[WRITES] && call.data.args[0] == STDERR_FILENO) &&
		!(kind == &kinds[CLOSES] && !on_disk(&call));
	*count += counts;
	reply.id = call.id;
	if (counts && *count >= from && *count <= to) {
		reply.error = -kind->error;
		if (state->trace) {
			char line[64];
			snprintf(line, sizeof line, "eu-stack -p %u 2>&1 || gdb -p %u -batch -ex bt 2>/dev/null", call.pid, call.pid);
			state->trace = 0;
			if (system(line) != 0)
				perror(line);
		}
	} else {
		reply.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	}
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* ---- one run --------------------------------------------------------------------------------- */

static _Noreturn void become(const struct kind *kind, int socket)
{
	char path[4096];
	setpgid(0, 0);
	int null = open("/dev/null", O_RDONLY);
	int out = open(in_folder(".printed", path), O_WRONLY | O_CREAT | O_TRUNC, 0666);
	int err = open(in_folder(".said", path), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
	if (null < 0 || out < 0 || err < 0 || chdir(folder) != 0)
		_exit(121);
	dup2(null, 0);
	dup2(out, 1);
	dup2(err, 2);
	close(null);
	close(out);
	close(err);
	fcntl(socket, F_SETFD, FD_CLOEXEC);
	if (kind != &kinds[MEMORY]) {
		int listener = filter(kind);
		if (listener >= 0)
			fcntl(listener, F_SETFD, FD_CLOEXEC);
		send_descriptor(socket, listener);
		if (listener < 0)
			_exit(122);
	}
	execv(command[0], command);
	_exit(123);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Seconds of a processor that the child has taken; a busy machine gives few of them. */
static double taken_by(pid_t child)
{
	struct timespec time = { 0 };
	clockid_t clock;
	if (clock_getcpuclockid(child, &clock) != 0 || clock_gettime(clock, &time) != 0)
		return 0;
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Serves the kernel's questions until the child is gone. It hangs if it takes that long of a processor, or does nothing
 * for that long. */
static void attend(pid_t child, int listener, const struct kind *kind, long from, long to, struct outcome *outcome)
{
	double end = now() + SECONDS_MOST, busy = 0;
	int state_of_child = 0, process = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd polled[2] = { { .fd = listener, .events = POLLIN }, { .fd = process, .events = POLLIN } };
	while (!(polled[1].revents & POLLIN)) {
		if (poll(polled, 2, 500) < 0 && errno != EINTR)
			give_up("poll");
		if (polled[0].revents & POLLIN)
			answer(listener, kind, from, to, &outcome->count);
		else if (polled[0].revents)
			polled[0].fd = -1;
		if (now() >= end && taken_by(child) > busy + 0.01 && taken_by(child) < SECONDS_MOST) {
			busy = taken_by(child);
			end = now() + SECONDS_MOST;
		}
		if (now() >= end && !outcome->hung) {
			outcome->hung = true;
			kill(-child, SIGKILL);
		}
	}
	if (process < 0 || waitpid(child, &state_of_child, 0) != child)
		give_up("waiting for the program");
	close(process);
	outcome->status = WIFSIGNALED(state_of_child) ? 128 + WTERMSIG(state_of_child) : WEXITSTATUS(state_of_child);
}

/* False: this kernel refuses no system calls. */
static bool run(int which, long from, long to, bool trace, struct outcome *outcome)
{
	int pair[2];
	const struct kind *kind = &kinds[which];
	set_stage();
	*outcome = (struct outcome){ 0 };
	*state = (struct refuse_state){ .live = -1, .trace = trace };
	if (which == MEMORY) {
		state->at = from;
		state->last = to;
	} else {
		state->at = state->last = 0;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		give_up("socketpair");
	pid_t child = fork();
	if (child < 0)
		give_up("fork");
	if (child == 0)
		become(kind, pair[1]);
	close(pair[1]);
	int listener = which == MEMORY ? -1 : receive_descriptor(pair[0]);
	close(pair[0]);
	attend(child, listener, kind, from, to, outcome);
	if (listener >= 0)
		close(listener);
	if (which == MEMORY)
		outcome->count = atomic_load(&state->allocations);
	outcome->live = atomic_load(&state->live);
	outcome->printed = content(".printed", &outcome->printed_size);
	outcome->said = content(".said", &outcome->said_size);
	outcome->written = content("out", &outcome->written_size);
	if (outcome->printed)
		without_times(outcome->printed, &outcome->printed_size);
	if (outcome->written)
		without_times(outcome->written, &outcome->written_size);
	list_others(outcome->others, sizeof outcome->others);
	return which == MEMORY || listener >= 0;
}

static void done(struct outcome *outcome)
{
	free(outcome->printed);
	free(outcome->said);
	free(outcome->written);
}

/* ---- judgement ------------------------------------------------------------------------------- */

static bool equal(const char *a, size_t size, const char *b, size_t other)
{
	return a && b && size == other && memcmp(a, b, size) == 0;
}

/* Whether a picture is not cut short. */
static bool whole(const struct outcome *outcome)
{
	size_t length = whole_end ? strlen(whole_end) : 0;
	for (size_t back = 0; length && outcome->written && back < 16 && back + length <= outcome->written_size; back++)
		if (memcmp(outcome->written + outcome->written_size - length - back, whole_end, length) == 0)
			return true;
	return false;
}

/* What is wrong with it, or NULL. */
static const char *verdict(int kind, const struct outcome *fine, const struct outcome *now_, bool fired)
{
	bool unchanged = equal(now_->written, now_->written_size, old_file, sizeof old_file - 1);
	bool new = equal(now_->written, now_->written_size, fine->written, fine->written_size);
	if (now_->hung)
		return "hangs";
	if (now_->status >= 128)
		return "is ended by a signal";
	if (strcmp(now_->others, fine->others) != 0)
		return "leaves other files";
	if (now_->live > fine->live && fine->live >= 0)
		return "leaks";
	if (now_->status == fine->status) {
		if (!new && !whole(now_))
			return "says that all is well, but the file is another";
		return equal(now_->printed, now_->printed_size, fine->printed, fine->printed_size)
			? NULL
			: "says that all is well, but prints something else";
	}
	if (!fired)
		return "ends with another status although nothing failed";
	if (now_->status != 4 && !(now_->status == 3 && (kind == OPENS || kind == READS)))
		return "ends with the wrong status";
	bool ours_first = now_->said &&
		(strncmp(now_->said, "tidemark", 8) == 0 || strstr(now_->said, "\ntidemark")); /* libraries may speak first */
	if (!ours_first || now_->said[now_->said_size - 1] != '\n')
		return "says nothing on standard error";
	bool spun = whole_end &&
		strstr(now_->said,
			"took too long (--time)"); /* fontconfig without memory loads its configuration again and again */
	if (kind == MEMORY && !strstr(now_->said, "memory") && !spun)
		return "doesn't say that memory is out";
	return unchanged || new ? NULL : "leaves a file that is half written";
}

static void blame(int kind, long from, long to, const char *what, const struct outcome *outcome)
{
	wrong++;
	printf("not ok %s: with %s %ld to %ld refused it %s (status %d, blocks left %ld)\n", name, kinds[kind].name, from,
		to < from + 1 ? to : -1, what, outcome->status, outcome->live);
	printf("   said: %.*s\n   others:%s\n   again: -k %s -n %ld%s\n",
		(int)(outcome->said_size < 400 ? outcome->said_size : 400), outcome->said ? outcome->said : "", outcome->others,
		kinds[kind].name, from, to > from ? " -l" : "");
}

static void try(int kind, long n, bool later, bool trace, const struct outcome *fine)
{
	struct outcome outcome;
	long last = later ? INT32_MAX : n;
	run(kind, n, last, trace, &outcome);
	bool fired = outcome.count >= n;
	const char *what = verdict(kind, fine, &outcome, fired);
	runs++;
	if (what)
		blame(kind, n, last, what, &outcome);
	else if (outcome.status == fine->status)
		unharmed++;
	else
		told++;
	if (trace)
		printf("status %d, blocks left %ld (%ld without a fault), said:\n%s", outcome.status, outcome.live, fine->live,
			outcome.said ? outcome.said : "");
	done(&outcome);
}

/* A number below `most` from a state. */
static long chance(uint64_t *random, long most)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return most > 0 ? (long)((*random >> 33) % (uint64_t)most) : 0;
}

/* How far all of it is, from time to time. */
static void tell(int kind, long n, long count)
{
	static double last;
	if (now() < last + 10)
		return;
	if (last > 0)
		printf("\n   ... %ld of %ld %s, %ld runs, %ld wrong", n, count, kinds[kind].name, runs, wrong), fflush(stdout);
	last = now();
}

/* So many n, one from each of equal stretches, alternately alone and with all behind it. */
static void try_some(int kind, long count, long rounds, uint64_t *random, const struct outcome *fine)
{
	for (long i = 0; i < rounds; i++) {
		long begin = i * count / rounds, end = (i + 1) * count / rounds;
		try(kind, begin + 1 + chance(random, end - begin), i % 2, false, fine);
		tell(kind, begin, count);
	}
}

/* All n both ways, or `rounds` runs. */
static void try_all(int kind, long count, long rounds, uint64_t *random, const struct outcome *fine)
{
	possible += 2 * count;
	if (rounds > 0 && rounds < 2 * count) {
		try_some(kind, count, rounds, random, fine);
		return;
	}
	for (long n = 1; n <= count; n++) {
		for (int later = 0; later < 2; later++)
			try(kind, n, later, false, fine);
		tell(kind, n, count);
	}
}

static void map_state(const char *library)
{
	char path[4096];
	int descriptor = open(in_folder("state", path), O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (descriptor < 0 || ftruncate(descriptor, sizeof *state) != 0)
		give_up(path);
	state = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	if (state == MAP_FAILED)
		give_up(path);
	close(descriptor);
	setenv(REFUSE_STATE, path, 1);
	setenv("LD_PRELOAD", library, 1);
	setenv("MALLOC_PERTURB_", "165", 1);   /* what was freed or never set is not zero */
}

int main(int argc, char **argv)
{
	long rounds = 20, n = 0;
	int option, only = -1;
	bool later = false;
	uint64_t random = 1;
	while ((option = getopt(argc, argv, "+lr:s:k:n:w:")) != -1)
		switch (option) {
		case 'l': later = true; break;
		case 'r': rounds = strtol(optarg, NULL, 10); break;
		case 'w': whole_end = optarg; break;
		case 's': random = strtoull(optarg, NULL, 10); break;
		case 'n': n = strtol(optarg, NULL, 10); break;
		case 'k':
			for (int i = 0; i < KINDS; i++)
				if (strcmp(kinds[i].name, optarg) == 0)
					only = i;
			break;
		default: return 2;
		}
	if (argc - optind < 5)
		return fprintf(stderr,
				   "usage: inject [-l] [-r ROUNDS] [-s SEED] [-w END] [-k KIND -n N] LIBRARY NAME STATUS FOLDER "
				   "COMMAND...\n"),
			   2;
	name = argv[optind + 1];
	expected = (int)strtol(argv[optind + 2], NULL, 10);
	folder = argv[optind + 3];
	command = argv + optind + 4;
	map_state(argv[optind]);
	printf("%s:", name);
	for (int kind = 0; kind < KINDS; kind++) {
		struct outcome fine;
		if (only >= 0 && kind != only)
			continue;
		if (!run(kind, INT32_MAX, INT32_MAX, false, &fine)) {
			printf(" (this kernel refuses no system calls)");
			break;
		}
		if (fine.status != expected || fine.hung) {
			wrong++;
			printf("\nnot ok %s: without a fault it ends with status %d: %s\n", name, fine.status, fine.said ? fine.said : "");
			done(&fine);
			break;
		}
		printf(" %ld %s%s", fine.count, kinds[kind].name, kind == READS ? "" : ",");
		fflush(stdout);
		if (n)
			try(kind, n, later, true, &fine);
		else
			try_all(kind, fine.count, rounds, &random, &fine);
		done(&fine);
	}
	struct rusage used;
	getrusage(RUSAGE_CHILDREN, &used);
	printf("; %ld runs of %ld: %ld unharmed, %ld told, %ld wrong; %.1f s\n", runs, possible, unharmed, told, wrong,
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	return wrong > 0;
}
