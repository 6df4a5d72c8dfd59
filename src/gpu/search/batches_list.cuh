// The k nearest of one query, kept by one thread: in registers, or in local memory where they are
// too many.
#pragma once

#include <cstdint>

#include "exact/order.h"

namespace kith::gpu {

// K sorted entries, of which the last k count: those before are filled with a key below all others,
// so that the k-th nearest is always the last entry. Points come by ascending id: the first of
// equal keys stays before the others.
template <int K>
struct BatchesList {
    static constexpr bool registers = K <= 32;
    static constexpr std::uint64_t missing = exact::Order<double>::nan;
    std::uint64_t keys[K];
    std::uint32_t ids[K];

    __device__ explicit BatchesList(int k) {
#pragma unroll
        for (int i = 0; i < K; ++i) {
            keys[i] = i < K - k ? 0 : missing;
            ids[i] = 0;
        }
    }
    __device__ std::uint64_t last() const {
        return keys[K - 1];
    }
    // key < last().
    __device__ void insert(std::uint64_t key, std::uint32_t id) {
        if constexpr (registers) {
#pragma unroll
            for (int i = K - 1; i > 0; --i) {
                const bool behind = key < keys[i - 1], here = key < keys[i];
                keys[i] = behind ? keys[i - 1] : (here ? key : keys[i]);
                ids[i] = behind ? ids[i - 1] : (here ? id : ids[i]);
            }
            ids[0] = key < keys[0] ? id : ids[0];
            keys[0] = key < keys[0] ? key : keys[0];
        } else {
            int i = K - 1;
#pragma unroll 1
            for (; i > 0 && key < keys[i - 1]; --i) {
                keys[i] = keys[i - 1];
                ids[i] = ids[i - 1];
            }
            keys[i] = key;
            ids[i] = id;
        }
    }
    // visit(place, key, id) of the k entries, place from 0.
    template <class F>
    __device__ void each(int k, const F& visit) const {
        if constexpr (registers) {
#pragma unroll
            for (int i = 0; i < K; ++i)
                if (i >= K - k) visit(i - (K - k), keys[i], ids[i]);
        } else {
#pragma unroll 1
            for (int i = K - k; i < K; ++i) visit(i - (K - k), keys[i], ids[i]);
        }
    }
};

}  // namespace kith::gpu
