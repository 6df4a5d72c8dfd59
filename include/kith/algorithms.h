// The paths and selectors that can be asked for by name, as lists.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/export.h"

namespace kith {

// A path, or a distance kernel that composes with every selector of a GPU.
struct PathInfo {
    std::string name;  // for Options::path; of a distance kernel before "+" and the selector: "garcia+bits"
    bool on_cpu = false, on_gpu = false;
    bool takes_selector = false;  // a distance kernel
    bool graphs_only = false;     // serves graph() alone
    std::string what;             // a line
};

struct SelectorInfo {
    std::string name;  // for Options::selector
    bool on_gpu = false;
    std::int64_t min_k = 1, max_k = 0;  // max_k 0: no limit
    std::string what;                   // a line
};

// The paths of this build, as build_info() lists them.
KITH_EXPORT std::vector<PathInfo> paths();
// The selectors of this build, those of the CPU first, as selectors_help() lists them.
KITH_EXPORT std::vector<SelectorInfo> selectors();

}  // namespace kith
