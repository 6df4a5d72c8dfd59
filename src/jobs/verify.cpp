// Checks that all units are done and whole, and that a sample of the queries is exact.
#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "jobs/job.h"
#include "jobs/merged.h"
#include "jobs/piece_reader.h"
#include "jobs/search_unit.h"
#include "jobs/stop.h"
#include "kith/error.h"
#include "kith/plan.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Copies the listed rows of a packed matrix, in that order.
Matrix gather(const MatrixView& matrix, const std::vector<std::int64_t>& rows) {
    Matrix result;
    result.info = {"", static_cast<std::int64_t>(rows.size()), matrix.cols, matrix.type};
    const std::size_t bytes = static_cast<std::size_t>(matrix.cols) * size_of(matrix.type);
    result.bytes.resize(rows.size() * bytes);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(
            result.bytes.data() + i * bytes,
            static_cast<const std::byte*>(matrix.data) + static_cast<std::size_t>(rows[i]) * bytes,
            bytes);
    }
    return result;
}

// Rows of a block that are recomputed, and their results in the units.
struct Sample {
    Matrix queries;
    std::vector<std::int64_t> numbers;  // among all queries
    PartialNeighbors listed;
    std::optional<PartialNeighbors> found;
};

PartialNeighbors rows_of(const PartialNeighbors& all, const std::vector<std::int64_t>& rows) {
    PartialNeighbors some{static_cast<std::int64_t>(rows.size()), all.k, all.dimensions, {}, {}};
    for (const std::int64_t row : rows) {
        some.ids.insert(some.ids.end(), all.ids.begin() + row * all.k,
                        all.ids.begin() + (row + 1) * all.k);
        some.keys.insert(some.keys.end(), all.keys.begin() + row * all.k,
                         all.keys.begin() + (row + 1) * all.k);
    }
    return some;
}

// The sampled rows per block, as indices in it: `sample` in total, evenly spaced.
std::map<std::int64_t, std::vector<std::int64_t>> chosen_rows(const Job& job, std::int64_t sample) {
    std::map<std::int64_t, std::vector<std::int64_t>> chosen;
    const std::int64_t count = std::min(sample, job.queries.count);
    std::int64_t block = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const auto row = static_cast<std::int64_t>(static_cast<double>(i) *
                                                   static_cast<double>(job.queries.count) /
                                                   static_cast<double>(count));
        const auto piece = [&] { return job.queries.pieces[static_cast<std::size_t>(block)]; };
        while (row >= piece().first + piece().rows) ++block;
        chosen[block].push_back(row - piece().first);
    }
    return chosen;
}

// A full scan: it does not trust the filter that computed the units.
PartialNeighbors search_again(const Job& job, const Sample& sample, const Matrix& shard,
                              std::int64_t first, const Options& options) {
    const MatrixView queries = sample.queries.view();
    if (!job.graph) return search_shard(shard.view(), first, queries, job.k, options);
    PartialNeighbors all{0, job.k, job.base.cols, {}, {}};
    for (std::size_t i = 0; i < sample.numbers.size(); ++i) {
        const Matrix row = gather(queries, {static_cast<std::int64_t>(i)});
        const auto one =
            graph_shard(shard.view(), first, row.view(), sample.numbers[i], job.k, options);
        ++all.queries;
        all.ids.insert(all.ids.end(), one.ids.begin(), one.ids.end());
        all.keys.insert(all.keys.end(), one.keys.begin(), one.keys.end());
    }
    return all;
}

void compute_again(const Job& job, std::vector<Sample>& samples, const Options& options,
                   Stop& stop) {
    PieceReader shards(job.base, stop);
    const bool reads_ahead = holds_two(job);
    for (std::int64_t shard = 0; shard < job.shards() && !samples.empty(); ++shard) {
        stop.at("computing again", static_cast<double>(shard), static_cast<double>(job.shards()));
        const RowPiece& piece = job.base.pieces[static_cast<std::size_t>(shard)];
        const Matrix& points = shards.hold(shard);
        if (reads_ahead && shard + 1 < job.shards()) shards.read_ahead(shard + 1);
        for (Sample& sample : samples) {
            PartialNeighbors part = search_again(job, sample, points, piece.first, options);
            if (sample.found) merge(*sample.found, part);
            else sample.found = std::move(part);
        }
    }
}

// The queries with neighbours or keys that differ in any bit.
std::vector<std::int64_t> different(const std::vector<Sample>& samples) {
    std::vector<std::int64_t> wrong;
    for (const Sample& sample : samples) {
        const auto k = static_cast<std::size_t>(sample.listed.k);
        for (std::size_t i = 0; i < sample.numbers.size(); ++i) {
            const bool same =
                std::equal(sample.listed.ids.begin() + static_cast<std::ptrdiff_t>(i * k),
                           sample.listed.ids.begin() + static_cast<std::ptrdiff_t>((i + 1) * k),
                           sample.found->ids.begin() + static_cast<std::ptrdiff_t>(i * k)) &&
                std::memcmp(&sample.listed.keys[i * k], &sample.found->keys[i * k],
                            k * sizeof(double)) == 0;
            if (!same) wrong.push_back(sample.numbers[i]);
        }
    }
    return wrong;
}

}  // namespace

Verification verify(const std::string& folder, const VerifyOptions& asked) {
    const machine::FloatState state;
    if (asked.sample < 0) throw Error(ErrorCode::invalid_argument, "sample: expected at least 0");
    Stop stop(asked.on_step);
    const Job job = read_job(folder, asked.strict);
    Options options = unit_options(job, asked.search);
    if (options.path.empty()) options.path = name(Path::exact);
    options.progress = [&](const Progress&) { return stop.goes_on(); };
    Verification outcome;
    const auto chosen = chosen_rows(job, asked.sample);
    std::vector<Sample> samples;
    Merger merger(job, stop);
    for (std::int64_t block = 0; block < job.blocks(); ++block) {
        stop.at("reading units", static_cast<double>(block), static_cast<double>(job.blocks()));
        const std::optional<PartialNeighbors> merged = merger.block(block);
        const auto rows = chosen.find(block);
        if (rows == chosen.end()) continue;
        if (!merged) {
            outcome.left_out += static_cast<std::int64_t>(rows->second.size());
            continue;
        }
        const RowPiece& piece = job.queries.pieces[static_cast<std::size_t>(block)];
        const Matrix queries = read_piece(job.queries, piece, [&] { return stop.goes_on(); });
        Sample sample{gather(queries.view(), rows->second), {}, rows_of(*merged, rows->second), {}};
        for (const std::int64_t row : rows->second) sample.numbers.push_back(piece.first + row);
        outcome.computed += static_cast<std::int64_t>(rows->second.size());
        samples.push_back(std::move(sample));
    }
    outcome.missing = merger.missing();
    outcome.damaged = merger.damaged();
    compute_again(job, samples, options, stop);
    outcome.wrong = different(samples);
    return outcome;
}

}  // namespace kith::groundtruth
