// Requests of searches by a selector, and their refusals.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "plan_cases.h"

namespace plan_cases {

inline Request by(const std::string& selector,
                  kith::Shape shape = {1 << 18, 8192, 16, 10, kith::ElementType::f32, false}) {
    Request r = of("", shape);
    r.selector = selector;
    return r;
}

// In words that name the selector and `why`.
inline void refused_selector(const Request& r, const Machine& machine, const std::string& why) {
    try {
        kith::planner::make(r, machine);
        ADD_FAILURE() << r.selector;
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code()) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find("'" + r.selector + "'")) << error.what();
        EXPECT_NE(std::string::npos, std::string(error.what()).find(why)) << error.what();
    }
}

}  // namespace plan_cases
