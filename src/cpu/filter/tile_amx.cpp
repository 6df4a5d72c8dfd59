// The filter's tiles for whole numbers of 8 bits in matrix registers (AMX): up to 32 queries x the 32 points of a
// panel, 64 coordinates at a time. A panel's words lie as the registers want them: 16 rows of words x 16 points.
#if defined(__x86_64__)
#define KITH_LEVEL 2
#define KITH_AMX
#include "cpu/simd/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/filter/byte_rows-inl.h"
#include "cpu/filter/tile_loop-inl.h"

namespace kith::cpu::KITH_TARGET {
namespace {

// Rows and words of a row of a register. A cache line of header keeps a query's rows on whole lines.
constexpr int register_rows = 16, register_words = 16;
constexpr std::int64_t header = 16;

// What LDTILECFG reads: the shapes of registers 0 to 3, sums of (first, other) queries x (first, other) points; 4 and
// 5, queries; 6 and 7, points.
struct alignas(64) Shapes {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {};

    explicit constexpr Shapes(int queries) {
        const auto first = static_cast<std::uint8_t>(std::min(queries, register_rows));
        // A register has a row at least.
        const auto other = static_cast<std::uint8_t>(std::max(queries - register_rows, 1));
        rows[0] = rows[1] = rows[4] = first;
        rows[2] = rows[3] = rows[5] = other;
        rows[6] = rows[7] = register_rows;
    }
};
template <int queries>
constexpr Shapes shapes_of{queries};

// The sums of up to 32 queries with the 32 points of a panel. The registers are as free afterwards as before.
template <int queries>
KITH_HD void multiply(const float* points, std::int64_t words, const float* q, std::int32_t* sums) {
    constexpr bool two = queries > register_rows;
    const std::int64_t query_bytes = 4 * (words + header);
    constexpr std::int64_t point_bytes = 4 * panel_points;
    const float* const others = two ? q + register_rows * (words + header) : q;
    _tile_loadconfig(&shapes_of<queries>);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (std::int64_t j = 0; j < words; j += register_words) {
        const float* const x = points + j * panel_points;
        _tile_loadd(6, x, point_bytes);
        _tile_loadd(4, q + header + j, query_bytes);
        _tile_dpbsud(0, 4, 6);
        _tile_loadd(7, x + register_rows, point_bytes);
        _tile_dpbsud(1, 4, 7);
        if constexpr (two) {
            _tile_loadd(5, others + header + j, query_bytes);
            _tile_dpbsud(2, 5, 6);
            _tile_dpbsud(3, 5, 7);
        }
    }
    _tile_stored(0, sums, point_bytes);
    _tile_stored(1, sums + register_rows, point_bytes);
    if constexpr (two) {
        _tile_stored(2, sums + register_rows * panel_points, point_bytes);
        _tile_stored(3, sums + register_rows * panel_points + register_rows, point_bytes);
    }
    _tile_release();
}

template <int queries>
bool multiply_and_compare(const float* panel, std::int64_t words, const float* q, const float* threshold, float,
                          std::uint32_t* hits, float* values) {
    static_assert(vector_points == register_words);
    alignas(64) std::int32_t sums[queries * panel_points];
    multiply<queries>(panel + panel_header, words, q, sums);
    std::uint32_t any = 0;
    for (int i = 0; i < queries; ++i) {
        const float* const query = q + i * (words + header);
        std::int32_t start;
        std::memcpy(&start, query, sizeof start);
        const F scale = query[1] - F{}, t = threshold[i] - F{};
        std::uint32_t mask = 0;
        F value[tile_vectors];
#pragma GCC unroll 2
        for (int v = 0; v < tile_vectors; ++v) {
            const int at = v * vector_points;
            const __m512i sum =
                _mm512_add_epi32(_mm512_load_si512(sums + i * panel_points + at), _mm512_set1_epi32(start));
            const F product = (F)_mm512_maskz_cvtepi32_ps(0xffff, sum) * Single::load(panel + panel_points + at);
            value[v] = (F)_mm512_fnmadd_ps((__m512)scale, (__m512)product, (__m512)Single::load(panel + at));
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

template <std::size_t... queries>
constexpr ByteKernels make_bytes(std::index_sequence<queries...>) {
    ByteKernels k = byte_row_kernels();
    k.queries = max_byte_queries;
    k.query_header = header;
    k.word_multiple = register_words;
    k.by_query = true;
    ((k.tile[queries + 1] = multiply_and_compare<static_cast<int>(queries) + 1>), ...);
    return k;
}

constexpr ByteKernels bytes_of_target = make_bytes(std::make_index_sequence<max_byte_queries>{});

}  // namespace

const ByteKernels& byte_kernel_table() {
    return bytes_of_target;
}

}  // namespace kith::cpu::KITH_TARGET
KITH_TARGET_END
#endif
