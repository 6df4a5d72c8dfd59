// `kith-bench search --table NAME` of whole searches by the papers' paths, each cell by all of them: fused kernels, and
// distance kernels with selectors. Hanak 2023, Figs. 5.8, 5.9, 5.12; Sismanis et al. 2012, Fig. 3.
#pragma once

#include <string>
#include <vector>

#include "kith/types.h"
#include "search/tables.h"

namespace kith::bench {

std::vector<std::string> path_tables();

// True if all paths have the same bits. Throws kith::Error; device where there is no GPU.
bool run_paths(const TableStudy& study, const Options& options);

}  // namespace kith::bench
