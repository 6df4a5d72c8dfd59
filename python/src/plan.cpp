// Plans without data, and the lists of paths and selectors.
#include "kith/plan.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <vector>

#include "kith/algorithms.h"
#include "kith/error.h"
#include "modules.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

// Name, on a CPU, on a GPU, before a selector, of graphs alone, a line.
std::vector<std::tuple<std::string, bool, bool, bool, bool, std::string>> path_list() {
    std::vector<std::tuple<std::string, bool, bool, bool, bool, std::string>> list;
    for (const PathInfo& p : paths())
        list.emplace_back(p.name, p.on_cpu, p.on_gpu, p.takes_selector, p.graphs_only, p.what);
    return list;
}

// Name, on a GPU, the least and the largest k, a line.
std::vector<std::tuple<std::string, bool, std::int64_t, std::int64_t, std::string>> selector_list() {
    std::vector<std::tuple<std::string, bool, std::int64_t, std::int64_t, std::string>> list;
    for (const SelectorInfo& s : selectors()) list.emplace_back(s.name, s.on_gpu, s.min_k, s.max_k, s.what);
    return list;
}

ElementType element_named(const std::string& name) {
    for (const ElementType type :
         {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i8, ElementType::u8})
        if (name == kith::name(type)) return type;
    throw Error(ErrorCode::invalid_argument, "type: '" + name + "'; expected f32, f64, f16, bf16, i8 or u8");
}

// Device, path, selector, threads, queries and points of a tile, candidates, bytes, attempts, why, and all as text.
nb::tuple told(const Plan& p) {
    nb::list attempts;
    for (const Attempt& a : p.attempts) attempts.append(nb::make_tuple(std::string(a.strategy), std::string(a.when)));
    const std::string device = p.device == host_memory ? "cpu" : fmt::format("cuda:{}", p.device);
    return nb::make_tuple(device, path_name(p), p.selector, p.query_tile, p.point_tile, p.candidate_capacity,
                          p.workspace_bytes, attempts, p.why, explain(p));
}

nb::tuple plan_of(std::int64_t n, std::int64_t q, std::int64_t d, std::int64_t k, const std::string& type, bool graph,
                  bool prepared, const std::string& machine, const MetricSettings& metric, const Settings& settings) {
    const HeldOptions held(&metric, settings);
    const Shape shape{
        .n = n, .q = q, .d = d, .k = k, .type = element_named(type), .graph = graph, .prepared = prepared};
    return told(machine.empty() ? kith::plan(shape, held.options) : plan_on(machine, shape, held.options));
}

nb::tuple plan_of_topk(std::int64_t rows, std::int64_t cols, std::int64_t k, const std::string& type, bool largest,
                       bool sorted, const Settings& settings) {
    HeldOptions held(nullptr, settings);
    held.options.largest = largest;
    held.options.sorted = sorted;
    return told(plan_select(rows, cols, k, element_named(type), held.options));
}

}  // namespace

void add_plan(nb::module_& module) {
    module.def("paths", path_list);
    module.def("selectors", selector_list);
    module.def("plan", plan_of, nb::arg("n"), nb::arg("q"), nb::arg("d"), nb::arg("k"), nb::arg("type"),
               nb::arg("graph"), nb::arg("prepared"), nb::arg("machine"), nb::arg("metric"), nb::arg("settings"));
    module.def("plan_topk", plan_of_topk, nb::arg("rows"), nb::arg("cols"), nb::arg("k"), nb::arg("type"),
               nb::arg("largest"), nb::arg("sorted"), nb::arg("settings"));
}

}  // namespace kith::python
