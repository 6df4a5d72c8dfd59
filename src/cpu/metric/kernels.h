// The table of one metric's kernels for one instruction set. Generated instances fill it; scans and
// rescoring use it.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::cpu {

struct MetricKernels {
    metric::Traits traits;
    int aux = 0;
    bool identity_map = false;  // map() is metric::Base's
    // Prepares `count` rows of d raw coordinates, `stride` doubles apart, in place: maps the
    // coordinates and writes aux values (count x metric::max_aux).
    void (*prepare)(double* rows, std::int64_t stride, std::int64_t count, double* aux,
                    const metric::Params& params);
    // Distance keys of one prepared query to `count` prepared points, `stride` doubles apart.
    void (*ranks)(const double* q, const double* aux_q, const double* points, std::int64_t stride,
                  const double* aux, std::int64_t count, const metric::Params& params, double* out);
    double (*report)(double rank, const metric::Params& params);
    // The distance of two prepared rows by scaled differences (exact/wide_key.h). `scratch` holds 3
    // d doubles. Null if traits.root is none.
    double (*scaled)(const double* q, const double* x, const metric::Params& params,
                     double* scratch);
};

// True if keys under these parameters are powers of distances.
inline bool has_root(const MetricKernels& kernels, const metric::Params& params) {
    return kernels.traits.root == metric::Root::square ||
           (kernels.traits.root == metric::Root::power && params.p != 1);
}

// The id is a built-in metric's: a user's metric has no kernels here.
const MetricKernels& metric_kernels(MetricId id, Isa isa);
// Those of a user's metric are the defaults: nothing is known of it.
metric::Traits metric_traits(MetricId id);

}  // namespace kith::cpu
