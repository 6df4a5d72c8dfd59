// The single way to reject an argument: the message names it, its value and what was expected.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "kith/error.h"

namespace kith {

// Throws invalid_argument.
template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
    throw Error(ErrorCode::invalid_argument, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace kith
