// A build without the GPU backend: no device memory, no limits of a GPU.
#include "device_memory.h"
#include "kith/error.h"
#include "machine_limits.h"
#include "search/data.h"
#include "search/matrix_times.h"
#include "search/partitioned.h"
#include "search/pinned_copy.h"

namespace kith::bench {

namespace {

[[noreturn]] void refuse() {
    throw Error(ErrorCode::device, "device: this build has no GPU backend");
}

}  // namespace

std::shared_ptr<void> device_array(int, std::size_t) {
    refuse();
}

void fill_on_device(int, void*, ElementType, std::int64_t, std::int64_t, const Recipe&) {
    refuse();
}

double pinned_copy_seconds(int, std::size_t) {
    refuse();
}

std::vector<double> matrix_seconds(int, const std::string&, exact::Step, Data, const MatrixShape&, const MatrixRuns&) {
    refuse();
}

std::vector<double> fused_seconds(int, const std::string&, Data, const MatrixShape&, std::int64_t, const MatrixRuns&) {
    refuse();
}

std::vector<std::vector<double>> selection_seconds(int, Data, const MatrixShape&, std::int64_t,
                                                   const std::vector<std::string>&, const MatrixRuns&) {
    refuse();
}

GarciaSteps garcia_steps(const MatrixShape&, std::int64_t, const float*, const float*, const std::string&,
                         std::int64_t*) {
    refuse();
}

struct PartitionedSearch::State {};

PartitionedSearch::PartitionedSearch(const Partition&, int, const float*, const float*) {
    refuse();
}

PartitionedSearch::~PartitionedSearch() = default;

double PartitionedSearch::run(Pass) {
    refuse();
}

std::vector<std::int64_t> PartitionedSearch::ids() const {
    refuse();
}

std::shared_ptr<void> pinned_array(std::size_t) {
    refuse();
}

Limits cuda_limits(int) {
    refuse();
}

}  // namespace kith::bench
