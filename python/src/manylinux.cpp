// Functions of a newer glibc or libstdc++ that GCC's headers and objects call, for what is linked to run on
// manylinux_2_28 (cmake/KithManylinux.cmake): by older ones. Hidden, so that each library has its own.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <new>

#define HIDDEN __attribute__((visibility("hidden")))

namespace {

// A moment of another clock on the clock that the older functions wait by. Where that is set meanwhile the wait is too
// long or too short, as it was in libstdc++ before these functions; callers look at their own clock when they wake.
timespec on_wall_clock(clockid_t clock, const timespec& until) {
    constexpr long second = 1000000000;
    timespec there{};
    timespec here{};
    clock_gettime(clock, &there);
    clock_gettime(CLOCK_REALTIME, &here);
    here.tv_sec += until.tv_sec - there.tv_sec;
    here.tv_nsec += until.tv_nsec - there.tv_nsec;
    if (here.tv_nsec < 0) here.tv_nsec += second, --here.tv_sec;
    if (here.tv_nsec >= second) here.tv_nsec -= second, ++here.tv_sec;
    return here;
}

}  // namespace

extern "C" {

// glibc 2.32. Zero: there may be other threads, reference counts are atomic.
HIDDEN extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// glibc 2.30.
HIDDEN pid_t gettid() noexcept {
    return static_cast<pid_t>(syscall(SYS_gettid));
}
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
    const timespec then = on_wall_clock(clock, *until);
    return pthread_cond_timedwait(condition, mutex, &then);
}
HIDDEN int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const struct timespec* until) {
    const timespec then = on_wall_clock(clock, *until);
    return pthread_mutex_timedlock(mutex, &then);
}

// glibc 2.33. Before, programs had them compiled in, as calls of these. 64 bits either way.
int __xstat(int version, const char* path, struct stat* status);
int __lxstat(int version, const char* path, struct stat* status);
int __fxstat(int version, int file, struct stat* status);
int __fxstatat(int version, int folder, const char* path, struct stat* status, int flags);
#ifdef __x86_64__
constexpr int stat_version = 1;
#else
constexpr int stat_version = 0;
#endif
HIDDEN int stat(const char* path, struct stat* status) {
    return __xstat(stat_version, path, status);
}
HIDDEN int lstat(const char* path, struct stat* status) {
    return __lxstat(stat_version, path, status);
}
HIDDEN int fstat(int file, struct stat* status) {
    return __fxstat(stat_version, file, status);
}
HIDDEN int fstatat(int folder, const char* path, struct stat* status, int flags) {
    return __fxstatat(stat_version, folder, path, status, flags);
}

// libstdc++ of GCC 11.
[[noreturn]] HIDDEN void throw_bad_array_new_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
void throw_bad_array_new_length() {
    throw std::bad_array_new_length();
}

// libstdc++ of GCC 11: std::exception_ptr's _M_addref and _M_release, by its copy constructor and its destructor.
void copy_exception_ptr(void* to, const void* from) __asm__("_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void drop_exception_ptr(void* pointer) __asm__("_ZNSt15__exception_ptr13exception_ptrD1Ev");
HIDDEN void add_exception_ptr(void* self) __asm__("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
HIDDEN void release_exception_ptr(void* self) __asm__("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv");
void add_exception_ptr(void* self) {
    void* copy = nullptr;  // kept: it is the reference that is added
    copy_exception_ptr(&copy, self);
}
void release_exception_ptr(void* self) {
    void** const object = static_cast<void**>(self);
    void* last = *object;
    *object = nullptr;
    drop_exception_ptr(&last);
}

}  // extern "C"
