// Suggests the name that a mistyped one may mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kith/export.h"

namespace kith {

// " (did you mean cosine?)" if one of the names is near the word, else "". The nearest names differ only in case and in
// '-', '_' and blanks. Next come names that begin with the word, then names a few typing errors away: a letter wrong,
// missing, extra, or two exchanged. Among equally near names the first wins. Takes |word| * |name| steps per name.
KITH_EXPORT std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace kith
