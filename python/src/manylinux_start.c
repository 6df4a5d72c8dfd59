// Programs that Debian 12 and newer link leave their initialisers to the C library, which runs them from glibc 2.34 on.
// An older one runs those that it is handed (cmake/KithManylinux.cmake).
#include <stddef.h>

typedef void initialiser(int, char**, char**);
typedef int program(int, char**, char**);

#define HIDDEN __attribute__((visibility("hidden")))
extern HIDDEN initialiser* const __preinit_array_start[];
extern HIDDEN initialiser* const __preinit_array_end[];
extern HIDDEN initialiser* const __init_array_start[];
extern HIDDEN initialiser* const __init_array_end[];
extern HIDDEN void _init(void);

static void initialise(int count, char** arguments, char** environment) {
    for (initialiser* const* one = __preinit_array_start; one != __preinit_array_end; ++one) {
        (*one)(count, arguments, environment);
    }
    _init();
    for (initialiser* const* one = __init_array_start; one != __init_array_end; ++one) {
        (*one)(count, arguments, environment);
    }
}

// The linker has _start call the second in place of the first (--wrap).
int __real___libc_start_main(program*, int, char**, initialiser*, void (*)(void), void (*)(void), void*);
int __wrap___libc_start_main(program* main, int count, char** arguments, initialiser* unused, void (*end)(void),
                             void (*end_of_loader)(void), void* stack) {
    (void)unused;
    return __real___libc_start_main(main, count, arguments, initialise, end, end_of_loader, stack);
}
