// The names of the component's paths, known to every build (plan.h).
#include <algorithm>

#include "papers/distance/distance_kernels.h"
#include "papers/fused/fused_kernels.h"
#include "papers/names.h"
#include "papers/plan.h"

namespace kith::papers {

bool is_path(std::string_view path) {
    return path.find('+') != std::string_view::npos || path == hanak_rule || is_graph_path(path) ||
           gpu::find_fused_kernel(path);
}

bool is_graph_path(std::string_view path) {
    return path == kato;
}

std::string_view selector_of(std::string_view path) {
    const std::size_t plus = path.find('+');
    return plus == std::string_view::npos ? "" : path.substr(plus + 1);
}

bool is_kernel(std::string_view path) {
    return gpu::find_distance_kernel(path);
}

std::string kernel_names() {
    std::string names;
    for (const gpu::DistanceKernel& kernel : gpu::distance_kernels)
        names.append(names.empty() ? "" : ", ").append(kernel.name);
    return names;
}

}  // namespace kith::papers
