#include <stddef.h>
#include <stdint.h>

// libFuzzer, without its own `main`.
int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*run)(const uint8_t *bytes, size_t count));
// Changes bytes at random, as libFuzzer does without a mutator of the program's own.
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t capacity);

// Counts what the calling thread allocates from here on.
void allocations_begin(void);
// Returns the most that was allocated at one time since then, in bytes, beyond what already was.
size_t allocations_end(void);
