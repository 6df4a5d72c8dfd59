// Which queries of a tile have no certificate; see tile_search.h.
#include "gpu/filter/dense/value_pass.h"
#include "gpu/filter/lists/candidate_lists.h"
#include "gpu/search/tile/tile_search.h"

namespace kith::gpu {

FilterOutcome nothing_filtered(std::int64_t q, std::int64_t k, cudaStream_t stream) {
    FilterOutcome out;
    out.result = {Buffer<std::uint64_t>(q * k, stream), Buffer<std::uint32_t>(q * k, stream)};
    out.state = QueryState(q, stream);
    Buffer<unsigned long long> totals(2, stream);
    const auto bytes = static_cast<std::size_t>(q);
    static_assert(static_cast<int>(uncertain) == static_cast<int>(to_scan));
    check(cudaMemsetAsync(out.state.status(), to_scan, 3 * bytes, stream), "cudaMemset");
    check(cudaMemsetAsync(out.state.threshold(), 0xff, bytes * sizeof(float), stream),
          "cudaMemset");  // NaN: none
    check(cudaMemsetAsync(totals.get(), 0, 2 * sizeof(totals.get()[0]), stream), "cudaMemset");
    check(cudaMemsetAsync(totals.get() + 1, 1, 1, stream), "cudaMemset");  // some are uncertain
    out.totals.fetch(totals.get(), 2, stream);
    return out;
}

LeftQueries left_by(FilterOutcome& outcome, double& candidates, cudaStream_t stream) {
    const auto q = static_cast<std::size_t>(outcome.state.queries());
    unsigned long long found = 0, left = 0;
    if (outcome.counted.data()) {
        const auto* const counted =
            static_cast<const unsigned long long*>(outcome.counted.wait("filter"));
        for (std::size_t i = 0; i < q; ++i) {
            if (counted[i] == no_certificate) ++left;
            else found += counted[i];
        }
    } else {
        const unsigned long long* const totals = outcome.totals.wait("filter");
        found = totals[0];
        left = totals[1];
    }
    candidates += static_cast<double>(found);
    LeftQueries out;
    if (left == 0) return out;
    std::vector<std::uint8_t> flags(2 * q);
    std::vector<float> thresholds(q);
    InFlight copies(stream);
    check(cudaMemcpyAsync(flags.data(), outcome.state.status(), flags.size(), cudaMemcpyDefault,
                          stream),
          "cudaMemcpy");
    check(cudaMemcpyAsync(thresholds.data(), outcome.state.threshold(), q * sizeof(float),
                          cudaMemcpyDefault, stream),
          "cudaMemcpy");
    copies.wait("filter");
    for (std::size_t i = 0; i < q; ++i) {
        if (flags[i] == certified) continue;
        out.push_back({static_cast<std::int64_t>(i), thresholds[i],
                       flags[q + i] == fit ? exact::Cause::full_list : exact::Cause::out_of_range});
    }
    return out;
}

}  // namespace kith::gpu
