/* output.c: a temporary file, checked at every step, renamed at the end. */
#include "output.h"
#include "streams.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SLOTS = 8, LINKS_MOST = 40, PATH_BYTES = 4096, TRIES = 1000 };

/* Signals that end a program which doesn't expect them. */
static const int deadly[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGXCPU };
enum { DEADLY = COUNT_OF(deadly) };

/* Unfinished files: signals can only find them here. A slot is taken before its text is set. */
static struct { atomic_bool taken, set; char path[PATH_BYTES]; } unfinished[SLOTS];

/* Process groups of programs that we started and that must not outlive us; 0: none. */
static atomic_int started[SLOTS];

/* ---- signals ---- */

void output_end_groups(void)
{
	FOR_INT(i, SLOTS)
		if (atomic_load(&started[i]) > 0)
			kill(-atomic_load(&started[i]), SIGKILL);
}

void output_take_away(void)
{
	FOR_INT(i, SLOTS)
		if (atomic_load(&unfinished[i].set))
			unlink(unfinished[i].path);
	output_end_groups();
}

void output_end_by_signal(int number)
{
	output_take_away();
	signal(number, SIG_DFL);
	raise(number); /* where it is blocked, as in a handler of it, it comes at its end */
}

/* Where nobody else expects a signal, we do, from the first output on. */
static void expect_signals(void)
{
	FOR_INT(i, DEADLY) {
		struct sigaction old, ours = { .sa_handler = output_end_by_signal };
		if (sigaction(deadly[i], NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL) {
			sigemptyset(&ours.sa_mask);
			sigaction(deadly[i], &ours, NULL);
		}
	}
}

void output_end_with_us(pid_t group)
{
	expect_signals();
	FOR_INT(i, SLOTS) {
		int none = 0;
		if (atomic_compare_exchange_strong(&started[i], &none, (int)group))
			return;
	}
}

void output_outlived(pid_t group)
{
	FOR_INT(i, SLOTS) {
		int that = (int)group;
		if (atomic_compare_exchange_strong(&started[i], &that, 0))
			return;
	}
}

static int output_remember(const char *path)
{
	FOR_INT(i, SLOTS) {
		bool free = false;
		if (!atomic_compare_exchange_strong(&unfinished[i].taken, &free, true))
			continue;
		snprintf(unfinished[i].path, PATH_BYTES, "%s", path);
		atomic_store(&unfinished[i].set, true);
		return i;
	}
	return -1;
}

static void output_forget(int slot)
{
	if (slot < 0)
		return;
	atomic_store(&unfinished[slot].set, false);
	atomic_store(&unfinished[slot].taken, false);
}

/* ---- the process ---- */

void output_prepare(void)
{
	for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
		if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			break;
	struct sigaction old;
	if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		signal(SIGXFSZ, SIG_IGN);
}

/* ---- opening ---- */

static enum status output_failed(const char *name, struct error *error)
{
	return fail(error, LIMIT, "can't write %s: %s", name, errno ? strerror(errno) : "not all of it was taken");
}

/* The file that links lead to; it need not be there. False when they lead nowhere. */
static bool output_follow_links(char path[PATH_BYTES])
{
	struct stat there;
	for (int i = 0; lstat(path, &there) == 0 && S_ISLNK(there.st_mode); i++) {
		char target[PATH_BYTES];
		ssize_t length = readlink(path, target, sizeof target - 1);
		const char *slash = strrchr(path, '/');
		size_t folder = *target != '/' && slash ? (size_t)(slash + 1 - path) : 0;
		if (length < 0)
			return false;
		if (i == LINKS_MOST || folder + (size_t)length >= PATH_BYTES) {
			errno = ELOOP;
			return false;
		}
		memcpy(path + folder, target, (size_t)length);
		path[folder + (size_t)length] = '\0';
	}
	return true;
}

/* The stream that writes to a descriptor. Returns the descriptor that is left to be closed beside it where there is
 * none, or -1. */
static int open_stream(struct output *output, int descriptor)
{
	if (!gzip_named(output->name)) {
		output->stream = fdopen(descriptor, "w");
		return descriptor;
	}
	if ((output->packed = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) < 0)
		return descriptor;
	output->stream = gzip_stream(descriptor);
	return output->stream ? descriptor : -1;
}

/* A new file beside the one it will replace, named after it and this process. */
static enum status open_temporary(struct output *output, struct error *error)
{
	size_t size = strlen(output->path) + 40;
	int descriptor = -1;
	output->temporary = mem_alloc(size, 1);
	NEEDED(error, output->temporary);
	for (int i = 0; i < TRIES && descriptor < 0; i++) {
		snprintf(output->temporary, size, "%s.%ld-%d", output->path, (long)getpid(), i);
		output->slot = output_remember(output->temporary);
		descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (descriptor >= 0)
			break;
		output_forget(output->slot);
		if (errno != EEXIST)
			return output_failed(output->name, error);
	}
	if (descriptor >= 0)
		descriptor = open_stream(output, descriptor);
	if (output->stream && (!output->there || fchmod(descriptor, output->mode) == 0))
		return OK;
	output_failed(output->name, error);
	unlink(output->temporary);
	output_forget(output->slot);
	if (output->stream)
		fclose(output->stream);
	else if (descriptor >= 0)
		close(descriptor);
	if (output->packed >= 0)
		close(output->packed);
	return error->status;
}

static enum status output_open_file(struct output *output, bool replace, struct error *error)
{
	struct stat there;
	if (!output_follow_links(output->path))
		return output_failed(output->name, error);
	output->there = stat(output->path, &there) == 0;
	if (output->there && S_ISDIR(there.st_mode))
		return fail(error, LIMIT, "can't write %s: it is a directory", output->name);
	/* Devices and pipes are written to as they are: replacing them would be a disaster. */
	if (output->there && !S_ISREG(there.st_mode)) {
		output->stream = fopen(output->path, "we");
		mem_free(output->path);
		output->path = NULL;
		return output->stream ? OK : output_failed(output->name, error);
	}
	if (output->there && !replace)
		return refuse(error, "%s exists already", output->name);
	if (output->there && access(output->path, W_OK) != 0)
		return output_failed(output->name, error);
	output->mode = output->there ? there.st_mode & 07777 : 0;
	return open_temporary(output, error);
}

static void output_release(struct output *output)
{
	mem_free(output->path);
	mem_free(output->temporary);
	output->path = output->temporary = NULL;
	output->stream = NULL;
}

bool output_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;
	return a && b && stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && S_ISREG(of_a.st_mode) &&
		of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}

enum status output_open(struct output *output, const char *path, bool replace, struct error *error)
{
	*output = (struct output){ .stream = stdout, .name = "standard output", .slot = -1, .packed = -1 };
	if (!path || strcmp(path, "-") == 0)
		return OK;
	output->stream = NULL;
	output->name = path;
	if (strlen(path) >= PATH_BYTES - 40 || !*path) {
		errno = *path ? ENAMETOOLONG : ENOENT;
		return output_failed(path, error);
	}
	expect_signals();
	output->path = mem_alloc(PATH_BYTES, 1);
	NEEDED(error, output->path);
	snprintf(output->path, PATH_BYTES, "%s", path);
	enum status status = output_open_file(output, replace, error);
	if (status != OK)
		output_release(output);
	return status;
}

/* ---- closing ---- */

/* The new name is kept by the folder: it goes to the disk, too. What can't (some file systems) is no failure. */
static void sync_folder(const char *path)
{
	char folder[PATH_BYTES];
	PRINT_TO(folder, "%s", path);
	char *slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	int descriptor = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	fsync(descriptor);
	close(descriptor);
}

static bool on_disk(int descriptor)
{
	return fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
}

/* Everything to the system; the reason in errno where that fails. A stream that failed earlier has most likely left its
 * reason there. */
static bool flushed(struct output *output, bool whole)
{
	if (ferror(output->stream))
		return false;
	errno = 0;
	return fflush(output->stream) == 0 && (!whole || output->packed >= 0 || on_disk(fileno(output->stream)));
}

static enum status close_in_place(struct output *output, enum status status, struct error *error)
{
	bool lost = !flushed(output, false);
	int why = errno;
	if (output->stream != stdout && fclose(output->stream) != 0 && !lost)
		lost = true, why = errno;
	errno = why;
	return status == OK && lost ? output_failed(output->name, error) : status;
}

/* True when the file is in its place; else the reason is in errno. */
static bool put_in_place(struct output *output, bool wanted)
{
	bool fine = flushed(output, wanted);
	int why = errno;
	if (fclose(output->stream) != 0 && fine)
		fine = false, why = errno;
	/* What is compressed leaves zlib when the stream is closed. */
	if (output->packed >= 0 && fine && wanted && !on_disk(output->packed))
		fine = false, why = errno;
	if (output->packed >= 0)
		close(output->packed);
	if (fine && wanted && rename(output->temporary, output->path) != 0)
		fine = false, why = errno;
	errno = why;
	return fine;
}

enum status output_close(struct output *output, enum status status, struct error *error)
{
	if (!output->temporary) {
		status = close_in_place(output, status, error);
	} else {
		bool fine = put_in_place(output, status == OK);
		if (status == OK && !fine)
			status = output_failed(output->name, error);
		if (status == OK)
			sync_folder(output->path);
		else
			unlink(output->temporary);
		output_forget(output->slot);
	}
	output_release(output);
	return status;
}
