// Integer division that rounds up.
#pragma once

#include <cstdint>

namespace kith::exact {

// The least integer not below a / b; a >= 0, b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

}  // namespace kith::exact
