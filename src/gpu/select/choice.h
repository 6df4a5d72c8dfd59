// Which selector serves a selection on a GPU: a table of rows, the first one that fits decides. Plain host code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "gpu/select/selectors.h"

namespace kith::gpu {

// What the choice depends on.
struct SelectCase {
    std::int64_t n = 0, rows = 0, k = 0;
    bool f64 = false;
    bool improving = false;  // within a row later values are better: every value passes a running threshold
    bool sorted = true;
};

// A fact of a case that a row of the table asks for.
enum class Ask : std::uint8_t { either, no, yes };

// A row of the table: what it does not state fits everything.
struct SelectChoice {
    const char* selector;
    std::int64_t min_n = 0, max_n = INT64_MAX;
    std::int64_t min_rows = 0, max_rows = INT64_MAX;
    std::int64_t min_k = 0, max_k = INT64_MAX;
    double max_share = 1;  // of k in n
    Ask f64 = Ask::either, improving = Ask::either, sorted = Ask::either;
    const char* reason;

    constexpr bool fits(const SelectCase& c) const {
        const auto is = [](Ask ask, bool fact) { return ask == Ask::either || (ask == Ask::yes) == fact; };
        return c.n >= min_n && c.n <= max_n && c.rows >= min_rows && c.rows <= max_rows && c.k >= min_k &&
               c.k <= max_k && static_cast<double>(c.k) <= max_share * static_cast<double>(c.n) && is(f64, c.f64) &&
               is(improving, c.improving) && is(sorted, c.sorted);
    }
};

constexpr bool serves(const Selector& s, const SelectCase& c) {
    return c.k >= s.min_k && (s.max_k == 0 || c.k <= s.max_k) && (!c.f64 || s.types == SelectTypes::any);
}

// The last row fits everything.
inline constexpr SelectChoice select_choices[] = {
    {.selector = "threshold", .f64 = Ask::yes, .reason = "the only one of binary64"},
    {.selector = "threshold", .reason = "serves every k and type"},
};

// The row of the table that decides: the first that fits and whose selector serves the case.
constexpr const SelectChoice& choose_selector(const SelectCase& c) {
    const SelectChoice* last = nullptr;
    for (const SelectChoice& choice : select_choices) {
        last = &choice;
        if (choice.fits(c) && serves(*find_selector(choice.selector), c)) break;
    }
    return *last;
}

constexpr bool is_listed(std::string_view name) {
    for (const Selector& s : selectors)
        if (name == s.name) return true;
    return false;
}
static_assert(std::ranges::all_of(select_choices,
                                  [](const SelectChoice& choice) { return is_listed(choice.selector); }),
              "every row names a selector of the list");

}  // namespace kith::gpu
