// The table of one metric's kernels for one instruction set: generated instances fill it, the scan
// and the refinement use it.
#pragma once

#include <cstdint>

#include "cpu/simd/isa.h"
#include "kith/types.h"
#include "metric/metric.h"

namespace kith::cpu {

struct MetricKernels {
    metric::Traits traits;
    int aux = 0;
    bool identity_map = false;  // map() is that of metric::Base
    // Prepares `count` rows of d raw coordinates, `stride` doubles apart, in place: aux values
    // (count x metric::max_aux) and mapped coordinates.
    void (*prepare)(double* rows, std::int64_t stride, std::int64_t count, double* aux,
                    const metric::Params& params);
    // Distance keys of one prepared query against `count` prepared points, `stride` doubles apart.
    void (*ranks)(const double* q, const double* aux_q, const double* points, std::int64_t stride,
                  const double* aux, std::int64_t count, const metric::Params& params, double* out);
    double (*report)(double rank, const metric::Params& params);
    // The distance of two prepared rows by scaled differences (exact/wide_key.h), `scratch` 3 d
    // doubles. Null unless traits.root.
    double (*scaled)(const double* q, const double* x, const metric::Params& params,
                     double* scratch);
};

// Whether keys of those parameters are powers of distances.
inline bool has_root(const MetricKernels& kernels, const metric::Params& params) {
    return kernels.traits.root == metric::Root::square ||
           (kernels.traits.root == metric::Root::power && params.p != 1);
}

const MetricKernels& metric_kernels(MetricId id, Isa isa);

}  // namespace kith::cpu
