// build_info(): what this build and this machine have.
#include <fmt/format.h>
#include <omp.h>

#include "cpu/isa.h"
#include "cpu/selectors.h"
#include "gpu/backend.h"
#include "gpu/select/selectors.h"
#include "kith/io.h"
#include "kith/kith.h"
#include "plan/planner.h"

namespace kith {

namespace {

// A line for each: its range of k and what it does.
template <class Selectors>
std::string lines_of(const Selectors& selectors) {
    std::string text;
    for (const auto& s : selectors) {
        const std::string range =
            s.max_k ? fmt::format("k {} to {}", s.min_k, s.max_k) : fmt::format("k from {}", s.min_k);
        text += fmt::format("  {:<34} {:<14} {}\n", s.name, range, s.what);
    }
    return text;
}

}  // namespace

std::string build_info() {
    std::string text = fmt::format("kith {}\n", KITH_VERSION);
    text += fmt::format("cpu          {} threads, instruction sets:", omp_get_max_threads());
    for (int i = cpu::isa_count - 1; i >= 0; --i) {
        const auto isa = static_cast<cpu::Isa>(i);
        text += fmt::format(" {}{}", cpu::name(isa), cpu::supported(isa) ? "" : " (not on this machine)");
    }
    text += '\n';
    const int devices = gpu::device_count();
    if (devices == 0) text += fmt::format("gpu          none: {}\n", gpu::absence());
    for (int i = 0; i < devices; ++i) {
        const gpu::DeviceInfo info = gpu::device_info(i);
        text += fmt::format(
            "cuda:{}       {}, compute capability {}.{}, {} multiprocessors, {:.1f} of {:.1f} GiB free\n", i, info.name,
            info.capability / 10, info.capability % 10, info.multiprocessors,
            static_cast<double>(info.free_bytes) / (1 << 30), static_cast<double>(info.total_bytes) / (1 << 30));
    }
    text += "metrics      ";
#define KITH_METRIC(name, type, aliases, what) text += #name " ";
#include "kith/metrics.def"
#undef KITH_METRIC
    text += "formula functor\npaths        ";
    for (const planner::Path& path : planner::paths())
        text += fmt::format("{} ({}{}{}) ", path.name, path.on_cpu ? "cpu" : "", path.on_cpu && path.on_gpu ? ", " : "",
                            path.on_gpu ? "gpu" : "");
    text += "\nselectors of the CPU\n" + lines_of(cpu::selectors);
    text += "selectors of a GPU\n" + lines_of(gpu::selectors);
    text += "formats\n" + formats_help();
    return text;
}

}  // namespace kith
