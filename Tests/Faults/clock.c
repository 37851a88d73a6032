// Preloaded into a process of the record: its wall clock jumps. The monotonic clock, which measures durations, does not.
//
//   cc -shared -fPIC -o clock.so Tests/Faults/clock.c -ldl -lpthread
//   LD_PRELOAD=./clock.so program
//
// The process finds clock_jump with dlsym. Calls that wait until a time of the wall clock get the kernel's time.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

// Seconds.
static atomic_long offset;

void clock_jump(long seconds) { offset = seconds; }

static int is_wall(clockid_t clock) { return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, time);
  if (result == 0 && is_wall(clock)) time->tv_sec += offset;
  return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *seconds) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (seconds) *seconds = now.tv_sec;
  return now.tv_sec;
}

// The end of a wait in the kernel's time. A time of the monotonic clock is that since the machine's start: far below.
static struct timespec kernel_time(const struct timespec *end) {
  struct timespec time = *end;
  if (time.tv_sec > 1000000000) time.tv_sec -= offset;
  return time;
}

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *end) {
  static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
  if (!real) {
    void *symbol = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    if (!symbol) symbol = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))symbol;
  }
  struct timespec time = kernel_time(end);
  return real(condition, mutex, &time);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *end) {
  static int (*real)(pthread_mutex_t *, const struct timespec *);
  if (!real) real = (int (*)(pthread_mutex_t *, const struct timespec *))dlsym(RTLD_NEXT, "pthread_mutex_timedlock");
  struct timespec time = kernel_time(end);
  return real(mutex, &time);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
  static int (*real)(sem_t *, const struct timespec *);
  if (!real) real = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
  struct timespec time = kernel_time(end);
  return real(semaphore, &time);
}
