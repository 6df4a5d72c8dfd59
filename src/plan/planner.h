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

// The facts about a machine that the planner needs.
struct Machine {
    std::string isa = "baseline";
    bool bf16 = false;  // bf16 products, if isa is avx512 or amx
    bool vnni = false;  // int8 products, likewise
    int threads = 1;
    std::int64_t free_bytes = 0;  // free host memory
    struct Device {
        std::string name;
        int capability = 0;
        std::int64_t free_bytes = 0;
        int multiprocessors = 0;
    };
    std::vector<Device> devices;
    std::string no_device;  // why `devices` is empty
    // Why the GPUs have no f32 matrix products; "" if they have. Called only for paths that need
    // them, since it loads a library.
    std::string (*products_absence)() = nullptr;
};

// The facts about a metric that the planner needs.
struct MetricFacts {
    MetricId id = MetricId::sqeuclidean;
    metric::Traits traits;
    bool rounds = false;      // its direct form takes coordinates that f32 cannot hold
    bool user = false;        // formula or functor
    bool user_device = true;  // the functor has a device side
    bool has_aux = true;      // it keeps auxiliary values of each vector
    // Why a user's metric has no bound in f32; "": it has one, on a GPU.
    std::string unbounded = "needs a built-in metric or a formula";
};

// The state of a form of the points, or the answer of a sample about it.
enum class Form : std::uint8_t { unknown, absent, ready };

// The forms of a search's points, if the points were prepared before.
struct Forms {
    Form tree = Form::unknown;      // ready: the tree has been made
    Form boxes = Form::unknown;     // ready: a sample says that boxes leave out most points
    Form pca = Form::unknown;       // on a GPU: the PCA projection of the points
    Form clusters = Form::unknown;  // on a GPU; ready: the filter's vectors are in the clusters'
                                    // order
};

// The points of a request: whether they are prepared, and the forms that were made of them before.
struct PreparedPoints {
    bool prepared = false;  // they are, for any number of queries to come
    Forms forms;
    // Bytes per coordinate, which may differ from shape.type, the wider type of points and queries.
    // 0: as shape.type.
    std::int64_t element = 0;
    std::int64_t chunk = 0;  // points on the device at a time; 0: to be decided
    // The part of host-resident points on the device, as prepared for the filter of `path`.
    HostPoints host = HostPoints::none;
    Path path = Path::exact;
    // Bytes on a GPU, within the request's `memory`, of forms that searches have made.
    std::int64_t late_bytes = 0;
};

// The options of a selection beyond its shape.
struct SelectionRequest {
    std::string order;  // "", "ascending" or "descending"
    bool largest = false;
    bool sorted = true;
    bool lengths = false;   // each row has its own length
    bool enqueue = false;   // the host may not wait for the device
    bool explained = true;  // Plan::why is needed
};

// A request, free of callbacks and data. data_device: the device that holds the points.
struct Request {
    Shape shape;
    MetricFacts metric;
    std::string device = "auto";
    int data_device = host_memory;
    std::int64_t memory = 0;
    double share = 1;  // the part of a GPU's free memory that the plan may use if `memory` is 0
    int threads = 0;
    std::string path, selector, isa;
    bool all_points = false;  // any point may be an answer (range search): no PCA projection
    bool ahead = false;       // the plan prepares the points: queries and k are unknown yet
    bool leaves_out = true;   // allows paths that leave out points unseen
    PreparedPoints points;
    std::int64_t most_queries = 0;  // per tile on a GPU; 0: to be decided
    SelectionRequest selected;
};

// True if the plan's search compares the int8 form of all points before any points stream.
inline bool searches_by_bytes(const Plan& plan) {
    return plan.host_points == HostPoints::bytes && plan.path == Path::gemm_i8;
}

// The plan of a search. Throws invalid_argument (unknown names, inapplicable path), device (no such
// device), out_of_memory (budget below the smallest tile).
Plan make(const Request& request, const Machine& machine);
// Bytes that a search may take on a GPU: request.memory, or most of the free memory.
double device_budget(const Request& request, const Machine::Device& device);
// Bytes that tiles may take on a CPU. Throws out_of_memory if they are fewer than `least`, the
// smallest tile.
double cpu_budget(const Request& request, const Machine& machine, double least);

// The plan of a selection from shape.q rows of shape.n columns. Throws as make() does.
Plan selection(const Request& request, const Machine& machine);
// Bytes that it takes on a GPU beyond the caller's memory, with all rows at a time. Does not read
// the devices' free memory.
double selection_bytes(const Request& request, const Machine& machine);

// Bytes of a CPU's tree while it is made, which include a copy of the points' coordinates and
// numbers; of its PCA projection, rows and sample included.
double tree_bytes(const Shape& shape);
double projected_bytes(const Shape& shape);

// The devices on this machine that a request's `device` names: host_memory, or ordinals. Throws
// device if the machine lacks one, invalid_argument for other names and repeated ordinals.
std::vector<int> choose_devices(const std::string& device, int data_device, const Machine& machine);
// The device that it names. Refuses a list of several.
int choose_device(const std::string& device, int data_device, const Machine& machine);
// The devices in the syntax of Options::device: "cpu", "cuda:1", "cuda:0,1".
std::string spelled(const std::vector<int>& devices);

// The plan of a search that several devices share; a device may be listed several times.
// Plan::device_queries and device_points are the size of a block. All other fields are the first
// device's plan for one block.
Plan divide(const Request& request, const Machine& machine, const std::vector<int>& devices);
// The kind of a group of devices: GPUs of one name, unequal GPUs, or CPUs. Some of the latter two
// may be slower than others.
enum class Kind : std::uint8_t { equal_gpus, unequal_gpus, cpus };
Kind kind_of(const std::vector<int>& devices, const Machine& machine);
// The queries, among q, that one of `count` devices takes at a time. `at_once`: the most that a
// device searches together.
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
// True if a CPU (or GPU) strategy has that name, no path has it, and Options::path may put it
// first.
bool is_only_first(std::string_view name, bool gpu);
// "" if `path` serves the metric and type on that kind of device, else the reason why not.
std::string why_not(const PathFacts& path, const MetricFacts& metric, ElementType type, bool gpu);

}  // namespace kith::planner
