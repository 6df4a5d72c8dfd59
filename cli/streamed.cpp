// Reads, searches and merges.
#include "streamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "budget.h"
#include "files.h"
#include "interrupt.h"
#include "kith/error.h"
#include "kith/shards.h"
#include "option_names.h"
#include "print.h"
#include "progress.h"
#include "read_ahead.h"

namespace kith::cli {
namespace {

// The rows of a file in order, some at a time.
class RowStream {
public:
    RowStream(const std::string& path, const std::string& format, const std::atomic<bool>* dropped = nullptr)
        : path_(path), reader_(path, reading(format, dropped)) {}
    // The next `count` rows, to search in.
    Matrix next(std::int64_t count) {
        const std::int64_t rows = std::min(count, reader_.info().rows - row_);
        const std::string what = fmt::format("rows {} to {} of {}", row_, row_ + rows - 1, path_);
        Matrix matrix = read_rows(reader_, row_, rows, what);
        row_ += rows;
        return to_points(std::move(matrix), what);
    }

private:
    std::string path_;
    MatrixReader reader_;
    std::int64_t row_ = 0;
};

// The shards of the points, from the first to the last and again for each of `rounds`. Each is read while the one
// before it is searched. A single one stays.
class ShardStream {
public:
    ShardStream(const StreamedJob& job, std::int64_t rows, std::int64_t rounds)
        : job_(job),
          rows_(rows),
          shards_((job.base_info.rows - 1) / rows + 1),
          unread_(shards_ > 1 ? rounds * shards_ : 1) {
        read_ahead();
    }

    std::int64_t shards() const { return shards_; }
    double waited_seconds() const { return ahead_.waited_seconds(); }
    const Matrix& next() {
        if (!ahead_.is_started()) return *current_;
        current_.reset();  // before the next but one takes its room
        current_.emplace(ahead_.take());
        read_ahead();
        return *current_;
    }

private:
    void read_ahead() {
        if (unread_-- == 0) return;
        if (shard_ == 0) stream_.emplace(job_.base, job_.format, &ahead_.dropped());
        ahead_.start([this] { return stream_->next(rows_); });
        shard_ = shard_ + 1 == shards_ ? 0 : shard_ + 1;
    }

    const StreamedJob& job_;
    std::int64_t rows_, shards_, unread_;
    std::int64_t shard_ = 0;  // the next to be read
    std::optional<RowStream> stream_;
    std::optional<Matrix> current_;
    ReadAhead ahead_;  // uses what stands before it, and ends before that
};

void add(Report& all, const Report& one) {
    if (all.path.empty()) {  // that of the first shard, which is no smaller than the others
        all.path = one.path;
        all.device = one.device;
        all.threads = one.threads;
    }
    all.certified += one.certified;
    all.retried += one.retried;
    all.scanned += one.scanned;
    all.candidates += one.candidates;
    all.pairs += one.pairs;
    all.prepare_seconds += one.prepare_seconds;
    for (const TraceEntry& e : one.trace) {
        const auto same = std::ranges::find(all.trace, e.strategy, &TraceEntry::strategy);
        if (same == all.trace.end()) {
            all.trace.push_back(e);
            continue;
        }
        if (e.left > same->left || same->cause.empty()) same->cause = e.cause;
        same->queries += e.queries;
        same->certified += e.certified;
        same->left += e.left;
        same->seconds += e.seconds;
    }
    for (const Fallback& f : one.fallbacks) {
        const auto same = std::find_if(all.fallbacks.begin(), all.fallbacks.end(),
                                       [&](const Fallback& g) { return g.scanned == f.scanned && g.why == f.why; });
        if (same == all.fallbacks.end()) all.fallbacks.push_back(f);
        else same->queries += f.queries;
    }
}

RowSizes sizes_of(const StreamedJob& job) {
    RowSizes sizes{.memory = job.memory, .cols = job.base_info.cols, .k = job.k};
    sizes.process = tool_bytes;
    sizes.points = job.base_info.type;
    sizes.queries = job.query_info.type;
    sizes.most_queries = job.query_info.rows;
    return sizes;
}

Shape largest_part(const StreamedJob& job, const RowCut& cut) {
    const ElementType type = job.base_info.type;
    const bool wide = type == ElementType::i32 || type == ElementType::i64;
    return {
        cut.points, cut.queries, job.base_info.cols, std::max<std::int64_t>(job.k, 1), wide ? ElementType::f32 : type,
        false};
}

// Rows in messages count from the start of a part; what is said of anything but rows concerns all parts.
template <class Search>
Report with_rows(const StreamedJob& job, std::int64_t first_point, std::int64_t first_query, const Search& search) {
    try {
        return search();
    } catch (const Error& error) {
        const std::string_view text = error.what();
        if (error.code() != ErrorCode::invalid_argument ||
            !(text.starts_with("points:") || text.starts_with("queries:")))
            throw;
        throw Error(error.code(),
                    fmt::format("points from row {} of {} on, queries from row {} of {} on: {}", first_point, job.base,
                                first_query, job.queries.empty() ? job.base : job.queries, error.what()));
    }
}

}  // namespace

void StreamedJob::add_to(Inputs& inputs, const StreamedReport& report) const {
    inputs.add(base, base_info, queries.empty() ? report.gaps.nan_queries : report.gaps.nan_points);
    if (!queries.empty()) inputs.add(queries, query_info, report.gaps.nan_queries);
}

RowCut cut_of(const StreamedJob& job) {
    RowSizes sizes = sizes_of(job);
    sizes.shards_held = 2;
    RowCut cut = with_option_names([&] { return cut_by_memory(sizes, fmt::format("a search of {}", job.base)); });
    cut.points = std::min(cut.points, job.base_info.rows);
    return cut;
}

Options with_workspace(const StreamedJob& job, const RowCut& cut) {
    Options options = job.options;
    options.memory = 0;
    // A plan is of neighbours: within radii other paths serve, and the search refuses the rest.
    if (job.k == 0) options.path = options.selector = "";
    const bool on_host = plan(largest_part(job, cut), options).device == host_memory;
    options = job.options;
    options.memory = on_host ? cut.workspace : job.memory;
    return options;
}

bool needs_all_points(const Metric& metric) {
    return (metric.id == MetricId::mahalanobis && !metric.inverse_covariance.data) ||
           (metric.id == MetricId::seuclidean && !metric.variances.data);
}

bool exceeds_memory(const StreamedJob& job) {
    const RowSizes sizes = sizes_of(job);
    const std::int64_t queries = job.queries.empty() ? 0 : job.query_info.rows;
    const double whole = whole_bytes(sizes, job.base_info.rows, queries, job.query_info.rows);
    // For less than the tool takes itself, what little is held is as if it took nothing.
    const std::int64_t memory = job.memory > tool_bytes ? job.memory : tool_bytes + std::min(job.memory, least_bytes);
    return whole > static_cast<double>(memory);
}

Plan plan_of_part(const StreamedJob& job) {
    const RowCut cut = cut_of(job);
    return plan(largest_part(job, cut), with_workspace(job, cut));
}

StreamedReport each_part(const StreamedJob& job, const RowCut& cut, Options options, const SearchPart& search,
                         const EndBlock& end_block) {
    const Stopwatch clock;
    const bool graph = job.queries.empty();
    const FileInfo& queries = job.query_info;
    StreamedReport all;
    ProgressBar bar(!job.quiet);
    const double total = static_cast<double>(job.base_info.rows) * static_cast<double>(queries.rows);
    double done = 0, of_call = 0;
    options.progress = [&](const Progress& p) {
        if (interrupted()) return false;
        // Keys of what was found come after the search, and count from 0 again.
        const bool keys = std::string_view(p.stage) == "keys";
        const double now = done + (keys ? of_call : p.total > 0 ? of_call * std::min(1.0, p.done / p.total) : 0);
        bar.draw("search", now, total, clock.seconds() > 0 ? now / clock.seconds() : 0);
        return true;
    };
    RowStream query_rows(graph ? job.base : job.queries, job.format);
    ShardStream shards(job, cut.points, (queries.rows - 1) / cut.queries + 1);
    for (std::int64_t first = 0; first < queries.rows; first += cut.queries, ++all.blocks) {
        const Matrix block = query_rows.next(cut.queries);
        std::int64_t first_point = 0;
        for (std::int64_t s = 0; s < shards.shards(); ++s) {
            const Matrix& shard = shards.next();
            of_call = static_cast<double>(block.info.rows) * static_cast<double>(shard.info.rows);
            add(all.report, with_rows(job, first_point, first, [&] {
                    return search({shard.view(), first_point, block.view(), first}, options);
                }));
            stop_if_interrupted();
            first_point += shard.info.rows;
            done += of_call;
            if (first == 0) all.gaps.nan_points += nan_rows(shard.view());
        }
        if (first == 0) require_numbers(job.base, job.base_info.rows, all.gaps.nan_points);
        all.gaps.nan_queries += nan_rows(block.view());
        end_block(block.view(), first);
    }
    require_numbers(job.queries.empty() ? job.base : job.queries, queries.rows, all.gaps.nan_queries);
    if (graph) all.gaps.nan_points = 0;  // they are the queries
    all.shards = shards.shards();
    all.waited_seconds = shards.waited_seconds();
    all.report.queries = queries.rows;
    all.report.pairs = total;
    all.report.seconds = clock.seconds();
    return all;
}

StreamedReport search_streamed(const StreamedJob& job, const std::function<void(Neighbors&&)>& take) {
    const bool graph = job.queries.empty();
    const RowCut cut = cut_of(job);
    const Options options = with_workspace(job, cut);
    std::optional<PartialNeighbors> best;
    std::int64_t missing = 0;
    StreamedReport all = each_part(
        job, cut, options,
        [&](const StreamedPart& part, const Options& call) {
            Report report;
            PartialNeighbors found =
                graph ? graph_shard(part.shard, part.first_point, part.block, part.first_query, job.k, call, &report)
                      : search_shard(part.shard, part.first_point, part.block, job.k, call, &report);
            if (best) merge(*best, found);
            else best = std::move(found);
            return report;
        },
        [&](const MatrixView& block, std::int64_t /*first*/) {
            Neighbors neighbors = finish(*best, options);
            best.reset();
            missing += gaps_of(neighbors, block).missing;
            take(std::move(neighbors));
        });
    all.gaps.missing = missing;
    return all;
}

Report of_each_shard(const StreamedReport& streamed) {
    Report each = streamed.report;
    each.queries *= streamed.shards;
    return each;
}

Json to_json(const StreamedReport& streamed) {
    return {{"shards", streamed.shards}, {"blocks", streamed.blocks}, {"waited_seconds", streamed.waited_seconds}};
}

std::string summary(const StreamedReport& streamed) {
    const Report each = of_each_shard(streamed);
    const std::string lines = summary(streamed.report);
    return fmt::format("{}\n{} of points for {} of queries{}: {}\n", lines.substr(0, lines.find('\n')),
                       counted(streamed.shards, "shard", "shards"), counted(streamed.blocks, "block", "blocks"),
                       waiting_text(streamed.waited_seconds),
                       streamed.shards == 1 ? answered(each)
                                            : fmt::format("of {} searches of a query in a shard {}",
                                                          grouped(each.queries), answered(each)));
}

}  // namespace kith::cli
