# SPDX-FileCopyrightText: 2026 The tensoa authors
# SPDX-License-Identifier: Apache-2.0
#
# Linted, not run: `make lint` checks this file, no Spack has built it.
#
# What a packager has to fill in: `homepage` and `git`, because the project has no public repository yet (until then, Spack
# builds a checkout: `spack develop --path DIR tensoa@main`); `maintainers`; a `version` with its sha256 for each release.
# glibc must be 2.34 or newer: threads, dlopen and shm_open are in libc itself from there on.
from spack.package import EnvironmentModifications, conflicts, depends_on, join_path, license, requires, variant, version
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage


class Tensoa(CMakePackage, CudaPackage):
    """Runs machine-learning models directly on structure-of-arrays data in CPU or GPU memory, with no copy into tensors."""

    license("Apache-2.0")

    version("main", branch="main")

    # TENSOA_DEVICE=hip is left out: it has never run on AMD hardware.
    variant("torch", default=False, description="Run TorchScript, torch.export and TorchInductor; packages need no torch")
    variant("sched", default=True, description="Run events on the threads of oneTBB")
    variant("columnar", default=True, description="Read and write Parquet, Arrow and CSV files")
    variant("track", default=True, description="Build the tracking application")
    variant("tools", default=True, description="Build the program tensoa")
    variant("remote", default=True, description="Call models of servers, by KServe v2 over gRPC")
    variant("triton", default=True, description="Build the back-end of Triton servers")
    variant("python", default=True, description="Build tensoa.Model for Python")

    requires("platform=linux", msg="tensoa supports Linux only")
    requires("target=x86_64:", msg="tensoa supports x86-64 only")
    requires("+sched+columnar+track", when="+tools", msg="the program tensoa uses these layers")
    conflicts("%gcc@:11", msg="tensoa needs C++20 as g++ 12 has it")
    conflicts("%clang@:15", msg="tensoa needs C++20 as clang 16 has it")

    # Versions stand only where CMake or the code requires one.
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("cli11", type="build", when="+tools")
    depends_on("fmt", type="build", when="+tools")

    depends_on("tbb", when="+sched")
    conflicts("^intel-tbb@:2020", when="+sched", msg="tensoa waits with tbb::task::suspend of oneTBB")

    # 23 is the oldest Arrow that columnar/ was compiled with; +python needs only headers of it.
    for layer in ("+columnar", "+track"):
        depends_on("arrow@23:+compute+csv+ipc+parquet+shared +brotli+lz4+snappy+zlib+zstd", when=layer)
    depends_on("arrow@23:", when="+python")

    # Static libraries of gRPC would need those below it named. cxxstd: the same std::string_view as in our headers.
    depends_on("grpc@1.51:+shared cxxstd=17", when="+remote")
    depends_on("abseil-cpp+shared", when="+remote")

    depends_on("py-torch@2.11:", when="+torch")
    depends_on("py-torch+cuda", when="+torch+cuda")
    depends_on("cuda@12.8:", when="+cuda")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"py-torch cuda_arch={arch}", when=f"+torch+cuda cuda_arch={arch}")

    depends_on("python@3.11:", type=("build", "run"), when="+python")
    depends_on("py-nanobind", type="build", when="+python")
    depends_on("py-numpy", type=("build", "run"), when="+python")

    build_targets = ["tensoa_installed"]

    def cmake_args(self):
        spec = self.spec
        args = [
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define("CMAKE_UNITY_BUILD", True),
            self.define("TENSOA_BENCH", False),
            self.define("TENSOA_BUILD_BENCHMARKS", False),
            self.define("TENSOA_BUILD_TESTS", False),
            self.define("TENSOA_DEVICE", "cuda" if spec.satisfies("+cuda") else "none"),
            self.define_from_variant("TENSOA_COLUMNAR", "columnar"),
            self.define_from_variant("TENSOA_PYTHON", "python"),
            self.define_from_variant("TENSOA_PYTORCH", "torch"),
            self.define_from_variant("TENSOA_REMOTE", "remote"),
            self.define_from_variant("TENSOA_SCHED", "sched"),
            self.define_from_variant("TENSOA_TOOLS", "tools"),
            self.define_from_variant("TENSOA_TRACK", "track"),
            self.define_from_variant("TENSOA_TRITON", "triton"),
        ]
        if spec.satisfies("+cuda"):
            args.append(self.define("TENSOA_CUDA_ROOT", spec["cuda"].prefix))
            if not spec.satisfies("cuda_arch=none"):
                args.append(self.define("CMAKE_CUDA_ARCHITECTURES", spec.variants["cuda_arch"].value))
        if spec.satisfies("+torch"):
            # torch/share/cmake is what py-torch has for CMake; include/ and lib/ are in torch/.
            args.append(self.define("TENSOA_TORCH_ROOT", join_path(spec["py-torch"].package.cmake_prefix_paths[0], "..", "..")))
        if spec.satisfies("+columnar") or spec.satisfies("+track") or spec.satisfies("+python"):
            args.append(self.define("Arrow_DIR", join_path(spec["arrow"].libs.directories[0], "cmake", "Arrow")))
        if spec.satisfies("+python"):
            args.append(self.define("Python_EXECUTABLE", spec["python"].command.path))
        return args

    def setup_run_environment(self, env: EnvironmentModifications) -> None:
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH", join_path(self.prefix, "share", "tensoa", "python"))
