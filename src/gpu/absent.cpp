// The GPU backend of a build without CUDA: there is no device, and nothing can be run on one.
#include <cstring>

#include "gpu/backend.h"
#include "gpu/points/nan_rows.h"
#include "gpu/search/batches/batches.h"
#include "gpu/search/own_rows.h"
#include "kith/error.h"

namespace kith::gpu {

namespace {
[[noreturn]] void refuse() {
    throw Error(ErrorCode::device, "device: " + absence());
}
}  // namespace

class Points {};

int device_count() {
    return 0;
}
std::string absence() {
    return "this build has no GPU backend (nvcc was not found, or KITH_CUDA is OFF)";
}
std::string formula_compiler() {
    return "";
}
DeviceInfo device_info(int) {
    refuse();
}
DeviceInfo device_facts(int) {
    refuse();
}
int location(const void*) {
    return host_memory;
}
std::shared_ptr<void> call_stream(int) {
    refuse();
}
void copy(void* to, const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}
std::int64_t first_outside(const MatrixView&, const metric::Traits&) {
    refuse();
}
Magnitudes magnitudes(const MatrixView&) {
    refuse();
}
std::shared_ptr<const Points> prepare(const MatrixView&, const MetricSpec&, const Plan&, bool,
                                      void*, int, ProgressMeter&) {
    refuse();
}
bool has_bytes_alone(const Points&) {
    return false;
}
bool has_clusters(const Points&) {
    return false;
}
bool has_projection(const Points&) {
    return false;
}
bool boxes_pay(const Points&) {
    return false;
}
std::int64_t late_bytes(const Points&) {
    return 0;
}
void forget_late(const Points&) {}
bool has_tree(const Points&) {
    return false;
}

MatrixView elements(const Points&) {
    refuse();
}
void search(const Points&, const SearchRequest&) {
    refuse();
}
void radius(const Points&, const RadiusRequest&) {
    refuse();
}
void search_batches(const BatchesRequest&) {
    refuse();
}
void distances(const Points&, const DistancesRequest&) {
    refuse();
}
void select(const SelectRequest&) {
    refuse();
}
void time_small_selections(bool) {}
std::vector<std::uint64_t> take_operation_counts() {
    return {};
}

struct OwnRows::Work {};
std::unique_ptr<OwnRows> OwnRows::make(const std::shared_ptr<const Points>&, std::int64_t, bool,
                                       bool, void*) {
    return nullptr;
}
OwnRows::~OwnRows() = default;
NeighborsView OwnRows::others() const {
    refuse();
}
void OwnRows::put(const NeighborsView&) {
    refuse();
}
struct NanSearch::Work {};
NanSearch::NanSearch(const MatrixView&, void*) {
    refuse();
}
NanSearch::~NanSearch() = default;
std::int64_t NanSearch::count() {
    return 0;
}

}  // namespace kith::gpu
