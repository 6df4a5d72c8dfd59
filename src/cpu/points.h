// Points of a metric, prepared once for any number of searches.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "cpu/buffer.h"
#include "cpu/isa.h"
#include "exact/problem.h"

namespace kith::cpu {

class Filter;

class Points {
public:
    MetricSpec metric;
    MatrixView rows;  // row-major; the caller's memory or `storage`
    Buffer<std::byte> storage;

    // The packed filter, made at the first call (an Index makes it when it is built, a single search of few queries
    // does without); null where the metric or the data have none.
    const Filter* filter(Isa isa, int threads) const;
    bool packed() const { return packed_.load(std::memory_order_acquire); }

private:
    mutable std::once_flag once_;
    mutable std::shared_ptr<const Filter> filter_;
    mutable std::atomic<bool> packed_{false};
};

}  // namespace kith::cpu
