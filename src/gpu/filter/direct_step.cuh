// What a step of the direct filter has: its accumulator, what a word adds to it, and the value of
// that. Its text stands ahead of formulas that are compiled at run time, too.
#pragma once

namespace kith::gpu::direct {

// What most steps are like. A step has Acc, step(Acc&, q, x, exponent) and finish(Acc).
struct AnyStep {
    static constexpr int blocks =
        2;  // on a multiprocessor: 64 accumulators leave room for 128 registers
    static constexpr int unrolled = 4;  // words
    static constexpr bool starts =
        false;  // accumulators begin with FilterPass::exponent, not with 0
    static constexpr bool has_query_term = false;  // finish(a, exponent, query_term)
};
struct FloatStep : AnyStep {
    using Acc = float;
    __device__ static float finish(float a) { return a; }
};

}  // namespace kith::gpu::direct
