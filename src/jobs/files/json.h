// JSON type of the manifest and the claims: members keep their order.
#pragma once

#include <nlohmann/json.hpp>

namespace kith::groundtruth {

using Json = nlohmann::ordered_json;

}  // namespace kith::groundtruth
