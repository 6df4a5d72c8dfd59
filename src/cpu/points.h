// Points of a metric, prepared once for any number of searches.
#pragma once

#include <cstddef>
#include <memory>

#include "cpu/buffer.h"
#include "exact/problem.h"

namespace kith::cpu {

class Filter;

class Points {
public:
    MetricSpec metric;
    MatrixView rows;  // row-major; the caller's memory or `storage`
    Buffer<std::byte> storage;
    std::shared_ptr<const Filter> filter;  // null: these points serve the path "exact" alone
};

}  // namespace kith::cpu
