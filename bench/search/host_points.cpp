// Points that a device has no room for, of random f32: prepared to stay in host memory, and as they stream.
#include "search/host_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "arrays.h"
#include "document.h"
#include "exact/split_mix.h"
#include "gpu/backend.h"
#include "kith/kith.h"
#include "machine/large_memory.h"
#include "machine/parallel.h"
#include "timing.h"

namespace kith::bench {

namespace {

// Sums of four uniform numbers, near enough to Gaussian ones and made at the rate of memory; each row has its seed.
void fill(float* values, std::int64_t rows, std::int64_t d, std::uint64_t seed, int threads) {
    constexpr std::int64_t grain = 1 << 14;
    machine::parallel_tasks(threads, (rows + grain - 1) / grain, [&](std::int64_t task) {
        const std::int64_t first = task * grain * d, last = std::min(rows, (task + 1) * grain) * d;
        for (std::int64_t i = first; i < last; ++i) {
            const std::uint64_t bits = split_mix(seed, static_cast<std::uint64_t>(i));
            const auto part = [&](int shift) { return static_cast<float>(bits >> shift & 0xffff); };
            values[i] = (part(0) + part(16) + part(32) + part(48)) * 0x1p-15f - 4.0f;
        }
    });
}

bool same_bits(const Output& a, const Output& b, std::int64_t cells) {
    const auto count = static_cast<std::size_t>(cells);
    return std::memcmp(a.ids.get(), b.ids.get(), count * sizeof(std::int64_t)) == 0 &&
           std::memcmp(a.distances.get(), b.distances.get(), count * sizeof(float)) == 0;
}

Json entry(const char* what, const Timing& t, bool same) {
    fmt::print("{:<42} {:>10.2f} ms ({:.2f} to {:.2f}), {:.1f} candidates a query, retried {}, scanned {}, {}\n", what,
               1e3 * t.median(), 1e3 * t.seconds.front(), 1e3 * t.seconds.back(),
               t.report.candidates / static_cast<double>(t.report.queries), t.report.retried, t.report.scanned,
               same ? "same bits" : "OTHER BITS");
    std::fflush(stdout);
    return {{"what", what},
            {"median_s", t.median()},
            {"min_s", t.seconds.front()},
            {"max_s", t.seconds.back()},
            {"candidates_per_query", t.report.candidates / static_cast<double>(t.report.queries)},
            {"retried", t.report.retried},
            {"scanned", t.report.scanned},
            {"same_bits", same}};
}

}  // namespace

bool run(const HostPointsStudy& study, const Options& options) {
    const std::int64_t n = study.n, q = study.q, d = study.d, k = study.k;
    const Plan prepared = plan({n, q, d, k, ElementType::f32, false, true}, options);
    if (!prepared.host_points)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--host-points: {} x {} f32 would not stay in host memory: {}", n, d, prepared.why));
    const int threads = options.threads ? options.threads : machine::default_threads();
    const std::int64_t bytes = n * d * static_cast<std::int64_t>(sizeof(float));
    Json document = head(gpu::device_info(prepared.device).name, false);
    document["n"] = n;
    document["q"] = q;
    document["d"] = d;
    document["k"] = k;
    document["why"] = prepared.why;
    fmt::print("{} x {} f32 ({:.1f} GB), q {}, k {}: {}\n", n, d, 1e-9 * static_cast<double>(bytes), q, k,
               prepared.why);

    const machine::LargeMemory memory = machine::make_large_memory(bytes),
                               query_memory = machine::make_large_memory(q * d * 4);
    auto* const values = reinterpret_cast<float*>(memory.get());
    auto* const query_values = reinterpret_cast<float*>(query_memory.get());
    const double made = timed([&] { fill(values, n, d, 1, threads); });
    fill(query_values, q, d, 2, threads);
    const MatrixView points = view(values, n, d), queries = view(query_values, q, d);

    std::unique_ptr<const Index> index;
    const auto make = [&] { return std::make_unique<const Index>(Index::borrowing(points, options)); };
    const double build = timed([&] { index = make(); });
    fmt::print("made in {:.2f} s, Index in {:.2f} s\n", made, build);
    document["index_s"] = build;
    // Another one of the same memory need not register it.
    if (plan({n, 1, d, 1, ElementType::f32, false, true}, options).host_points) {
        const double again = timed([&] { make(); });
        fmt::print("of that without registering the memory {:.2f} s\n", again);
        document["index_of_registered_s"] = again;
    }
    std::fflush(stdout);
    const Output kept(q, k, host_memory), streamed(q, k, host_memory), pageable(q, k, host_memory);
    Json rows = Json::array();
    rows.push_back(entry("Index, points in host memory",
                         repeated(study.repeat, [&] { return index->search_into(queries, k, options, kept.view); }),
                         true));
    // The Index has registered the memory: copies from it are as fast as the bus.
    const int few = std::min(study.repeat, 3);
    const Timing by_bus = repeated(few, [&] { return search_into(points, queries, k, options, streamed.view); });
    const bool first = same_bits(kept, streamed, q * k);
    rows.push_back(entry("one search, streaming from pinned memory", by_bus, first));
    const double gone = timed([&] { index.reset(); });
    const Timing staged = repeated(few, [&] { return search_into(points, queries, k, options, pageable.view); });
    const bool second = same_bits(kept, pageable, q * k);
    rows.push_back(entry("one search, streaming from pageable memory", staged, second));
    fmt::print("Index gone in {:.2f} s\n", gone);
    document["index_gone_s"] = gone;
    document["rows"] = rows;
    if (!study.json.empty()) write(document, study.json);
    return first && second;
}

}  // namespace kith::bench
