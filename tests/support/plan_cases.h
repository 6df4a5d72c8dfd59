// Imaginary machines and requests for the tests of plans of composed and fused paths.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kith/error.h"
#include "plan/planner.h"

namespace plan_cases {

using kith::planner::Machine;
using kith::planner::Request;

inline constexpr std::int64_t gigabyte = std::int64_t{1} << 30;
inline constexpr int multiprocessors = 132;

inline Machine with_gpu() {
    Machine m;
    m.threads = 8;
    m.free_bytes = 64 * gigabyte;
    m.devices = {{"imaginary", 90, 70 * gigabyte, multiprocessors}};
    return m;
}

// For squared Euclidean distances.
inline Request of(const std::string& path, kith::Shape shape = {1 << 18, 8192, 16, 10, kith::ElementType::f32, false}) {
    Request r;
    r.shape = shape;
    r.path = path;
    r.metric.traits.gemm = kith::metric::Gemm::l2;
    r.metric.traits.direct = kith::metric::Direct::squares;
    return r;
}
inline Request of(const std::string& path, kith::metric::Direct form) {
    Request r = of(path);
    r.metric.traits.gemm = kith::metric::Gemm::none;
    r.metric.traits.direct = form;
    return r;
}

// That there is no plan, in words that name the path that was asked for and `why`.
inline void refused(const Request& r, const Machine& machine, const std::string& why) {
    try {
        kith::planner::make(r, machine);
        ADD_FAILURE() << r.path;
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find("'" + r.path + "'")) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find(why)) << error.what();
    }
}

}  // namespace plan_cases
