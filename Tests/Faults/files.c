// Preloaded into a process: system calls on its files fail, and the power fails.
//
//   cc -shared -fPIC -o files.so Tests/Faults/files.c -ldl -lpthread
//   FAULT_FILES=/directory/ LD_PRELOAD=./files.so program
//
// FAULT_FILES selects the files: all below a directory, or, without a slash at its beginning, those whose path has this
// end. The process finds the functions faults_… with dlsym.
//
// When the power fails (FAULT_POWER=1), a file has its content of the last fsync, and a random part of what was written since: whole
// writes, or sectors of 512 bytes of them. A file that was created or deleted since its directory's last fsync exists,
// or not. Shared memory (-shm) is gone. FAULT_LIES=1 is a disk that forgets: fsync does nothing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// The kinds of calls, as bits.
enum {
  opens = 1, reads = 2, writes = 4, syncs = 8, truncates = 16, closes = 32, stats = 64, locks = 128, owners = 256,
  unlinks = 512, shortens = 1024, unlocks = 2048
};

#define REAL(name, type) static __typeof__(type) *real; if (!real) real = (__typeof__(type) *)dlsym(RTLD_NEXT, name)

// MARK: Failing calls

static atomic_long calls, failed;
static atomic_long first = -1, end = -1;
static atomic_int code, kinds;
// Every so many calls a signal interrupts one; 0 is never.
static atomic_long interruption;

// Which calls fail, counted from 1, and with what.
void faults_arm(long which, long from, long length, int error, long interrupt_every) {
  first = -1;
  calls = failed = 0;
  kinds = (int)which;
  code = error;
  interruption = interrupt_every;
  end = from + length;
  first = from;
}

// Returns how many calls failed.
long faults_disarm(void) {
  first = -1;
  interruption = 0;
  return failed;
}

// Returns how many calls there were since faults_arm.
long faults_calls(void) { return calls; }

// Whether a call is to fail; errno says with what.
static int fails(int kind, int can_be_interrupted) {
  if ((first < 0 && interruption == 0) || !(kinds & kind)) return 0;
  long number = ++calls;
  long from = first, every = interruption;
  if (can_be_interrupted && every > 0 && number % every == 0) {
    failed++;
    errno = EINTR;
    return 1;
  }
  if (from < 0 || number < from || number >= end) return 0;
  failed++;
  errno = code;
  return 1;
}

// MARK: Files

static int is_selected(const char *path) {
  static const char *pattern;
  if (!pattern) pattern = getenv("FAULT_FILES");
  if (!pattern || !path) return 0;
  size_t length = strlen(pattern), size = strlen(path);
  if (pattern[0] == '/') return strncmp(path, pattern, length) == 0;
  return size > length && strcmp(path + size - length, pattern) == 0;
}

// A write or, without bytes, a change of the size since the last sync.
typedef struct change {
  struct change *next;
  int64_t offset, length;
  uint8_t *bytes;
} change;

// A file that the process has opened, and what of it would survive.
typedef struct file {
  struct file *next;
  dev_t device;
  ino_t number;
  char *path;
  int is_directory, is_created, is_unlinked;
  // Deleted, and the directory is synced.
  int is_gone;
  uint8_t *bytes;
  int64_t length;
  change *changes, **last;
} file;

enum { maximum = 4096 };
static file *opened[maximum];
static file *files;
// Held during the calls themselves, so that none of them runs while the power fails.
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int keeps_shadow, lies;
static long crash_at, crash_calls;
static uint64_t random_state;

static uint64_t next_random(void) {
  uint64_t word = random_state += 0x9E3779B97F4A7C15;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EB;
  return word ^ (word >> 31);
}

static int real_open(const char *path, int flags, mode_t mode) {
  REAL("open64", int(const char *, int, ...));
  return real(path, flags, mode);
}

static int real_close(int descriptor) {
  REAL("close", int(int));
  return real(descriptor);
}

static ssize_t real_pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  REAL("pwrite64", ssize_t(int, const void *, size_t, off_t));
  return real(descriptor, bytes, count, offset);
}

// Replaces the content that survives by the present one.
static void keep_content(file *file) {
  while (file->changes) {
    change *old = file->changes;
    file->changes = old->next;
    free(old->bytes);
    free(old);
  }
  file->last = &file->changes;
  REAL("pread64", ssize_t(int, void *, size_t, off_t));
  int descriptor = real_open(file->path, O_RDONLY | O_CLOEXEC, 0);
  if (descriptor < 0) return;
  struct stat info;
  if (fstat(descriptor, &info) == 0 && info.st_ino == file->number && S_ISREG(info.st_mode)) {
    file->bytes = realloc(file->bytes, (size_t)info.st_size + 1);
    file->length = real(descriptor, file->bytes, (size_t)info.st_size, 0);
  }
  real_close(descriptor);
}

static void note(file *file, const void *bytes, int64_t length, int64_t offset) {
  if (!keeps_shadow || !file || file->is_directory) return;
  change *new = calloc(1, sizeof(change));
  new->offset = offset;
  new->length = length;
  if (bytes) {
    new->bytes = malloc((size_t)length);
    memcpy(new->bytes, bytes, (size_t)length);
  }
  *file->last = new;
  file->last = &new->next;
}

static void extend(file *file, int64_t length) {
  if (length <= file->length) return;
  file->bytes = realloc(file->bytes, (size_t)length);
  memset(file->bytes + file->length, 0, (size_t)(length - file->length));
  file->length = length;
}

static void put(file *file, const uint8_t *bytes, int64_t length, int64_t offset) {
  extend(file, offset + length);
  memcpy(file->bytes + offset, bytes, (size_t)length);
}

// Writes what has survived, and ends the process. Without FAULT_POWER only the process ends.
static void lose_power(void) {
  crash_at = 0;
  for (file *file = keeps_shadow ? files : NULL; file; file = file->next) {
    size_t size = strlen(file->path);
    int is_shared = size > 4 && strcmp(file->path + size - 4, "-shm") == 0;
    if (file->is_directory || file->is_gone) continue;
    // Another file may have the name by now, even with the same number.
    struct stat info;
    int exists = lstat(file->path, &info) == 0;
    if (exists && (file->is_unlinked || info.st_ino != file->number)) continue;
    if (is_shared || (file->is_created && next_random() % 2) || (file->is_unlinked && next_random() % 2)) {
      unlink(file->path);
      continue;
    }
    if (!exists && !file->is_unlinked) continue;
    for (change *change = file->changes; change; change = change->next) {
      uint64_t fate = next_random() % 4;
      if (fate < 2) continue;
      if (!change->bytes) {
        extend(file, change->length);
        file->length = change->length;
      } else if (fate == 2) {
        put(file, change->bytes, change->length, change->offset);
      } else {
        for (int64_t sector = 0; sector < change->length; sector += 512) {
          if (next_random() % 2) continue;
          int64_t length = change->length - sector < 512 ? change->length - sector : 512;
          put(file, change->bytes + sector, length, change->offset + sector);
        }
      }
    }
    int descriptor = real_open(file->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (descriptor < 0) continue;
    if (file->length > 0) real_pwrite(descriptor, file->bytes, (size_t)file->length, 0);
    real_close(descriptor);
  }
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

// The power fails at this call that changes a file or syncs one; 0 is never.
void faults_lose_power(long call, unsigned long seed) {
  pthread_mutex_lock(&lock);
  random_state = seed;
  crash_calls = 0;
  crash_at = call;
  pthread_mutex_unlock(&lock);
}

static void count_change(void) {
  if (crash_at > 0 && ++crash_calls >= crash_at) lose_power();
}

__attribute__((constructor)) static void begin(void) {
  keeps_shadow = getenv("FAULT_POWER") != NULL;
  lies = getenv("FAULT_LIES") != NULL;
}

static file *on(int descriptor) { return descriptor >= 0 && descriptor < maximum ? opened[descriptor] : NULL; }

static int remember(int descriptor, const char *path, int existed) {
  if (descriptor < 0 || descriptor >= maximum) return descriptor;
  pthread_mutex_lock(&lock);
  struct stat info;
  file *found = NULL;
  // An unlinked file's number may have a new file.
  if (fstat(descriptor, &info) == 0) {
    for (found = files; found; found = found->next) {
      if (found->number == info.st_ino && found->device == info.st_dev && !found->is_unlinked) break;
    }
    if (!found) {
      found = calloc(1, sizeof(file));
      found->device = info.st_dev;
      found->number = info.st_ino;
      found->path = strdup(path);
      found->is_directory = S_ISDIR(info.st_mode);
      found->is_created = !existed;
      found->last = &found->changes;
      found->next = files;
      files = found;
      if (keeps_shadow && existed && !found->is_directory) keep_content(found);
    }
  }
  opened[descriptor] = found;
  pthread_mutex_unlock(&lock);
  return descriptor;
}

// MARK: Calls

#define MODE(flags, last) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list list; va_start(list, last); mode = va_arg(list, mode_t); va_end(list); }

#define OPEN(symbol) \
  int symbol(const char *path, int flags, ...) { \
    REAL(#symbol, int(const char *, int, ...)); \
    MODE(flags, flags) \
    if (!is_selected(path)) return real(path, flags, mode); \
    if (fails(opens, 1)) return -1; \
    int existed = access(path, F_OK) == 0; \
    return remember(real(path, flags, mode), path, existed); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(symbol) \
  int symbol(int directory, const char *path, int flags, ...) { \
    REAL(#symbol, int(int, const char *, int, ...)); \
    MODE(flags, flags) \
    if (!is_selected(path)) return real(directory, path, flags, mode); \
    if (fails(opens, 1)) return -1; \
    int existed = access(path, F_OK) == 0; \
    return remember(real(directory, path, flags, mode), path, existed); \
  }
OPENAT(openat)
OPENAT(openat64)

#define FCNTL(symbol) \
  int symbol(int descriptor, int command, ...) { \
    REAL(#symbol, int(int, int, ...)); \
    va_list list; \
    va_start(list, command); \
    void *argument = va_arg(list, void *); \
    va_end(list); \
    int is_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW; \
    int is_unlock = is_lock && argument && ((struct flock *)argument)->l_type == F_UNLCK; \
    if (on(descriptor) && fails(is_unlock ? unlocks : locks, 1)) return -1; \
    return real(descriptor, command, argument); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

// Linux closes the descriptor whatever it answers.
int close(int descriptor) {
  int is_ours = on(descriptor) != NULL;
  if (is_ours) opened[descriptor] = NULL;
  int result = real_close(descriptor);
  return is_ours && fails(closes, 1) ? -1 : result;
}

#define STAT(symbol, kind) \
  int symbol(const char *path, struct kind *info) { \
    REAL(#symbol, int(const char *, struct kind *)); \
    return is_selected(path) && fails(stats, 0) ? -1 : real(path, info); \
  }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

#define FSTAT(symbol, kind) \
  int symbol(int descriptor, struct kind *info) { \
    REAL(#symbol, int(int, struct kind *)); \
    return on(descriptor) && fails(stats, 0) ? -1 : real(descriptor, info); \
  }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

int fchmod(int descriptor, mode_t mode) {
  REAL("fchmod", int(int, mode_t));
  return on(descriptor) && fails(owners, 1) ? -1 : real(descriptor, mode);
}

int fchown(int descriptor, uid_t owner, gid_t group) {
  REAL("fchown", int(int, uid_t, gid_t));
  return on(descriptor) && fails(owners, 1) ? -1 : real(descriptor, owner, group);
}

#define PREAD(symbol) \
  ssize_t symbol(int descriptor, void *bytes, size_t count, off_t offset) { \
    REAL(#symbol, ssize_t(int, void *, size_t, off_t)); \
    return on(descriptor) && fails(reads, 1) ? -1 : real(descriptor, bytes, count, offset); \
  }
PREAD(pread)
PREAD(pread64)

static ssize_t change_file(int descriptor, const void *bytes, size_t count, off_t offset) {
  file *file = on(descriptor);
  if (!file) return real_pwrite(descriptor, bytes, count, offset);
  if (fails(writes, 1)) return -1;
  if (count > 1 && fails(shortens, 0)) count = count / 2;
  pthread_mutex_lock(&lock);
  count_change();
  ssize_t written = real_pwrite(descriptor, bytes, count, offset);
  if (written > 0) note(file, bytes, written, offset);
  pthread_mutex_unlock(&lock);
  return written;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
  return change_file(descriptor, bytes, count, offset);
}

ssize_t pwrite64(int descriptor, const void *bytes, size_t count, off_t offset) {
  return change_file(descriptor, bytes, count, offset);
}

#define SYNC(symbol) \
  int symbol(int descriptor) { \
    REAL(#symbol, int(int)); \
    file *file = on(descriptor); \
    if (!file) return real(descriptor); \
    if (fails(syncs, 1)) return -1; \
    return sync_file(file); \
  }

// The content is kept in memory. No disk is needed for it.
static int sync_file(file *file) {
  pthread_mutex_lock(&lock);
  count_change();
  if (keeps_shadow && !lies && file->is_directory) {
    for (struct file *other = files; other; other = other->next) {
      size_t length = strlen(file->path);
      if (strncmp(other->path, file->path, length) != 0) continue;
      other->is_created = 0;
      other->is_gone = other->is_unlinked;
    }
  } else if (keeps_shadow && !lies) {
    keep_content(file);
  }
  pthread_mutex_unlock(&lock);
  return 0;
}
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(symbol) \
  int symbol(int descriptor, off_t length) { \
    REAL(#symbol, int(int, off_t)); \
    file *file = on(descriptor); \
    if (!file) return real(descriptor, length); \
    if (fails(truncates, 1)) return -1; \
    pthread_mutex_lock(&lock); \
    count_change(); \
    int result = real(descriptor, length); \
    if (result == 0) note(file, NULL, length, 0); \
    pthread_mutex_unlock(&lock); \
    return result; \
  }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int unlink(const char *path) {
  REAL("unlink", int(const char *));
  if (!is_selected(path)) return real(path);
  if (fails(unlinks, 1)) return -1;
  pthread_mutex_lock(&lock);
  count_change();
  struct stat info;
  int exists = lstat(path, &info) == 0;
  int result = real(path);
  for (file *file = files; file && exists && result == 0; file = file->next) {
    if (file->number == info.st_ino && file->device == info.st_dev && !file->is_unlinked) file->is_unlinked = 1;
  }
  pthread_mutex_unlock(&lock);
  return result;
}

#define TWO_PATHS(symbol) \
  int symbol(const char *from, const char *to) { \
    REAL(#symbol, int(const char *, const char *)); \
    if (is_selected(to)) { \
      pthread_mutex_lock(&lock); \
      count_change(); \
      pthread_mutex_unlock(&lock); \
    } \
    return real(from, to); \
  }
TWO_PATHS(rename)
TWO_PATHS(link)

int mkdir(const char *path, mode_t mode) {
  REAL("mkdir", int(const char *, mode_t));
  if (is_selected(path)) {
    pthread_mutex_lock(&lock);
    count_change();
    pthread_mutex_unlock(&lock);
  }
  return real(path, mode);
}
