// Which kernels serve a metric.
#include "gpu/tree/search.h"

namespace kith::gpu {

// The metric's map apart, distance keys of monotone metrics are sums of squares or of magnitudes,
// or maxima.
TreeSearch tree_search_of(const metric::Traits& traits) {
    switch (traits.direct) {
        case metric::Direct::sum:
            return tree_of_sums();
        case metric::Direct::maximum:
            return tree_of_maxima();
        default:
            return tree_of_squares();
    }
}

}  // namespace kith::gpu
