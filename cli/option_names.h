// The library names arguments, the tool options.
#pragma once

#include <string>

#include "kith/error.h"

namespace kith::cli {

// "queries: 3 columns" as "--queries: 3 columns".
std::string with_option_names(const std::string& message);

// Messages of `call` with another option in place of one: "(--from)" for "(--format)".
template <class Call>
auto with_option(const std::string& option, const std::string& instead, const Call& call) -> decltype(call()) {
    try {
        return call();
    } catch (const Error& error) {
        std::string text = error.what();
        if (const std::size_t at = text.find(option); at != std::string::npos) text.replace(at, option.size(), instead);
        throw Error(error.code(), text);
    }
}

template <class Call>
auto with_option_names(const Call& call) -> decltype(call()) {
    try {
        return call();
    } catch (const Error& error) {
        throw Error(error.code(), with_option_names(std::string(error.what())));
    }
}

}  // namespace kith::cli
