// Measures goals of search, one set after another.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "kith/plan.h"
#include "search/goals.h"
#include "timing.h"

namespace kith::bench {

inline constexpr double not_measured = std::numeric_limits<double>::quiet_NaN();

// One search of a set.
struct Measured {
    GoalSet set;  // with the shape that ran
    std::int64_t k = 0;
    double goal = not_measured;  // pairs a second, or seconds
    Timing timing = {};
    double prepare_seconds = not_measured;
    double gaussian_rate = not_measured;                               // of_gaussian: pairs a second
    double copy_seconds = not_measured, index_seconds = not_measured;  // of_parts
    std::int64_t checked = 0, exact = 0;                               // queries
    std::string difference = {};                                       // from the scan in binary64; "": none
    Plan plan = {};  // of points that are not prepared yet, by which the trace is judged

    // True if every strategy that ran is one of the plan's attempts, and whether the first of these came first.
    bool planned() const;
    bool began_as_planned() const;
    double rate() const { return timing.report.pairs / timing.median(); }
    bool goal_is_time() const { return set.kind == GoalKind::milliseconds || set.kind == GoalKind::of_parts; }
    bool met() const {
        const Report& r = timing.report;
        const bool few_scanned = static_cast<double>(r.scanned) <= set.most_scanned * static_cast<double>(r.queries);
        return few_scanned && (goal_is_time() ? timing.median() <= goal : rate() >= goal);
    }
};

// Where the images are, and how much to run.
struct GoalInputs {
    std::string images, queries;  // files; "": none
    bool quick = false;  // an eighth of points and queries, of ordinary data of points; only relative goals count
    int repeat = 7;
};

class GoalRunner {
public:
    using Done = std::function<void(const Measured&)>;

    // `options` as every search gets them, but for metric and device. `device` may be host_memory: searches on the CPU.
    GoalRunner(Options options, int device, GoalInputs inputs);

    // `done` gets every search as soon as it is measured, the Gaussian ones next to a set too. Throws kith::Error.
    void run(const GoalSet& set, const Done& done);

private:
    GoalSet shaped(GoalSet set) const;
    void measure_gaussian(const GoalSet& set, const Done& done);
    void measure(const GoalSet& set, const Done& done);

    Options options_;
    int device_;
    GoalInputs inputs_;
    // n, q, d, k, graph: pairs a second of Gaussian f32.
    std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool>, double> gaussian_;
};

}  // namespace kith::bench
