// The filter of coarse panels, along a projection or of whole numbers of 8 bits, then of each
// candidate by its row.
#pragma once

#include <vector>

#include "cpu/filter/panels.h"
#include "cpu/filter/query_tiles.h"
#include "cpu/search/shortlist.h"

namespace kith::cpu {

// `filter` is a coarse one. Values of its panels bound those of its rows from below, which decide
// what the shortlist is offered; thresholds of the panels follow from the rows'.
class CoarseFilter {
public:
    CoarseFilter(const Search& search, const Filter& filter, Shortlist& list, std::int64_t count);
    std::int64_t stride(std::int64_t panels) const { return panel_stride(count_, panels); }
    // Points [32 p, 32 p + 32).
    void group(std::int64_t p);
    // Thresholds of the shortlist have changed.
    void follow() {
        for (std::int64_t i = 0; i < count_; ++i) follow(i);
    }

private:
    // A query and the points of a panel that its values there have left.
    struct Passed {
        std::int32_t query;
        std::uint32_t lanes;
    };
    void follow(std::int64_t i);
    // A query's words for rows.
    std::byte* query(std::int64_t i) const { return queries_.data() + i * query_bytes_; }
    // A point's row.
    const std::byte* row(std::int64_t id) const {
        return whole_ ? whole_->row(id) : reinterpret_cast<const std::byte*>(filter_.row(id));
    }
    void read(std::int64_t i, std::int64_t p, std::uint32_t lanes);

    const Search& search_;
    const Filter& filter_;
    Shortlist& list_;
    const TileKernels& kernels_;
    const WholeRows* whole_;
    std::int64_t count_, query_bytes_, row_bytes_;
    double most_read_;  // rows that a query reads before it is given up
    Buffer<std::byte> queries_;
    QueryTiles tiles_;
    std::vector<float> thresholds_;  // of panels
    std::vector<QueryTerms> terms_;  // what makes them of the rows' thresholds
    std::vector<double> read_;       // rows of each query
    std::vector<Passed> passed_;     // of a panel
};

}  // namespace kith::cpu
