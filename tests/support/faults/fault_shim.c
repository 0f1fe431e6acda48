/* A disk with faults, below every call of libc: LD_PRELOAD it into a process.

   MNEMESH_TEST_FAULTS_DIR is the folder whose files it watches, MNEMESH_TEST_FAULTS_PLAN a file of one line:
   CALL NUMBER ERRNO COUNT. From the NUMBER-th call of that kind on, COUNT calls fail with ERRNO. CALL is one of write,
   sync, allocate, truncate, rename, open. With ERRNO 0 the process ends there as at a power cut: every file is cut and
   written back to what was synced last, but for every second page of 4 KiB of the last write (a torn page).

   What is not synced is known by a journal in memory: the bytes that stood there before each write. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { WRITE, SYNC, ALLOCATE, TRUNCATE, RENAME, OPEN, KINDS };
static const char *const NAMES[KINDS] = {"write", "sync", "allocate", "truncate", "rename", "open"};

struct undo {
    struct undo *earlier;
    dev_t device;
    ino_t inode;
    int file;        /* a descriptor of our own */
    off_t at, size;  /* where it was written, and how long the file was before */
    size_t before, written;
    char bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct undo *journal;
static char folder[PATH_MAX];
static size_t folder_length;
static enum kind planned = KINDS;
static long number, count;
static int fault;
static long seen;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void read_plan(void) {
    const char *under = getenv("MNEMESH_TEST_FAULTS_DIR"), *plan = getenv("MNEMESH_TEST_FAULTS_PLAN");
    char kind[16];
    FILE *file = under && plan ? fopen(plan, "r") : NULL;
    if (!file) return;
    if (fscanf(file, "%15s %ld %d %ld", kind, &number, &fault, &count) == 4 && realpath(under, folder)) {
        folder_length = strlen(folder);
        for (int one = 0; one < KINDS; one++)
            if (!strcmp(kind, NAMES[one])) planned = one;
    }
    fclose(file);
}

static int below_path(const char *path) {
    return folder_length && path && !strncmp(path, folder, folder_length) && path[folder_length] == '/';
}

static int below(int fd) {
    char link[64], path[PATH_MAX];
    if (!folder_length) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below_path(path);
}

static void power_cut(void) {
    int last = 1;
    for (struct undo *one = journal; one; one = one->earlier) {
        size_t from = 0;
        while (from < one->before) {
            size_t length = one->before - from < 4096 ? one->before - from : 4096;
            if (!(last && from / 4096 % 2)) REAL(pwrite64)(one->file, one->bytes + from, length, one->at + (off_t)from);
            from += length;
        }
        if (!last) (void)!REAL(ftruncate64)(one->file, one->size);
        last = 0;
    }
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* The error that this call gets, or 0. */
static int judged(enum kind kind) {
    int error = 0;
    pthread_mutex_lock(&lock);
    if (kind == planned) {
        seen++;
        if (seen >= number && seen < number + count) {
            if (!fault) power_cut();
            error = fault;
        }
    }
    pthread_mutex_unlock(&lock);
    return error;
}

/* Under the lock: note what stands where a write goes. */
static void note(int fd, off_t at, size_t length) {
    struct stat64 found;
    if (planned == KINDS || fault || fstat64(fd, &found) || !S_ISREG(found.st_mode)) return;
    size_t before = at >= found.st_size ? 0 : (size_t)(found.st_size - at) < length ? (size_t)(found.st_size - at) : length;
    struct undo *one = malloc(sizeof *one + before);
    if (!one) abort();
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    one->file = REAL(open64)(own, O_RDWR | O_CLOEXEC);
    if (one->file < 0) { free(one); return; }
    ssize_t got = before ? pread64(one->file, one->bytes, before, at) : 0;
    *one = (struct undo){journal, found.st_dev, found.st_ino, one->file, at, found.st_size, got > 0 ? (size_t)got : 0, length};
    journal = one;
}

static void synced(int fd) {
    struct stat64 found;
    if (!journal || fstat64(fd, &found)) return;
    pthread_mutex_lock(&lock);
    for (struct undo **one = &journal; *one;) {
        struct undo *here = *one;
        if (here->device == found.st_dev && here->inode == found.st_ino) {
            *one = here->earlier;
            REAL(close)(here->file);
            free(here);
        } else one = &here->earlier;
    }
    pthread_mutex_unlock(&lock);
}

static int may_write(int fd, off_t at, size_t length) {
    if (!below(fd)) return 1;
    int error = judged(WRITE);
    if (error) { errno = error; return 0; }
    pthread_mutex_lock(&lock);
    note(fd, at < 0 ? lseek64(fd, 0, SEEK_CUR) : at, length);
    pthread_mutex_unlock(&lock);
    return 1;
}

ssize_t write(int fd, const void *data, size_t length) {
    return may_write(fd, -1, length) ? REAL(write)(fd, data, length) : -1;
}
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) {
    return may_write(fd, at, length) ? REAL(pwrite64)(fd, data, length, at) : -1;
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return pwrite64(fd, data, length, at); }

ssize_t writev(int fd, const struct iovec *parts, int number_of) {
    size_t length = 0;
    for (int one = 0; one < number_of; one++) length += parts[one].iov_len;
    return may_write(fd, -1, length) ? REAL(writev)(fd, parts, number_of) : -1;
}

#define FAILS(kind) { int error = judged(kind); if (error) { errno = error; return -1; } }

int fsync(int fd) {
    if (!below(fd)) return REAL(fsync)(fd);
    FAILS(SYNC)
    int done = REAL(fsync)(fd);
    if (!done) synced(fd);
    return done;
}
int fdatasync(int fd) {
    if (!below(fd)) return REAL(fdatasync)(fd);
    FAILS(SYNC)
    int done = REAL(fdatasync)(fd);
    if (!done) synced(fd);
    return done;
}
int ftruncate64(int fd, off64_t length) {
    if (below(fd)) FAILS(TRUNCATE)
    return REAL(ftruncate64)(fd, length);
}
int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }
int fallocate64(int fd, int mode, off64_t at, off64_t length) {
    if (below(fd)) FAILS(ALLOCATE)
    return REAL(fallocate64)(fd, mode, at, length);
}
int fallocate(int fd, int mode, off_t at, off_t length) { return fallocate64(fd, mode, at, length); }
int posix_fallocate64(int fd, off64_t at, off64_t length) {
    int error = below(fd) ? judged(ALLOCATE) : 0;
    return error ? error : REAL(posix_fallocate64)(fd, at, length);
}
int posix_fallocate(int fd, off_t at, off_t length) { return posix_fallocate64(fd, at, length); }
int rename(const char *from, const char *to) {
    if (below_path(to)) FAILS(RENAME)
    return REAL(rename)(from, to);
}
int renameat(int from_at, const char *from, int to_at, const char *to) {
    if (below_path(to)) FAILS(RENAME)
    return REAL(renameat)(from_at, from, to_at, to);
}

static int opened(const char *path, int flags) {
    int error = (flags & O_CREAT) && below_path(path) ? judged(OPEN) : 0;
    if (error) errno = error;
    return !error;
}
#define OPENED(name, ...) { va_list more; va_start(more, flags); mode_t mode = va_arg(more, mode_t); va_end(more); \
    return opened(path, flags) ? REAL(name)(__VA_ARGS__) : -1; }
int open(const char *path, int flags, ...) OPENED(open, path, flags, mode)
int open64(const char *path, int flags, ...) OPENED(open64, path, flags, mode)
int openat(int at, const char *path, int flags, ...) OPENED(openat, at, path, flags, mode)
int openat64(int at, const char *path, int flags, ...) OPENED(openat64, at, path, flags, mode)
