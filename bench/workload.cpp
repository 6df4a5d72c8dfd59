// Workloads: seeded data, warm-up, timed runs.
#include "workload.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>

#include "device_memory.h"

namespace kith::bench {

namespace {

// Gaussian rows where the search will run.
struct Rows {
    std::vector<float> host;
    std::shared_ptr<void> copy;
    MatrixView view;

    Rows(std::int64_t rows, std::int64_t cols, std::uint64_t seed, bool non_negative, int device)
        : host(static_cast<std::size_t>(rows * cols)) {
        constexpr std::int64_t block = 1 << 16;  // values from one generator, so that threads do not change the data
        const auto count = static_cast<std::int64_t>(host.size());
#pragma omp parallel for schedule(dynamic)
        for (std::int64_t first = 0; first < count; first += block) {
            std::mt19937_64 generator(seed + static_cast<std::uint64_t>(first));
            std::normal_distribution<float> gauss;
            for (std::int64_t i = first; i < std::min(count, first + block); ++i) {
                const float value = gauss(generator);
                host[static_cast<std::size_t>(i)] = non_negative ? std::abs(value) : value;
            }
        }
        view = kith::view(host.data(), rows, cols);
        if (device == host_memory) return;
        const std::size_t bytes = host.size() * sizeof(float);
        copy = device_array(device, bytes);
        copy_to_device(copy.get(), host.data(), bytes);
        host = {};
        view.data = copy.get();
        view.device = device;
    }
};

struct Output {
    std::vector<std::int64_t> ids;
    std::vector<float> distances;
    std::shared_ptr<void> device_ids, device_distances;
    NeighborsView view;

    Output(std::int64_t rows, std::int64_t k, int device) {
        const auto cells = static_cast<std::size_t>(rows * k);
        if (device == host_memory) {
            ids.resize(cells);
            distances.resize(cells);
            view = {ids.data(), distances.data(), device};
        } else {
            device_ids = device_array(device, cells * sizeof(std::int64_t));
            device_distances = device_array(device, cells * sizeof(float));
            view = {static_cast<std::int64_t*>(device_ids.get()), device_distances.get(), device};
        }
    }
};

template <class F>
double timed(F run) {
    const auto start = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <class F>
Timing repeated(int repeat, F call) {
    Timing timing;
    timing.report = call();
    for (int i = 0; i < repeat; ++i) timing.seconds.push_back(timed([&] { timing.report = call(); }));
    std::sort(timing.seconds.begin(), timing.seconds.end());
    return timing;
}

bool non_negative(MetricId id) {
    return id == MetricId::hellinger || id == MetricId::kl_divergence || id == MetricId::jensenshannon;
}

}  // namespace

Plan plan_of(const Workload& w, const Options& options) {
    return w.select ? plan_select(w.q, w.n, w.k, ElementType::f32, options) : plan({w.n, w.q, w.d, w.k}, options);
}

Result run(const Workload& w, const Options& options, int repeat) {
    Result result;
    result.workload = w;
    const int device = plan_of(w, options).device;
    const Output out(w.q, w.k, device);
    if (w.select) {
        const Rows rows(w.q, w.n, 1, false, device);
        result.once = repeated(repeat, [&] { return select_into(rows.view, w.k, options, out.view); });
        return result;
    }
    const bool positive = non_negative(options.metric.id);
    const Rows points(w.n, w.d, 1, positive, device), queries(w.q, w.d, 2, positive, device);
    result.once = repeated(repeat, [&] { return search_into(points.view, queries.view, w.k, options, out.view); });
    std::unique_ptr<Index> index;
    result.prepare_seconds = timed([&] { index = std::make_unique<Index>(points.view, options); });
    result.indexed = repeated(repeat, [&] { return index->search_into(queries.view, w.k, options, out.view); });
    return result;
}

std::vector<Workload> suite(bool quick) {
    const std::int64_t part = quick ? 10 : 1;
    return {
        {"images", false, 60'000, 10'000 / part, 784, 10},
        {"narrow", false, 100'000, 10'000 / part, 16, 10},
        {"middle", false, 100'000, 10'000 / part, 128, 10},
        {"middle-k100", false, 100'000, 10'000 / part, 128, 100},
        {"wide", false, 100'000, 10'000 / part, 768, 10},
        {"one-query", false, 1'000'000, 1, 128, 10},
        {"select", true, 1 << 20, 1024 / part / 8, 1, 32},
        {"select-k2048", true, 1 << 20, 1024 / part / 8, 1, 2048},
        {"select-short", true, 1 << 15, 8192 / part / 2, 1, 32},
    };
}

}  // namespace kith::bench
