// Hanak 2023, 5.6 and Fig. 5.1: which kernels answer a search, by queries, points, dimensions and
// neighbours, as two tables, of selectors and of distance kernels; the first row that fits and can
// run decides. A Tesla V100 was measured there; kith's own choice is the planner's (planner.cpp)
// and that of gpu/select/choice.h. Plain host code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/select/selectors.h"
#include "papers/distance/distance_kernels.h"
#include "plan/planner.h"

namespace kith::planner {

struct RuleCase {
    std::int64_t n = 0, q = 0, d = 0, k = 0;
    std::int64_t listed =
        0;  // values that the selector is to take of a row: k, or some more behind distances in f32
};

// A row: what it does not state fits everything.
struct RuleRow {
    std::string_view name;  // of a selector or of a distance kernel
    std::int64_t min_q = 0, max_q = INT64_MAX, max_n = INT64_MAX, max_d = INT64_MAX,
                 max_k = INT64_MAX;
    std::string_view reason;

    constexpr bool fits(const RuleCase& c) const {
        return c.q >= min_q && c.q <= max_q && c.n <= max_n && c.d <= max_d && c.k <= max_k;
    }
};

// Distances and selection in one kernel, which is a path of its own.
inline constexpr RuleRow fused_rule = {.name = "hanak-fused",
                                       .min_q = 8000,
                                       .max_d = 32,
                                       .max_k = 64,
                                       .reason = "few dimensions and neighbours, many queries"};

// One stage of sample select is "slightly faster" there than two. The last row fits everything.
inline constexpr RuleRow selection_rule[] = {
    {.name = "bits", .max_k = 2048, .reason = "k up to 2048"},
    {.name = "bits-global", .max_k = 4096, .reason = "k up to 4096"},
    {.name = "radix-select", .max_n = 99999, .reason = "large k of fewer than 100,000 points"},
    {.name = "sample-select-1", .reason = "large k"},
};

// Fig. 5.1: throughput by queries and dimensions. The last row names what there always is.
inline constexpr RuleRow distance_rule[] = {
    {.name = "baseline", .max_q = 1, .reason = "one query reads every point once"},
    {.name = "kuang-zhao", .max_q = 127, .reason = "few queries"},
    {.name = "register-tiled", .max_d = 128, .reason = "tiles of pairs in registers"},
    {.name = "cublas", .reason = "many dimensions: a matrix product"},
    {.name = "register-tiled", .reason = "tiles of pairs in registers"},
    {.name = "kuang-zhao", .reason = "tiles of coordinates in shared memory"},
};

// The row of the selection table for c: the first that fits and whose selector takes c.listed
// values.
constexpr const RuleRow& select_by_rule(const RuleCase& c) {
    const RuleRow* last = nullptr;
    for (const RuleRow& row : selection_rule) {
        last = &row;
        const gpu::Selector* const selector = gpu::find_selector(row.name);
        if (row.fits(c) && selector && (selector->max_k == 0 || c.listed <= selector->max_k)) break;
    }
    return *last;
}

struct RuledPath {
    std::string path, reason;
};

// Whether the path leaves something to the rule.
bool is_ruled(const std::string& path);
// The paths that the rule makes of "hanak-rule" or "KERNEL+hanak-rule", and why: the first that
// serves the search counts.
std::vector<RuledPath> by_hanak_rule(const std::string& path, const RuleCase& c);
// The plan of that path. Throws as make() does.
Plan ruled(const Request& request, const Machine& machine);

}  // namespace kith::planner
