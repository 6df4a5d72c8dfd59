// The selectors as plain data: what the planner, help texts and tests know of them. No CUDA.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kith::gpu {

enum class SelectLayout : std::uint8_t { by_row, by_column };
enum class SelectTypes : std::uint8_t { f32, any };

struct Selector {
    const char* name;
    std::int64_t min_k, max_k;                       // max_k 0: up to the row's length
    std::int64_t per_value, per_neighbour, per_row;  // bytes of workspace
    SelectLayout layout;
    SelectTypes types;
    const char* what;
};

inline constexpr auto selectors = [] {
    using enum SelectLayout;
    using enum SelectTypes;
    return std::to_array<Selector>({
#define KITH_SELECTOR(name, family, variant, min_k, max_k, per_value, per_neighbour, per_row, layout, types, what) \
    {name, min_k, max_k, per_value, per_neighbour, per_row, layout, types, what},
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
