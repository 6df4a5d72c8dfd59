// The CPU selectors as plain data, for the planner, help texts and tests.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kith::cpu {

struct Selector {
    const char* name = "";
    std::int64_t min_k = 1;
    std::int64_t max_k = 0;  // 0: up to the row's length
    const char* what = "";   // a line of help
};

inline constexpr auto selectors = std::to_array<Selector>({
#define KITH_CPU_SELECTOR(function, ...) {__VA_ARGS__},
#include "cpu/select/selectors.def"
#undef KITH_CPU_SELECTOR
});

// Null if no selector has that name.
constexpr const Selector* find_selector(std::string_view name) {
    for (const Selector& s : selectors)
        if (name == s.name) return &s;
    return nullptr;
}

}  // namespace kith::cpu
