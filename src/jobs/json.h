// JSON as the manifest and the claims have it: members in their order.
#pragma once

#include <nlohmann/json.hpp>

namespace kith::groundtruth {

using Json = nlohmann::ordered_json;

}  // namespace kith::groundtruth
