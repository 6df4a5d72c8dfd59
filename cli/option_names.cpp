// Messages of the library with the names of options.
#include "option_names.h"

#include <array>
#include <utility>

namespace kith::cli {
namespace {

// The library's name of an argument at the beginning of a message, and within it, and the option.
constexpr std::array arguments = {
    std::pair{"base", "--base"},
    std::pair{"queries", "--queries"},
    std::pair{"memory", "--memory"},
    std::pair{"lease", "--lease"},
};
constexpr std::array within = {
    std::pair{"blocks of query_rows", "blocks of --query-rows"},
    std::pair{"by variances or inverse_covariance", "by --variances or --inverse-covariance"},
    std::pair{"as base has", "as --base has"},
};

}  // namespace

std::string with_option_names(const std::string& message) {
    std::string text = message;
    for (const auto& [argument, option] : within) {
        const std::string words = argument;
        if (const std::size_t at = text.find(words); at != std::string::npos) text.replace(at, words.size(), option);
    }
    for (const auto& [argument, option] : arguments) {
        const std::string word = argument;
        if (!text.starts_with(word + ":") && !text.starts_with(word + " ")) continue;
        return option + text.substr(word.size());
    }
    return text;
}

}  // namespace kith::cli
