// Sismanis, Pitsianis, Sun 2012, section 3.3: a corpus in host memory, cut into subcorpora that pass through a device
// in CUDA streams, three of them there at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace kith::bench {

struct Partition {
    int device = 0;
    std::int64_t n = 0, q = 0, d = 0, k = 0;
    std::int64_t rows = 0;  // of a subcorpus; n is a multiple of it
};

// The parts of a pass over the corpus.
enum class Pass : std::uint8_t { whole, copies, kernels };

// A search as the paper has it: distances by a product of cuBLAS in f32, the truncated bitonic sort, and the k of each
// subcorpus merged with those before it. Not exact: of f32.
class PartitionedSearch {
public:
    // `points`: in pinned host memory, n x d; `queries`: on the device. Both stay the caller's.
    PartitionedSearch(const Partition& partition, int streams, const float* points, const float* queries);
    ~PartitionedSearch();
    PartitionedSearch(const PartitionedSearch&) = delete;
    PartitionedSearch& operator=(const PartitionedSearch&) = delete;

    // Seconds from the first copy to the merged lists.
    double run(Pass pass);
    // For the last whole pass, q x k, each row sorted by distance.
    std::vector<std::int64_t> ids() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Pinned host memory, freed with its last owner. Throws kith::Error.
std::shared_ptr<void> pinned_array(std::size_t bytes);

}  // namespace kith::bench
