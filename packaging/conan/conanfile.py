"""kith for Conan 2, of the clone that this file lies in: conan create packaging/conan --build=missing"""
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Kith(ConanFile):
    name = "kith"
    description = "Exact k-nearest-neighbour search on CPUs and GPUs"
    license = "Apache-2.0"
    topics = ("nearest-neighbours", "exact", "simd", "cuda")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "io": [True, False], "cuda": [True, False]}
    default_options = {"shared": False, "io": False, "cuda": False}

    @property
    def _clone(self):
        return os.path.normpath(os.path.join(self.recipe_folder, "..", ".."))

    def set_version(self):
        header = load(self, os.path.join(self._clone, "include", "kith", "version.h"))
        self.version = re.search(r'define KITH_VERSION "([^"]+)"', header)[1]

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, self._clone, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires("fmt/[>=9 <13]")
        if self.options.io:
            self.requires("zlib/[>=1.2.11 <2]")
            self.requires("nlohmann_json/[>=3.10 <4]")

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables |= {
            "KITH_CUDA": "ON" if self.options.cuda else "OFF", "KITH_IO": bool(self.options.io), "KITH_HDF5": "OFF",
            "KITH_PARQUET": "OFF", "KITH_CLI": False, "KITH_TESTS": False, "KITH_BENCH": False, "KITH_PAPERS": False}
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        for folder in ("cmake", "pkgconfig"):  # Conan writes its own
            rmdir(self, os.path.join(self.package_folder, "lib", folder))
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "kith")
        core = self.cpp_info.components["kith"]
        core.set_property("cmake_target_name", "kith::kith")
        core.libs = ["kith"]
        core.requires = ["fmt::fmt"]
        core.system_libs = ["m", "pthread", "dl"]
        if self.options.io:
            files = self.cpp_info.components["io"]
            files.set_property("cmake_target_name", "kith::io")
            files.libs = ["kith_io"]
            files.requires = ["kith", "zlib::zlib", "nlohmann_json::nlohmann_json"]
