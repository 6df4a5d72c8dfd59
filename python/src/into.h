// Searches whose results go to arrays that the caller gave or Python made.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "interrupt.h"
#include "kith/types.h"
#include "matrix.h"
#include "missing.h"
#include "settings.h"

namespace kith::python {

inline ElementType distance_type(const Settings& settings) {
    return settings.f64 ? ElementType::f64 : ElementType::f32;
}

// The inputs of a call: points, queries or both.
struct Inputs {
    const Matrix* points;
    const Matrix* queries;
};

// `call(options, out)` with the arrays `ids` (i64) and `distances` (of `type`; or None), rows x k.
template <class Call>
CountedReport into(const Inputs& inputs, const MetricSettings* metric, const Settings& settings, bool graph_self,
                   std::int64_t rows, std::int64_t k, nanobind::handle ids, nanobind::handle distances,
                   ElementType type, Call&& call) {
    HeldOptions held(metric, settings);
    held.options.include_self = graph_self;
    const Output ids_out(ids, "indices", ElementType::i64, rows, k);
    const Output distances_out(distances, "distances", type, rows, k);
    if (distances_out.data() && distances_out.device() != ids_out.device()) {
        throw nanobind::value_error("out: indices and distances lie on different devices");
    }
    const Bytes ids_bytes = bytes_of(ids_out, rows * k, sizeof(std::int64_t));
    const Bytes distances_bytes = bytes_of(distances_out, rows * k, static_cast<std::int64_t>(size_of(type)));
    refuse_overlap(ids_bytes, distances_bytes);
    for (const Matrix* input : {inputs.points, inputs.queries}) {
        if (!input) continue;
        refuse_overlap(bytes_of(input->view()), ids_bytes);
        refuse_overlap(bytes_of(input->view()), distances_bytes);
    }
    const NeighborsView out{static_cast<std::int64_t*>(ids_out.data()), distances_out.data(), ids_out.device()};
    NanCount points, queries;
    if (inputs.points) points = NanCount(*inputs.points, "points", settings);
    if (inputs.queries) queries = NanCount(*inputs.queries, "queries", settings);
    Interruptible interruptible(held.options, settings.progress);
    Report report = interruptible.run([&] { return call(held.options, out); });
    return {std::move(report), {points.rows(), queries.rows()}};
}

}  // namespace kith::python
