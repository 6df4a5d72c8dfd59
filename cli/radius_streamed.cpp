// Points within radii, read in shards: each hands on its rows with distance keys, which are merged.
#include <algorithm>
#include <utility>

#include "interrupt.h"
#include "kith/shards.h"
#include "print.h"
#include "radius_answer.h"

namespace kith::cli {
namespace {

// The nearest of one of the first rows, by (key, id).
using Nearest = std::vector<std::pair<double, std::int64_t>>;

// Those of another shard besides.
void add_nearest(Nearest& nearest, const RadiusRows& rows, std::int64_t i) {
    const std::int64_t begin = rows.offsets[i], end = std::min(rows.offsets[i + 1], begin + printed_columns);
    for (std::int64_t at = begin; at < end; ++at) nearest.emplace_back(rows.distances64[at], rows.ids[at]);
    std::sort(nearest.begin(), nearest.end());
    if (nearest.size() > printed_columns) nearest.resize(printed_columns);
}

RadiusRow printed_row(const Nearest& nearest, std::int64_t count, std::int64_t dimensions, const Options& options) {
    std::vector<std::int64_t> ids;
    std::vector<double> keys;
    for (const auto& [key, id] : nearest) {
        keys.push_back(key);
        ids.push_back(id);
    }
    const std::int64_t offsets[] = {0, static_cast<std::int64_t>(ids.size())};
    RadiusNeighbors row = merge_radius({{0, 1, offsets, ids.data(), nullptr, keys.data()}}, dimensions, options);
    if (!options.f64) row.distances64.assign(row.distances.begin(), row.distances.end());
    return {count, std::move(row.ids), std::move(row.distances64)};
}

class StreamedRadius {
public:
    StreamedRadius(const StreamedJob& job, const Radii& radii, CsrWriter* csr, const std::string& csr_path)
        : job_(job),
          radii_(radii),
          csr_path_(csr_path),
          cut_(cut_of(job)),
          options_(with_workspace(job, cut_)),
          graph_(job.queries.empty() && !job.options.include_self),
          take_(into(answer_, csr)) {
        // Half is for the rows that a search has not handed on.
        options_.memory = std::min(options_.memory, cut_.workspace) / 2;
        options_.include_self = false;
    }

    RadiusAnswer count() {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(job_.query_info.rows));
        run(
            [&](const StreamedPart& part, const Radius& r, const Options& call) {
                RadiusCounts found = graph_ ? radius_graph_shard_counts(part.shard, part.first_point, part.block,
                                                                        part.first_query, r, call)
                                            : radius_shard_counts(part.shard, part.block, r, call);
                for (std::size_t i = 0; i < found.counts.size(); ++i)
                    counts[static_cast<std::size_t>(part.first_query) + i] += found.counts[i];
                return found.report;
            },
            [](const MatrixView&, std::int64_t) {});
        set_counts(answer_, std::move(counts));
        return std::move(answer_);
    }

    RadiusAnswer write() {
        std::optional<ShardRows> waiting;
        run(
            [&](const StreamedPart& part, const Radius& r, const Options& call) {
                if (!waiting) waiting.emplace(csr_path_);
                return list(part, r, call, [&](const RadiusRows& rows) { waiting->append(rows); });
            },
            [&](const MatrixView&, std::int64_t first_query) {
                waiting->hand_on(first_query, job_.base_info.cols, options_, cut_.workspace,
                                 [&](const RadiusRows& rows) {
                                     stop_if_interrupted();
                                     take_(rows);
                                 });
                waiting.reset();
            });
        return std::move(answer_);
    }

    // Only what is printed.
    RadiusAnswer show() {
        const std::int64_t q = job_.query_info.rows;
        std::vector<std::int64_t> counts(static_cast<std::size_t>(q));
        std::vector<Nearest> first(static_cast<std::size_t>(std::min(q, printed_rows)));
        run(
            [&](const StreamedPart& part, const Radius& r, const Options& call) {
                return list(part, r, call, [&](const RadiusRows& rows) {
                    for (std::int64_t i = 0; i < rows.count; ++i) {
                        const auto row = static_cast<std::size_t>(part.first_query + rows.first + i);
                        counts[row] += rows.offsets[i + 1] - rows.offsets[i];
                        if (row < first.size()) add_nearest(first[row], rows, i);
                    }
                });
            },
            [](const MatrixView&, std::int64_t) {});
        for (std::size_t i = 0; i < first.size(); ++i)
            answer_.first.push_back(printed_row(first[i], counts[i], job_.base_info.cols, options_));
        answer_.counts = std::move(counts);
        return std::move(answer_);
    }

private:
    template <class Search>
    void run(const Search& search, const EndBlock& end_block) {
        answer_.streamed = each_part(
            job_, cut_, options_,
            [&](const StreamedPart& part, const Options& call) {
                return search(part, radii_.of(part.first_query, part.block.rows), call);
            },
            end_block);
        answer_.report = answer_.streamed->report;
        answer_.gaps = answer_.streamed->gaps;
    }

    Report list(const StreamedPart& part, const Radius& r, const Options& call, const TakeRadiusRows& take) const {
        return graph_ ? radius_graph_shard(part.shard, part.first_point, part.block, part.first_query, r, call, take)
                      : radius_shard(part.shard, part.first_point, part.block, r, call, take);
    }

    const StreamedJob& job_;
    const Radii& radii_;
    std::string csr_path_;
    RowCut cut_;
    Options options_;
    bool graph_;  // no point is in its own row
    RadiusAnswer answer_;
    TakeRadiusRows take_;
};

}  // namespace

TakeRadiusRows into(RadiusAnswer& answer, CsrWriter* csr) {
    return [&answer, csr](const RadiusRows& rows) {
        if (csr) csr->append(rows);
        for (std::int64_t i = 0; i < rows.count; ++i) {
            const std::int64_t begin = rows.offsets[i], end = rows.offsets[i + 1];
            answer.counts.push_back(end - begin);
            if (rows.first + i >= printed_rows) continue;
            RadiusRow row{end - begin, {}, {}};
            for (std::int64_t at = begin; at < std::min(end, begin + printed_columns); ++at) {
                row.ids.push_back(rows.ids[at]);
                row.distances.push_back(rows.distances64 ? rows.distances64[at] : double{rows.distances[at]});
            }
            answer.first.push_back(std::move(row));
        }
    };
}

void set_counts(RadiusAnswer& answer, std::vector<std::int64_t> counts) {
    answer.counts = std::move(counts);
    for (std::size_t i = 0; i < std::min<std::size_t>(answer.counts.size(), printed_rows); ++i)
        answer.first.push_back({answer.counts[i], {}, {}});
}

Radius Radii::of(std::int64_t first, std::int64_t count) const {
    Radius r(all);
    if (!each.empty()) r = Radius(view(each.data() + first, count, 1));
    r.open = open;
    return r;
}

RadiusAnswer radius_streamed(const StreamedJob& job, const Radii& radii, bool only_counts, CsrWriter* csr,
                             const std::string& csr_path) {
    StreamedRadius streamed(job, radii, csr, csr_path);
    return only_counts ? streamed.count() : csr ? streamed.write() : streamed.show();
}

}  // namespace kith::cli
