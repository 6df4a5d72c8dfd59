// See empty.h.
#include "api/empty.h"

#include <algorithm>
#include <vector>

#include "api/request.h"
#include "api/validate.h"
#include "exact/missing.h"
#include "gpu/backend.h"
#include "kith/plan.h"
#include "plan/planner.h"

namespace kith::api {

namespace {

template <class T>
void put_all(T value, std::int64_t count, T* to, int device) {
    if (device == host_memory) {
        std::fill_n(to, count, value);
        return;
    }
    const std::vector<T> values(static_cast<std::size_t>(count), value);
    gpu::copy(to, values.data(), values.size() * sizeof(T));
}

}  // namespace

Report report_without_pairs(const Options& options, std::int64_t q) {
    request(Shape{1, 1, 1, 1, ElementType::f32, false}, MetricSpec{}, options, host_memory);
    planner::choose_devices(options.device, host_memory, machine(options.device));
    Report report;
    report.path = name(Path::exact);
    report.device = "cpu";
    report.queries = report.certified = q;
    return report;
}

void put_missing(std::int64_t q, std::int64_t k, bool largest, ElementType element,
                 const NeighborsView& out) {
    const std::int64_t cells = q * k;
    if (cells == 0) return;
    put_all(std::int64_t{-1}, cells, out.ids, out.device);
    if (!out.distances) return;
    const auto put = [&](auto value) {
        put_all(value, cells, static_cast<decltype(value)*>(out.distances), out.device);
    };
    if (element == ElementType::f64) put(exact::missing_value<double>(largest));
    else if (element == ElementType::f16) put(exact::missing_value<float16>(largest));
    else if (element == ElementType::bf16) put(exact::missing_value<bfloat16>(largest));
    else put(exact::missing_value<float>(largest));
}

Report search_without_pairs(std::int64_t q, std::int64_t k, const Options& options,
                            const NeighborsView& out) {
    Report report = report_without_pairs(options, q);
    put_missing(q, k, traits_of(options.metric.id).similarity,
                options.f64 ? ElementType::f64 : ElementType::f32, out);
    return report;
}

Report radius_without_pairs(std::int64_t q, const Options& options, const RadiusWants& wants) {
    Report report = report_without_pairs(options, q);
    if (wants.counts) std::fill_n(wants.counts, q, 0);
    if (!wants.take || q == 0) return report;
    const std::vector<std::int64_t> offsets(static_cast<std::size_t>(q) + 1);
    // Of no element, but there.
    const std::int64_t id = -1;
    const float distance = 0;
    const double distance64 = 0;
    const bool f64 = options.f64 || wants.keys;
    (*wants.take)(
        {0, q, offsets.data(), &id, f64 ? nullptr : &distance, f64 ? &distance64 : nullptr});
    return report;
}

}  // namespace kith::api
