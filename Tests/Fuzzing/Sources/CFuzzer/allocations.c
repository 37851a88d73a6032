#include "CFuzzer.h"
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

// The allocator of glibc, with what a thread holds counted. The program's symbols replace those of the C library.

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static __thread int isCounting;
static __thread long held, peak;

static void *taken(void *memory) {
  if (isCounting && memory) {
    held += (long)malloc_usable_size(memory);
    if (held > peak) peak = held;
  }
  return memory;
}

static void given(void *memory) {
  if (isCounting && memory) held -= (long)malloc_usable_size(memory);
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }

void *realloc(void *memory, size_t size) {
  long before = isCounting && memory ? (long)malloc_usable_size(memory) : 0;
  void *moved = __libc_realloc(memory, size);
  if (moved || size == 0) held -= before;
  return taken(moved);
}

void *memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

void *aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
  void *aligned = __libc_memalign(alignment, size);
  if (!aligned) return ENOMEM;
  *memory = taken(aligned);
  return 0;
}

void free(void *memory) {
  given(memory);
  __libc_free(memory);
}

void allocations_begin(void) {
  held = peak = 0;
  isCounting = 1;
}

size_t allocations_end(void) {
  isCounting = 0;
  return (size_t)peak;
}
