// The library, libstdc++ or the headers of a newer glibc need these symbols.
// glibc 2.28 does not have them. scripts/glibc_stubs.py links this file. On a
// newer glibc programs still use these.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// 2.32. Zero means that other threads may exist, which is always correct.
char __libc_single_threaded = 0;

// 2.30.
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.33. Before, they were macros. The kernel and glibc share the structure.
int fstatat(int folder, const char* path, struct stat* found, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, found, flags);
}
int stat(const char* path, struct stat* found) {
  return fstatat(AT_FDCWD, path, found, 0);
}
int lstat(const char* path, struct stat* found) {
  return fstatat(AT_FDCWD, path, found, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* found) {
  return fstatat(file, "", found, AT_EMPTY_PATH);
}
int fstat64(int file, struct stat64* found) {
  return fstat(file, (struct stat*)found);
}

// 2.36, for std::random_device.
uint32_t arc4random(void) {
  uint32_t bits = 0;
  if (getrandom(&bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) abort();
  return bits;
}

// 2.30. A condition variable of the standard library uses the real-time clock.
// Setting that clock makes this wait longer or shorter, as in programs that
// were built for 2.28.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                           clockid_t clock, const struct timespec* until) {
  struct timespec now, real;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &real);
  real.tv_sec += until->tv_sec - now.tv_sec;
  real.tv_nsec += until->tv_nsec - now.tv_nsec;
  const long second = 1000000000;
  if (real.tv_nsec < 0) {
    real.tv_nsec += second;
    --real.tv_sec;
  } else if (real.tv_nsec >= second) {
    real.tv_nsec -= second;
    ++real.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &real);
}

// 2.38. Its headers use these instead of C's own functions. Only these read
// 0b101 as 5. Here the result is 0 and a rest, as in 2.28.
#define ISOC23(type, name)                                       \
  type plain_##name(const char*, char**, int) __asm__(#name);    \
  type __isoc23_##name(const char* text, char** end, int base) { \
    return plain_##name(text, end, base);                        \
  }
ISOC23(long, strtol)
ISOC23(long long, strtoll)
ISOC23(unsigned long, strtoul)
ISOC23(unsigned long long, strtoull)

// 2.34. Without it the child inherits files that lack O_CLOEXEC.
int posix_spawn_file_actions_addclosefrom_np(
    posix_spawn_file_actions_t* actions, int from) {
  typedef int (*Add)(posix_spawn_file_actions_t*, int);
  const Add add =
      (Add)dlsym(RTLD_DEFAULT, "posix_spawn_file_actions_addclosefrom_np");
  return add ? add(actions, from) : 0;
}
