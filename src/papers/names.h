// Names of paths that are in no list.
#pragma once

#include <string_view>

namespace kith::papers {

// A path by the rule of Hanak 2023, 5.6; and the selector in "KERNEL+hanak-rule"
// (plan/hanak_rule.h).
inline constexpr std::string_view hanak_rule = "hanak-rule";
// A graph in grids (kato/kato.h).
inline constexpr std::string_view kato = "kato";

}  // namespace kith::papers
