// Points of a metric, prepared once for any number of searches.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "cpu/buffer.h"
#include "cpu/filter_bound.h"
#include "cpu/isa.h"
#include "exact/problem.h"
#include "exact/progress.h"

namespace kith::cpu {

class Filter;

// What the filter of a path rounds to.
inline Rounding rounding_of(const std::string& path) {
    return path == "gemm-bf16" ? Rounding::bf16 : Rounding::f32;
}

class Points {
public:
    MetricSpec metric;
    MatrixView rows;  // row-major; the caller's memory or `storage`
    Buffer<std::byte> storage;

    // The packed filter, made at the first call (an Index makes that of its path when it is built, a single search of
    // few queries does without); null where the metric or the data have none.
    // Throws where `progress` is cancelled meanwhile. Of calls that make it at the same time, the first one's is kept.
    const Filter* filter(Isa isa, int threads, Rounding rounding, ProgressMeter& progress) const;
    bool packed(Rounding rounding) const { return made(rounding).packed.load(std::memory_order_acquire); }

private:
    struct Made {
        std::mutex mutex;
        bool known = false;  // `filter` stays what it is, null included
        std::shared_ptr<const Filter> filter;
        std::atomic<bool> packed{false};
    };
    Made& made(Rounding rounding) const { return made_[static_cast<int>(rounding)]; }
    mutable Made made_[2];
};

}  // namespace kith::cpu
