// `kith-bench search --regret`: the time of the path that Hanak's rule takes over that of the best one that it could
// have taken, on a grid of shapes.
#pragma once

#include <string>

#include "kith/types.h"

namespace kith::bench {

struct RuleStudy {
    bool regret = false;
    bool quick = false;  // a small grid
    int repeat = 7;
    std::string json;
    bool resume = false;  // go on from `json`

    bool asked() const { return regret; }
};

// Whether all paths found the same neighbours. Throws kith::Error; device where there is no GPU.
bool run(const RuleStudy& study, const Options& options);

}  // namespace kith::bench
