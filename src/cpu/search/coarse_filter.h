// The filter with coarse panels (PCA projections or int8): their candidates are rescored from more
// precise rows.
#pragma once

#include <vector>

#include "cpu/filter/panels.h"
#include "cpu/filter/tile/query_tiles.h"
#include "cpu/search/shortlist.h"

namespace kith::cpu {

// `filter` has coarse panels. A panel's value is a lower bound of the row's. The row's value
// decides whether the shortlist is offered the point, and the thresholds of the panels follow from
// those of the rows.
class CoarseFilter {
public:
    CoarseFilter(const Search& search, const Filter& filter, Shortlist& list, std::int64_t count);
    std::int64_t stride(std::int64_t panels) const { return panel_stride(count_, panels); }
    // Compares the queries with points [32 p, 32 p + 32).
    void group(std::int64_t p);
    // Call it after the shortlist's thresholds have changed.
    void follow() {
        for (std::int64_t i = 0; i < count_; ++i) follow(i);
    }

private:
    // A query and its candidates in a panel, one bit each.
    struct Passed {
        std::int32_t query;
        std::uint32_t lanes;
    };
    void follow(std::int64_t i);
    // The words of query i that rows are compared with.
    std::byte* query(std::int64_t i) const { return queries_.data() + i * query_bytes_; }
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
    double most_read_;  // rows that a query may read before it is given up
    Buffer<std::byte> queries_;
    QueryTiles tiles_;
    std::vector<float> thresholds_;  // per query, for panels
    std::vector<QueryTerms> terms_;  // per query: they convert a row threshold to a panel threshold
    std::vector<double> read_;       // per query: rows read
    std::vector<Passed> passed_;     // the candidates in one panel
};

}  // namespace kith::cpu
