// The filter's tiles in matrix registers (AMX), for pairs of bf16 and for whole numbers of 8 bits: up to 32 queries x
// the 32 points of a panel, 64 bytes of coordinates at a time. A panel's words lie as the registers want them: 16 rows
// of words x 16 points; of a query 16 words lie together, and behind them those of the next query.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_AMX
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/byte_rows-inl.h"
#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// Rows and words of a row of a register.
constexpr int register_rows = 16, register_words = 16;
// Bytes from a row of a register to the next, in memory: of queries, of points and of sums.
constexpr std::int64_t query_stride = 4 * register_words, point_stride = 4 * panel_points;
static_assert(vector_points == register_words && panel_points == 2 * register_words);
static_assert(max_tile_queries == 2 * register_rows);

// What LDTILECFG reads: the shapes of registers 0 to 3, sums of (first, other) queries x (first, other) points; 4 and
// 5, queries; 6 and 7, points. All alike.
struct alignas(64) Shapes {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr Shapes shapes;

void enter() {
    _tile_loadconfig(&shapes);
}

void leave() {
    _tile_release();
}

// Whole numbers, summed exactly.
struct Bytes {
    static constexpr std::int64_t header = register_words;  // of which the second is used; queries stay on cache lines

    template <int sums>
    KITH_HD static void multiply() {
        if constexpr (sums == 0) _tile_dpbssd(0, 4, 6);
        if constexpr (sums == 1) _tile_dpbssd(1, 4, 7);
        if constexpr (sums == 2) _tile_dpbssd(2, 5, 6);
        if constexpr (sums == 3) _tile_dpbssd(3, 5, 7);
    }
    KITH_HD static void start(const float*) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    // What is made of sums.
    KITH_HD static F value(const float* sums, F half_norm, F point_scale, float query_scale) {
        const F product = (F)_mm512_maskz_cvtepi32_ps(0xffff, _mm512_loadu_si512(sums)) * point_scale;
        return (F)_mm512_fnmadd_ps((__m512)(query_scale - F{}), (__m512)product, (__m512)half_norm);
    }
};

// Pairs, whose sums start with the half norms.
struct Pairs {
    static constexpr std::int64_t header = 0;

    template <int sums>
    KITH_HD static void multiply() {
        if constexpr (sums == 0) _tile_dpbf16ps(0, 4, 6);
        if constexpr (sums == 1) _tile_dpbf16ps(1, 4, 7);
        if constexpr (sums == 2) _tile_dpbf16ps(2, 5, 6);
        if constexpr (sums == 3) _tile_dpbf16ps(3, 5, 7);
    }
    // Rows without a stride are the same one 16 times.
    KITH_HD static void start(const float* half_norms) {
        _tile_loadd(0, half_norms, 0);
        _tile_loadd(1, half_norms + register_words, 0);
        _tile_loadd(2, half_norms, 0);
        _tile_loadd(3, half_norms + register_words, 0);
    }
    KITH_HD static F value(const float* sums, F, F, float) { return Single::load(sums); }
};

// The sums of 16 or 32 queries with the 32 points of a panel. The first cache is left to the panel, which all queries
// of a block are compared with: with both in it one takes the other's place.
template <class S, bool two>
KITH_HD void multiply(const float* panel, std::int64_t words, const float* q, float* sums) {
    S::start(panel);
    constexpr std::int64_t step = (two ? 2 : 1) * register_rows * register_words;
    const float* x = panel + panel_header;
    for (std::int64_t j = 0; j < words; j += register_words, x += register_words * panel_points, q += step) {
        _tile_loadd(6, x, point_stride);
        _tile_stream_loadd(4, q, query_stride);
        S::template multiply<0>();
        _tile_loadd(7, x + register_words, point_stride);
        S::template multiply<1>();
        if constexpr (two) {
            _tile_stream_loadd(5, q + register_rows * register_words, query_stride);
            S::template multiply<2>();
            S::template multiply<3>();
        }
    }
    _tile_stored(0, sums, point_stride);
    _tile_stored(1, sums + register_words, point_stride);
    if constexpr (two) {
        _tile_stored(2, sums + register_rows * panel_points, point_stride);
        _tile_stored(3, sums + register_rows * panel_points + register_words, point_stride);
    }
}

template <class S, int queries>
bool multiply_and_compare(const float* panel, std::int64_t words, const float* q, const float* threshold, float,
                          std::uint32_t* hits, float* values) {
    constexpr bool two = queries > register_rows;
    constexpr int rows = (two ? 2 : 1) * register_rows;
    alignas(64) float sums[rows * panel_points];
    multiply<S, two>(panel, words, q + S::header * rows, sums);
    F half_norm[tile_vectors], scale[tile_vectors];
    for (int v = 0; v < tile_vectors; ++v) {
        half_norm[v] = Single::load(panel + v * vector_points);
        scale[v] = Single::load(panel + panel_points + v * vector_points);
    }
    std::uint32_t any = 0;
    for (int i = 0; i < queries; ++i) {
        const F t = threshold[i] - F{};
        const float query_scale = S::header > 0 ? q[rows + i] : 0;
        std::uint32_t mask = 0;
        F value[tile_vectors];
#pragma GCC unroll 2
        for (int v = 0; v < tile_vectors; ++v) {
            const int at = v * vector_points;
            value[v] = S::value(sums + i * panel_points + at, half_norm[v], scale[v], query_scale);
            mask |= not_above(value[v], t) << at;
        }
        hits[i] = mask;
        any |= mask;
        if (!mask) continue;
#pragma GCC unroll 2
        for (int v = 0; v < tile_vectors; ++v) Single::store(values + i * panel_points + v * vector_points, value[v]);
    }
    return any != 0;
}

template <class S>
constexpr Tiles tiles_in_registers() {
    Tiles t{};
    t.queries = max_tile_queries;
    [&]<std::size_t... queries>(std::index_sequence<queries...>) {
        ((t.tile[queries + 1] = multiply_and_compare<S, static_cast<int>(queries) + 1>), ...);
    }
    (std::make_index_sequence<max_tile_queries>{});
    t.header = S::header;
    t.run = register_words;
    t.rows = register_rows;
    t.enter = enter;
    t.leave = leave;
    return t;
}

constexpr ByteKernels bytes_of_target = byte_kernels_with(tiles_in_registers<Bytes>(), false);
constexpr Tiles pairs_of_target = tiles_in_registers<Pairs>();

}  // namespace

const ByteKernels& byte_kernel_table() {
    return bytes_of_target;
}

const Tiles& pair_tiles() {
    return pairs_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
