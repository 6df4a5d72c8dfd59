// How GPU tests ask for a metric and a path by name.
#pragma once

#include <string>

#include "kith/kith.h"

inline kith::Options options_of(const std::string& metric, const std::string& path) {
    kith::Options options;
    options.metric = kith::metric_named(metric);
    options.device = "cuda";
    options.path = path;
    return options;
}
