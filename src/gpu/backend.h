// The GPU backend: points prepared once on a device, exact searches on them, selection. No CUDA
// type crosses this header; without CUDA, absent.cpp answers that there is no device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exact/magnitudes.h"
#include "exact/metric_spec.h"
#include "exact/request.h"
#include "kith/plan.h"
#include "kith/radius.h"

namespace kith::gpu {

struct DeviceInfo {
    std::string name;
    int capability = 0;  // 90 for 9.0
    int multiprocessors = 0;
    std::int64_t total_bytes = 0;
    std::int64_t free_bytes = 0;
    std::string code;  // which code of this build it runs: runtime/device_code.h
};

// 0 where there is no driver or no device. Never throws.
int device_count();
// Throws device.
DeviceInfo device_info(int device);
// Likewise without asking for free memory, which takes as long as a small search: free_bytes is 0.
DeviceInfo device_facts(int device);
// "" or the reason why device_count() is 0.
std::string absence();
// The ordinal on which `data` lies, or host_memory. Does not start CUDA.
int location(const void* data);
// The compiler of formulas for a device, or that there is none. Never throws.
std::string formula_compiler();
// A stream of a device for one call, destroyed with its last owner. The default stream does not
// wait for it, nor do copies from it to another device wait for what the default streams of both
// were given.
std::shared_ptr<void> call_stream(int device);
// Copies between host and device memory; either side may be host or device. The copy begins after
// all work that the device has been given on any stream, and has ended on return. It serves what
// the host reads and writes of the caller's device memory.
void copy(void* to, const void* from, std::size_t bytes);

// The first row of a matrix in device memory with a coordinate that the traits do not admit, or the
// number of rows. Begins after all work that the device has been given, as copy() does.
std::int64_t first_outside(const MatrixView& view, const metric::Traits& traits);

// Those of a matrix in device memory, likewise.
Magnitudes magnitudes(const MatrixView& view);

class Points;
// `copy`: as cpu::prepare. Points beyond plan.chunk_points stay where they are and stream through
// the device per search. The host works on up to `threads` threads. Polls `progress`, and throws if
// it is cancelled.
std::shared_ptr<const Points> prepare(const MatrixView& points, const MetricSpec& metric,
                                      const Plan& plan, bool copy, void* stream, int threads,
                                      ProgressMeter& progress);

// True if they have a PCA projection.
bool has_projection(const Points& points);
// True if they stay in host memory, and only their int8 form is on the device.
bool has_bytes_alone(const Points& points);
// True if they are in clusters.
bool has_clusters(const Points& points);
// True if they have a tree.
bool has_tree(const Points& points);
// True if a sample of them has said that boxes leave out most (Plan::tries_tree).
bool boxes_pay(const Points& points);

// Bytes of the forms that searches have made of the points, beyond those that prepare() made.
std::int64_t late_bytes(const Points& points);
// Releases these forms, unless a call uses the points: searches that need them make them again.
void forget_late(const Points& points);

// The elements of the points, as kept (valid as long as they are).
MatrixView elements(const Points& points);

// The k nearest of each query into the caller's result.
void search(const Points& points, const SearchRequest& request);

// All points within a radius of each query, listed or counted.
struct RadiusRequest {
    MatrixView queries;  // with graph, the points
    // Bounds of each query, in host memory. Keys up to `inner` are within, keys beyond `outer` are
    // not (NaN: none is). Between the two the reported distance is compared with the query's
    // radius.
    const double* inner;
    const double* outer;
    const double* radii;
    bool open = false;
    bool graph = false;  // query i excludes id first_own + i, which another set of points may have
    std::int64_t first_own = 0;
    const Plan& plan;
    bool f64 = false;        // distances are f64
    bool keys = false;       // they are the distance keys; with f64
    void* stream = nullptr;  // cudaStream_t of the caller
    ProgressMeter& progress;
    std::int64_t list_bytes = 0;     // about so much is handed on at once
    std::int64_t* counts = nullptr;  // of each query, unless null: then only these are asked for
    const TakeRadiusRows* take = nullptr;
    Report& report;  // counters are added
};
void radius(const Points& points, const RadiusRequest& request);

// All distances of the queries to the points, into the caller's matrix, which may lie anywhere.
void distances(const Points& points, const DistancesRequest& request);

// kith::select on a device.
void select(const SelectRequest& request);

// Turns on the timing (Report::device_seconds) of selections so small that their caller would wait
// longer for it: for benchmarks.
void time_small_selections(bool yes);

// The counts of selections since the last call, by the slots that each selector's file names. Empty
// unless built with KITH_COUNT_OPERATIONS. Not for several threads at once.
std::vector<std::uint64_t> take_operation_counts();

}  // namespace kith::gpu
