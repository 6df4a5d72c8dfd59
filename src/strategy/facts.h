// What is known of a strategy without data: what the planner, plans, traces and the documents go
// by. A strategy is one exact way of answering queries: it certifies some, and leaves the rest,
// with their causes, to the next.
#pragma once

#include <cstdint>
#include <string>

#include "exact/fallbacks.h"
#include "kith/plan.h"
#include "metric/metric.h"

namespace kith::strategy {

// Causes for which queries are left.
class CauseSet {
public:
    template <class... Causes>
    static constexpr CauseSet of(Causes... causes) {
        return CauseSet(((std::uint32_t{1} << static_cast<int>(causes)) | ...));
    }
    // Of queries that nothing has been tried for as well.
    static constexpr CauseSet all() { return CauseSet(~std::uint32_t{0}); }
    constexpr bool has(exact::Cause cause) const { return bits_ >> static_cast<int>(cause) & 1; }
    constexpr bool operator==(const CauseSet&) const = default;

private:
    constexpr explicit CauseSet(std::uint32_t bits) : bits_(bits) {}
    std::uint32_t bits_;
};

// The k nearest points of each query, or all within a radius.
enum class Task : std::uint8_t { nearest, within };

// What a processor can do beside its instruction set.
struct Processor {
    std::string isa;    // forced; "": the best there is
    bool bf16 = true;   // products of bf16
    bool bytes = true;  // products of whole numbers of 8 bits
};

// What is asked for, without data.
struct Problem {
    Task task = Task::nearest;
    ElementType type = ElementType::f32;
    metric::Traits traits;
    bool rounds = false;  // the metric's direct form takes coordinates that f32 does not hold
    bool user = false;    // formula or functor
    Processor processor;
};

struct Facts {
    const char* name = "";    // in plans and traces
    Path path = Path::exact;  // whose name forces it, and which it counts for in Report::path
    const char* what = "";    // a line of help
    CauseSet takes = CauseSet::all();  // of the queries that were left
    // Null, or why it cannot serve.
    const char* (*obstacle)(const Problem&) = nullptr;
    // What it keeps of n points of d dimensions beside these. Null: nothing.
    double (*bytes)(const Shape&, const std::string& isa) = nullptr;
};

}  // namespace kith::strategy
