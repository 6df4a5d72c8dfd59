// The interface of a step of the direct filter: its accumulator, the update by a word, and the
// final value. Formulas that are compiled at run time include this text, too.
#pragma once

namespace kith::gpu::direct {

// Defaults of a step. Steps have Acc, step(Acc&, q, x, exponent) and finish(Acc).
struct AnyStep {
    static constexpr int blocks =
        2;  // per multiprocessor: 64 accumulators leave room for 128 registers
    static constexpr int unrolled = 4;     // words
    static constexpr bool starts = false;  // accumulators start at FilterPass::exponent, not at 0
    static constexpr bool has_query_term = false;  // finish(a, exponent, query_term)
};
struct FloatStep : AnyStep {
    using Acc = float;
    __device__ static float finish(float a) { return a; }
};

}  // namespace kith::gpu::direct
