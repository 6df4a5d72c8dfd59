// A validated radius search on the devices of an index: what kith::radius and Index share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/device_group.h"
#include "api/device_index.h"
#include "kith/radius.h"

namespace kith::api {

// Of searches by radius whose caller left the metric alone: r is a distance, not its square.
constexpr MetricId usual_radius_metric = MetricId::euclidean;

// An answer that is kept in memory, all rows together.
struct WholeAnswer {
    std::int64_t queries = 0;
    bool f64 = false;
    std::string radius;       // in words
    std::int64_t pairs = -1;  // where they have been counted: room for them is made at once
};

// What is asked for.
struct RadiusWants {
    std::int64_t* counts = nullptr;  // of each query, unless null: then only these are
    const TakeRadiusRows* take = nullptr;
    WholeAnswer* whole = nullptr;  // what `take` keeps; null: it keeps no rows
    // Query i leaves out point own + i, which another set of points may have. Of the points among
    // themselves each leaves itself out, unless Options::include_self.
    std::optional<std::int64_t> own{};
    bool keys = false;  // distances are the distance keys, of f64
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

// Throws invalid_argument for options that serve other searches.
void check_options(const Options& options);
// The radius of each of q queries. Throws invalid_argument.
std::vector<double> radii_of(const Radius& r, std::int64_t q, const MetricSpec& metric);

// Some queries on one device.
struct RadiusRun {
    const MatrixView& queries;
    const double* radii;  // of each, on the host
    bool open = false;
    bool graph =
        false;  // query i leaves out point first_own + i, which another set of points may have
    std::int64_t first_own = 0;
    bool f64 = false, keys = false;  // distances are f64; they are the distance keys
    std::int64_t list_bytes = 0;     // about so much is kept of rows that have not been taken
    const Options& options;
    ProgressMeter& progress;
    std::int64_t* counts = nullptr;
    const TakeRadiusRows* take = nullptr;
};
// Adds to the report, and has named path and device in it when rows are taken.
void run_radius(const DeviceIndex& index, const RadiusRun& run, Report& report);

// Bytes of rows that have not been taken, unless Options::memory says.
constexpr std::int64_t radius_list_bytes = 256 << 20;

// Of validated queries.
Report run_radius(const DeviceIndex& index, const RadiusCall& call);
// The same answer. Rows are merged, and handed on, by the calling thread while no device works.
Report run_radius(const DeviceGroup& group, const MetricSpec& metric, const RadiusCall& call);

// A whole call: validates all but the views, prepares the points, runs. Without queries, of the
// points among themselves.
Report radius_once(const MatrixView& points, const MatrixView* queries, const Radius& r,
                   const Options& options, const RadiusWants& wants);

// An answer from a function that hands on its rows; counts from one that writes them. `whole`: what
// require_room() has found.
RadiusNeighbors collect_radius(std::int64_t q, bool f64,
                               const std::function<Report(const TakeRadiusRows&)>& fill,
                               const WholeAnswer* whole = nullptr);
// The same of a call, which gets what it wants.
RadiusNeighbors collect_whole(std::int64_t q, bool f64, const Radius& r,
                              const std::function<Report(const RadiusWants&)>& fill);
RadiusCounts collect_counts(std::int64_t q, const std::function<Report(std::int64_t*)>& fill);

}  // namespace kith::api
