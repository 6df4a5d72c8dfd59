// Tiles of queries x points in f32 for one instruction set: the metrics' steps and what rows need.
// See tile_loop-inl.h.
#pragma once

#include "cpu/filter/direct_steps-inl.h"
#include "cpu/filter/whole_rows-inl.h"
#include "cpu/simd/vector_portable-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// h - <q, x>: the queries are packed with their signs flipped.
struct DotStep : FloatQueries {
    static constexpr int queries = KITH_LEVEL == 2 ? 14 : KITH_LEVEL == 1 ? 6 : 4;
    KITH_HD static F step(F acc, F q, F x) {
#if KITH_LEVEL > 0
        return Single::fma(q, x, acc);
#else
        return acc + q * x;
#endif
    }
};

RowSums round_row(const double* in, const double* centre, double scale, std::int64_t d,
                  float* out) {
    double norm2 = 0, rounded2 = 0, residual2 = 0;
#pragma omp simd reduction(+ : norm2, rounded2, residual2)
    for (std::int64_t i = 0; i < d; ++i) {
        const double v = (in[i] - centre[i]) * scale;
        const float f = static_cast<float>(v);
        const double r = static_cast<double>(f), e = v - r;
        out[i] = f;
        norm2 += v * v;
        rounded2 += r * r;
        residual2 += e * e;
    }
    return {norm2, rounded2, residual2};
}

// Words of four coordinates that are whole numbers of type Byte, one byte each.
template <class Byte>
RowSums round_bytes(const double* in, const double*, double, std::int64_t d, float* out) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(out);
    constexpr double low = std::numeric_limits<Byte>::min(),
                     high = std::numeric_limits<Byte>::max();
    double residual2 = 0;
#pragma omp simd reduction(+ : residual2)
    for (std::int64_t i = 0; i < d; ++i) {
        const double above = in[i] > low ? in[i] : low;  // NaN, too
        const auto whole = static_cast<std::int32_t>(above < high ? above : high);
        bytes[i] = static_cast<std::uint8_t>(whole);
        const double e = in[i] - static_cast<double>(whole);
        residual2 += e * e;
    }
    for (std::int64_t i = d; i % 4 != 0; ++i) bytes[i] = 0;
    return {0, 0, residual2};
}

void logarithms(double* row, std::int64_t d) {
    using Real = VectorFormulaOps;
    std::int64_t j = 0;
    for (; j + Real::lanes <= d; j += Real::lanes)
        Real::store(row + j, Real::log(Real::load(row + j)));
    if (j == d) return;
    const int rest = static_cast<int>(d - j);
    Real::store_part(row + j, Real::log(Real::load_part(row + j, rest)), rest);
}

// Columns [first, first + vectors * lanes) of L' y, the last of them `width` wide.
template <int vectors>
KITH_HD void factor_columns(const double* y, const double* factor, std::int64_t d,
                            std::int64_t first, int width, double* out) {
    using Real = VectorOps<double>;
    const auto at = [&](const double* row, int v) __attribute__((always_inline)) {
        return width == Real::lanes || v + 1 < vectors
                   ? Real::load(row + v * Real::lanes)
                   : Real::load_part(row + v * Real::lanes, width);
    };
    Real::V sum[vectors] = {};
    for (std::int64_t k = first; k < d; ++k) {
        const double* const row = factor + k * d + first;
        const Real::V factor_of_row = Real::set(y[k]);
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v) {
#if KITH_LEVEL > 0
            sum[v] = Real::fma(factor_of_row, at(row, v), sum[v]);
#else
            sum[v] += factor_of_row * at(row, v);
#endif
        }
    }
    for (int v = 0; v < vectors; ++v) {
        if (width == Real::lanes || v + 1 < vectors)
            Real::store(out + first + v * Real::lanes, sum[v]);
        else Real::store_part(out + first + v * Real::lanes, sum[v], width);
    }
}

void multiply_factor(const double* y, const double* factor, std::int64_t d, double* out) {
    constexpr int vectors = 8, lanes = VectorOps<double>::lanes;
    std::int64_t j = 0;
    for (; j + vectors * lanes <= d; j += vectors * lanes)
        factor_columns<vectors>(y, factor, d, j, lanes, out);
    for (; j < d; j += lanes)
        factor_columns<1>(y, factor, d, j, static_cast<int>(std::min<std::int64_t>(d - j, lanes)),
                          out);
}

// Rows [0, rows) of a product with columns [first, first + vectors * lanes) of a matrix.
template <int rows, int vectors>
KITH_HD void project_tile(const double* in, std::int64_t stride, const double* matrix,
                          std::int64_t d, std::int64_t width, double* out,
                          std::int64_t out_stride) {
    using Real = VectorOps<double>;
    Real::V sum[rows][vectors] = {};
    for (std::int64_t k = 0; k < d; ++k) {
        const double* const row = matrix + k * width;
        Real::V at[vectors];
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) at[v] = Real::load(row + v * Real::lanes);
#pragma GCC unroll 8
        for (int i = 0; i < rows; ++i) {
            const Real::V x = Real::set(in[i * stride + k]);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
#if KITH_LEVEL > 0
                sum[i][v] = Real::fma(x, at[v], sum[i][v]);
#else
                sum[i][v] += x * at[v];
#endif
            }
        }
    }
    for (int i = 0; i < rows; ++i)
        for (int v = 0; v < vectors; ++v)
            Real::store(out + i * out_stride + v * Real::lanes, sum[i][v]);
}

// Rows of a tile of two vectors, whose sums registers hold: the matrix comes from the second-level
// cache for each tile.
constexpr int project_tile_rows = KITH_LEVEL == 2 ? 8 : 4;

template <int rows>
KITH_HD void project_rows(const double* in, std::int64_t stride, const double* matrix,
                          std::int64_t d, std::int64_t width, std::int64_t columns, double* out,
                          std::int64_t out_stride) {
    constexpr int vectors = 2, lanes = VectorOps<double>::lanes;
    std::int64_t c = 0;
    for (; c + vectors * lanes <= columns; c += vectors * lanes)
        project_tile<rows, vectors>(in, stride, matrix + c, d, width, out + c, out_stride);
    for (; c < columns; c += lanes)
        project_tile<rows, 1>(in, stride, matrix + c, d, width, out + c, out_stride);
}

void project(const double* rows, std::int64_t stride, std::int64_t count, const double* matrix,
             std::int64_t d, std::int64_t width, std::int64_t columns, double* out,
             std::int64_t out_stride) {
    std::int64_t i = 0;
    const auto tiles = [&]<int tile>(std::integral_constant<int, tile>) {
        for (; i + tile <= count; i += tile)
            project_rows<tile>(rows + i * stride, stride, matrix, d, width, columns,
                               out + i * out_stride, out_stride);
    };
    tiles(std::integral_constant<int, project_tile_rows>{});
    tiles(std::integral_constant<int, 4>{});
    tiles(std::integral_constant<int, 1>{});
}

void transpose(const float* rows, std::int64_t stride, std::int64_t d, float* out) {
    std::int64_t j = 0;
    for (; j + 16 <= d; j += 16) {
        // 32 rows x one cache line of each.
        for (int i = 0; i < 16; ++i) {
            for (int p = 0; p < panel_points; ++p)
                out[(j + i) * panel_points + p] = rows[p * stride + j + i];
        }
    }
    for (; j < d; ++j) {
        for (int p = 0; p < panel_points; ++p) out[j * panel_points + p] = rows[p * stride + j];
    }
}

template <RowSweepForm form>
KITH_HD F sweep_step(F acc, F q, F x) {
    if constexpr (form == RowSweepForm::dot) return DotStep::step(acc, q, x);
    if constexpr (form == RowSweepForm::l2) return DotStep::step(acc, q - x, q - x);
    if constexpr (form == RowSweepForm::cityblock) return CityblockStep::step(acc, q, x);
    return ChebyshevStep::step(acc, q, x);
}

// `chains` independent sums per query hide the latency of the additions.
template <RowSweepForm form, int queries>
KITH_HD void sweep_row(const float* x, std::int64_t d, const float* q, float* values,
                       float* square) {
    constexpr int chains = 4 / queries;
    constexpr std::int64_t step = chains * vector_points;
    F acc[queries][chains] = {}, squares[chains] = {};
    std::int64_t j = 0;
    for (; j + step <= d; j += step) {
#pragma GCC unroll 4
        for (int c = 0; c < chains; ++c) {
            const F v = Single::load(x + j + c * vector_points);
            if (form == RowSweepForm::dot) squares[c] = DotStep::step(squares[c], v, v);
#pragma GCC unroll 4
            for (int i = 0; i < queries; ++i)
                acc[i][c] =
                    sweep_step<form>(acc[i][c], Single::load(q + i * d + j + c * vector_points), v);
        }
    }
    for (; j < d; j += vector_points) {
        // Lanes beyond d are zero on both sides.
        const int width = static_cast<int>(std::min<std::int64_t>(d - j, vector_points));
        const F v = width == vector_points ? Single::load(x + j) : Single::load_part(x + j, width);
        if (form == RowSweepForm::dot) squares[0] = DotStep::step(squares[0], v, v);
#pragma GCC unroll 4
        for (int i = 0; i < queries; ++i) {
            const float* at = q + i * d + j;
            acc[i][0] = sweep_step<form>(
                acc[i][0], width == vector_points ? Single::load(at) : Single::load_part(at, width),
                v);
        }
    }
    const auto join = [](const F* parts) __attribute__((always_inline)) {
        F sum = parts[0];
        for (int c = 1; c < chains; ++c)
            sum = form == RowSweepForm::chebyshev ? Single::max(sum, parts[c]) : sum + parts[c];
#if KITH_LEVEL > 0
        if (form != RowSweepForm::chebyshev) return sum_of_lanes(sum);
#endif
        float lane[vector_points];
        Single::store(lane, sum);
        for (int half = vector_points / 2; half > 0; half /= 2) {
            for (int l = 0; l < half; ++l)
                lane[l] = form == RowSweepForm::chebyshev
                              ? (lane[l] < lane[l + half] ? lane[l + half] : lane[l])
                              : lane[l] + lane[l + half];
        }
        return lane[0];
    };
    for (int i = 0; i < queries; ++i) values[i * panel_points] = join(acc[i]);
    if (form == RowSweepForm::dot) *square = join(squares);
}

template <RowSweepForm form>
void sweep(const float* rows, std::int64_t stride, std::int64_t count, std::int64_t d,
           const float* queries, std::int64_t query_count, float* values, float* squares) {
    // The caller's rows lie on small pages, where hardware prefetching ends. Of 4, 8 and 16 KiB
    // ahead 8 was best (17 % less time for products, one query, d = 128).
    const std::int64_t ahead = std::max<std::int64_t>(1, 2048 / stride) * stride;
    for (std::int64_t p = 0; p < count; ++p) {
        const float* x = rows + p * stride;
        // A hint, also beyond the last row.
        const auto next =
            reinterpret_cast<std::uintptr_t>(x) + static_cast<std::uintptr_t>(4 * ahead);
        for (std::int64_t j = 0; j < d; j += 16)
            __builtin_prefetch(
                reinterpret_cast<const void*>(next + static_cast<std::uintptr_t>(4 * j)));
        std::int64_t i = 0;
        for (; i + 4 <= query_count; i += 4)
            sweep_row<form, 4>(x, d, queries + i * d, values + i * panel_points + p, squares + p);
        for (; i < query_count; ++i)
            sweep_row<form, 1>(x, d, queries + i * d, values + i * panel_points + p, squares + p);
    }
}

void lower(const float* values, const float* squares, bool cosine, float error, float floor,
           float* low) {
    const F e = error - F{}, tiny = 0x1p-80f - F{},
            infinity = std::numeric_limits<float>::infinity() - F{};
    const F nan = std::numeric_limits<float>::quiet_NaN() - F{};
    for (int p = 0; p < panel_points; p += vector_points) {
        const F value = Single::load(values + p), square = Single::load(squares + p),
                root = Single::sqrt(square);
        F r;
        if (cosine) r = ((square > tiny) & (square < infinity)) ? -value / root - e : nan;
        else r = -value - e * (root + floor);
        Single::store(low + p, r);
    }
}

template <class S>
constexpr void fill(TileKernels& k, Step step) {
    k.of_step[static_cast<int>(step)] = tiles_of<S>();
}

constexpr TileKernels make_tiles() {
    TileKernels k{};
    fill<DotStep>(k, Step::dot);
    fill<CityblockStep>(k, Step::cityblock);
    fill<ChebyshevStep>(k, Step::chebyshev);
    fill<SquareStep>(k, Step::squares);
    fill<CubeStep>(k, Step::cubes);
    fill<FourthStep>(k, Step::fourths);
    fill<PowerStep>(k, Step::powers);
    fill<QuotientsStep>(k, Step::quotients);
    fill<QuotientStep>(k, Step::quotient);
    fill<MismatchStep>(k, Step::mismatches);
    fill<ByteStep>(k, Step::mismatched_bytes);
    fill<BitStep>(k, Step::mismatched_bits);
    fill<DivergenceStep>(k, Step::divergence);
    fill<JaccardSetsStep>(k, Step::jaccard_sets);
    fill<JaccardBitsStep>(k, Step::jaccard_bits);
    fill<DiceBitsStep>(k, Step::dice_bits);
    k.sweep[static_cast<int>(RowSweepForm::dot)] = sweep<RowSweepForm::dot>;
    k.sweep[static_cast<int>(RowSweepForm::l2)] = sweep<RowSweepForm::l2>;
    k.sweep[static_cast<int>(RowSweepForm::cityblock)] = sweep<RowSweepForm::cityblock>;
    k.sweep[static_cast<int>(RowSweepForm::chebyshev)] = sweep<RowSweepForm::chebyshev>;
    k.lower = lower;
    k.round_row = round_row;
    k.round_i8 = round_bytes<std::int8_t>;
    k.round_u8 = round_bytes<std::uint8_t>;
    k.logarithms = logarithms;
    k.multiply_factor = multiply_factor;
    k.project = project;
    k.product = product<DotStep>;
    k.transpose = transpose;
    k.take_whole = take_whole;
    k.byte_product = byte_product;
    return k;
}

constexpr TileKernels tiles_of_target = make_tiles();

}  // namespace

const TileKernels& tile_kernel_table() {
    return tiles_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
