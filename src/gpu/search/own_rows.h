// Rows of a graph that begin with their own point, made on the device. No CUDA type.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/backend.h"

namespace kith::gpu {

// Rows of k neighbours of each point, of which others() has all but the point: a search writes
// them, and put() writes the whole rows.
class OwnRows {
public:
    // Null where rows are made on the host: by functors, of points that stream or lie in host
    // memory, and of more rows than are worth the device's memory.
    static std::unique_ptr<OwnRows> make(const std::shared_ptr<const Points>& points,
                                         std::int64_t k, bool f64, bool distances, void* stream);
    ~OwnRows();
    OwnRows(const OwnRows&) = delete;
    OwnRows& operator=(const OwnRows&) = delete;

    // n x max(1, k - 1) on the device.
    NeighborsView others() const;
    // n x k, on the points' device or in host memory: point i at its distance to itself, then its
    // others. A point with a NaN keeps its row of missing neighbours. Finished on return.
    void put(const NeighborsView& out);

private:
    struct Work;
    explicit OwnRows(std::unique_ptr<Work> work);
    std::unique_ptr<Work> work_;
};

}  // namespace kith::gpu
