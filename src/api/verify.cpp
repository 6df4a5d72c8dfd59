// verify and verify_graph: the neighbours are searched for again, and rows judged by them.
#include "kith/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "api/guard.h"
#include "api/host_view.h"
#include "api/judge.h"
#include "api/magnitudes.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/watched.h"
#include "kith/kith.h"

namespace kith {

namespace {

constexpr std::int64_t rows_per_task = 64;

// A view of what was found.
void check_found(const MatrixView& v, const char* what, std::int64_t rows, std::int64_t k) {
    if (v.rows != rows || v.cols != k)
        refuse("{}: {} x {}; expected {} x {}", what, v.rows, v.cols, rows, k);
    if (v.layout != Layout::row_major || v.device != host_memory)
        refuse("{}: expected rows in host memory, each contiguous", what);
    if (rows > 0 && !v.data) refuse("{}: data is null; expected {} x {} elements", what, rows, k);
    if (v.stride < k) refuse("{}: stride {}; expected at least the {} columns", what, v.stride, k);
    if (rows > 0 && api::pass_64_bits(rows, k, v.stride, size_of(v.type)))
        refuse("{}: {} x {} elements, {} apart, pass 2^63 bytes", what, rows, k, v.stride);
}

// All rows, or `sample` of them evenly spaced.
std::vector<std::int64_t> rows_to_judge(std::int64_t rows, std::int64_t sample) {
    const std::int64_t count = sample > 0 ? std::min(sample, rows) : rows;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        numbers[static_cast<std::size_t>(i)] =
            static_cast<std::int64_t>(static_cast<__int128>(i) * rows / count);
    return numbers;
}

// Those rows of a matrix in host memory, dense.
MatrixView gathered(const MatrixView& from, const std::vector<std::int64_t>& rows,
                    std::vector<std::byte>& storage) {
    const auto count = static_cast<std::int64_t>(rows.size());
    const auto bytes = static_cast<std::int64_t>(size_of(from.type));
    storage.resize(static_cast<std::size_t>(count * from.cols * bytes));
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t j = 0; j < from.cols; ++j)
            std::memcpy(storage.data() + (i * from.cols + j) * bytes,
                        static_cast<const std::byte*>(from.data) +
                            exact::offset(from, rows[static_cast<std::size_t>(i)], j) * bytes,
                        static_cast<std::size_t>(bytes));
    return {storage.data(), count, from.cols, from.cols, from.type, Layout::row_major, host_memory};
}

bool has_nan(const MatrixView& m, std::int64_t row) {
    for (std::int64_t j = 0; j < m.cols; ++j)
        if (std::isnan(exact::load(m.data, m.type, exact::offset(m, row, j)))) return true;
    return false;
}

class Verifier {
public:
    // Without queries: a graph of the points.
    Verifier(const MatrixView& points, const MatrixView* queries, const FoundNeighbors& found,
             const VerifyOptions& options)
        : points_(points),
          queries_(queries),
          found_(found),
          asked_(options),
          options_(options.search) {
        api::check_view(points, "points", 0);
        if (queries) {
            api::check_view(*queries, "queries", 0);
            api::check_dimensions(points.cols, queries->cols);
        }
        const std::int64_t rows = of_queries().rows;
        if (found.ids.cols < 1) refuse("ids: {} columns; expected at least 1", found.ids.cols);
        check_found(found.ids, "ids", rows, found.ids.cols);
        if (found.ids.type != ElementType::i64)
            refuse("ids: elements are {}; expected i64", name(found.ids.type));
        if (api::is_given(found.distances, "distances")) {
            check_found(found.distances, "distances", rows, found.ids.cols);
            const ElementType type = found.distances.type;
            if (type != ElementType::f32 && type != ElementType::f64)
                refuse("distances: elements are {}; expected f32 or f64", name(type));
        }
        if (options.sample < 0) refuse("sample: {}; expected rows, or 0 for all", options.sample);
        options_.f64 = true;
        options_.include_self = false;
    }

    Verification run() {
        all_.all_rows = of_queries().rows;
        all_.k = found_.ids.cols;
        all_.include_self = !queries_ && asked_.include_self.value_or(most_begin_with_themselves());
        const std::vector<std::int64_t> rows = rows_to_judge(all_.all_rows, asked_.sample);
        all_.rows = static_cast<std::int64_t>(rows.size());
        const int threads = api::threads_of(options_);
        ProgressMeter progress(options_.progress, static_cast<double>(all_.rows));
        MetricSpec metric = api::validate_metric(options_.metric, points_, threads, progress);
        api::Truth truth{metric, {}, {}, rows, all_.k, !queries_, all_.include_self, {}, {}};
        search(truth);
        progress.add(static_cast<double>(all_.rows));
        std::vector<std::byte> point_storage, query_storage;
        std::vector<double> scaled_points, scaled_queries;
        truth.points = points_;
        truth.queries = some_ ? some_rows_ : of_queries();
        // Rows of the right ids are judged by these alone.
        if (all_.include_self || !all_ids_are(truth)) {
            truth.points = api::on_host(points_, point_storage);
            truth.queries = some_      ? some_rows_
                            : queries_ ? api::on_host(*queries_, query_storage)
                                       : truth.points;
            const auto extent = [&](const MatrixView& rows) {
                return api::extent_of(rows, metric, threads, progress);
            };
            truth.points = api::scaled_rows(truth.points, metric, threads, progress, scaled_points);
            truth.queries =
                api::scaled_rows(truth.queries, metric, threads, progress, scaled_queries);
            metric.wide =
                api::key_range(metric, api::join(extent(truth.points), extent(truth.queries)))
                    .is_left();
        }
        if (all_.include_self) add_own(truth, threads, progress);
        judge(truth, threads, progress);
        describe(truth);
        return std::move(all_);
    }

private:
    const MatrixView& of_queries() const { return queries_ ? *queries_ : points_; }
    bool has_distances() const { return found_.distances.data != nullptr; }
    const std::int64_t* ids(std::int64_t row) const {
        return static_cast<const std::int64_t*>(found_.ids.data) + row * found_.ids.stride;
    }
    double distance(std::int64_t row, std::int64_t place) const {
        return exact::load(found_.distances.data, found_.distances.type,
                           row * found_.distances.stride + place);
    }

    // Of the rows that begin with a point; none of them is its own where that has a NaN coordinate.
    bool most_begin_with_themselves() const {
        std::vector<std::byte> storage;
        MatrixView points;
        std::int64_t begin = 0, own = 0;
        for (std::int64_t row = 0; row < found_.ids.rows; ++row) {
            const std::int64_t first = *ids(row);
            begin += first >= 0;
            if (first != row) continue;
            if (!points.data) points = api::on_host(points_, storage);
            own += !has_nan(points, row);
        }
        return own > 0 && 2 * own >= begin;
    }

    // The neighbours themselves. Of a graph: among all points, of which each leaves itself out.
    void search(api::Truth& truth) {
        const std::int64_t own = all_.include_self ? 1 : 0, k = all_.k;
        some_ = all_.rows < all_.all_rows;
        std::vector<std::byte> host_storage;
        if (some_)
            some_rows_ =
                gathered(api::on_host(of_queries(), host_storage), truth.rows, some_storage_);
        const std::int64_t searched = queries_ ? k : std::max<std::int64_t>(1, k - own) + 1;
        Neighbors near =
            kith::search(points_, some_ ? some_rows_ : of_queries(), searched, options_);
        all_.report = near.report;
        if (queries_) {
            truth.ids = std::move(near.ids);
            truth.distances = std::move(near.distances64);
            return;
        }
        const auto cells = static_cast<std::size_t>(all_.rows * k);
        truth.ids.assign(cells, -1);
        truth.distances.assign(cells, truth.none());
        for (std::int64_t i = 0; i < all_.rows; ++i) {
            std::int64_t to = own;
            for (std::int64_t j = 0; j < searched && to < k; ++j) {
                const auto at = static_cast<std::size_t>(i * searched + j);
                if (near.ids[at] == truth.rows[static_cast<std::size_t>(i)]) continue;
                truth.ids[static_cast<std::size_t>(i * k + to)] = near.ids[at];
                truth.distances[static_cast<std::size_t>(i * k + to)] = near.distances64[at];
                ++to;
            }
        }
    }

    bool all_ids_are(const api::Truth& truth) const {
        for (std::int64_t i = 0; i < all_.rows; ++i)
            if (!std::equal(truth.ids.begin() + i * all_.k, truth.ids.begin() + (i + 1) * all_.k,
                            ids(truth.rows[static_cast<std::size_t>(i)])))
                return false;
        return true;
    }

    // Each row's own point before its neighbours, unless it has a NaN coordinate.
    void add_own(api::Truth& truth, int threads, ProgressMeter& progress) const {
        watched_for(threads, all_.rows, rows_per_task, progress, "judge",
                    [&](std::int64_t first, std::int64_t last) {
                        api::RowJudge judge(truth);
                        for (std::int64_t i = first; i < last; ++i) {
                            const std::int64_t row = truth.rows[static_cast<std::size_t>(i)];
                            const double own = judge.self_distance(row);
                            if (std::isnan(own)) continue;
                            truth.ids[static_cast<std::size_t>(i * all_.k)] = row;
                            truth.distances[static_cast<std::size_t>(i * all_.k)] = own;
                        }
                    });
        progress.throw_if_cancelled();
    }

    // How the distances are compared.
    DistancesCompared comparison(const api::Truth& truth) const {
        if (!has_distances()) return DistancesCompared::none;
        if (asked_.distances_of_others) return DistancesCompared::nearly;
        if (found_.distances.type == ElementType::f32) return DistancesCompared::f32;
        for (const std::int64_t row : truth.rows)
            for (std::int64_t j = 0; j < all_.k; ++j) {
                const double d = distance(row, j);
                if (static_cast<double>(static_cast<float>(d)) != d && !std::isnan(d))
                    return DistancesCompared::f64;
            }
        return DistancesCompared::f32;
    }

    // The first distance of a row that is not the canonical one of its id; k: none.
    std::int64_t first_different(const api::Truth& truth, std::int64_t i,
                                 const std::vector<double>& canonical,
                                 api::DistanceJudge& judge) const {
        std::int64_t first = all_.k;
        if (all_.compared == DistancesCompared::none) return first;
        for (std::int64_t j = 0; j < all_.k; ++j)
            if (!judge.agree(distance(truth.rows[static_cast<std::size_t>(i)], j),
                             canonical[static_cast<std::size_t>(j)]))
                first = std::min(first, j);
        return first;
    }

    void judge(const api::Truth& truth, int threads, ProgressMeter& progress) {
        all_.compared = comparison(truth);
        for (const double d : truth.distances)
            if (std::isfinite(d)) scale_ = std::max(scale_, std::fabs(d));
        std::vector<std::uint8_t> wrong(static_cast<std::size_t>(all_.rows));
        std::mutex adding;
        watched_for(threads, all_.rows, rows_per_task, progress, "judge",
                    [&](std::int64_t first, std::int64_t last) {
                        api::RowJudge rows(truth);
                        api::DistanceJudge distances(all_.compared, scale_);
                        std::int64_t exact = 0, tied = 0, only_distances = 0, neighbours = 0,
                                     hits = 0;
                        for (std::int64_t i = first; i < last; ++i) {
                            const api::RowJudgement row =
                                rows.judge(i, ids(truth.rows[static_cast<std::size_t>(i)]));
                            neighbours += row.neighbours;
                            hits += row.hits;
                            const bool agree =
                                first_different(truth, i, row.distances, distances) == all_.k;
                            if (row.why.empty() && !agree) ++only_distances;
                            if (!row.why.empty() || !agree) wrong[static_cast<std::size_t>(i)] = 1;
                            else if (row.exact) ++exact;
                            else ++tied;
                        }
                        const std::lock_guard lock(adding);
                        all_.exact += exact;
                        all_.tied += tied;
                        all_.only_distances += only_distances;
                        all_.neighbours += neighbours;
                        all_.hits += hits;
                        distances.add_to(all_);
                    });
        progress.throw_if_cancelled();
        for (std::int64_t i = 0; i < all_.rows; ++i)
            if (wrong[static_cast<std::size_t>(i)]) wrong_.push_back(i);
        all_.wrong = static_cast<std::int64_t>(wrong_.size());
        for (const std::int64_t i : wrong_)
            all_.wrong_rows.push_back(truth.rows[static_cast<std::size_t>(i)]);
    }

    void describe(const api::Truth& truth) {
        const std::int64_t count = std::clamp<std::int64_t>(asked_.described, 0, all_.wrong);
        api::RowJudge rows(truth);
        for (std::int64_t w = 0; w < count; ++w) {
            const std::int64_t i = wrong_[static_cast<std::size_t>(w)],
                               row = truth.rows[static_cast<std::size_t>(i)];
            api::RowJudgement judged = rows.judge(i, ids(row));
            if (judged.why.empty()) {
                api::DistanceJudge distances(all_.compared, scale_);
                judged.place = first_different(truth, i, judged.distances, distances);
                judged.why = distances.why(distance(row, judged.place),
                                           judged.distances[static_cast<std::size_t>(judged.place)],
                                           judged.place);
            }
            const auto from = static_cast<std::ptrdiff_t>(i * all_.k);
            all_.first_wrong.push_back(
                {row, judged.place, std::move(judged.why), std::move(judged.distances),
                 std::vector<std::int64_t>(truth.ids.begin() + from,
                                           truth.ids.begin() + from + all_.k),
                 std::vector<double>(truth.distances.begin() + from,
                                     truth.distances.begin() + from + all_.k)});
        }
    }

    const MatrixView& points_;
    const MatrixView* queries_;
    const FoundNeighbors& found_;
    const VerifyOptions& asked_;
    Options options_;
    Verification all_;
    std::vector<std::int64_t> wrong_;  // among the rows that are judged
    double scale_ = 0;                 // the largest canonical distance
    bool some_ = false;                // of a sample:
    MatrixView some_rows_{};           // its queries
    std::vector<std::byte> some_storage_;
};

}  // namespace

FoundNeighbors::FoundNeighbors(const Neighbors& found)
    : ids(view(found.ids.data(), found.queries, found.k)),
      distances(!found.distances64.empty() ? view(found.distances64.data(), found.queries, found.k)
                : !found.distances.empty() ? view(found.distances.data(), found.queries, found.k)
                                           : MatrixView{}) {}

const char* name(DistancesCompared compared) {
    switch (compared) {
        case DistancesCompared::none:
            return "not compared";
        case DistancesCompared::f32:
            return "f32";
        case DistancesCompared::f64:
            return "f64";
        default:
            return "nearly";
    }
}

Verification verify(const MatrixView& points, const MatrixView& queries,
                    const FoundNeighbors& found, const VerifyOptions& options) {
    return api::guarded([&] { return Verifier(points, &queries, found, options).run(); });
}

Verification verify_graph(const MatrixView& points, const FoundNeighbors& found,
                          const VerifyOptions& options) {
    return api::guarded([&] { return Verifier(points, nullptr, found, options).run(); });
}

}  // namespace kith
