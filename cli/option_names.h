// The library names arguments, the tool options.
#pragma once

#include <string>

#include "kith/error.h"

namespace kith::cli {

// "queries: 3 columns" as "--queries: 3 columns".
std::string with_option_names(const std::string& message);

template <class Call>
auto with_option_names(const Call& call) -> decltype(call()) {
    try {
        return call();
    } catch (const Error& error) {
        throw Error(error.code(), with_option_names(std::string(error.what())));
    }
}

}  // namespace kith::cli
