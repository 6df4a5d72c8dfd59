// The runner: values where the selection runs, a result there, warm-up, timed runs, the median.
#include "select/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "api/request.h"
#include "device_memory.h"
#include "gpu/backend.h"
#include "gpu/select/selectors.h"
#include "kith/kith.h"
#include "machine/parallel.h"
#include "search/matrix_times.h"
#include "select/device.h"
#include "timing.h"

namespace kith::bench {

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();
constexpr double worth = 0.25;                               // seconds to spend on the repeats of a case
constexpr double loading = 0.1;                              // a first run may take this long to load its kernels
constexpr std::int64_t read_values = std::int64_t{1} << 30;  // far past the cache
constexpr std::int64_t read_values_least = std::int64_t{1} << 26;

int device_of(Options options) {
    options.selector.clear();
    return plan({1 << 20, 1, 1, 1}, options).device;
}

template <class F>
double median(F run, int repeat, double enough) {
    const double first = run();
    if (first > std::max(enough, loading)) return first;
    const int runs = std::clamp(static_cast<int>(worth / std::max(first, 1e-6)), 1, repeat);
    std::vector<double> seconds;
    for (int i = 0; i < runs; ++i) {
        seconds.push_back(run());
        if (seconds.front() > enough) break;
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds[seconds.size() / 2];
}

template <class F>
Seconds mean(F run, double enough) {
    constexpr int dropped = 10, counted = 10;
    const double first = run();
    if (first > std::max(enough, loading)) return {first, none};
    for (int i = 1; i < dropped; ++i) run();
    double sum = 0, squares = 0;
    for (int i = 0; i < counted; ++i) {
        const double seconds = run() - first;  // differences, whose squares keep their digits
        sum += seconds;
        squares += seconds * seconds;
    }
    const double apart = sum / counted;
    return {first + apart, std::sqrt(std::max(0.0, (squares - sum * apart) / (counted - 1)))};
}

template <class F>
Seconds seconds_of(Statistic statistic, F run, int repeat, double enough) {
    if (statistic == Statistic::mean) return mean(run, enough);
    return {median(run, repeat, enough), none};
}

}  // namespace

struct Runner::Memory {
    // An array on the device that only grows, and gives its memory back before it does.
    struct Array {
        std::shared_ptr<void> data;
        std::size_t bytes = 0;
        void* grown(int device, std::int64_t wanted) {
            const auto size = static_cast<std::size_t>(wanted);
            if (size > bytes) {
                data.reset();
                bytes = 0;
                data = device_array(device, size);
                bytes = size;
            }
            return data.get();
        }
    };
    Array values, ids, distances;
    bool filled = false, by_column = false;
    std::int64_t rows = 0, n = 0;
    Order order = Order::uniform;

    std::vector<float> host, host_distances;
    std::vector<std::int64_t> host_ids;
    Case of_host;
};

Runner::Runner(Options options, int repeat, bool preferred_layout, Statistic statistic)
    : options_(std::move(options)),
      repeat_(repeat),
      preferred_layout_(preferred_layout),
      statistic_(statistic),
      device_(device_of(options_)),
      memory_(std::make_unique<Memory>()),
      read_rate_(none) {}

Runner::~Runner() = default;

bool Runner::on_gpu() const {
    return device_ != host_memory;
}

std::string Runner::device() const {
    return on_gpu() ? gpu::device_info(device_).name : "CPU";
}

void Runner::reserve(std::int64_t values, std::int64_t neighbours) {
    if (!on_gpu()) return;
    memory_->values.grown(device_, values * static_cast<std::int64_t>(sizeof(float)));
    memory_->ids.grown(device_, neighbours * static_cast<std::int64_t>(sizeof(std::int64_t)));
    memory_->distances.grown(device_, neighbours * static_cast<std::int64_t>(sizeof(float)));
}

Options Runner::options_of(const Case& c) const {
    Options options = options_;
    options.selector = c.selector;
    options.sorted = c.sorted;
    options.device = "auto";  // where the values are
    if (c.told && (c.order == Order::ascending || c.order == Order::descending))
        options.order = order_names[static_cast<int>(c.order)];
    return options;
}

MatrixView Runner::values(const Case& c, bool by_column) {
    Memory& m = *memory_;
    reserve(c.rows * c.n, c.rows * c.k);
    auto* const data = static_cast<float*>(m.values.data.get());
    if (!m.filled || m.rows != c.rows || m.n != c.n || m.order != c.order || m.by_column != by_column) {
        fill(device_, data, c.rows, c.n, c.order, by_column);
        m.filled = true;
        m.rows = c.rows;
        m.n = c.n;
        m.order = c.order;
        m.by_column = by_column;
    }
    return by_column ? view_column_major(data, c.rows, c.n, 0, device_) : view(data, c.rows, c.n, 0, device_);
}

MatrixView Runner::host_values(const Case& c) {
    Memory& m = *memory_;
    const auto cells = static_cast<std::size_t>(c.rows * c.k);
    m.host_ids.resize(std::max(m.host_ids.size(), cells));
    m.host_distances.resize(std::max(m.host_distances.size(), cells));
    if (m.of_host.rows != c.rows || m.of_host.n != c.n || m.of_host.order != c.order) {
        m.host.resize(static_cast<std::size_t>(c.rows * c.n));
        machine::parallel_tasks(machine::default_threads(), c.rows, [&](std::int64_t row) {
            for (std::int64_t column = 0; column < c.n; ++column)
                m.host[static_cast<std::size_t>(row * c.n + column)] = value_at(c.order, row, column, c.n);
        });
        m.of_host = c;
    }
    return view(m.host.data(), c.rows, c.n);
}

Seconds Runner::timed(const Case& c, double enough) {
    if (const auto found = known_.find(c); found != known_.end()) return found->second;
    Seconds& seconds = known_[c] = {none, none};
    const gpu::Selector* const selector = gpu::find_selector(c.selector);
    if (!on_gpu() || (!selector && !c.selector.empty())) {
        notes_.try_emplace(c.selector, on_gpu() ? "not in this build" : "needs a GPU");
        return seconds;
    }
    const Options options = options_of(c);
    try {
        deadline_.check();
        const MatrixView matrix =
            values(c, preferred_layout_ && selector && selector->layout == gpu::SelectLayout::by_column);
        const NeighborsView out{static_cast<std::int64_t*>(memory_->ids.data.get()), memory_->distances.data.get(),
                                device_};
        gpu::time_small_selections(true);
        seconds = seconds_of(
            statistic_, [&] { return select_into(matrix, c.k, options, out).device_seconds; }, repeat_, enough);
        gpu::time_small_selections(false);
    } catch (const Error& e) {
        gpu::time_small_selections(false);
        if (e.code() == ErrorCode::device) throw;
        notes_.try_emplace(c.selector, e.what());
    }
    if (measured_) measured_();
    return seconds;
}

CallTimes Runner::calls(const Case& c) {
    constexpr int in_a_row = 50;
    CallTimes times{none, none};
    Options options = options_of(c);
    try {
        const MatrixView matrix = values(c, false);
        const NeighborsView out{static_cast<std::int64_t*>(memory_->ids.data.get()), memory_->distances.data.get(),
                                device_};
        times.call = repeated(
                         repeat_, [&] { return select_into(matrix, c.k, options, out); }, 0.02)
                         .median();
        options.enqueue = true;
        times.enqueued = repeated(
                             repeat_,
                             [&] {
                                 Report report;
                                 for (int i = 0; i < in_a_row; ++i) report = select_into(matrix, c.k, options, out);
                                 std::int64_t first = 0;
                                 gpu::copy(&first, out.ids, sizeof(first));  // after all of them
                                 return report;
                             },
                             0.02)
                             .median() /
                         in_a_row;
    } catch (const Error& e) {
        if (e.code() == ErrorCode::device) throw;
        notes_.try_emplace(c.selector, e.what());
    }
    return times;
}

Seconds Runner::select_on_cpu(Case c, int threads) {
    c.threads = threads;
    if (const auto found = known_.find(c); found != known_.end()) return found->second;
    deadline_.check();
    Seconds& seconds = known_[c] = {none, none};
    Options options = options_of(c);
    options.device = "cpu";
    options.threads = threads;
    try {
        const MatrixView matrix = host_values(c);
        const NeighborsView out{memory_->host_ids.data(), memory_->host_distances.data(), host_memory};
        seconds = seconds_of(
            statistic_, [&] { return select_into(matrix, c.k, options, out).seconds; }, repeat_, 1.0);
    } catch (const Error& e) {
        if (e.code() == ErrorCode::device) throw;
        notes_.try_emplace(c.selector + " (cpu)", e.what());
    }
    if (measured_) measured_();
    return seconds;
}

double Runner::copy_to_host(std::int64_t rows, std::int64_t n) {
    if (!on_gpu()) return none;
    const Case c{"", rows, n, 1};
    double& seconds = copies_.try_emplace({rows, n}, none).first->second;
    if (!std::isnan(seconds)) return seconds;
    const MatrixView matrix = values(c, false);
    host_values(c);  // memory that has been touched, as a caller's would have been
    return seconds = copy_seconds(device_, static_cast<const float*>(matrix.data), rows * n, memory_->host.data());
}

double Runner::distances(std::int64_t rows, std::int64_t n, std::int64_t d) {
    if (!on_gpu()) return none;
    const auto found = distances_.find({rows, n, d});
    if (found != distances_.end()) return found->second;
    deadline_.check();
    const char* const kernel = rows == 1 ? "baseline" : "garcia";
    const std::vector<double> seconds =
        matrix_seconds(device_, kernel, exact::Step::squares, Data::uniform, {n, rows, d}, {1, repeat_});
    return distances_[{rows, n, d}] = seconds[seconds.size() / 2];
}

std::vector<double> Runner::operations(const Case& c) {
    if (const auto found = counts_.find(c); found != counts_.end()) return found->second;
    const gpu::Selector* const selector = gpu::find_selector(c.selector);
    if (!on_gpu() || !selector) {
        notes_.try_emplace(c.selector, on_gpu() ? "not in this build" : "needs a GPU");
        return {};
    }
    deadline_.check();
    const Options options = options_of(c);
    try {
        const MatrixView matrix = values(c, selector->layout == gpu::SelectLayout::by_column);
        gpu::take_operation_counts();
        select_into(matrix, c.k, options, {static_cast<std::int64_t*>(memory_->ids.data.get()), nullptr, device_});
    } catch (const Error& e) {
        if (e.code() == ErrorCode::device) throw;
        notes_.try_emplace(c.selector, e.what());
        return {};
    }
    std::vector<double>& per_row = counts_[c];
    for (const std::uint64_t count : gpu::take_operation_counts())
        per_row.push_back(static_cast<double>(count) / static_cast<double>(c.rows));
    std::vector<double> counted = per_row;
    if (measured_) measured_();
    return counted;
}

std::string Runner::planned(const Case& c) {
    const auto* const data = static_cast<const float*>(memory_->values.data.get());
    Case free = c;
    free.selector.clear();
    return api::plan_selection(view(data, c.rows, c.n, 0, device_), c.k, options_of(free), false).selector;
}

double Runner::read_rate() {
    if (!on_gpu() || !std::isnan(read_rate_)) return read_rate_;
    const std::int64_t free = gpu::device_info(device_).free_bytes / static_cast<std::int64_t>(sizeof(float));
    const std::int64_t count = std::clamp(free / 4, read_values_least, read_values);
    reserve(count, 0);
    memory_->filled = false;
    const auto* const data = static_cast<const float*>(memory_->values.data.get());
    read_rate_ = static_cast<double>(count) * sizeof(float) / read_seconds(device_, data, count);
    return read_rate_;
}

}  // namespace kith::bench
