// The selectors as plain data: what the planner, help texts and tests know of them. No CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kith::gpu {

enum class SelectLayout : std::uint8_t { by_row, by_column };
enum class SelectTypes : std::uint8_t { f32, any };

struct Selector {
    const char* name = "";
    std::int64_t min_k = 1;
    std::int64_t max_k = 0;          // 0: up to the row's length
    std::int64_t per_value = 0;      // bytes of device workspace: per value of a row,
    std::int64_t per_neighbour = 0;  // per neighbour kept,
    std::int64_t per_row = 4096;     // and per row
    // by_row: a row's values are adjacent; by_column: the rows' values of one column are. The caller's matrix is
    // transposed where it differs.
    SelectLayout layout = SelectLayout::by_row;
    SelectTypes types = SelectTypes::f32;  // any: f32 and f64
    // The planner may choose it (choice.h), and `kith-bench select --regret` holds that choice against it; the others
    // are for the tables of their papers.
    bool candidate = false;
    const char* what = "";  // a line of help
};

inline constexpr auto selectors = [] {
    using enum SelectLayout;
    using enum SelectTypes;
    return std::to_array<Selector>({
#define KITH_SELECTOR(function, variant, ...) {__VA_ARGS__},
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
    });
}();

// Null where no selector has that name.
constexpr const Selector* find_selector(std::string_view name) {
    for (const Selector& s : selectors)
        if (name == s.name) return &s;
    return nullptr;
}

}  // namespace kith::gpu
