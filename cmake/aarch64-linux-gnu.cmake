# Toolchain: 64-bit Arm by Debian's cross compiler, with the libraries of KITH_SYSROOT (scripts/wheel-aarch64). Programs that
# the build runs, as tests, run by KITH_EMULATOR.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KITH_SYSROOT)
set(CMAKE_SYSROOT ${KITH_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${KITH_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${KITH_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${KITH_SYSROOT}/usr/share/pkgconfig)
if(KITH_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${KITH_EMULATOR} -L ${KITH_SYSROOT})
endif()
