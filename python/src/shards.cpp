// The neighbours among parts of the points, and their merge.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "gil.h"
#include "interrupt.h"
#include "kith/shards.h"
#include "matrix.h"
#include "missing.h"
#include "modules.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

template <class T>
using Rows = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

PartialNeighbors partial_of(const Rows<std::int64_t>& ids, const Rows<double>& keys, std::int64_t dimensions) {
    if (ids.shape(0) != keys.shape(0) || ids.shape(1) != keys.shape(1)) {
        throw nb::value_error("indices and keys: expected arrays of one shape");
    }
    const auto rows = static_cast<std::int64_t>(ids.shape(0)), k = static_cast<std::int64_t>(ids.shape(1));
    PartialNeighbors partial{rows, k, dimensions, {}, {}};
    partial.ids.assign(ids.data(), ids.data() + rows * k);
    partial.keys.assign(keys.data(), keys.data() + rows * k);
    return partial;
}

void put(const PartialNeighbors& partial, nb::handle ids, nb::handle keys) {
    const Output ids_out(ids, "indices", ElementType::i64, partial.queries, partial.k);
    const Output keys_out(keys, "keys", ElementType::f64, partial.queries, partial.k);
    std::copy(partial.ids.begin(), partial.ids.end(), static_cast<std::int64_t*>(ids_out.data()));
    std::copy(partial.keys.begin(), partial.keys.end(), static_cast<double*>(keys_out.data()));
}

// `first_query` below 0: the queries are no points.
CountedReport shard_in(nb::handle points, std::int64_t first_point, nb::handle queries, std::int64_t first_query,
                       std::int64_t k, const MetricSettings& metric, const Settings& settings, nb::handle ids,
                       nb::handle keys) {
    const Matrix p(points, "points");
    const Matrix q(queries, "queries");
    HeldOptions held(&metric, settings);
    NanCount of_points(p, "shard", settings), of_queries(q, "queries", settings);
    Interruptible interruptible(held.options, settings.progress);
    Report report;
    const PartialNeighbors found = interruptible.run([&] {
        if (first_query < 0) return search_shard(p.view(), first_point, q.view(), k, held.options, &report);
        return graph_shard(p.view(), first_point, q.view(), first_query, k, held.options, &report);
    });
    put(found, ids, keys);
    return {std::move(report), {of_points.rows(), of_queries.rows()}};
}

void merge_in(const Rows<std::int64_t>& ids_a, const Rows<double>& keys_a, const Rows<std::int64_t>& ids_b,
              const Rows<double>& keys_b, nb::handle ids, nb::handle keys) {
    PartialNeighbors all = partial_of(ids_a, keys_a, 1);
    const PartialNeighbors other = partial_of(ids_b, keys_b, 1);
    {
        const ReleasedGil released;
        merge(all, other);
    }
    put(all, ids, keys);
}

void finish_in(const Rows<std::int64_t>& partial_ids, const Rows<double>& keys, std::int64_t dimensions,
               const MetricSettings& metric, const Settings& settings, nb::handle ids, nb::handle distances) {
    const PartialNeighbors partial = partial_of(partial_ids, keys, dimensions);
    const HeldOptions held(&metric, settings);
    const ElementType type = settings.f64 ? ElementType::f64 : ElementType::f32;
    const Output ids_out(ids, "indices", ElementType::i64, partial.queries, partial.k);
    const Output distances_out(distances, "distances", type, partial.queries, partial.k);
    Neighbors found;
    {
        const ReleasedGil released;
        found = finish(partial, held.options);
    }
    std::copy(found.ids.begin(), found.ids.end(), static_cast<std::int64_t*>(ids_out.data()));
    if (settings.f64) {
        std::copy(found.distances64.begin(), found.distances64.end(), static_cast<double*>(distances_out.data()));
    } else {
        std::copy(found.distances.begin(), found.distances.end(), static_cast<float*>(distances_out.data()));
    }
}

}  // namespace

void add_shards(nb::module_& module) {
    module.def("search_shard", shard_in, nb::arg("points").none(), nb::arg("first_point"), nb::arg("queries").none(),
               nb::arg("first_query"), nb::arg("k"), nb::arg("metric"), nb::arg("settings"), nb::arg("ids"),
               nb::arg("keys"));
    module.def("merge_shards", merge_in, nb::arg("ids_a"), nb::arg("keys_a"), nb::arg("ids_b"), nb::arg("keys_b"),
               nb::arg("ids"), nb::arg("keys"));
    module.def("finish_shards", finish_in, nb::arg("partial_ids"), nb::arg("keys"), nb::arg("dimensions"),
               nb::arg("metric"), nb::arg("settings"), nb::arg("ids"), nb::arg("distances"));
}

}  // namespace kith::python
