// The selectors as plain data: what the planner, help texts and tests know of them. No CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kith::gpu {

enum class SelectLayout : std::uint8_t { by_row, by_column };
// f32; f32 and f64; f32, f16 and bf16. Values of 16 bits are widened for selectors that do not take
// them.
enum class SelectTypes : std::uint8_t { f32, any, narrow };

struct Selector {
    bool papers = false;  // of the papers' component, which a build may lack (papers/plan.h)
    const char* name = "";
    std::int64_t min_k = 1;
    std::int64_t max_k = 0;          // 0: up to the row's length
    std::int64_t per_value = 0;      // bytes of device workspace: per value of a row,
    std::int64_t per_neighbour = 0;  // per neighbour kept,
    std::int64_t per_row = 4096;     // and per row
    // by_row: a row's values are adjacent; by_column: the rows' values of one column are. The
    // caller's matrix is transposed where it differs.
    SelectLayout layout = SelectLayout::by_row;
    SelectTypes types = SelectTypes::f32;
    std::int64_t max_n = 0,
                 max_n_without_clusters = 0;  // of a row; 0: any. Clusters: compute capability 9.0
    bool lengths =
        false;  // takes rows of different lengths; the others are given rows that are padded
    bool waits = false;  // the host waits for a number in mid-selection: it cannot be only enqueued
    // `kith-bench select --regret` holds the planner's choice (choice.h) against it; the others are
    // for the tables of their papers.
    bool candidate = false;
    const char* what = "";  // a line of help
};

inline constexpr auto selectors = [] {
    using enum SelectLayout;
    using enum SelectTypes;
    return std::to_array<Selector>({
#define KITH_SELECTOR(function, variant, ...) {__VA_ARGS__},
#define KITH_PAPERS_SELECTOR(function, variant, ...) {.papers = true, __VA_ARGS__},
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
#undef KITH_PAPERS_SELECTOR
    });
}();

// Slots of what instrumented builds count: what each selector counts is said in its file. The last
// is for entries that enter a queue, or the buffer before it.
inline constexpr int operation_slots = 4097, insertion_slot = operation_slots - 1;
// Of selectors that scan a row into a buffer (bits/scan_row.cuh): how often it was merged.
inline constexpr int merge_slot = 0;

// The longest row that a selector takes.
constexpr std::int64_t longest_row(const Selector& s, bool clusters) {
    const std::int64_t most = clusters ? s.max_n : s.max_n_without_clusters;
    return most == 0 ? INT64_MAX : most;
}

// Null where no selector has that name.
constexpr const Selector* find_selector(std::string_view name) {
    for (const Selector& s : selectors)
        if (name == s.name) return &s;
    return nullptr;
}

}  // namespace kith::gpu
