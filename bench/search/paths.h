// `kith-bench search --table NAME` of the papers' fused kernels: distances and selection in one kernel, beside a
// distance kernel and a selector: Hanak 2023, Figs. 5.8 and 5.9; Sismanis et al. 2012, Fig. 3.
#pragma once

#include <string>
#include <vector>

#include "kith/types.h"

namespace kith::bench {

struct PathStudy {
    std::string table;   // a name of path_tables()
    bool quick = false;  // fewer cells
    int repeat = 7;
    std::string json;
    bool mean = false;  // means of ten runs behind ten that warm up, with deviations, not medians
};

std::vector<std::string> path_tables();

// Whether all paths have the same bits. Throws kith::Error; device where there is no GPU.
bool run(const PathStudy& study, const Options& options);

}  // namespace kith::bench
