// The selectors of a GPU that this build has: without KITH_PAPERS the product's alone.
#pragma once

#include <vector>

#include "papers/plan.h"

inline std::vector<kith::gpu::Selector> built_selectors() {
    std::vector<kith::gpu::Selector> built;
    for (const kith::gpu::Selector& selector : kith::gpu::selectors)
        if (kith::papers::has(selector)) built.push_back(selector);
    return built;
}
