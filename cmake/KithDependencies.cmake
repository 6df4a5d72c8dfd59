# What the library is built on, found at the top so that every directory of the project sees the imported targets.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(KITH_HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(KITH_HDF5 REQUIRED IMPORTED_TARGET hdf5-serial)
