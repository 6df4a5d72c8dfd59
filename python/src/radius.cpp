// Radius searches of arrays: results are numpy arrays that own the library's vectors.
#include "radius.h"

#include <utility>
#include <vector>

#include "interrupt.h"
#include "matrix.h"
#include "owned.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

template <class T>
nb::object line_of(std::vector<T>&& values) {
    const std::size_t count = values.size();
    return array_of(std::move(values), count);
}

// Runs `call(queries or null, radius, options)` on what was asked for.
template <class Call>
auto run(const MetricSettings* metric, const RadiusAsk& ask, const Settings& settings, const Call& call) {
    HeldOptions held(metric, settings);
    held.options.include_self = ask.include_self;
    const Matrix queries = ask.queries.is_none() ? Matrix() : Matrix(ask.queries, "queries");
    const Matrix radii = ask.radii.is_none() ? Matrix() : Matrix(ask.radii, "r");
    Radius radius(ask.r);
    radius.each = radii.view();
    radius.open = ask.open;
    Interruptible interruptible(held.options, settings.progress);
    return interruptible.run(
        [&] { return call(ask.queries.is_none() ? nullptr : &queries.view(), radius, held.options); });
}

nb::tuple rows_of(RadiusNeighbors&& found, bool f64) {
    nb::object distances = f64 ? line_of(std::move(found.distances64)) : line_of(std::move(found.distances));
    return nb::make_tuple(line_of(std::move(found.offsets)), line_of(std::move(found.ids)), distances, found.report);
}

nb::tuple counts_of(RadiusCounts&& found) {
    return nb::make_tuple(line_of(std::move(found.counts)), found.report);
}

}  // namespace

nb::tuple radius_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings) {
    return rows_of(run(nullptr, ask, settings,
                       [&](const MatrixView* queries, const Radius& r, const Options& options) {
                           return queries ? index.radius(*queries, r, options) : index.radius_graph(r, options);
                       }),
                   settings.f64);
}

nb::tuple radius_counts_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings) {
    return counts_of(
        run(nullptr, ask, settings, [&](const MatrixView* queries, const Radius& r, const Options& options) {
            return queries ? index.radius_counts(*queries, r, options) : index.radius_graph_counts(r, options);
        }));
}

void add_radius(nb::module_& module) {
    module.def(
        "radius",
        [](nb::handle points, nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
           const MetricSettings& metric, const Settings& settings) {
            const Matrix p(points, "points");
            const RadiusAsk ask{queries, r, radii, open, include_self};
            return rows_of(run(&metric, ask, settings,
                               [&](const MatrixView* of, const Radius& radius, const Options& options) {
                                   return of ? kith::radius(p.view(), *of, radius, options)
                                             : radius_graph(p.view(), radius, options);
                               }),
                           settings.f64);
        },
        nb::arg("points").none(), nb::arg("queries").none(), nb::arg("r"), nb::arg("radii").none(), nb::arg("open"),
        nb::arg("include_self"), nb::arg("metric"), nb::arg("settings"));
    module.def(
        "radius_counts",
        [](nb::handle points, nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
           const MetricSettings& metric, const Settings& settings) {
            const Matrix p(points, "points");
            const RadiusAsk ask{queries, r, radii, open, include_self};
            return counts_of(
                run(&metric, ask, settings, [&](const MatrixView* of, const Radius& radius, const Options& options) {
                    return of ? kith::radius_counts(p.view(), *of, radius, options)
                              : radius_graph_counts(p.view(), radius, options);
                }));
        },
        nb::arg("points").none(), nb::arg("queries").none(), nb::arg("r"), nb::arg("radii").none(), nb::arg("open"),
        nb::arg("include_self"), nb::arg("metric"), nb::arg("settings"));
}

}  // namespace kith::python
