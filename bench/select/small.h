// The time of one call of select() where there is little to select from: values and results in a GPU's memory.
#pragma once

#include <string>
#include <vector>

#include "select/report.h"

namespace kith::bench {

// `selectors` empty: the candidates of selectors.def. Prints; the result holds every time.
Json small_batches(Runner& runner, std::vector<std::string> selectors);

}  // namespace kith::bench
