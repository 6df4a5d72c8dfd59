# What the library is built on, found at the top so that every directory of the project sees the imported targets.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)

# Of kith::io only.
set(KITH_HAVE_HDF5 OFF)
if(KITH_IO)
  find_package(ZLIB REQUIRED)
  if(KITH_HDF5)
    if(NOT KITH_HDF5 STREQUAL "AUTO")
      set(required REQUIRED)
    endif()
    # Debian's name, then that of others.
    pkg_search_module(KITH_HDF5 ${required} QUIET IMPORTED_TARGET hdf5-serial hdf5)
    if(KITH_HDF5_FOUND)
      set(KITH_HAVE_HDF5 ON)
    endif()
  endif()
  message(STATUS "kith: HDF5 files ${KITH_HAVE_HDF5}")
endif()
