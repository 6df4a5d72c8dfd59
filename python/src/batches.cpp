// Batches as rows of a table, and as clouds that are padded to the same number of rows.
#include "batches.h"

#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "interrupt.h"
#include "into.h"
#include "kith/batches.h"
#include "matrix.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

// `batches`: rows of (first point, points, first query, queries), i64, contiguous, on the host.
CountedReport search_batches_in(nb::handle points, nb::handle queries, nb::handle batches, std::int64_t k,
                                const MetricSettings& metric, const Settings& settings, nb::handle ids,
                                nb::handle distances) {
    const Matrix p(points, "points");
    const Matrix q(queries, "queries");
    const Matrix table(batches, "batches");
    const auto* row = static_cast<const std::int64_t*>(table.view().data);
    std::vector<Batch> all(static_cast<std::size_t>(table.view().rows));
    for (Batch& batch : all) {
        batch = {row[0], row[1], row[2], row[3]};
        row += 4;
    }
    return into({&p, &q}, &metric, settings, false, q.view().rows, k, ids, distances, distance_type(settings),
                [&](const Options& options, auto& out) {
                    return search_batches_into(p.view(), q.view(), all, k, options, out);
                });
}

using Lengths = std::optional<std::vector<std::int64_t>>;

// Clouds of `rows` rows each, contiguous, in numbers: each knows how many of its rows count.
struct Clouds {
    nb::object owner;  // keeps the memory
    std::uintptr_t data;
    std::string type;
    std::int64_t rows;
    int device;
    Lengths lengths;
};

void check(const Lengths& lengths, std::int64_t clouds, std::int64_t rows, const char* name) {
    if (!lengths) return;
    bool right = static_cast<std::int64_t>(lengths->size()) == clouds;
    for (const std::int64_t length : *lengths) right = right && length >= 0 && length <= rows;
    if (right) return;
    const std::string text =
        fmt::format("{}: expected {} numbers from 0 to {}, got [{}]", name, clouds, rows, fmt::join(*lengths, ", "));
    throw nb::value_error(text.c_str());
}

// For each point of cloud i of `queries` the k nearest of cloud i of `points`. Results: clouds x queries.rows x k, on
// the queries' device; `distances` f32, or f64 with `f64`.
void search_clouds_in(const Clouds& points, const Clouds& queries, std::int64_t clouds, std::int64_t dimensions,
                      std::int64_t k, const std::string& metric, bool f64, std::uintptr_t stream, std::uintptr_t ids,
                      std::uintptr_t distances) {
    check(queries.lengths, clouds, queries.rows, "lengths1");
    check(points.lengths, clouds, points.rows, "lengths2");
    std::vector<Batch> batches(static_cast<std::size_t>(clouds));
    for (std::size_t i = 0; i < batches.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        batches[i] = {at * points.rows, points.lengths ? (*points.lengths)[i] : points.rows, at * queries.rows,
                      queries.lengths ? (*queries.lengths)[i] : queries.rows};
    }
    const auto view_of = [&](const Clouds& of) {
        return MatrixView{reinterpret_cast<const void*>(of.data),  // NOLINT: a pointer that Python knows as a number
                          clouds * of.rows,
                          dimensions,
                          dimensions,
                          element_type_named(of.type),
                          Layout::row_major,
                          of.device};
    };
    const MatrixView p = view_of(points), q = view_of(queries);
    Options options;
    options.metric = metric_named(metric);
    options.f64 = f64;
    options.stream = reinterpret_cast<void*>(stream);                             // NOLINT: as above
    const NeighborsView out{reinterpret_cast<std::int64_t*>(ids),                 // NOLINT: as above
                            reinterpret_cast<void*>(distances), queries.device};  // NOLINT: as above
    Interruptible interruptible(options, nb::none());
    interruptible.run([&] { return search_batches_into(p, q, batches, k, options, out); });
}

}  // namespace

void add_batches(nb::module_& module) {
    module.def("search_batches", search_batches_in, nb::arg("points").none(), nb::arg("queries").none(),
               nb::arg("batches"), nb::arg("k"), nb::arg("metric"), nb::arg("settings"), nb::arg("ids").none(),
               nb::arg("distances").none());
    nb::class_<Clouds>(module, "Clouds")
        .def(nb::init<nb::object, std::uintptr_t, std::string, std::int64_t, int, Lengths>(), nb::arg("owner"),
             nb::arg("data"), nb::arg("type"), nb::arg("rows"), nb::arg("device"), nb::arg("lengths").none());
    module.def("search_clouds", search_clouds_in, nb::arg("points"), nb::arg("queries"), nb::arg("clouds"),
               nb::arg("dimensions"), nb::arg("k"), nb::arg("metric"), nb::arg("f64"), nb::arg("stream"),
               nb::arg("ids"), nb::arg("distances"));
}

}  // namespace kith::python
