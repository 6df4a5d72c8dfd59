// A tile of queries in one chunk of points: the filter of the plan's path, the attempts at what it
// leaves, and the log.
#pragma once

#include <optional>

#include "gpu/search/attempts.h"
#include "gpu/search/context.h"
#include "gpu/search/tile/nearest_clusters.h"
#include "gpu/search/tile/retries.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

// Neighbours of a tile of queries in one chunk: enqueued by the constructor, certain after
// finish(). Its memory is the device's, freed in stream order, for the call.
class ChunkSearch {
public:
    // `final_ids`: where not null, the filter leaves the ids of its result there, too, unless
    // reorders().
    ChunkSearch(const SearchContext& context, const Chunk& chunk, std::int64_t first,
                std::int64_t count, std::int64_t* final_ids);

    // The rows are in the order of the caller's queries.
    const TileResult& result() const {
        if (answers_) return answers_->result;
        return reorders() ? ordered_ : found_.result;
    }

    // True if queries are searched in an order of their own, which makes `final_ids` void.
    bool reorders() const { return order_.size() > 0 || answers_; }

    // Waits, and retries or scans the queries without a certificate. True where that changed the
    // result.
    bool finish();

private:
    bool scans() const { return context_.plan.path == Path::exact; }
    void take_positions(std::int64_t count);
    bool tries_nearest_partition() const;
    bool answered_in_clusters();
    bool take_left();
    void gather(Buffer<std::int64_t> which);
    void take_by_cluster();
    void reserve_ordered(std::int64_t queries);
    void restore_order();

    void filter_all(std::int64_t* final_ids);
    FilterOutcome filtered(const QueryTile& tile, const ProjectedVectors* projected,
                           std::int64_t* final_ids) const;
    Step step_of(const FilterOutcome& found) const;
    Step projection_step() const;
    void note_declined() const;
    void finish_scan();
    LeftQueries left_by_filter();
    LeftQueries values_of_all_coordinates(const LeftQueries& left);
    void answer_left(LeftQueries left, double candidates_before);
    void note_left(const LeftQueries& left) const;
    void mark_retried(const LeftQueries& left) const;
    void count_needless(double before) const;

    QueryTile tile() const {
        return {queries_.prepared(), context_.graph ? self_.get() : nullptr,
                context_.plan.symmetric, unmeasured_};
    }
    RetryTile retried() {
        return {context_, chunk_, own_, queries_, first_, self_.get(), found_.result};
    }
    // True if the tile has so few queries that all their values are computed (dense pass).
    bool has_values() const {
        return context_.plan.distances.empty() && context_.plan.matrix_queries > 0;
    }
    Learned::Record& record() const {
        return has_values() ? context_.learned.as_values : context_.learned.by_passes;
    }
    bool has_projection() const {
        return tuning::may_project(context_.plan.path) && &own_ == &chunk_.filter &&
               chunk_.projected;
    }
    const ProjectedVectors* own_projection() const;
    const Clusters* own_clusters() const {
        return context_.plan.path == Path::clustered && &own_ == &chunk_.filter
                   ? chunk_.clusters.get()
                   : nullptr;
    }

    const SearchContext& context_;
    const Chunk& chunk_;
    const FilterVectors& own_;
    std::int64_t first_;
    DeviceRows queries_;
    RowMeasures unmeasured_;  // set if the filter measures the queries
    Buffer<std::int64_t> self_,
        order_;  // order_: the caller's number of each query, if they are reordered
    const ProjectedVectors* projection_ = nullptr;  // given to the filter; or null
    FilterOutcome found_;
    Step step_ = Step::own;  // the step that produced found_
    TileResult ordered_;
    std::optional<ClusterAnswers>
        answers_;  // for all queries; queries_ then holds those that they left
};

}  // namespace kith::gpu
