// Plan: what a search is going to do and why, decided before it runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// The shape of a search, without data.
struct Shape {
    std::int64_t n = 0;  // points
    std::int64_t q = 0;  // queries
    std::int64_t d = 0;  // dimensions
    std::int64_t k = 0;  // neighbours
    ElementType type = ElementType::f32;
    bool graph = false;     // queries are the points, self excluded
    bool prepared = false;  // the points are those of an Index, prepared ahead of many searches

    bool operator==(const Shape&) const = default;
};

// How a search runs; never changes the answer. The filters' names say what evaluates the filter; binary64 refines and
// certifies.
enum class Path : std::uint8_t {
    gemm_f16,    // products in fp16 matrix units (GPU)
    gemm_bf16,   // products in bf16 (CPU)
    gemm_f32,    // products in f32 (CPU)
    direct_f32,  // the metric itself in f32
    tree,        // binary64, without the points of boxes that are too far
    projected,   // products along the directions in which points differ most, then of all coordinates, as above
    exact,       // no filter: every pair in binary64
    select,      // select(): no distances
    gemm_i8,     // products of whole numbers of 8 bits, then of 16 bits (CPU) or fp16 (GPU)
    clustered,   // products in fp16 matrix units, without clusters of points that are too far (GPU)
};
// "gemm-f16", ..., "clustered": what Options::path and Report::path say.
KITH_EXPORT const char* name(Path path);
struct Plan;
// The same of a plan, whose path may be composed, "kuang-zhao+bits", or fused, "hanak-fused".
KITH_EXPORT std::string path_name(const Plan& plan);

// Points of an Index that stay in host memory, by what of them lies on the GPU: what passes there is read over the bus.
enum class HostPoints : std::uint8_t {
    none,     // they do not stay: they lie on the device, or stream through it
    vectors,  // what the filter needs of each
    // Numbers of 8 bits alone: queries that these leave without a certificate, and what they do not serve (a radius,
    // many neighbours, other paths), stream the points, chunk_points at a time.
    bytes,
};

// One of the strategies that a search asks in turn, each for what those before have left. What runs of them is
// Report::trace.
struct Attempt {
    std::string_view strategy;  // its name, as in the trace; static
    std::string_view when;      // on which condition, or for what; "": at once; static

    bool operator==(const Attempt&) const = default;
};

// A decision, obeyed as it stands by the backend. Comparable and printable.
struct Plan {
    int device = host_memory;  // or a CUDA ordinal
    Path path = Path::exact;
    bool forced = false;   // the path, by Options::path: whatever the data are
    std::string first;     // a strategy that Options::path puts ahead of those of the path; "": none
    std::string selector;  // name in the list of selectors
    // Of a composed path, "kuang-zhao+bits", the kernel of the matrix of distances, and of how many queries it is at a
    // time; of a fused one, "hanak-fused", its kernel, and how many lists there are at a time. `path`: that of the
    // bound.
    std::string distances;
    std::int64_t matrix_queries = 0, fused_lists = 0;
    std::string isa;                      // instruction set: of the CPU, or the GPU's matrix instructions (filters)
    int threads = 1;                      // CPU threads
    std::int64_t query_tile = 0;          // queries (select: rows) handled together
    std::int64_t point_tile = 0;          // points (select: values of a row) handled together
    std::int64_t chunk_points = 0;        // points on the device at a time; n unless they stream
    std::int64_t candidate_capacity = 0;  // candidates kept per query between filter and refinement
    HostPoints host_points = HostPoints::none;
    std::int64_t held_bytes = 0;       // what lies on the GPU of points that stay in host memory
    std::int64_t workspace_bytes = 0;  // what the run will allocate beyond inputs, outputs and the prepared points
    bool symmetric = false;            // graph on a GPU: each tile of pairs serves its rows and its columns
    // Points whose dimensions are too many for a tree by their number: where a sample says that boxes would leave out
    // most of them all the same, they are searched by the path "tree".
    bool tries_tree = false;
    // Several GPUs: their ordinals (none for a single device, all else is the plan of the first), the queries that one
    // takes at a time, and the points that it holds: all of them, or its shard.
    std::vector<int> devices;
    std::int64_t device_queries = 0, device_points = 0;
    // What may be tried, in order; none of a selection. The last leaves nothing.
    std::vector<Attempt> attempts;
    std::string why;  // one sentence per decision

    bool operator==(const Plan&) const = default;
};

// The plan of a search of that shape with these options on this machine. Throws as search() would.
KITH_EXPORT Plan plan(const Shape& shape, const Options& options = {});

// Bytes that a search by that plan takes at most for preparing points of that shape, beyond the points themselves: the
// filter's copy, or the tree, which is larger while it is made.
KITH_EXPORT double prepared_bytes(const Shape& shape, const Plan& plan);

// A machine on which searches were measured (docs/performance.md): plans can be made for it that run elsewhere.
struct MeasuredMachine {
    std::string name;  // "h100"
    std::string what;  // "one NVIDIA H100 80GB HBM3"
};
KITH_EXPORT std::vector<MeasuredMachine> measured_machines();

// plan() as a measured machine would make it, all of it free. `machine`: its name, or a file that `kith calibrate`
// wrote (a name that ends in .json or has a slash). Throws invalid_argument for an unknown name, bad_file for a file
// that cannot be read or is broken.
KITH_EXPORT Plan plan_on(const std::string& machine, const Shape& shape, const Options& options = {});

// About how long a plan takes for points and queries in host memory, by rates measured at the nearest dimensions and k.
// `machine`: as of plan_on(), or "" for this one, by the rates of calibration(). Throws as plan_on() does, also for a
// broken file that KITH_MACHINE names.
struct MeasuredTime {
    double seconds = 0;  // 0: nothing alike was measured
    std::string source;  // what the rates are of, or why there is none
};
KITH_EXPORT MeasuredTime measured_time(const std::string& machine, const Shape& shape, const Options& options,
                                       const Plan& plan);

// The rates of this machine that `kith calibrate` has written: the file that the environment variable KITH_MACHINE
// names, or kith/machine.json in the user's configuration folder, XDG_CONFIG_HOME or ~/.config. Both are read once in a
// process, at the first use. Nothing needs the file, and no answer depends on it.
struct Calibration {
    std::string file;     // "": there is no such folder
    bool asked = false;   // for by KITH_MACHINE
    bool used = false;    // by measured_time()
    std::string problem;  // why a file that is there is not used: it is broken, or another machine's
};
KITH_EXPORT Calibration calibration();

// What searches of one path, metric, d and k take: call + point n + query q + n q / pairs_per_second seconds; of a tree
// points and queries log2(n + 2) / 16 times as much.
struct MeasuredRate {
    std::string device;  // "cpu", "cuda:0", or a GPU's name
    Path path = Path::exact;
    std::string metric;  // "": any that the path serves
    double d = 0, k = 0;
    double pairs_per_second = 0;  // 0: no pair takes time
    double call_seconds = 0, point_seconds = 0, query_seconds = 0;

    bool operator==(const MeasuredRate&) const = default;
};

// The devices to measure, as Options::device takes them: "cpu", and of the GPUs of each name the first, "cuda:0".
KITH_EXPORT std::vector<std::string> devices_to_measure();

// The file of calibration(), of such rates of this machine. `date`: "2026-11-29". Throws invalid_argument for a rate
// that is not finite, positive and of such a device.
KITH_EXPORT std::string calibration_text(const std::vector<MeasuredRate>& rates, const std::string& date);

// The plan of select(): the k best of each of `rows` rows of `cols` values of f32, f64, f16 or bf16 in host memory.
// Throws as select() would.
KITH_EXPORT Plan plan_select(std::int64_t rows, std::int64_t cols, std::int64_t k, ElementType type = ElementType::f32,
                             const Options& options = {});

// The plan as readable text, one fact a line.
KITH_EXPORT std::string explain(const Plan& plan);
// The attempts that ran, in the form of those that are planned; "" where none is known.
KITH_EXPORT std::string explain(const Report& report);

}  // namespace kith
