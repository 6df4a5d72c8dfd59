"""kith for Spack. In a clone: spack repo add of a repository that holds this file, then spack dev-build kith@VERSION."""
from spack.package import *


class Kith(CMakePackage, CudaPackage):
    """Exact k-nearest-neighbour search on CPUs and GPUs: the true neighbours, the same bits everywhere."""

    license("Apache-2.0")

    version("0.1.0")  # a release adds the sha256 of its source distribution

    variant("shared", default=True, description="Build shared libraries")
    variant("io", default=True, description="Build kith::io, the file formats")
    variant("hdf5", default=True, when="+io", description="Read and write HDF5 files")
    variant("cli", default=True, when="+io", description="Build the command kith")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3:", type="build", when="+cli")
    depends_on("fmt@9:")
    depends_on("zlib-api", when="+io")
    depends_on("nlohmann-json@3.10:", when="+io")
    depends_on("hdf5@1.10:", when="+hdf5")
    depends_on("cli11@2.2:", when="+cli")
    depends_on("libpng@1.6:", when="+cli")
    depends_on("cuda@12:", when="+cuda")

    conflicts("%gcc@:11")
    conflicts("%clang@:13")

    def cmake_args(self):
        arguments = [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("KITH_CUDA", "cuda"),
            self.define_from_variant("KITH_IO", "io"),
            self.define_from_variant("KITH_HDF5", "hdf5"),
            self.define_from_variant("KITH_CLI", "cli"),
            self.define("KITH_PARQUET", False),
            self.define("KITH_TESTS", False),
            self.define("KITH_BENCH", False),
        ]
        chosen = self.spec.variants["cuda_arch"].value if self.spec.satisfies("+cuda") else ("none",)
        if "none" not in chosen:
            arguments.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(chosen)))
        return arguments
