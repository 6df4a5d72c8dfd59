// Radius searches of arrays: results are numpy arrays that own the library's vectors, or go to a callable or a file in
// blocks of rows.
#include "radius.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gil.h"
#include "interrupt.h"
#include "kith/csr.h"
#include "kith/output.h"
#include "kith/shards.h"
#include "matrix.h"
#include "missing.h"
#include "owned.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

template <class T>
nb::object line_of(std::vector<T>&& values) {
    const std::size_t count = values.size();
    return array_of(std::move(values), count);
}

// The result of a call, and the rows of its arguments that hold a NaN.
template <class Found>
struct Counted {
    Found found;
    MissingRows nan;
};

// The points of a call, and what messages call them; null: an Index has them.
struct Points {
    const Matrix* matrix = nullptr;
    const char* name = "points";
};

// Runs `call(queries or null, radius, options)` on what was asked for.
template <class Call>
auto run(const Points& points, const MetricSettings* metric, const RadiusAsk& ask, const Settings& settings,
         const Call& call) {
    HeldOptions held(metric, settings);
    held.options.include_self = ask.include_self;
    const Matrix queries = ask.queries.is_none() ? Matrix() : Matrix(ask.queries, "queries");
    const Matrix radii = ask.radii.is_none() ? Matrix() : Matrix(ask.radii, "r");
    Radius radius(ask.r);
    radius.each = radii.view();
    radius.open = ask.open;
    NanCount of_points, of_queries;
    if (points.matrix) of_points = NanCount(*points.matrix, points.name, settings);
    if (!ask.queries.is_none()) of_queries = NanCount(queries, "queries", settings);
    Interruptible interruptible(held.options, settings.progress);
    auto found = interruptible.run(
        [&] { return call(ask.queries.is_none() ? nullptr : &queries.view(), radius, held.options); });
    return Counted{std::move(found), MissingRows{of_points.rows(), of_queries.rows()}};
}

nb::tuple rows_of(RadiusNeighbors&& found, const MissingRows& nan, bool f64) {
    nb::object distances = f64 ? line_of(std::move(found.distances64)) : line_of(std::move(found.distances));
    return nb::make_tuple(line_of(std::move(found.offsets)), line_of(std::move(found.ids)), distances,
                          CountedReport(std::move(found.report), nan));
}

nb::tuple rows_of(Counted<RadiusNeighbors>&& counted, bool f64) {
    return rows_of(std::move(counted.found), counted.nan, f64);
}

nb::tuple counts_of(Counted<RadiusCounts>&& counted) {
    return nb::make_tuple(line_of(std::move(counted.found.counts)),
                          CountedReport(std::move(counted.found.report), counted.nan));
}

// Hands blocks to `take(first, distances, indices, offsets)`, as arrays of their own; what it raises ends the search.
TakeRadiusRows handing_to(nb::handle take) {
    return [take](const RadiusRows& rows) {
        const AcquiredGil acquired;
        const auto copied = [](const auto* values, std::int64_t count) {
            return line_of(std::vector(values, values + count));
        };
        const std::int64_t count = rows.offsets[rows.count];
        call(take, nb::make_tuple(rows.first,
                                  rows.distances64 ? copied(rows.distances64, count) : copied(rows.distances, count),
                                  copied(rows.ids, count), copied(rows.offsets, rows.count + 1)));
    };
}

// Blocks of rows: `blocks(queries or null, radius, options, take)` with the rows going to `to`, a callable or the path
// of a sparse matrix of `columns`, one of each point.
template <class Blocks>
CountedReport blocks_to(const Points& points, const MetricSettings* metric, const RadiusAsk& ask,
                        const Settings& settings, std::int64_t columns, nb::handle to, const Blocks& blocks) {
    const bool file = nb::isinstance<nb::str>(to);
    std::string path;
    OutputSet outputs;
    std::unique_ptr<CsrWriter> csr;
    TakeRadiusRows take;
    if (file) {
        path = nb::cast<std::string>(to);
        outputs.add_bytes("csr", path);
        csr = std::make_unique<CsrWriter>(outputs, path, columns, settings.f64);
        take = [&](const RadiusRows& rows) { csr->append(rows); };
    } else {
        take = handing_to(to);
    }
    auto [report, nan] = run(points, metric, ask, settings,
                             [&](const MatrixView* queries, const Radius& radius, const Options& options) {
                                 Report found = blocks(queries, radius, options, take);
                                 if (csr) {
                                     csr->finish();
                                     outputs.commit();
                                 }
                                 return found;
                             });
    return {std::move(report), nan};
}

// (offsets, indices, keys, report) of a shard. `first_query` below 0: the queries are no points.
nb::tuple radius_of_shard(nb::handle points, std::int64_t first_point, std::int64_t first_query, const RadiusAsk& ask,
                          const MetricSettings& metric, const Settings& settings) {
    const Matrix p(points, "points");
    RadiusNeighbors all;
    all.offsets.push_back(0);
    const TakeRadiusRows take = [&](const RadiusRows& rows) {
        const std::int64_t before = all.offsets.back(), count = rows.offsets[rows.count];
        for (std::int64_t i = 1; i <= rows.count; ++i) all.offsets.push_back(before + rows.offsets[i]);
        all.ids.insert(all.ids.end(), rows.ids, rows.ids + count);
        all.distances64.insert(all.distances64.end(), rows.distances64, rows.distances64 + count);
    };
    auto [report, nan] = run(
        {&p, "shard"}, &metric, ask, settings, [&](const MatrixView* of, const Radius& radius, const Options& options) {
            return first_query < 0 ? radius_shard(p.view(), first_point, *of, radius, options, take)
                                   : radius_graph_shard(p.view(), first_point, *of, first_query, radius, options, take);
        });
    all.report = std::move(report);
    return rows_of(std::move(all), nan, true);
}

nb::tuple radius_counts_of_shard(nb::handle points, std::int64_t first_point, std::int64_t first_query,
                                 const RadiusAsk& ask, const MetricSettings& metric, const Settings& settings) {
    const Matrix p(points, "points");
    return counts_of(run(
        {&p, "shard"}, &metric, ask, settings, [&](const MatrixView* of, const Radius& radius, const Options& options) {
            return first_query < 0
                       ? radius_shard_counts(p.view(), *of, radius, options)
                       : radius_graph_shard_counts(p.view(), first_point, *of, first_query, radius, options);
        }));
}

template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// `parts`: tuples of offsets, indices and keys, which fit each other.
nb::tuple merge_of_shards(const nb::list& parts, std::int64_t dimensions, const MetricSettings& metric,
                          const Settings& settings) {
    struct Part {
        Line<std::int64_t> offsets, ids;
        Line<double> keys;
    };
    std::vector<Part> held;
    std::vector<RadiusRows> rows;
    for (const nb::handle part : parts) {
        held.push_back({nb::cast<Line<std::int64_t>>(part[0]), nb::cast<Line<std::int64_t>>(part[1]),
                        nb::cast<Line<double>>(part[2])});
        const Part& last = held.back();
        rows.push_back({.count = static_cast<std::int64_t>(last.offsets.shape(0)) - 1,
                        .offsets = last.offsets.data(),
                        .ids = last.ids.data(),
                        .distances64 = last.keys.data()});
    }
    const HeldOptions options(&metric, settings);
    RadiusNeighbors found;
    {
        const ReleasedGil released;
        found = merge_radius(rows, dimensions, options.options);
    }
    return rows_of(std::move(found), {}, settings.f64);
}

}  // namespace

nb::tuple radius_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings) {
    return rows_of(run({}, nullptr, ask, settings,
                       [&](const MatrixView* queries, const Radius& r, const Options& options) {
                           return queries ? index.radius(*queries, r, options) : index.radius_graph(r, options);
                       }),
                   settings.f64);
}

nb::tuple radius_counts_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings) {
    return counts_of(
        run({}, nullptr, ask, settings, [&](const MatrixView* queries, const Radius& r, const Options& options) {
            return queries ? index.radius_counts(*queries, r, options) : index.radius_graph_counts(r, options);
        }));
}

CountedReport radius_blocks_of_index(const Index& index, const RadiusAsk& ask, const Settings& settings,
                                     nb::handle to) {
    return blocks_to(
        {}, nullptr, ask, settings, index.size(), to,
        [&](const MatrixView* queries, const Radius& r, const Options& options, const TakeRadiusRows& take) {
            return queries ? index.radius_blocks(*queries, r, options, take)
                           : index.radius_graph_blocks(r, options, take);
        });
}

void add_radius(nb::module_& module) {
    module.def(
        "radius_blocks",
        [](nb::handle points, nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
           const MetricSettings& metric, const Settings& settings, nb::handle to) {
            const Matrix p(points, "points");
            return blocks_to(
                {&p}, &metric, {queries, r, radii, open, include_self}, settings, p.view().rows, to,
                [&](const MatrixView* of, const Radius& radius, const Options& options, const TakeRadiusRows& take) {
                    return of ? kith::radius_blocks(p.view(), *of, radius, options, take)
                              : radius_graph_blocks(p.view(), radius, options, take);
                });
        },
        nb::arg("points").none(), nb::arg("queries").none(), nb::arg("r"), nb::arg("radii").none(), nb::arg("open"),
        nb::arg("include_self"), nb::arg("metric"), nb::arg("settings"), nb::arg("to"));
    module.def(
        "radius",
        [](nb::handle points, nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
           const MetricSettings& metric, const Settings& settings) {
            const Matrix p(points, "points");
            const RadiusAsk ask{queries, r, radii, open, include_self};
            return rows_of(run({&p}, &metric, ask, settings,
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
            return counts_of(run({&p}, &metric, ask, settings,
                                 [&](const MatrixView* of, const Radius& radius, const Options& options) {
                                     return of ? kith::radius_counts(p.view(), *of, radius, options)
                                               : radius_graph_counts(p.view(), radius, options);
                                 }));
        },
        nb::arg("points").none(), nb::arg("queries").none(), nb::arg("r"), nb::arg("radii").none(), nb::arg("open"),
        nb::arg("include_self"), nb::arg("metric"), nb::arg("settings"));
    module.def(
        "radius_shard",
        [](nb::handle points, std::int64_t first_point, nb::handle queries, std::int64_t first_query, double r,
           nb::handle radii, bool open, const MetricSettings& metric, const Settings& settings) {
            return radius_of_shard(points, first_point, first_query, {queries, r, radii, open, false}, metric,
                                   settings);
        },
        nb::arg("points").none(), nb::arg("first_point"), nb::arg("queries"), nb::arg("first_query"), nb::arg("r"),
        nb::arg("radii").none(), nb::arg("open"), nb::arg("metric"), nb::arg("settings"));
    module.def(
        "radius_shard_counts",
        [](nb::handle points, std::int64_t first_point, nb::handle queries, std::int64_t first_query, double r,
           nb::handle radii, bool open, const MetricSettings& metric, const Settings& settings) {
            return radius_counts_of_shard(points, first_point, first_query, {queries, r, radii, open, false}, metric,
                                          settings);
        },
        nb::arg("points").none(), nb::arg("first_point"), nb::arg("queries"), nb::arg("first_query"), nb::arg("r"),
        nb::arg("radii").none(), nb::arg("open"), nb::arg("metric"), nb::arg("settings"));
    module.def("merge_radius_shards", merge_of_shards, nb::arg("parts"), nb::arg("dimensions"), nb::arg("metric"),
               nb::arg("settings"));
}

}  // namespace kith::python
