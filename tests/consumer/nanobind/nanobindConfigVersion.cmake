# The version that nanobindConfig.cmake stands for.
set(PACKAGE_VERSION 3.1.0)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
