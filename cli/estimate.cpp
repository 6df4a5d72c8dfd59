// The estimated cost of a planned search.
#include "estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "element.h"
#include "interrupt.h"
#include "kith/cut.h"
#include "kith/error.h"
#include "kith/io.h"
#include "numbers.h"
#include "print.h"

namespace kith::cli {
namespace {

// A measurement grows until it takes this long, and starts no further one after that.
constexpr double enough_seconds = 0.06;
constexpr double last_start_seconds = 0.25;
// Points enough that k of them are few; queries enough for whole tiles.
constexpr std::int64_t least_points = 2048, points_for_each_neighbour = 64, most_queries = 512;
constexpr double most_elements = 1 << 24;
// By rates: queries enough that threads share them, searches at most.
constexpr std::int64_t few_queries = 64;
constexpr int most_repeats = 8;
// For a tree: more levels behave as these do.
constexpr std::int64_t tree_points = 1 << 16, tree_queries = 1 << 13;
// Its matrix is factored for each search.
constexpr std::int64_t most_mahalanobis_dimensions = 512;

// Uniform in [0, 1), or over 0 to 100 for integers: every metric takes them.
Matrix random_matrix(std::int64_t rows, std::int64_t cols, ElementType type, std::uint64_t seed) {
    Matrix matrix;
    matrix.info = {"", rows, cols, type};
    const auto count = static_cast<std::size_t>(rows * cols);
    matrix.bytes.resize(count * size_of(type));
    std::uint64_t state = seed;
    for (std::size_t i = 0; i < count; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        const auto share = static_cast<double>(state >> 40) * 0x1p-24;
        if (type == ElementType::f32) detail::put_element(matrix.bytes.data(), i, static_cast<float>(share));
        else store_element(matrix.bytes.data(), i, type, is_integer(type) ? std::floor(100 * share) : share);
    }
    return matrix;
}

// Searches of the same kind on random data, smaller.
class Trial {
public:
    Trial(const Shape& shape, const Options& options, const Plan& plan)
        : shape_(shape),
          given_(options),
          options_(options),
          plan_(plan),
          tree_(plan.path == Path::tree),
          projected_(plan.path == Path::projected) {
        // The data decide what principal components and clusters save; without them all coordinates of all points are
        // filtered.
        options_.path = projected_ || plan.path == Path::clustered ? "" : path_name(plan);
        options_.progress = [](const Progress&) { return !interrupted(); };
        if (options.metric.id == MetricId::mahalanobis) {
            identity_.resize(static_cast<std::size_t>(shape.d * shape.d));
            for (std::int64_t i = 0; i < shape.d; ++i) identity_[static_cast<std::size_t>(i * shape.d + i)] = 1;
            options_.metric.inverse_covariance = view(identity_.data(), shape.d, shape.d);
        }
        const double room = most_elements / static_cast<double>(shape.d);
        most_points_ = std::min(shape.n, std::max<std::int64_t>(1, std::llround(room)));
        n_ = std::min(most_points_, std::max(least_points, points_for_each_neighbour * std::min(shape.k, shape.n)));
        q_ = 1;
    }

    double seconds(std::int64_t n, std::int64_t q) {
        const Matrix points = random_matrix(n, shape_.d, shape_.type, 1);
        const Matrix queries = random_matrix(q, shape_.d, shape_.type, 2);
        return search(points.view(), queries.view(), std::min(shape_.k, n), options_).report.seconds;
    }

    // t(n, q) = pair n q + query q + point n, from three searches; where the library has rates for the plan, these
    // times what one search says of this machine.
    void measure() {
        if (measure_by_rates()) return;
        if (tree_) return measure_tree();
        const Stopwatch clock;
        // The first one pays for what happens once.
        double whole = seconds(n_, q_);
        if (whole < last_start_seconds) whole = std::min(whole, seconds(n_, q_));
        while (whole < enough_seconds && clock.seconds() < last_start_seconds &&
               (n_ < most_points_ || grows_queries())) {
            const double growth = std::clamp(enough_seconds / std::max(whole, 1e-6), 2.0, 16.0);
            if (grows_queries()) q_ = std::min({shape_.q, most_queries, scaled(q_, growth)});
            else n_ = std::min(most_points_, scaled(n_, growth));
            whole = seconds(n_, q_);
        }
        if (n_ == shape_.n && q_ == shape_.q) {
            pair_ = whole / (static_cast<double>(n_) * static_cast<double>(q_));
            return;
        }
        const double fewer_points = n_ >= 4 ? seconds(n_ / 4, q_) : 0;
        const double fewer_queries = q_ >= 4 ? seconds(n_, q_ / 4) : 0;
        const double of_points = std::min(whole, (whole - fewer_points) * 4 / 3);
        const double of_queries = std::min(whole, (whole - fewer_queries) * 4 / 3);
        const double of_pairs = std::clamp(of_points + of_queries - whole, whole / 4, whole);
        pair_ = of_pairs / (static_cast<double>(n_) * static_cast<double>(q_));
        query_ = std::max(0.0, of_queries - of_pairs) / static_cast<double>(q_);
        point_ = std::max(0.0, of_points - of_pairs) / static_cast<double>(n_);
    }

    double predicted() const {
        if (by_rates_ > 0) return by_rates_;
        const double n = static_cast<double>(shape_.n), q = static_cast<double>(shape_.q),
                     prepared_now = shape_.prepared ? 0 : n;
        if (tree_) {
            // Making it takes n log n, a query log n.
            const double levels = std::log2(n + 2) / std::log2(static_cast<double>(n_) + 2);
            return (point_ * prepared_now + query_ * q) * levels;
        }
        return pair_ * n * q + query_ * q + point_ * prepared_now;
    }
    std::string described() const {
        return fmt::format("this machine, measured now with {} x {}{}", counted(q_, "query", "queries"),
                           counted(n_, "point", "points"),
                           projected_ ? " by all coordinates; along few directions it takes less" : "");
    }

private:
    static std::int64_t scaled(std::int64_t value, double factor) {
        return static_cast<std::int64_t>(std::ceil(static_cast<double>(value) * factor));
    }
    // t(n, q) = point n + query q, from two searches.
    void measure_tree() {
        n_ = std::min(most_points_, std::max(n_, tree_points));
        q_ = std::min(shape_.q, tree_queries);
        seconds(n_, 1);
        const double made = std::min(seconds(n_, 1), seconds(n_, 1));
        point_ = made / static_cast<double>(n_);
        query_ = std::max(0.0, seconds(n_, q_) - made) / static_cast<double>(q_);
    }
    // A search of the same kind that takes about so long by the library's rates: how much longer it takes, all do.
    bool measure_by_rates() {
        const double whole = measured_time("", shape_, given_, plan_).seconds;
        if (!(whole > 0)) return false;
        Shape small = shape_;
        small.prepared = small.graph = false;
        small.n = most_points_;
        const auto rated = [&] { return measured_time("", small, options_, plan(small, options_)).seconds; };
        double expected = rated();
        const std::int64_t fewest = std::min(shape_.n, std::max(least_points, points_for_each_neighbour * shape_.k));
        while (expected > enough_seconds && (small.q > few_queries || small.n > fewest)) {
            if (small.q > few_queries) small.q = std::max(few_queries, small.q / 2);
            else small.n = std::max(fewest, small.n / 2);
            expected = rated();
        }
        n_ = small.n;
        q_ = small.q;
        // The first one pays for what happens once.
        double found = seconds(n_, q_);
        const Stopwatch clock;
        for (int i = 0; i < most_repeats && clock.seconds() + found < last_start_seconds; ++i) {
            const double again = seconds(n_, q_);
            found = i == 0 ? again : std::min(found, again);
        }
        by_rates_ = whole * found / expected;
        return true;
    }
    bool grows_queries() const { return q_ < std::min(shape_.q, most_queries); }

    Shape shape_;
    Options given_, options_;
    const Plan& plan_;
    double by_rates_ = 0;  // seconds; 0: there are no rates
    bool tree_, projected_;
    std::vector<double> identity_;
    std::int64_t most_points_ = 0, n_ = 0, q_ = 0;
    double pair_ = 0, query_ = 0, point_ = 0;  // seconds for each
};

}  // namespace

// Two digits: more would be a promise.
std::string rough_duration(double seconds) {
    if (seconds < 0.0995) return fmt::format("{:.2g} ms", seconds * 1000);
    if (seconds < 99) return fmt::format("{:.2g} s", seconds);
    if (seconds < 99 * 60) return fmt::format("{:.2g} min", seconds / 60);
    if (seconds < 99 * 3600) return fmt::format("{:.2g} h", seconds / 3600);
    return fmt::format("{} days", grouped(std::llround(std::min(seconds / 86400, 1e15))));
}

double trial_seconds(const Shape& shape, const Options& options, const Plan& plan) {
    Trial trial(shape, options, plan);
    trial.measure();
    return trial.predicted();
}

Estimate estimate(const Shape& shape, const Options& options, const Plan& plan, const std::string& machine) {
    Estimate result;
    const double n = static_cast<double>(shape.n), q = static_cast<double>(shape.q), d = static_cast<double>(shape.d);
    const double k = static_cast<double>(shape.k);
    result.point_bytes = (n + (shape.graph ? 0 : q)) * d * static_cast<double>(size_of(shape.type));
    result.prepared_bytes = prepared_bytes(shape, plan);
    result.has_tree = plan.path == Path::tree || plan.tries_tree;
    result.has_filter = plan.path != Path::tree;
    result.workspace_bytes = static_cast<double>(plan.workspace_bytes);
    result.result_bytes = q * k * (sizeof(std::int64_t) + (options.f64 ? sizeof(double) : sizeof(float)));
    const bool by_rates = !machine.empty() || calibration().used;
    const MeasuredTime measured = by_rates ? measured_time(machine, shape, options, plan) : MeasuredTime{};
    if (!machine.empty() || measured.seconds > 0) {
        result.seconds = measured.seconds;
        result.source = measured.source;
    } else if (options.metric.id == MetricId::mahalanobis && shape.d > most_mahalanobis_dimensions) {
        result.source = fmt::format("mahalanobis beyond {} dimensions is not measured", most_mahalanobis_dimensions);
    } else {
        try {
            Trial trial(shape, options, plan);
            trial.measure();
            result.seconds = trial.predicted();
            result.source = trial.described();
        } catch (const Error& error) {
            if (error.code() == ErrorCode::cancelled) throw;
            result.source = fmt::format("a smaller search failed: {}", error.what());
        }
    }
    if (result.seconds > 0) result.rate = n * q / result.seconds;
    return result;
}

std::string estimate_text(const Estimate& e) {
    const std::string time =
        e.seconds > 0 ? fmt::format("about {}: {} ({})", rough_duration(e.seconds), pair_rate(e.rate, 1), e.source)
                      : fmt::format("unknown: {}", e.source);
    std::string memory =
        fmt::format("about {}: points and queries {}", bytes_text(e.total_bytes()), bytes_text(e.point_bytes));
    if (e.prepared_bytes > 0)
        memory += fmt::format(", the {} {}",
                              !e.has_tree    ? "filter's copy"
                              : e.has_filter ? "filter's copy or a tree"
                                             : "tree",
                              bytes_text(e.prepared_bytes));
    memory += fmt::format(", workspace {}, results {}", bytes_text(e.workspace_bytes), bytes_text(e.result_bytes));
    return fmt::format("{:<12} {}\n{:<12} {}\n", "time", time, "memory", memory);
}

Json to_json(const Estimate& e) {
    Json json = {{"seconds", nullptr}, {"distances_per_second", nullptr}, {"source", e.source}};
    if (e.seconds > 0) {
        json["seconds"] = e.seconds;
        json["distances_per_second"] = e.rate;
    }
    const auto whole = [](double bytes) { return static_cast<std::int64_t>(std::min(bytes, 0x1p62)); };
    json["bytes"] = {{"points", whole(e.point_bytes)},
                     {"prepared", whole(e.prepared_bytes)},
                     {"workspace", whole(e.workspace_bytes)},
                     {"results", whole(e.result_bytes)},
                     {"total", whole(e.total_bytes())}};
    return json;
}

}  // namespace kith::cli
