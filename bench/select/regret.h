// The regret of a choice, the planner's or Hanak's rule: its time over that of the best forced selector, on a grid of
// shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "select/report.h"

namespace kith::bench {

// The candidates of selectors.def.
std::vector<std::string> candidates();

// Whose choice is judged: the planner's (gpu/select/choice.h), or that of Hanak 2023, 5.6 (papers/plan/hanak_rule.h).
enum class Judged : std::uint8_t { planner, hanak_rule };

// `selectors` empty: the candidates of selectors.def. Prints; the result holds every time.
Json regret(Runner& runner, std::vector<std::string> selectors, bool quick, Judged judged);

// The regret of this build's choice on the times of an earlier result; cells without a time of it are left out and
// counted. Needs no GPU.
Json regret_of(Json result, Judged judged);

}  // namespace kith::bench
