// Searches a unit.
#include "groundtruth/search_unit.h"

#include <fmt/format.h>

#include <utility>

#include "cut.h"
#include "kith/error.h"
#include "kith/kith.h"

namespace kith::cli::groundtruth {
Options unit_options(const Job& job, Options options) {
    options.metric = job.metric;
    if (options.memory > 0) return options;
    const WorkUnit first{};
    const Shape shape{job.shard(first).rows, job.block(first).rows, job.base.cols, job.k, ElementType::f32, false};
    Options typical = options;
    if (job.metric.packed_bits) typical.metric.packed_bits = false;
    if (plan(shape, typical).device == host_memory)
        options.memory = static_cast<std::int64_t>(static_cast<double>(job.memory) * workspace_share);
    return options;
}

UnitSearch::UnitSearch(const Job& job, Options options) : job_(job), options_(unit_options(job, std::move(options))) {}

const Matrix& UnitSearch::hold(Held& held, const Rows& rows, std::int64_t piece) {
    if (held.piece != piece) {
        held = {};
        held.rows = read_piece(rows, rows.pieces[static_cast<std::size_t>(piece)]);
        held.piece = piece;
    }
    return held.rows;
}

PartialNeighbors UnitSearch::run(const WorkUnit& unit, const std::function<bool(const Progress&)>& progress) {
    const Matrix& shard = hold(shard_, job_.base, unit.shard);
    const Matrix& block = hold(block_, job_.queries, unit.block);
    Options options = options_;
    options.progress = progress;
    const RowPiece& points = job_.shard(unit);
    const RowPiece& queries = job_.block(unit);
    try {
        if (job_.graph) return graph_shard(shard.view(), points.first, block.view(), queries.first, job_.k, options);
        return search_shard(shard.view(), points.first, block.view(), job_.k, options);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_argument) throw;
        throw Error(error.code(), fmt::format("points: {}; queries: {}: {}", described(job_.base, points),
                                              described(job_.queries, queries), error.what()));
    }
}

}  // namespace kith::cli::groundtruth
