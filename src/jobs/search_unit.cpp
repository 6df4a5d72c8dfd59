// Searches a unit.
#include "jobs/search_unit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "kith/cut.h"
#include "kith/error.h"
#include "kith/kith.h"

namespace kith::groundtruth {

bool holds_two(const Job& job) {
    RowSizes sizes{.memory = job.memory, .cols = job.base.cols, .k = job.k};
    sizes.points = job.base.type;
    sizes.queries = job.queries.type;
    sizes.shards_held = sizes.blocks_held = 2;
    const auto largest = [](const Rows& rows) {
        return std::max_element(
                   rows.pieces.begin(), rows.pieces.end(),
                   [](const RowPiece& a, const RowPiece& b) { return a.rows < b.rows; })
            ->rows;
    };
    const std::int64_t queries = largest(job.queries);
    return held_bytes(sizes, largest(job.base), queries, queries) <=
           static_cast<double>(job.memory);
}

Options unit_options(const Job& job, Options options) {
    options.metric = job.metric;
    if (options.memory > 0) return options;
    const WorkUnit first{};
    const Shape shape{job.shard(first).rows, job.block(first).rows,
                      job.base.cols,         job.k,
                      ElementType::f32,      false};
    Options typical = options;
    if (job.metric.packed_bits) typical.metric.packed_bits = false;
    if (plan(shape, typical).device == host_memory)
        options.memory =
            static_cast<std::int64_t>(static_cast<double>(job.memory) * workspace_share);
    return options;
}

UnitSearch::UnitSearch(const Job& job, Options options, Stop& stop)
    : job_(job),
      options_(unit_options(job, std::move(options))),
      reads_ahead_(holds_two(job)),
      shards_(job.base, stop),
      blocks_(job.queries, stop) {}

PartialNeighbors UnitSearch::run(const WorkUnit& unit, const std::optional<WorkUnit>& next,
                                 const std::function<bool(const Progress&)>& progress) {
    if (unit.shard != prepared_shard_) prepared_.reset();
    const Matrix& shard = shards_.hold(unit.shard);
    const Matrix& block = blocks_.hold(unit.block);
    if (next && reads_ahead_) {
        shards_.read_ahead(next->shard);
        blocks_.read_ahead(next->block);
    }
    Options options = options_;
    options.progress = progress;
    const RowPiece& points = job_.shard(unit);
    const RowPiece& queries = job_.block(unit);
    try {
        if (!prepared_) prepared_ = Index::borrowing(shard.view(), options);
        prepared_shard_ = unit.shard;
        if (job_.graph)
            return graph_shard(shard.view(), points.first, block.view(), queries.first, job_.k,
                               options, nullptr, &*prepared_);
        return search_shard(shard.view(), points.first, block.view(), job_.k, options, nullptr,
                            &*prepared_);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        throw Error(error.code(),
                    fmt::format("points: {}; queries: {}: {}", described(job_.base, points),
                                described(job_.queries, queries), error.what()));
    }
}

}  // namespace kith::groundtruth
