// The sums of a row and its rounding, a vector of coordinates at a time.
#pragma once

#include "cpu/filter/tile/tile.h"
#include "cpu/simd/vector_ops-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

class RowSumLanes {
public:
    using Real = VectorOps<double>;
    // Adds coordinates v, rounded to r.
    KITH_HD void add(Real::V v, Real::V r) {
        const Real::V e = v - r;
        norm2_ = Real::fma(v, v, norm2_);
        rounded2_ = Real::fma(r, r, rounded2_);
        residual2_ = Real::fma(e, e, residual2_);
    }
    KITH_HD RowSums total() const {
        RowSums sums{0, 0, 0};
        for (int lane = 0; lane < Real::lanes; ++lane) {
            sums.norm2 += norm2_[lane];
            sums.rounded2 += rounded2_[lane];
            sums.residual2 += residual2_[lane];
        }
        return sums;
    }

private:
    Real::V norm2_ = {}, rounded2_ = {}, residual2_ = {};
};

}  // namespace
}  // namespace kith::cpu::KITH_TARGET
