// The only exception that the library throws.
#pragma once

#include <stdexcept>
#include <string>

#include "kith/export.h"

namespace kith {

enum class ErrorCode {
    invalid_argument = 1,  // an argument is wrong; the message names it, its value and what was expected
    bad_file = 2,          // a file is missing, truncated, inconsistent or unwritable; named with the offset
    device = 3,            // a device is missing or failed
    out_of_memory = 4,     // host or device memory, or the budget, is too small even for the smallest tile
    cancelled = 5,         // the progress callback returned false; nothing was returned
};

class KITH_EXPORT Error : public std::runtime_error {
public:
    Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
    ErrorCode code() const noexcept { return code_; }

private:
    ErrorCode code_;
};

}  // namespace kith
