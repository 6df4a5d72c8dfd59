// Times one selection after another on one machine, and keeps what it measured.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "deadline.h"
#include "kith/types.h"
#include "select/values.h"

namespace kith::bench {

// One selection: rows x n values, k of each row.
struct Case {
    std::string selector;  // "": the planner's choice
    std::int64_t rows = 0, n = 0, k = 0;
    Order order = Order::uniform;
    bool sorted = true;
    bool told = false;  // Options::order says so where the order is ascending or descending
    int threads = -1;   // on the CPU with this many, 0: all; else on the device

    bool operator<(const Case& other) const { return key() < other.key(); }

private:
    std::tuple<std::string_view, std::int64_t, std::int64_t, std::int64_t, Order, bool, bool, int> key() const {
        return {selector, rows, n, k, order, sorted, told, threads};
    }
};

// Seconds of a case: the median of its runs, or their mean with its standard deviation (NaN with the median, or of one
// run).
struct Seconds {
    double typical, deviation;
};

// A time: the median of up to this many runs, or Hanak 2023, 5.1: 20 runs, of which the first ten warm up
// and the others' mean counts.
enum class Statistic : std::uint8_t { median, mean };

// Median seconds of a call that waits for its result, and of one that only enqueues it, of many in a row.
struct CallTimes {
    double call, enqueued;
};

class Runner {
public:
    // `options` says which device; `repeat` is the most timed runs of a case. preferred_layout: each selector gets its
    // values in the layout that it reads; else they are always row-major, and transposing them is in the time.
    Runner(Options options, int repeat, bool preferred_layout, Statistic statistic = Statistic::median);
    ~Runner();
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    bool on_gpu() const;
    std::string device() const;  // its name

    // Makes room once, so that no case has to: `values` values and `neighbours` entries of a result.
    void reserve(std::int64_t values, std::int64_t neighbours);

    Statistic statistic() const { return statistic_; }
    // The measured times, those of resume() included; NaN where there is no time.
    const std::map<Case, Seconds>& known() const { return known_; }
    const std::map<Case, std::vector<double>>& counts() const { return counts_; }
    // Goes on from an earlier run's times and counts. `measured` is called after each new one.
    void resume(std::map<Case, Seconds> known, std::map<Case, std::vector<double>> counts) {
        known_ = std::move(known);
        counts_ = std::move(counts);
    }
    // A time that is not known by then throws TimeIsUp.
    void stop_at(Deadline deadline) { deadline_ = deadline; }
    void report_to(std::function<void()> measured) { measured_ = std::move(measured); }
    // Seconds on the device. For the median: one run to warm up, then as many as are worth the time, one if it takes
    // over `enough` seconds. NaN where the selector does not exist, does not serve the case or finds no memory: notes()
    // says which.
    double select(const Case& c, double enough = 1.0) { return timed(c, enough).typical; }
    Seconds timed(const Case& c, double enough = 1.0);
    // The time that a caller waits, on a GPU: NaN as of select().
    CallTimes calls(const Case& c);
    // Likewise on the CPU, from host memory; threads 0: all.
    Seconds select_on_cpu(Case c, int threads);
    // Seconds of a case's parts that are no selection. NaN without a GPU.
    double copy_to_host(std::int64_t rows, std::int64_t n);
    // The matrix: by Garcia's kernel, as Tang has it, of one query by the baseline, which then reads points faster.
    double distances(std::int64_t rows, std::int64_t n, std::int64_t d);

    // Operations per row, by slot, of one run. Empty where the selector does not serve the case.
    std::vector<double> operations(const Case& c);
    // The selector that the planner takes.
    std::string planned(const Case& c);
    // Bytes a second that a kernel reads which does nothing else; NaN without a GPU.
    double read_rate();

    // Selector: why it gave no time.
    const std::map<std::string, std::string>& notes() const { return notes_; }

private:
    struct Memory;
    Options options_of(const Case& c) const;
    MatrixView values(const Case& c, bool by_column);
    MatrixView host_values(const Case& c);

    Options options_;
    int repeat_;
    bool preferred_layout_;
    Statistic statistic_;
    int device_;
    std::unique_ptr<Memory> memory_;
    std::map<Case, Seconds> known_;
    std::map<Case, std::vector<double>> counts_;
    Deadline deadline_;
    std::function<void()> measured_;
    std::map<std::array<std::int64_t, 2>, double> copies_;
    std::map<std::array<std::int64_t, 3>, double> distances_;
    std::map<std::string, std::string> notes_;
    double read_rate_;
};

}  // namespace kith::bench
