// The planner: a pure function from the shape of a search and the facts of a machine to a Plan. No
// device is touched, so any machine can be planned for and tested.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kith/plan.h"
#include "metric/metric.h"

namespace kith::planner {

// What the planner needs to know of a machine.
struct Machine {
    std::string isa = "baseline";
    bool bf16 = false;  // products of bf16, beside isa avx512
    bool vnni = false;  // products of bytes, likewise
    int threads = 1;
    std::int64_t free_bytes = 0;  // host
    struct Device {
        std::string name;
        int capability = 0;
        std::int64_t free_bytes = 0;
        int multiprocessors = 0;
    };
    std::vector<Device> devices;
    std::string no_device;  // why `devices` is empty
    // "" or why its GPUs have no products of f32 matrices; asked where a path takes them, as the
    // answer loads a library.
    std::string (*products_absence)() = nullptr;
};

// What the planner needs to know of a metric.
struct MetricFacts {
    MetricId id = MetricId::sqeuclidean;
    metric::Traits traits;
    bool rounds = false;      // its direct form takes coordinates that f32 does not hold
    bool user = false;        // formula or functor
    bool user_device = true;  // the functor has a device side
    bool has_aux = true;      // it keeps values of each vector beside the coordinates
    // Why a user's metric has no bound in f32; "": it has one, on a GPU.
    std::string unbounded = "needs a built-in metric or a formula";
};

// A form of points beside their rows, or what a sample has said of it.
enum class Form : std::uint8_t { unknown, absent, ready };

// What of a search's points has been made or found out, where these were prepared by themselves.
struct Forms {
    Form tree = Form::unknown;      // ready: it has been made
    Form boxes = Form::unknown;     // ready: a sample says that boxes leave out most points
    Form pca = Form::unknown;       // a GPU's vectors along few directions
    Form clusters = Form::unknown;  // of a GPU; ready: the filter is in their order
};

// What a selection asks beside its shape.
struct SelectionRequest {
    std::string order;  // "", "ascending" or "descending"
    bool largest = false;
    bool sorted = true;
    bool lengths = false;   // rows have their own
    bool enqueue = false;   // the host may not wait
    bool explained = true;  // Plan::why is wanted
};

// The request, free of callbacks and data. data_device: where the points lie.
struct Request {
    Shape shape;
    MetricFacts metric;
    std::string device = "auto";
    int data_device = host_memory;
    std::int64_t memory = 0;
    double share = 1;  // of a GPU's free memory that may be planned with, where `memory` is 0
    int threads = 0;
    std::string path, selector, isa;
    bool all_points = false;  // every point may be wanted, as within a radius: no PCA projection
    bool prepared = false;    // the points are, ahead of their queries, of which there may be many
    bool ahead = false;  // and this plan prepares them: neither queries nor neighbours are known
    bool leaves_out = true;  // paths that leave out points unseen may be chosen
    Forms forms;
    std::int64_t point_element =
        0;  // bytes of a prepared coordinate; 0: as `shape` says, of which queries may differ
    std::int64_t chunk_points =
        0;  // points on the device at a time, where they have been prepared; 0: to be decided
    HostPoints host_points =
        HostPoints::none;  // as they have been prepared, with the filter of `host_path`
    Path host_path = Path::exact;
    std::int64_t most_queries = 0;  // of a tile on a GPU; 0: to be decided
    SelectionRequest selected;
};

// Whether a plan's search asks the numbers of 8 bits of all points before any of these stream.
inline bool searches_by_bytes(const Plan& plan) {
    return plan.host_points == HostPoints::bytes && plan.path == Path::gemm_i8;
}

// Throws invalid_argument (unknown names, inapplicable path), device (no such device),
// out_of_memory (budget below the smallest tile).
Plan make(const Request& request, const Machine& machine);
// Bytes that a search may take of a GPU: what was asked for, or most of what is free.
double device_budget(const Request& request, const Machine::Device& device);
// What tiles of a CPU may take. Throws out_of_memory where that is less than the smallest one.
double cpu_budget(const Request& request, const Machine& machine, double least);

// The plan of a selection: shape.n columns, shape.q rows.
Plan selection(const Request& request, const Machine& machine);
// The bytes that it takes on a GPU beyond the caller's memory, all rows at a time; the devices'
// free memory is not read.
double selection_bytes(const Request& request, const Machine& machine);

// Bytes of a CPU's tree, and while it is made its points' coordinates and numbers once more; of its
// projection, rows and sample among it.
double tree_bytes(const Shape& shape);
double projected_bytes(const Shape& shape);

// The devices that a request's `device` names on this machine: host_memory, or ordinals.
std::vector<int> choose_devices(const std::string& device, int data_device, const Machine& machine);
// The one that it names; a list of more is refused.
int choose_device(const std::string& device, int data_device, const Machine& machine);
// As Options::device takes them: "cpu", "cuda:1", "cuda:0,1".
std::string spelled(const std::vector<int>& devices);

// The plan of a search that several devices share, which may be the same one several times:
// Plan::device_queries and device_points are its blocks, all else is what the first device does
// with one.
Plan divide(const Request& request, const Machine& machine, const std::vector<int>& devices);
// What several devices are: GPUs of one name, or unequal ones or CPUs, of which one may be slower.
enum class Kind : std::uint8_t { equal_gpus, unequal_gpus, cpus };
Kind kind_of(const std::vector<int>& devices, const Machine& machine);
// Of q queries those that one of `count` devices takes at a time, which would search `at_once`
// together.
std::int64_t block_queries(std::int64_t q, std::int64_t at_once, std::size_t count, Kind kind);

// The paths of a search, in order of preference.
struct PathFacts {
    Path path;
    bool on_cpu, on_gpu;
    const char* what;
};
std::span<const PathFacts> paths();
// True for paths whose filter compares a part of the coordinates, or of the points.
constexpr bool looks_at_less(Path path) {
    return path == Path::projected || path == Path::gemm_i8 || path == Path::clustered;
}
// True if a strategy of the CPU, or of a GPU, has that name, no path has, and Options::path may put
// it first.
bool is_only_first(std::string_view name, bool gpu);
// "" when `path` serves the metric and type on that kind of device, else the reason why not.
std::string why_not(const PathFacts& path, const MetricFacts& metric, ElementType type, bool gpu);

}  // namespace kith::planner
