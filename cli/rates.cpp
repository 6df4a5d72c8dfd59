// Measures rates: each cell of the grid by a few searches of growing size, which a linear model then fits.
#include "rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "interrupt.h"
#include "kith/error.h"
#include "kith/stopwatch.h"
#include "options.h"

namespace kith::cli {
namespace {

// A search is repeated until it has taken so long, and a cell has no larger one that would probably take longer.
constexpr double enough_seconds = 0.03, longest_seconds = 0.4;
constexpr int most_repeats = 7;
// No matrix has more elements.
constexpr std::int64_t most_elements = std::int64_t{1} << 27;

struct Size {
    std::int64_t n, q;
};
constexpr Size cpu_sizes[] = {{1024, 1}, {1024, 128}, {16384, 1}, {16384, 128}, {16384, 1024}, {65536, 1024}};
constexpr Size gpu_sizes[] = {{4096, 1}, {4096, 2048}, {131072, 1}, {131072, 2048}, {524288, 8192}};

// Coordinates in [0, 1), which every metric takes; matrices of any width are its first values.
class Values {
public:
    explicit Values(std::uint64_t seed) : state_(seed) {}
    MatrixView rows(std::int64_t count, std::int64_t d) {
        const auto wanted = static_cast<std::size_t>(count * d);
        while (values_.size() < wanted) {
            state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
            values_.push_back(static_cast<float>(state_ >> 40) * 0x1p-24F);
        }
        return view(values_.data(), count, d);
    }

private:
    std::uint64_t state_;
    std::vector<float> values_;
};

// The terms of the model: call, points, queries, pairs.
constexpr std::size_t terms = 4;
using Coefficients = std::array<double, terms>;

Coefficients terms_of(const Timing& t, bool tree) {
    const double levels = tree ? std::log2(t.n + 2) / 16 : 1;
    return {1, t.n * levels, t.q * levels, t.n * t.q};
}

// Solves the normal equations of the chosen terms; false where they are singular.
bool solved(const std::vector<Timing>& timings, bool tree, unsigned chosen, Coefficients& x) {
    std::array<std::array<double, terms + 1>, terms> rows{};
    for (const Timing& t : timings) {
        const Coefficients a = terms_of(t, tree);
        for (std::size_t i = 0; i < terms; ++i) {
            for (std::size_t j = 0; j < terms; ++j) rows[i][j] += a[i] * a[j] / (t.seconds * t.seconds);
            rows[i][terms] += a[i] / t.seconds;
        }
    }
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < terms; ++i)
        if (chosen >> i & 1) used.push_back(i);
    // Terms differ by many powers of ten: each in units of its own.
    std::array<double, terms> scale{};
    for (const std::size_t i : used) scale[i] = 1 / std::sqrt(rows[i][i]);
    for (const std::size_t i : used) {
        for (const std::size_t j : used) rows[i][j] *= scale[i] * scale[j];
        rows[i][terms] *= scale[i];
    }
    constexpr double singular = 1e-9;
    for (const std::size_t i : used) {
        if (rows[i][i] < singular) return false;
        for (const std::size_t other : used) {
            if (other == i) continue;
            const double factor = rows[other][i] / rows[i][i];
            for (const std::size_t j : used) rows[other][j] -= factor * rows[i][j];
            rows[other][terms] -= factor * rows[i][terms];
        }
    }
    x = {};
    for (const std::size_t i : used) x[i] = rows[i][terms] / rows[i][i] * scale[i];
    return true;
}

double error_of(const std::vector<Timing>& timings, bool tree, const Coefficients& x) {
    double sum = 0;
    for (const Timing& t : timings) {
        const Coefficients a = terms_of(t, tree);
        double modelled = 0;
        for (std::size_t i = 0; i < terms; ++i) modelled += a[i] * x[i];
        sum += (modelled / t.seconds - 1) * (modelled / t.seconds - 1);
    }
    return sum;
}

class Measurement {
public:
    explicit Measurement(std::string device) : device_(std::move(device)), gpu_(device_ != "cpu") {}

    // False where the cell is none of this device's.
    bool measure(const Cell& cell, MeasuredRate& rate) {
        Options options;
        options.device = device_;
        options.path = cell.path;
        options.metric = metric_named(cell.metric);
        if (options.metric.id == MetricId::minkowski) options.metric.p = 2.5;
        options.progress = [](const Progress&) { return !interrupted(); };
        std::vector<Timing> timings;
        Path path = Path::exact;
        for (const Size& size : gpu_ ? std::span<const Size>(gpu_sizes) : std::span<const Size>(cpu_sizes)) {
            if (cell.k * 8 > size.n || size.n * cell.d > most_elements || predicted(timings, size) > longest_seconds)
                continue;
            try {
                path = plan({size.n, size.q, cell.d, cell.k, ElementType::f32, false}, options).path;
                timings.push_back(timed(size, cell, options));
            } catch (const Error& error) {
                if (error.code() == ErrorCode::cancelled) throw;
                break;
            }
        }
        if (timings.size() < 2) return false;
        rate = fitted(timings, path == Path::tree);
        rate.path = path;
        rate.device = device_;
        rate.d = static_cast<double>(cell.d);
        rate.k = static_cast<double>(cell.k);
        // Products and trees take as long by any metric that has them.
        const bool own = path == Path::exact || path == Path::direct_f32;
        rate.metric = own ? cell.metric : "";
        return true;
    }

private:
    static double predicted(const std::vector<Timing>& timings, const Size& size) {
        double most = 0;
        for (const Timing& t : timings)
            if (t.q > 1 || size.q == 1)
                most =
                    std::max(most, t.seconds * static_cast<double>(size.n) * static_cast<double>(size.q) / (t.n * t.q));
        return most;
    }

    Timing timed(const Size& size, const Cell& cell, const Options& options) {
        const MatrixView points = points_.rows(size.n, cell.d), queries = queries_.rows(size.q, cell.d);
        Timing timing{static_cast<double>(size.n), static_cast<double>(size.q), 0};
        double whole = 0;
        // The first one pays for what happens once.
        for (int i = 0; i <= most_repeats && (i < 2 || whole < enough_seconds); ++i) {
            const double seconds = search(points, queries, cell.k, options).report.seconds;
            if (i > 0) whole += seconds;
            timing.seconds = i < 2 ? seconds : std::min(timing.seconds, seconds);
            if (seconds > longest_seconds) break;
        }
        timing.seconds = std::max(timing.seconds, 1e-9);
        return timing;
    }

    std::string device_;
    bool gpu_;
    Values points_{1}, queries_{2};
};

}  // namespace

std::vector<Cell> cells(bool gpu) {
    std::vector<Cell> list;
    for (const std::int64_t d : {2, 4, 8})
        for (const std::int64_t k : {10, 100}) list.push_back({"tree", "sqeuclidean", d, k});
    const std::vector<std::string> products = gpu ? std::vector<std::string>{"gemm-f16", "gemm-i8"}
                                                  : std::vector<std::string>{"gemm-f32", "gemm-bf16", "gemm-i8"};
    for (const std::string& path : products)
        for (const std::int64_t d : {16, 128, 768})
            for (const std::int64_t k : {10, 100}) list.push_back({path, "sqeuclidean", d, k});
    for (const char* path : {"direct-f32", "exact"}) {
        for (const char* metric : {"sqeuclidean", "cityblock", "chebyshev"})
            for (const std::int64_t d : {4, 16, 128}) list.push_back({path, metric, d, 10});
        list.push_back({path, "sqeuclidean", 4, 100});
        list.push_back({path, "cityblock", 128, 100});
    }
    list.push_back({"exact", "sqeuclidean", 128, 100});
    list.push_back({"exact", "sqeuclidean", 768, 10});
    for (const char* path : {"direct-f32", "exact"})
        for (const std::string& metric : metric_names())
            for (const std::int64_t d : {16, 128}) {
                const auto same = [&](const Cell& c) { return c.path == path && c.metric == metric && c.d == d; };
                if (std::ranges::none_of(list, same)) list.push_back({path, metric, d, 10});
            }
    list.push_back({"exact", "haversine", 2, 10});
    return list;
}

MeasuredRate fitted(const std::vector<Timing>& timings, bool tree) {
    Coefficients best{};
    double least = error_of(timings, tree, best);
    for (unsigned chosen = 1; chosen < (1U << terms); ++chosen) {
        Coefficients x{};
        if (!solved(timings, tree, chosen, x)) continue;
        if (std::ranges::any_of(x, [](double c) { return !(c >= 0); })) continue;
        // A term more is taken for what it improves alone.
        constexpr double improved = 0.999;
        if (const double error = error_of(timings, tree, x); error < improved * least) {
            least = error;
            best = x;
        }
    }
    MeasuredRate rate;
    rate.call_seconds = best[0];
    rate.point_seconds = best[1];
    rate.query_seconds = best[2];
    rate.pairs_per_second = best[3] > 0 ? 1 / best[3] : 0;
    return rate;
}

std::vector<MeasuredRate> measured_rates(const std::string& device, double seconds,
                                         const std::function<void(const Cell&)>& say) {
    const Stopwatch clock;
    Measurement measurement(device);
    std::vector<MeasuredRate> rates;
    for (const Cell& cell : cells(device != "cpu")) {
        if (clock.seconds() > seconds) break;
        stop_if_interrupted();
        say(cell);
        if (MeasuredRate rate; measurement.measure(cell, rate)) rates.push_back(rate);
    }
    return rates;
}

}  // namespace kith::cli
