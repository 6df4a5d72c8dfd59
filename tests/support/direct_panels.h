// Rows as the panels of words of the direct filter, and what its kernels take next to them.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "direct_forms.h"
#include "gpu/filter/direct/bit_panels.h"
#include "gpu/runtime/memory/device_memory.h"

namespace direct_panels {

using direct_forms::Vector;
namespace exact = kith::exact;
namespace gpu = kith::gpu;

template <class T>
gpu::Buffer<T> on_device(const std::vector<T>& values) {
    gpu::Buffer<T> out(std::ssize(values), nullptr);
    EXPECT_EQ(cudaSuccess, cudaMemcpy(out.get(), values.data(), values.size() * sizeof(T), cudaMemcpyDefault));
    return out;
}
template <class T>
std::vector<T> on_host(const gpu::Buffer<T>& values, std::int64_t count) {
    std::vector<T> out(static_cast<std::size_t>(count));
    EXPECT_EQ(cudaSuccess, cudaMemcpy(out.data(), values.get(), out.size() * sizeof(T), cudaMemcpyDefault));
    return out;
}

inline exact::DirectForm gpu_form(const direct_forms::Form& f) {
    return *gpu::gpu_direct_form(f.traits, f.params, f.type);
}
inline std::int64_t width_of(const exact::DirectForm& form, std::int64_t d) {
    return exact::counts_bits(form.step) ? gpu::bits_width(form, d) : gpu::direct_width(form, d);
}
inline std::size_t place_of(const exact::DirectForm& form, std::int64_t row, std::int64_t i, std::int64_t width) {
    return static_cast<std::size_t>(exact::counts_bits(form.step) ? gpu::bits_place(row, i, width)
                                                                  : gpu::direct_place(row, i, width));
}

// Whole tiles of rows.
inline std::vector<float> panels(const exact::DirectForm& form, const std::vector<Vector>& rows) {
    const auto d = static_cast<std::int64_t>(rows[0].size()), width = width_of(form, d);
    const std::int64_t per_word = exact::coordinates_per_word(form);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(gpu::whole_tiles(std::ssize(rows)) * width));
    for (std::int64_t row = 0; row < std::ssize(rows); ++row) {
        for (std::int64_t i = 0; i < d; ++i) {
            const double x = rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(i)];
            std::uint32_t& word = words[place_of(form, row, i / per_word, width)];
            if (per_word == 1) {
                const auto f = static_cast<float>(x);
                std::memcpy(&word, &f, sizeof f);
            } else if (form.coordinates == exact::Coordinates::sets) {
                word |= (x == 0 ? 0u : 1u) << (i % 32);
            } else {
                word |= (static_cast<std::uint32_t>(static_cast<int>(x)) & 0xffu) << (8 * (i % per_word));
            }
        }
    }
    std::vector<float> out(words.size());
    std::memcpy(out.data(), words.data(), words.size() * sizeof(float));
    return out;
}

// Rows of d words each, which lie one after the other; `past` the last, up to whole tiles.
inline std::vector<float> panels(const std::vector<float>& rows, std::int64_t count, std::int64_t d, float past) {
    std::vector<float> words(static_cast<std::size_t>(gpu::whole_tiles(count) * d), past);
    for (std::int64_t row = 0; row < count; ++row)
        for (std::int64_t i = 0; i < d; ++i)
            words[static_cast<std::size_t>(gpu::direct_place(row, i, d))] = rows[static_cast<std::size_t>(row * d + i)];
    return words;
}

// `h`, but the sizes of rows where these are counted and h is no infinity.
inline std::vector<float> with_sizes(const exact::DirectForm& form, const std::vector<Vector>& rows,
                                     std::vector<float> h) {
    if (!exact::counts_bits(form.step)) return h;
    const std::vector<float> words = panels(form, rows);
    const std::int64_t width = width_of(form, std::ssize(rows[0]));
    for (std::int64_t p = 0; p < std::ssize(rows); ++p) {
        if (!std::isfinite(h[static_cast<std::size_t>(p)])) continue;
        int size = 0;
        for (std::int64_t w = 0; w < width; ++w)
            size += std::popcount(std::bit_cast<std::uint32_t>(words[place_of(form, p, w, width)]));
        h[static_cast<std::size_t>(p)] = static_cast<float>(size);
    }
    return h;
}

}  // namespace direct_panels
