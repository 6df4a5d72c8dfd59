// A user-defined metric as a C++ functor, which computes the next running value from the running value and the two
// coordinates:
//
//     struct Cityblock { double operator()(double a, double q, double x) const { return a + std::fabs(q - x); } };
//     kith::FunctorMetric metric = kith::functor_metric(f);   // f must outlive it
//     options.metric.id = kith::MetricId::functor;   options.metric.functor = &metric;
//
// It is applied to coordinates 0, 1, ..., d - 1 in binary64: the "cumulatively computable" distances of Kato and Hosino
// 2009. The last value is the distance; smaller is nearer. For the GPU, compile with nvcc and use functor_cuda.h.
#pragma once

#include <cstdint>

namespace kith {

struct FunctorMetric {
    const char* name = "functor";
    // Distances of one query (d values) to `count` points, `stride` values apart.
    void (*host)(const void* state, const double* q, const double* points, std::int64_t stride, std::int64_t count,
                 std::int64_t d, double start, double* out) = nullptr;
    // Enqueues the distances of q_count queries to x_count points on a cudaStream_t. All arrays are on the device,
    // dense row-major; out has `ld` values from query to query. Returns a cudaError_t. Null: the metric runs on the CPU
    // only.
    int (*device)(const void* state, const double* queries, std::int64_t q_count, const double* points,
                  std::int64_t x_count, std::int64_t d, double start, double* out, std::int64_t ld,
                  void* stream) = nullptr;
    const void* state = nullptr;  // the functor
    double start = 0.0;           // the running value before the first coordinate
};

// A metric from a functor `double f(double a, double q, double x)`; stores a pointer to it.
template <class F>
FunctorMetric functor_metric(const F& f, double start = 0.0) {
    FunctorMetric metric;
    metric.state = &f;
    metric.start = start;
    metric.host = [](const void* state, const double* q, const double* points, std::int64_t stride, std::int64_t count,
                     std::int64_t d, double first, double* out) {
        const F& step = *static_cast<const F*>(state);
        for (std::int64_t i = 0; i < count; ++i) {
            const double* x = points + i * stride;
            double a = first;
            for (std::int64_t j = 0; j < d; ++j) a = step(a, q[j], x[j]);
            out[i] = a;
        }
    };
    return metric;
}

}  // namespace kith
