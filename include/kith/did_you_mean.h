// The name that a mistyped one was meant to be.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kith/export.h"

namespace kith {

// " (did you mean cosine?)" where one of the names is near the word, else "". Near are names that
// differ in case and in '-', '_' and blanks alone, then those that begin with the word, then those
// that a few slips of the hand make of it: a letter wrong, missing, too many, two exchanged. Of
// names equally near the first. Takes |word| * |name| steps for each name.
KITH_EXPORT std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace kith
