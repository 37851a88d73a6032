// Preloaded into a process of the tests: copies a directory before each system call that changes a file in it. The
// copies are the states that a process leaves behind if it is killed between two of its calls.
//
//   cc -shared -fPIC -o steps.so Tests/Faults/steps.c -ldl
//   LD_PRELOAD=./steps.so program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char watched[PATH_MAX], copies[PATH_MAX];
static volatile int is_armed;
static long count;
static __thread int is_copying;
// The end of the paths whose status can't be read, and whether there are hard links.
static char unreadable[NAME_MAX];
static int has_no_links;
extern char **environ;

// For the tests: the directory, and the directory of the copies 0, 1, …
void steps_arm(const char *directory, const char *target) {
  strncpy(watched, directory, PATH_MAX - 1);
  strncpy(copies, target, PATH_MAX - 1);
  count = 0;
  is_armed = 1;
}

long steps_disarm(void) {
  is_armed = 0;
  return count;
}

// For the tests: the disk can't read the status of the files whose paths have this end; "" for none.
void steps_hide(const char *end) { strncpy(unreadable, end, NAME_MAX - 1); }

// For the tests: whether the file system has no hard links.
void steps_without_links(int value) { has_no_links = value; }

static void step(void) {
  pthread_mutex_lock(&lock);
  is_copying = 1;
  char target[PATH_MAX + 32];
  snprintf(target, sizeof target, "%s/%ld", copies, count++);
  // In another process, because closing the copied files here would drop SQLite's locks.
  char *arguments[] = {"cp", "-a", watched, target, NULL};
  char *variables[] = {"PATH=/usr/bin:/bin", NULL};
  pid_t process;
  int status;
  if (posix_spawnp(&process, "cp", NULL, NULL, arguments, variables) == 0) waitpid(process, &status, 0);
  is_copying = 0;
  pthread_mutex_unlock(&lock);
}

static int is_inside(const char *path) {
  return path && strncmp(path, watched, strlen(watched)) == 0;
}

static void before_path(const char *path) {
  if (is_armed && !is_copying && is_inside(path)) step();
}

static void before_descriptor(int descriptor) {
  if (!is_armed || is_copying) return;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  before_path(path);
}

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                                              \
  int name(const char *path, int flags, ...) {                                                                  \
    va_list list;                                                                                               \
    va_start(list, flags);                                                                                      \
    mode_t mode = va_arg(list, mode_t);                                                                         \
    va_end(list);                                                                                               \
    if (flags & (O_CREAT | O_TRUNC)) before_path(path);                                                         \
    return NEXT(name)(path, flags, mode);                                                                       \
  }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *bytes, size_t size) {
  before_descriptor(file);
  return NEXT(write)(file, bytes, size);
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t offset) {
  before_descriptor(file);
  return NEXT(pwrite)(file, bytes, size, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t offset) {
  before_descriptor(file);
  return NEXT(pwrite64)(file, bytes, size, offset);
}

int ftruncate(int file, off_t size) {
  before_descriptor(file);
  return NEXT(ftruncate)(file, size);
}

int ftruncate64(int file, off64_t size) {
  before_descriptor(file);
  return NEXT(ftruncate64)(file, size);
}

int unlink(const char *path) {
  before_path(path);
  return NEXT(unlink)(path);
}

int unlinkat(int directory, const char *path, int flags) {
  if (directory == AT_FDCWD) before_path(path); else before_descriptor(directory);
  return NEXT(unlinkat)(directory, path, flags);
}

int rename(const char *from, const char *to) {
  before_path(from);
  return NEXT(rename)(from, to);
}

int link(const char *from, const char *to) {
  if (has_no_links) {
    errno = EPERM;
    return -1;
  }
  before_path(to);
  return NEXT(link)(from, to);
}

int lstat(const char *path, struct stat *info) {
  size_t length = strlen(path), end = strlen(unreadable);
  if (end > 0 && length >= end && strcmp(path + length - end, unreadable) == 0) {
    errno = EIO;
    return -1;
  }
  return NEXT(lstat)(path, info);
}

int mkdir(const char *path, mode_t mode) {
  before_path(path);
  return NEXT(mkdir)(path, mode);
}

int rmdir(const char *path) {
  before_path(path);
  return NEXT(rmdir)(path);
}

// renameat2 is called by its number.
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
       e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  if (number == SYS_renameat2) before_path((const char *)b);
  return NEXT(syscall)(number, a, b, c, d, e, f);
}
