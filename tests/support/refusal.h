// The messages with which calls fail.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kith/error.h"

namespace refusals {

// For an error, whose code has to be that; "" where there is none.
template <class Call>
std::string refusal(Call call, kith::ErrorCode code = kith::ErrorCode::invalid_argument) {
    try {
        call();
    } catch (const kith::Error& error) {
        EXPECT_EQ(code, error.code()) << error.what();
        return error.what();
    }
    return "";
}

// As above, for a call that must fail.
template <class Call>
std::string refusal_of(Call call, kith::ErrorCode code = kith::ErrorCode::invalid_argument) {
    std::string message = refusal(call, code);
    EXPECT_NE("", message) << "accepted";
    return message;
}

inline void expect_words(const std::string& message, const std::vector<std::string>& words) {
    for (const std::string& word : words)
        EXPECT_NE(std::string::npos, message.find(word)) << "no '" << word << "' in: " << message;
}

}  // namespace refusals
