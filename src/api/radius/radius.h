// A validated range search on the devices of an index; shared by kith::radius and Index.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/group/device_group.h"
#include "api/group/device_index.h"
#include "kith/radius.h"

namespace kith::api {

// Default metric of range searches: r is a distance, not its square.
constexpr MetricId usual_radius_metric = MetricId::euclidean;

// A result held in memory as a whole.
struct WholeAnswer {
    std::int64_t queries = 0;
    bool f64 = false;
    std::string radius;       // as text
    std::int64_t pairs = -1;  // the total if it is known; -1: unknown. Memory is reserved at once
};

// Requested outputs.
struct RadiusWants {
    std::int64_t* counts = nullptr;  // per query; if not null, only counts are computed
    const TakeRadiusRows* take = nullptr;
    WholeAnswer* whole = nullptr;  // describes what `take` stores; null: it stores no rows
    // Query i excludes point own + i, possibly of another set of points. Points among themselves
    // exclude themselves, unless Options::include_self.
    std::optional<std::int64_t> own{};
    bool keys = false;  // distances are the distance keys, in f64
};

struct RadiusCall {
    const MatrixView* queries;  // null: the points among themselves
    const Radius& r;
    const Options& options;
    ProgressMeter& progress;
    RadiusWants wants;

    std::optional<std::int64_t> own() const {
        return !queries && !options.include_self ? 0 : wants.own;
    }
};

// The options of a search by radius that is part of a call with searches for neighbours: without a
// selector, and without a path that selects.
Options for_radius(Options options);
// Throws invalid_argument for options that do not apply.
void check_options(const Options& options);
// The radius of each of q queries. Throws invalid_argument.
std::vector<double> radii_of(const Radius& r, std::int64_t q, const MetricSpec& metric);

// Some queries on one device.
struct RadiusRun {
    const MatrixView& queries;
    const double* radii;  // per query, in host memory
    bool open = false;
    bool graph = false;  // query i excludes point first_own + i, possibly of another set of points
    std::int64_t first_own = 0;
    bool f64 = false, keys = false;  // distances are f64; distances are distance keys
    std::int64_t list_bytes = 0;     // approximate limit on rows not yet taken
    const Options& options;
    ProgressMeter& progress;
    std::int64_t* counts = nullptr;
    const TakeRadiusRows* take = nullptr;
};
// Adds to the report; path and device are named in it before rows are taken.
void run_radius(const DeviceIndex& index, const RadiusRun& run, Report& report);

// Default limit on bytes of rows not yet taken, unless Options::memory is set.
constexpr std::int64_t radius_list_bytes = 256 << 20;

// For validated queries.
Report run_radius(const DeviceIndex& index, const RadiusCall& call);
// Gives the same answer on several devices. The calling thread merges rows and hands them on while
// no device works.
Report run_radius(const DeviceGroup& group, const MetricSpec& metric, const RadiusCall& call);

// A whole call: validates everything but the views, prepares the points, runs. Null queries: the
// points among themselves.
Report radius_once(const MatrixView& points, const MatrixView* queries, const Radius& r,
                   const Options& options, const RadiusWants& wants);

// A result from a function that hands on its rows, or counts from one that writes them. `whole`:
// the result of require_room().
RadiusNeighbors collect_radius(std::int64_t q, bool f64,
                               const std::function<Report(const TakeRadiusRows&)>& fill,
                               const WholeAnswer* whole = nullptr);
// Likewise for a call; `fill` receives the outputs that it should produce.
RadiusNeighbors collect_whole(std::int64_t q, bool f64, const Radius& r,
                              const std::function<Report(const RadiusWants&)>& fill);
RadiusCounts collect_counts(std::int64_t q, const std::function<Report(std::int64_t*)>& fill);

}  // namespace kith::api
