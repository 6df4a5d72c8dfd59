// Searches on the CPU by a path, whose answers are those of another.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "kith/kith.h"
#include "same_answer.h"

namespace cpu_searches {

inline kith::Options on_cpu(const std::string& metric, const std::string& path, int threads = 2) {
    kith::Options options;
    options.metric = kith::metric_named(metric);
    options.device = "cpu";
    options.path = path;
    options.threads = threads;
    return options;
}

inline void expect_same(const kith::Neighbors& want, const kith::Neighbors& got, const std::string& what) {
    EXPECT_TRUE(same_answer(want, got)) << what;
}

}  // namespace cpu_searches
