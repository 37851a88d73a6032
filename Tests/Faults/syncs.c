// Preloaded into a process of the tests: which changes of a directory's files would not survive a power failure.
//
//   cc -shared -fPIC -o syncs.so Tests/Faults/syncs.c -ldl
//   LD_PRELOAD=./syncs.so program
//
// A change is a file that was created, renamed or linked since the last fsync of its directory, or renamed before its
// content was synced. SQLite's own files (-wal, -shm, -journal), lock files and unfinished files (/.new/) need no sync.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// A change that was not synced: of a directory (`is_name`) or of a file's content.
typedef struct change {
  struct change *next;
  int is_name;
  char path[PATH_MAX];
  dev_t device;
  ino_t number;
} change;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char watched[PATH_MAX];
static change *changes;

static int is_watched(const char *path) {
  static const char *const endings[] = {"-wal", "-shm", "-journal", "-gate", "/lock"};
  if (!watched[0] || !path || strncmp(path, watched, strlen(watched)) != 0) return 0;
  for (size_t index = 0; index < sizeof endings / sizeof *endings; index++) {
    size_t length = strlen(endings[index]), size = strlen(path);
    if (size > length && strcmp(path + size - length, endings[index]) == 0) return 0;
  }
  return 1;
}

static void add(int is_name, const char *path, dev_t device, ino_t number) {
  change *new = calloc(1, sizeof(change));
  *new = (change){.next = changes, .is_name = is_name, .device = device, .number = number};
  strncpy(new->path, path, PATH_MAX - 1);
  changes = new;
}

static int has_content(dev_t device, ino_t number) {
  for (change *each = changes; each; each = each->next) {
    if (!each->is_name && each->device == device && each->number == number) return 1;
  }
  return 0;
}

// Forgets the changes of a file that was synced, or of an earlier file with the number of a new one.
static void forget(int file) {
  struct stat info;
  if (!watched[0] || fstat(file, &info) != 0) return;
  pthread_mutex_lock(&lock);
  for (change **link = &changes; *link;) {
    change *each = *link;
    if (each->device == info.st_dev && each->number == info.st_ino) {
      *link = each->next;
      free(each);
    } else {
      link = &each->next;
    }
  }
  pthread_mutex_unlock(&lock);
}

static void did_write(int file) {
  struct stat info;
  if (!watched[0] || fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) return;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  pthread_mutex_lock(&lock);
  if (is_watched(path) && !has_content(info.st_dev, info.st_ino)) add(0, path, info.st_dev, info.st_ino);
  pthread_mutex_unlock(&lock);
}

static void did_name(const char *path) {
  if (!is_watched(path) || strstr(path, "/.new/")) return;
  char directory[PATH_MAX] = "";
  strncpy(directory, path, PATH_MAX - 1);
  *strrchr(directory, '/') = 0;
  struct stat info;
  if (stat(directory, &info) != 0) return;
  pthread_mutex_lock(&lock);
  add(1, path, info.st_dev, info.st_ino);
  struct stat file;
  if (stat(path, &file) == 0 && has_content(file.st_dev, file.st_ino)) add(1, "a file without its content", 0, 0);
  pthread_mutex_unlock(&lock);
}

// For the tests: the directory.
void syncs_arm(const char *directory) {
  pthread_mutex_lock(&lock);
  memset(watched, 0, sizeof watched);
  strncpy(watched, directory, PATH_MAX - 1);
  while (changes) {
    change *first = changes;
    changes = first->next;
    free(first);
  }
  pthread_mutex_unlock(&lock);
}

// For the tests: writes the names that were not synced to `text`, a line each.
void syncs_missing(char *text, size_t size) {
  pthread_mutex_lock(&lock);
  text[0] = 0;
  for (change *each = changes; each; each = each->next) {
    if (!each->is_name || strlen(text) + strlen(each->path) + 2 > size) continue;
    strcat(strcat(text, each->path), "\n");
  }
  pthread_mutex_unlock(&lock);
}

#define NEXT(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

#define OPEN(name)                                                                                              \
  int name(const char *path, int flags, ...) {                                                                  \
    va_list list;                                                                                               \
    va_start(list, flags);                                                                                      \
    mode_t mode = va_arg(list, mode_t);                                                                         \
    va_end(list);                                                                                               \
    int creates = watched[0] && flags & O_CREAT && access(path, F_OK) != 0;                                     \
    int file = NEXT(name)(path, flags, mode);                                                                   \
    if (creates && file >= 0) {                                                                                 \
      forget(file);                                                                                             \
      did_name(path);                                                                                           \
    }                                                                                                           \
    return file;                                                                                                \
  }
OPEN(open)
OPEN(open64)

#define WRITE(name)                                                                                             \
  ssize_t name(int file, const void *bytes, size_t size, off_t offset) {                                        \
    ssize_t written = NEXT(name)(file, bytes, size, offset);                                                    \
    did_write(file);                                                                                            \
    return written;                                                                                             \
  }
WRITE(pwrite)
WRITE(pwrite64)

ssize_t write(int file, const void *bytes, size_t size) {
  ssize_t written = NEXT(write)(file, bytes, size);
  did_write(file);
  return written;
}

#define TRUNCATE(name)                                                                                          \
  int name(int file, off_t size) {                                                                              \
    int result = NEXT(name)(file, size);                                                                        \
    did_write(file);                                                                                            \
    return result;                                                                                              \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define SYNC(name)                                                                                              \
  int name(int file) {                                                                                          \
    int result = NEXT(name)(file);                                                                              \
    if (result == 0) forget(file);                                                                            \
    return result;                                                                                              \
  }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char *from, const char *to) {
  int result = NEXT(rename)(from, to);
  if (result == 0) did_name(to);
  return result;
}

int link(const char *from, const char *to) {
  int result = NEXT(link)(from, to);
  if (result == 0) did_name(to);
  return result;
}

// renameat2 is called by its number.
long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long a = va_arg(list, long), b = va_arg(list, long), c = va_arg(list, long), d = va_arg(list, long),
       e = va_arg(list, long), f = va_arg(list, long);
  va_end(list);
  long result = NEXT(syscall)(number, a, b, c, d, e, f);
  if (number == SYS_renameat2 && result == 0) did_name((const char *)d);
  return result;
}
