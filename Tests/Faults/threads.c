// Preloaded into a process of the record that runs out of file descriptors: Dispatch can still look at its threads.
//
// While its threads work, Dispatch opens /proc/…/stat once a second, and ends the process if that fails. Its threads
// run every Swift task, so a process would end before the record learns what the library does.
//
//   cc -shared -fPIC -o threads.so Tests/Faults/threads.c -ldl -lpthread
//   LD_PRELOAD=./threads.so program
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>

#define OPEN(symbol)                                                                                            \
  int symbol(const char *path, int flags, ...) {                                                                \
    static int (*real)(const char *, int, ...);                                                                 \
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #symbol);                               \
    va_list list;                                                                                               \
    va_start(list, flags);                                                                                      \
    int mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(list, int) : 0;                                         \
    va_end(list);                                                                                               \
    int descriptor;                                                                                             \
    struct rlimit limit;                                                                                        \
    do {                                                                                                        \
      descriptor = real(path, flags, mode);                                                                     \
      if (descriptor >= 0 || errno != EMFILE || strncmp(path, "/proc/", 6) != 0) return descriptor;  \
      /* Another thread lowers the limit again. */                                                              \
    } while (getrlimit(RLIMIT_NOFILE, &limit) == 0 && (limit.rlim_cur = limit.rlim_max) &&                      \
             setrlimit(RLIMIT_NOFILE, &limit) == 0);                                                            \
    return descriptor;                                                                                          \
  }
OPEN(open)
OPEN(open64)
