// Preloaded into a process of the tests: system calls on files whose name ends in "-gate" fail.
//
//   cc -shared -fPIC -o gate.so Tests/Faults/gate.c -ldl
//   LD_PRELOAD=./gate.so program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls, failed;
static atomic_long first = -1, end = -1;
static atomic_int code;
// How often a call is ended by a signal, as it were: every so many calls; 0 is never.
static atomic_long interruption;

// The descriptors that such files have.
enum { maximum = 4096 };
static atomic_bool is_gate[maximum];

// For the tests: which calls fail, counted from 1, and with what.
void gate_fault_arm(long from, long length, int error, long interrupt_every) {
  first = -1;
  calls = failed = 0;
  code = error;
  interruption = interrupt_every;
  end = from + length;
  first = from;
}

long gate_fault_disarm(void) {
  first = -1;
  interruption = 0;
  return failed;
}

// Whether a call is to fail; errno says with what.
static int fails(int can_be_interrupted) {
  if (first < 0 && interruption == 0) return 0;
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

static int names_gate(const char *path) {
  size_t length = path ? strlen(path) : 0;
  return length > 5 && strcmp(path + length - 5, "-gate") == 0;
}

static int on_gate(int descriptor) { return descriptor >= 0 && descriptor < maximum && is_gate[descriptor]; }

static int opened(int descriptor, int gate) {
  if (descriptor >= 0 && descriptor < maximum) is_gate[descriptor] = gate;
  return descriptor;
}

#define REAL(name, type) static __typeof__(type) *real; if (!real) real = (__typeof__(type) *)dlsym(RTLD_NEXT, name)
#define MODE(flags, last) mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list list; va_start(list, last); mode = va_arg(list, mode_t); va_end(list); }

#define OPEN(symbol) \
  int symbol(const char *path, int flags, ...) { \
    REAL(#symbol, int(const char *, int, ...)); \
    MODE(flags, flags) \
    int gate = names_gate(path); \
    if (gate && fails(1)) return -1; \
    return opened(real(path, flags, mode), gate); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(symbol) \
  int symbol(int directory, const char *path, int flags, ...) { \
    REAL(#symbol, int(int, const char *, int, ...)); \
    MODE(flags, flags) \
    int gate = names_gate(path); \
    if (gate && fails(1)) return -1; \
    return opened(real(directory, path, flags, mode), gate); \
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
    if (on_gate(descriptor) && fails(1)) return -1; \
    return real(descriptor, command, argument); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

// Linux closes the descriptor whatever it answers.
int close(int descriptor) {
  REAL("close", int(int));
  int gate = on_gate(descriptor);
  if (gate) is_gate[descriptor] = 0;
  int result = real(descriptor);
  return gate && fails(1) ? -1 : result;
}

#define STAT(symbol, kind) \
  int symbol(const char *path, struct kind *info) { \
    REAL(#symbol, int(const char *, struct kind *)); \
    return names_gate(path) && fails(0) ? -1 : real(path, info); \
  }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

#define FSTAT(symbol, kind) \
  int symbol(int descriptor, struct kind *info) { \
    REAL(#symbol, int(int, struct kind *)); \
    return on_gate(descriptor) && fails(0) ? -1 : real(descriptor, info); \
  }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

int fchmod(int descriptor, mode_t mode) {
  REAL("fchmod", int(int, mode_t));
  return on_gate(descriptor) && fails(1) ? -1 : real(descriptor, mode);
}

int fchown(int descriptor, uid_t owner, gid_t group) {
  REAL("fchown", int(int, uid_t, gid_t));
  return on_gate(descriptor) && fails(1) ? -1 : real(descriptor, owner, group);
}
