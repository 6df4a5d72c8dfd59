// The facts of a strategy that need no data: the planner, plans, traces and the documents use them.
// A strategy is one exact way of answering queries: it certifies some of them, and leaves the rest,
// with their causes, to the next.
#pragma once

#include <cstdint>
#include <string>

#include "exact/report/fallbacks.h"
#include "kith/plan.h"
#include "metric/metric.h"

namespace kith::strategy {

// A set of the causes for which queries are left.
class CauseSet {
public:
    template <class... Causes>
    static constexpr CauseSet of(Causes... causes) {
        return CauseSet(((std::uint32_t{1} << static_cast<int>(causes)) | ...));
    }
    // Includes queries that nothing has been tried for.
    static constexpr CauseSet all() { return CauseSet(~std::uint32_t{0}); }
    constexpr bool has(exact::Cause cause) const { return bits_ >> static_cast<int>(cause) & 1; }
    constexpr bool operator==(const CauseSet&) const = default;

private:
    constexpr explicit CauseSet(std::uint32_t bits) : bits_(bits) {}
    std::uint32_t bits_;
};

// k nearest neighbours, or range search.
enum class Task : std::uint8_t { nearest, within };

// Abilities of a processor that its instruction set does not tell.
struct Processor {
    std::string isa;    // forced; "": the best available
    bool bf16 = true;   // bf16 products
    bool bytes = true;  // int8 products
};

// A search's shape and metric, without data.
struct Problem {
    Task task = Task::nearest;
    ElementType type = ElementType::f32;
    metric::Traits traits;
    bool rounds = false;  // the metric's direct form takes coordinates that f32 cannot hold
    bool user = false;    // formula or functor
    Processor processor;
};

// Queries and points that are handled at a time.
struct Tile {
    std::int64_t queries = 0, points = 0;
};

struct Facts {
    const char* name = "";    // in plans and traces
    Path path = Path::exact;  // its name forces the strategy, and stands for it in Report::path
    const char* what = "";    // one line of help
    CauseSet takes = CauseSet::all();  // causes of the queries that it takes
    // Null if it can serve, else the reason why not. No function: it always can.
    const char* (*obstacle)(const Problem&) = nullptr;
    // Bytes that it keeps for n points of d dimensions, beyond the points. No function: none.
    double (*bytes)(const Shape&, const std::string& isa) = nullptr;
    // Its tile in a search by that plan. No function: the plan's.
    Tile (*tile)(const Plan&, const Shape&) = nullptr;
};

}  // namespace kith::strategy
