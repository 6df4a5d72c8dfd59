// The causes in words.
#include "exact/fallbacks.h"

#include <algorithm>

namespace kith::exact {

namespace {

struct Words {
    const char* why;
    const char* help;
};

constexpr const char* spread =
    "subtract what all rows have in common, or bring columns to comparable units, so that "
    "differences are larger "
    "beside the coordinates";

Words words_of(Cause cause) {
    switch (cause) {
        case Cause::none:
            break;
        case Cause::full_list:
            return {
                "more points were within the filter's error of the k-th neighbour than a list of "
                "candidates holds (or, "
                "on a "
                "GPU, of one query in a million, a sample of the points gave too low a threshold)",
                spread};
        case Cause::not_tried:
            return {"not filtered, as the filter had given up more than half of the queries before",
                    spread};
        case Cause::directions:
            return {
                "the directions in which most points differ, or numbers of 8 bits, tell too few "
                "points from the "
                "neighbours",
                "path gemm-f32 (gemm-bf16; on a GPU gemm-f16) from the start, if these are most "
                "queries"};
        case Cause::alike:
            return {
                "too many points differ from the k-th neighbour (from the radius) by less than the "
                "filter's error",
                spread};
        case Cause::boxes:
            return {"a tree leaves out too few of the points for these queries",
                    "path direct-f32 or gemm-f32 from the start"};
        case Cause::ties:
            return {"too many points are exactly as near as the k-th neighbour",
                    "keep one of each group of equal rows, or choose a metric that tells the "
                    "points apart"};
        case Cause::equal_rows:
            return {"too many rows are equal to each other",
                    "keep one of each group of equal rows"};
        case Cause::out_of_range:
            return {
                "the filter's bound does not cover the query: coordinates that are infinite, far "
                "larger or smaller "
                "than those of the points, or beyond f32, or no whole numbers where those of the "
                "points and of most "
                "queries are, or a vector of length 0, or a formula that has no bound in f32 at "
                "the points' "
                "coordinates",
                "leave such queries out, or bring them to the units of the points"};
        case Cause::no_filter:
            return {
                "no filter's bound covers the points: more than one in 50 has coordinates that are "
                "infinite, far "
                "out or beyond f32, or the metric's matrix has no Cholesky factor",
                "leave such points out, or bring the coordinates to comparable units"};
    }
    return {"", ""};
}

}  // namespace

const char* name(Cause cause) {
    constexpr std::array names = {"",      "full list", "not tried",  "directions",   "alike",
                                  "boxes", "ties",      "equal rows", "out of range", "no filter"};
    static_assert(names.size() == cause_count);
    return names[static_cast<std::size_t>(cause)];
}

void Fallbacks::describe(Report& report) const {
    for (int i = 1; i < cause_count; ++i) {
        const auto cause = static_cast<Cause>(i);
        for (const bool scanned : {false, true}) {
            const std::int64_t queries = counts_[static_cast<std::size_t>(i)][scanned ? 1 : 0];
            if (queries > 0)
                report.fallbacks.push_back(
                    {queries, scanned, words_of(cause).why, words_of(cause).help});
        }
    }
    std::stable_sort(report.fallbacks.begin(), report.fallbacks.end(),
                     [](const Fallback& a, const Fallback& b) { return a.queries > b.queries; });
}

}  // namespace kith::exact
