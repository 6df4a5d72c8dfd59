// Points that a device has no room for, of random f32 or u8: prepared to stay in host memory, and as they stream.
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

// Sums of four uniform numbers, near enough to Gaussian ones and made at the rate of memory.
float value(std::uint64_t bits, float) {
    const auto part = [&](int shift) { return static_cast<float>(bits >> shift & 0xffff); };
    return (part(0) + part(16) + part(32) + part(48)) * 0x1p-15f - 4.0f;
}
std::uint8_t value(std::uint64_t bits, std::uint8_t) {
    const auto part = [&](int shift) { return bits >> shift & 0x3f; };
    return static_cast<std::uint8_t>(part(0) + part(16) + part(32) + part(48));
}

template <class T>
void fill(T* values, std::int64_t rows, std::int64_t d, std::uint64_t seed, int threads) {
    constexpr std::int64_t grain = 1 << 14;
    machine::parallel_tasks(threads, (rows + grain - 1) / grain, [&](std::int64_t task) {
        const std::int64_t first = task * grain * d, last = std::min(rows, (task + 1) * grain) * d;
        for (std::int64_t i = first; i < last; ++i)
            values[i] = value(split_mix(seed, static_cast<std::uint64_t>(i)), T{});
    });
}

// Rows in large memory, made of a seed.
struct MadeRows {
    machine::LargeMemory memory;
    MatrixView view;
    MadeRows(std::int64_t rows, std::int64_t d, ElementType type, std::uint64_t seed, int threads)
        : memory(machine::make_large_memory(rows * d * static_cast<std::int64_t>(size_of(type)))) {
        if (type == ElementType::u8) fill(reinterpret_cast<std::uint8_t*>(memory.get()), rows, d, seed, threads);
        else fill(reinterpret_cast<float*>(memory.get()), rows, d, seed, threads);
        view.data = memory.get();
        view.rows = rows;
        view.cols = view.stride = d;
        view.type = type;
    }
};

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
    if (study.type != ElementType::f32 && study.type != ElementType::u8)
        throw Error(ErrorCode::invalid_argument, "--host-points: --type f32 or u8");
    const Plan prepared = plan({n, q, d, k, study.type, false, true}, options);
    if (prepared.host_points == HostPoints::none)
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("--host-points: {} x {} {} would not stay in host memory: {}", n, d, name(study.type),
                                prepared.why));
    const int threads = options.threads ? options.threads : machine::default_threads();
    const std::int64_t bytes = n * d * static_cast<std::int64_t>(size_of(study.type));
    Json document = head(gpu::device_info(prepared.device).name, false);
    document["n"] = n;
    document["type"] = name(study.type);
    document["q"] = q;
    document["d"] = d;
    document["k"] = k;
    document["why"] = prepared.why;
    fmt::print("{} x {} {} ({:.1f} GB), q {}, k {}: {}\n", n, d, name(study.type), 1e-9 * static_cast<double>(bytes), q,
               k, prepared.why);

    std::unique_ptr<const MadeRows> point_rows;
    const double made = timed([&] { point_rows = std::make_unique<const MadeRows>(n, d, study.type, 1, threads); });
    const MadeRows query_rows(q, d, study.type, 2, threads);
    const MatrixView &points = point_rows->view, &queries = query_rows.view;

    std::unique_ptr<const Index> index;
    const auto make = [&] { return std::make_unique<const Index>(Index::borrowing(points, options)); };
    const double build = timed([&] { index = make(); });
    fmt::print("made in {:.2f} s, Index in {:.2f} s\n", made, build);
    document["index_s"] = build;
    // Another one of the same memory need not register it.
    if (plan({n, 1, d, 1, study.type, false, true}, options).host_points != HostPoints::none) {
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
