// Plan: what a search will do and why, decided before it runs.
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
    bool graph = false;     // the queries are the points, self excluded
    bool prepared = false;  // the points are those of an Index, prepared for many searches

    bool operator==(const Shape&) const = default;
};

// How a search runs; never changes the answer. A filter's name says how it evaluates pairs; binary64 rescores and
// certifies.
enum class Path : std::uint8_t {
    gemm_f16,    // products in fp16 matrix units (GPU)
    gemm_bf16,   // products in bf16 (CPU)
    gemm_f32,    // products in f32 (CPU)
    direct_f32,  // the metric itself in f32
    tree,        // k-d tree in binary64: prunes boxes that are too far
    projected,   // GEMM on a PCA projection, then full-dimensional as above
    exact,       // full scan: every pair in binary64
    select,      // select(): no distances
    gemm_i8,     // int8 GEMM, rescored in int16 (CPU) or fp16 (GPU)
    clustered,   // fp16 matrix units on a ball-cover partition (clusters), pruning those that are too far (GPU)
};
// "gemm-f16", ..., "clustered": the names for Options::path and Report::path.
KITH_EXPORT const char* name(Path path);
struct Plan;
// Likewise for a plan, with a composed ("kuang-zhao+bits") or fused ("hanak-fused") path.
KITH_EXPORT std::string path_name(const Plan& plan);

// Host-resident points of an Index, by the part of them that is on the GPU; candidates are read over the bus.
enum class HostPoints : std::uint8_t {
    none,     // not host-resident: on the device, or streamed through it
    vectors,  // the filter's data of each point
    // Their int8 form only. Queries that it leaves without a certificate, and uses that it does not serve (range
    // search, many neighbours, other paths), stream the points, chunk_points at a time.
    bytes,
};

// One of a search's strategies, which run one after the other, each on the queries that the ones before left.
// Report::trace records the attempts that ran.
struct Attempt {
    std::string_view strategy;                    // its name in the trace; static
    std::string_view when;                        // its condition or purpose; "": always; static
    std::int64_t query_tile = 0, point_tile = 0;  // queries and points that it handles at a time
    double bytes = 0;                             // that it keeps for the points, beyond the points themselves
    // Estimated by plan() for all queries, by the planner's own rates (measured_time() has the machine's); 0: no rates.
    double seconds = 0;

    bool operator==(const Attempt&) const = default;
};

// A decision that the backend follows exactly. Comparable and printable.
struct Plan {
    int device = host_memory;  // or a CUDA ordinal
    Path path = Path::exact;
    bool forced = false;   // Options::path forced the path, regardless of the data
    std::string first;     // a strategy that Options::path puts before those of the path; "": none
    std::string selector;  // name in the list of selectors
    // For a composed path, "kuang-zhao+bits": the kernel of the distance matrix, and the number of queries per matrix.
    // For a fused one, "hanak-fused": its kernel, and the number of lists at a time. `path` is that of the bound.
    std::string distances;
    std::int64_t matrix_queries = 0, fused_lists = 0;
    std::string isa;                      // instruction set: the CPU's, or the GPU's matrix instructions (filters)
    int threads = 1;                      // CPU threads
    std::int64_t query_tile = 0;          // queries (select: rows) per tile
    std::int64_t point_tile = 0;          // points (select: values of a row) per tile
    std::int64_t chunk_points = 0;        // points on the device at a time; n unless they stream
    std::int64_t candidate_capacity = 0;  // candidates per query between filter and rescoring
    HostPoints host_points = HostPoints::none;
    std::int64_t held_bytes = 0;  // bytes of host-resident points that are on the GPU
    // bytes that the run will allocate beyond inputs, outputs and the prepared points
    std::int64_t workspace_bytes = 0;
    bool symmetric = false;  // graph on a GPU: each tile of pairs serves its rows and its columns
    // The dimension normally excludes a tree. If a sample predicts that boxes prune most of the points nevertheless,
    // path "tree" searches them.
    bool tries_tree = false;
    // Several GPUs: their ordinals, the queries per batch on one GPU, and the points that it holds (all of them, or its
    // shard). Ordinals are empty for a single device. All other fields are the plan of the first GPU.
    std::vector<int> devices;
    std::int64_t device_queries = 0, device_points = 0;
    // The strategies in the order in which they may run; none for a selection. The last one leaves no queries.
    std::vector<Attempt> attempts;
    std::string why;  // one sentence per decision

    bool operator==(const Plan&) const = default;
};

// The plan of a search of that shape with these options on this machine. Throws what search() would.
KITH_EXPORT Plan plan(const Shape& shape, const Options& options = {});

// Upper bound on the bytes for preparing points of that shape under the plan, beyond the points themselves. They hold
// the filter's copy, or the tree, which is larger while it is built.
KITH_EXPORT double prepared_bytes(const Shape& shape, const Plan& plan);

// A machine with measured searches (docs/performance.md): plans can be made for it on other machines.
struct MeasuredMachine {
    std::string name;  // "h100"
    std::string what;  // "one NVIDIA H100 80GB HBM3"
};
KITH_EXPORT std::vector<MeasuredMachine> measured_machines();

// plan() as on a measured machine with all memory free. `machine`: its name, or a file that `kith calibrate` wrote (a
// name that ends in .json or contains a slash). Throws invalid_argument for an unknown name, bad_file for an unreadable
// or broken file.
KITH_EXPORT Plan plan_on(const std::string& machine, const Shape& shape, const Options& options = {});

// Estimated time of a plan for points and queries in host memory, from rates measured at the nearest dimension and k.
// `machine`: see plan_on(), or "" for this one, at the rates of calibration(). Throws what plan_on() throws, also for a
// broken file that KITH_MACHINE names.
struct MeasuredTime {
    double seconds = 0;  // 0: nothing comparable was measured
    std::string source;  // the origin of the rates, or why there are none
};
KITH_EXPORT MeasuredTime measured_time(const std::string& machine, const Shape& shape, const Options& options,
                                       const Plan& plan);

// The rates of this machine that `kith calibrate` has written. The file is the one that the environment variable
// KITH_MACHINE names, or kith/machine.json in the user's configuration folder, XDG_CONFIG_HOME or ~/.config. It is read
// once per process, at the first use. It is optional, and no answer depends on it.
struct Calibration {
    std::string file;     // "": there is no such folder
    bool asked = false;   // KITH_MACHINE names it
    bool used = false;    // by measured_time()
    std::string problem;  // why an existing file is not used: broken, or from another machine
};
KITH_EXPORT Calibration calibration();

// Measured cost of searches with one path, metric, d and k: call + point n + query q + n q / pairs_per_second seconds.
// For a tree the terms of points and queries are multiplied by log2(n + 2) / 16.
struct MeasuredRate {
    std::string device;  // "cpu", "cuda:0", or a GPU's name
    Path path = Path::exact;
    std::string metric;  // "": any that the path serves
    double d = 0, k = 0;
    double pairs_per_second = 0;  // 0: pairs cost nothing
    double call_seconds = 0, point_seconds = 0, query_seconds = 0;

    bool operator==(const MeasuredRate&) const = default;
};

// The devices to measure, in the syntax of Options::device: "cpu", and the first GPU of each name, "cuda:0".
KITH_EXPORT std::vector<std::string> devices_to_measure();

// The contents of calibration()'s file for these rates of this machine. `date`: "2026-11-29". Throws invalid_argument
// for a rate that is not finite and positive, or not of such a device.
KITH_EXPORT std::string calibration_text(const std::vector<MeasuredRate>& rates, const std::string& date);

// The plan of select(): the k best of each of `rows` rows of `cols` values of f32, f64, f16 or bf16 in host memory.
// Throws what select() would.
KITH_EXPORT Plan plan_select(std::int64_t rows, std::int64_t cols, std::int64_t k, ElementType type = ElementType::f32,
                             const Options& options = {});

// The plan as readable text, one fact per line.
KITH_EXPORT std::string explain(const Plan& plan);
// The attempts that ran, in the format of planned ones; "" if none is known.
KITH_EXPORT std::string explain(const Report& report);

}  // namespace kith
