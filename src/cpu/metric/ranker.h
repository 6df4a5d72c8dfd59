// The name by which src/cpu/filter knows DistanceKeys.
#pragma once

#include "cpu/metric/distance_keys.h"

namespace kith::cpu {

using Ranker = DistanceKeys;

}  // namespace kith::cpu
