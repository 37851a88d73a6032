// Preloaded into a process of the tests: which changes of a directory's files would not survive a power failure.
//
//   cc -shared -fPIC -o syncs.so Tests/Faults/syncs.c -ldl
//   LD_PRELOAD=./syncs.so program
//
// A change is a name that was created, renamed away, renamed or linked since the last fsync of its directory, or a file
// that was renamed before its content was synced. SQLite's own files (-wal, -shm, -journal), lock files and unfinished
// files (/.new/) need no sync. After a failed fsync (syncs_fail), no later one stores the changes: as in the kernel, they
// must be made again.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
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
  // `is_gone`: the name was renamed away. `is_lost`: a sync of the directory has failed.
  int is_name, is_gone, is_lost;
  char path[PATH_MAX];
  dev_t device;
  ino_t number;
} change;

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static char watched[PATH_MAX];
static change *changes;
// The numbers of the fsyncs of directories that fail, counted from 1, and how many there were and have failed.
static long first_failure, last_failure, directory_syncs, failures;
// Only EIO loses the changes. EINTR and EINVAL change nothing.
static int failure = EIO;

static int is_watched(const char *path) {
  static const char *const endings[] = {"-wal", "-shm", "-journal", "-gate", "/lock"};
  if (!watched[0] || !path || strncmp(path, watched, strlen(watched)) != 0) return 0;
  for (size_t index = 0; index < sizeof endings / sizeof *endings; index++) {
    size_t length = strlen(endings[index]), size = strlen(path);
    if (size > length && strcmp(path + size - length, endings[index]) == 0) return 0;
  }
  return 1;
}

static change *add(int is_name, const char *path, dev_t device, ino_t number) {
  change *new = calloc(1, sizeof(change));
  *new = (change){.next = changes, .is_name = is_name, .device = device, .number = number};
  strncpy(new->path, path, PATH_MAX - 1);
  return changes = new;
}

// Forgets the earlier changes of a name that changes again.
static void forget_name(const char *path) {
  for (change **link = &changes; *link;) {
    change *each = *link;
    if (each->is_name && strcmp(each->path, path) == 0) {
      *link = each->next;
      free(each);
    } else {
      link = &each->next;
    }
  }
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
    if (each->device == info.st_dev && each->number == info.st_ino && !each->is_lost) {
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

static void note_name(const char *path, int is_gone) {
  const char *new = path ? strstr(path, "/.new") : NULL;
  if (!is_watched(path) || (new && (new[5] == 0 || new[5] == '/'))) return;
  char directory[PATH_MAX] = "";
  strncpy(directory, path, PATH_MAX - 1);
  *strrchr(directory, '/') = 0;
  struct stat info;
  if (stat(directory, &info) != 0) return;
  pthread_mutex_lock(&lock);
  forget_name(path);
  add(1, path, info.st_dev, info.st_ino)->is_gone = is_gone;
  struct stat file;
  if (!is_gone && stat(path, &file) == 0 && has_content(file.st_dev, file.st_ino)) add(1, "a file without its content", 0, 0);
  pthread_mutex_unlock(&lock);
}

static void did_name(const char *path) { note_name(path, 0); }

// A deleted name whose deletion was not synced comes back at most, and is deleted again.
static void did_unlink(const char *path) {
  if (!is_watched(path)) return;
  pthread_mutex_lock(&lock);
  forget_name(path);
  pthread_mutex_unlock(&lock);
}

// Returns whether the sync of a watched directory is to fail.
static int fails(int file) {
  struct stat info;
  char link[64], path[PATH_MAX];
  if (!watched[0] || fstat(file, &info) != 0 || !S_ISDIR(info.st_mode)) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  if (!is_watched(path)) return 0;
  pthread_mutex_lock(&lock);
  directory_syncs++;
  int result = directory_syncs >= first_failure && directory_syncs <= last_failure;
  for (change *each = changes; each && result && failure == EIO; each = each->next) {
    if (each->is_name && each->device == info.st_dev && each->number == info.st_ino) each->is_lost = 1;
  }
  failures += result;
  pthread_mutex_unlock(&lock);
  return result;
}

// For the tests: `count` syncs of directories fail, from the given one on; 0 is none.
void syncs_fail(long from, long count) {
  pthread_mutex_lock(&lock);
  first_failure = from;
  last_failure = from + count - 1;
  directory_syncs = failures = 0;
  pthread_mutex_unlock(&lock);
}

// For the tests: the error of the syncs that fail.
void syncs_fail_with(int code) { failure = code; }

// For the tests: how many syncs have failed.
long syncs_failed(void) { return failures; }

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
    if (!each->is_name || strlen(text) + strlen(each->path) + 12 > size) continue;
    strcat(strcat(text, each->path), each->is_gone ? " (renamed)\n" : "\n");
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
    if (fails(file)) {                                                                                          \
      errno = failure;                                                                                          \
      return -1;                                                                                                \
    }                                                                                                           \
    int result = NEXT(name)(file);                                                                              \
    if (result == 0) forget(file);                                                                              \
    return result;                                                                                              \
  }
SYNC(fsync)
SYNC(fdatasync)

int rename(const char *from, const char *to) {
  int result = NEXT(rename)(from, to);
  if (result == 0) note_name(from, 1);
  if (result == 0) did_name(to);
  return result;
}

int unlink(const char *path) {
  int result = NEXT(unlink)(path);
  if (result == 0) did_unlink(path);
  return result;
}

int rmdir(const char *path) {
  int result = NEXT(rmdir)(path);
  if (result == 0) did_unlink(path);
  return result;
}

int mkdir(const char *path, mode_t mode) {
  int result = NEXT(mkdir)(path, mode);
  if (result == 0) did_name(path);
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
  if (number == SYS_renameat2 && result == 0) note_name((const char *)b, 1);
  if (number == SYS_renameat2 && result == 0) did_name((const char *)d);
  return result;
}
