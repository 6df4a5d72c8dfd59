// Which selector serves a selection on a GPU: a table of rows, the first one that fits decides.
// Plain host code.
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
    bool improving =
        false;  // within a row later values are better: every value passes a running threshold
    bool sorted = true;
    bool clusters = true;  // compute capability 9.0
    bool enqueue = false;  // the host may not wait
};

// A fact of a case that a row of the table asks for.
enum class Ask : std::uint8_t { either, no, yes };

// A row of the table: what it does not state fits everything.
struct SelectChoice {
    const char* selector;
    std::int64_t min_n = 0, max_n = INT64_MAX;
    std::int64_t min_rows = 0, max_rows = INT64_MAX;
    std::int64_t min_k = 0, max_k = INT64_MAX;
    double over_share = 0;  // of k in n: more than this
    Ask f64 = Ask::either, improving = Ask::either, sorted = Ask::either;
    const char* reason;

    constexpr bool fits(const SelectCase& c) const {
        const auto is = [](Ask ask, bool fact) {
            return ask == Ask::either || (ask == Ask::yes) == fact;
        };
        return c.n >= min_n && c.n <= max_n && c.rows >= min_rows && c.rows <= max_rows &&
               c.k >= min_k && c.k <= max_k &&
               static_cast<double>(c.k) > over_share * static_cast<double>(c.n) && is(f64, c.f64) &&
               is(improving, c.improving) && is(sorted, c.sorted);
    }
};

constexpr bool serves(const Selector& s, const SelectCase& c) {
    return c.k >= s.min_k && (s.max_k == 0 || c.k <= s.max_k) &&
           c.n <= longest_row(s, c.clusters) && !(c.enqueue && s.waits) &&
           (!c.f64 || s.types == SelectTypes::any);
}

// Measured with `kith-bench select --regret` on an H100, 2026-11-21: 377 cases of n 64..2^24,
// q 1..65,536, k 1..n, where a row does not say another. The last row fits everything.
inline constexpr SelectChoice select_choices[] = {
    {.selector = "threshold", .f64 = Ask::yes, .reason = "the only one of binary64"},
    // Few rows that a cluster's registers hold. Measured on an H200, 2026-11-22, by --regret and
    // --small.
    {.selector = "cluster-select",
     .min_n = 2049,
     .max_n = 131072,
     .max_rows = 64,
     .max_k = 400,
     .reason = "few rows: one launch, registers hold them"},
    {.selector = "cluster-select",
     .min_n = 32768,
     .max_n = 131072,
     .max_rows = 64,
     .max_k = 2048,
     .reason = "few rows: one launch, registers hold them"},
    {.selector = "cluster-select",
     .min_n = 16384,
     .max_n = 32768,
     .max_rows = 132,
     .max_k = 128,
     .reason = "few rows: one launch, registers hold them"},
    {.selector = "cluster-select",
     .min_n = 131073,
     .max_n = 262144,
     .max_rows = 1,
     .max_k = 1000,
     .reason = "one row: one launch, registers hold it"},
    {.selector = "cluster-select",
     .min_n = 2049,
     .max_n = 8192,
     .min_k = 1024,
     .max_k = 2048,
     .reason = "short rows, large k: registers hold them"},
    // Short rows, and many rows with very small k: a warp keeps the k smallest in registers.
    {.selector = "warp-select", .max_n = 128, .reason = "a warp holds the row"},
    {.selector = "warp-select", .max_n = 512, .min_rows = 1024, .reason = "many short rows"},
    {.selector = "warp-select",
     .max_n = 1024,
     .min_rows = 1024,
     .max_k = 16,
     .reason = "many short rows"},
    {.selector = "warp-select",
     .max_n = 16384,
     .min_rows = 1024,
     .max_k = 8,
     .reason = "many rows, very small k"},
    {.selector = "warp-select",
     .min_n = 32768,
     .max_n = 65536,
     .min_rows = 1024,
     .max_k = 32,
     .improving = Ask::no,
     .reason = "many rows, small k"},
    {.selector = "block-select", .max_n = 4096, .max_k = 2, .reason = "short rows, the smallest k"},
    // Most of a short row.
    {.selector = "bits",
     .max_n = 1024,
     .min_k = 513,
     .max_k = 2048,
     .reason = "a block holds the row"},
    {.selector = "bits-global",
     .min_n = 2049,
     .max_n = 8192,
     .max_rows = 1024,
     .min_k = 3000,
     .reason = "most of a short row"},
    // Few rows and very small k: the first values of each part give a threshold as good as a
    // sample's.
    {.selector = "bits-partitions-256",
     .min_n = 32768,
     .max_rows = 4,
     .max_k = 16,
     .improving = Ask::no,
     .reason = "few rows, small k: one pass by every multiprocessor"},
    {.selector = "bits-partitions",
     .min_n = 131072,
     .max_rows = 1024,
     .max_k = 16,
     .improving = Ask::no,
     .reason = "small k: one pass"},
    // Large k.
    {.selector = "radix-sort-streams",
     .min_n = 32769,
     .max_n = 4194304,
     .max_rows = 4,
     .min_k = 10753,
     .over_share = 0.9,
     .reason = "all of few rows: the whole device sorts each"},
    {.selector = "sampled-buckets",
     .min_n = 16384,
     .max_n = 131072,
     .min_k = 4096,
     .reason = "large k: buckets that blocks sort"},
    {.selector = "sampled-buckets",
     .min_n = 131072,
     .max_n = 4194304,
     .min_rows = 256,
     .min_k = 8192,
     .reason = "large k: buckets that blocks sort"},
    {.selector = "sampled-buckets",
     .min_n = 131072,
     .max_n = 4194304,
     .min_k = 10753,
     .reason = "large k: buckets that blocks sort"},
    {.selector = "radix-sort-streams",
     .min_n = 8192,
     .max_rows = 4,
     .min_k = 10753,
     .reason = "few rows, large k"},
    {.selector = "bits-global",
     .min_n = 4194305,
     .min_k = 6000,
     .max_k = 16384,
     .reason = "long rows, k in reach"},
    // A sample that one block ranks says too little of longer rows.
    {.selector = "bits-partitions",
     .min_n = (1 << 28) + 1,
     .max_k = 2048,
     .reason = "the longest rows"},
    {.selector = "sampled",
     .max_n = 1 << 28,
     .reason = "a threshold from a sample, one pass near the memory limit"},
    {.selector = "radix-sort-segmented", .over_share = 0.6, .reason = "most of a long row, sorted"},
    {.selector = "radix-select", .reason = "large k of long rows"},
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

// Without the address of a selector: sanitizers do not let addresses be compared in constants.
constexpr bool is_candidate(std::string_view name) {
    return std::ranges::any_of(selectors, [name](const Selector& s) {
        return name == s.name && s.candidate && !s.papers;
    });
}
static_assert(std::ranges::all_of(select_choices,
                                  [](const SelectChoice& choice) {
                                      return is_candidate(choice.selector);
                                  }),
              "every row names a candidate of the list, and none of the papers' component");

}  // namespace kith::gpu
