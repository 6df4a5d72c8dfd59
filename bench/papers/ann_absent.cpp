// A build without ANN.
#include "kith/error.h"
#include "papers/ann.h"

namespace kith::bench::papers {

std::string ann_missing() {
    return "this build has no ANN (Debian: libann-dev, or scripts/install-deps bench)";
}

AnnSeconds ann_search(const float*, std::int64_t, const float*, std::int64_t, std::int64_t, std::int64_t,
                      std::int64_t*) {
    throw Error(ErrorCode::device, ann_missing());
}

}  // namespace kith::bench::papers
