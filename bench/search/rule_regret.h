// `kith-bench search --regret`, or --table hanak-rule: the time of the path that Hanak's rule takes over that of the
// best one that it could have taken, on a grid of shapes.
#pragma once

#include <string>

#include "deadline.h"
#include "kith/types.h"

namespace kith::bench {

inline constexpr const char* rule_table = "hanak-rule";

struct RuleStudy {
    bool regret = false;
    bool quick = false;  // a small grid
    int repeat = 7;
    std::string json;
    bool mean = false;    // means of ten runs after ten, not medians
    bool resume = false;  // go on from `json`
    Deadline deadline = {};

    bool asked() const { return regret; }
};

// True if all paths found the same neighbours. Throws kith::Error; device where there is no GPU.
bool run(const RuleStudy& study, const Options& options);

}  // namespace kith::bench
