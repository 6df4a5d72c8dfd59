// Recommendations: the graph of all users' vectors, whole or in blocks, and what the neighbours
// have of the rest.
#include "kith/recommend.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <optional>

#include "api/group_report.h"
#include "api/guard.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/ceil_div.h"
#include "exact/element.h"
#include "exact/parts.h"
#include "exact/refuse.h"
#include "exact/room.h"
#include "exact/watched.h"
#include "kith/index.h"
#include "kith/kith.h"
#include "kith/memory.h"
#include "kith/shards.h"
#include "recommend/preferences.h"

namespace kith {

namespace {

using recommending::Preferences;

constexpr std::int64_t users_per_task = 64;
constexpr std::int64_t cell_bytes =
    sizeof(std::int64_t) + sizeof(double);  // of an item or a neighbour

// A neighbour at distance 0 has the weight 1 / epsilon, of which sums of 2^63, times values of f32,
// are to be finite.
constexpr double least_epsilon = 1e-240;

// The predictions of one user at a time; all items' sums are 0 in between.
class Prediction {
public:
    Prediction(const Preferences& preferences, const RecommendOptions& options)
        : preferences_(preferences),
          options_(options),
          sums_(static_cast<std::size_t>(preferences.items())),
          seen_(sums_.size()) {}

    // The first items of the order that recommend.h says, from `k` neighbours.
    void recommend(std::int64_t user, const std::int64_t* ids, const double* distances,
                   std::int64_t k, std::int64_t count, std::int64_t* items, double* predictions) {
        double weights = 0;
        for (std::int64_t j = 0; j < k && ids[j] >= 0; ++j) {
            const double weight = weight_at(distances[j]);
            weights += weight;
            for (std::size_t cell = preferences_.first(ids[j]);
                 cell < preferences_.first(ids[j] + 1); ++cell) {
                const auto item = static_cast<std::size_t>(preferences_.item(cell));
                if (!seen_[item]) {
                    seen_[item] = true;
                    touched_.push_back(static_cast<std::int64_t>(item));
                }
                sums_[item] =
                    std::fma(weight, static_cast<double>(preferences_.value(cell)), sums_[item]);
            }
        }
        ranked_.clear();
        for (const std::int64_t item : touched_) {
            double& sum = sums_[static_cast<std::size_t>(item)];
            const double prediction = weights > 0 ? sum / weights : 0;
            sum = 0;
            seen_[static_cast<std::size_t>(item)] = false;
            if (prediction > 0 && !preferences_.has(user, item))
                ranked_.push_back({prediction, item});
        }
        touched_.clear();
        const std::size_t shown = std::min(static_cast<std::size_t>(count), ranked_.size());
        std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(shown),
                          ranked_.end());
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            items[i] = i < shown ? ranked_[i].item : -1;
            predictions[i] = i < shown ? ranked_[i].prediction : 0;
        }
    }

private:
    struct Ranked {
        double prediction;
        std::int64_t item;
        bool operator<(const Ranked& other) const {
            return prediction != other.prediction ? prediction > other.prediction
                                                  : item < other.item;
        }
    };

    double weight_at(double distance) const {
        if (options_.weight == NeighborWeight::uniform) return 1;
        return 1 / (std::max(distance, 0.0) + options_.epsilon);
    }

    const Preferences& preferences_;
    const RecommendOptions& options_;
    std::vector<double> sums_;
    std::vector<bool> seen_;
    std::vector<std::int64_t> touched_;
    std::vector<Ranked> ranked_;
};

// Users [first, first + neighbors.queries) of `out`.
void predict(const Preferences& preferences, const Neighbors& neighbors, std::int64_t first,
             const RecommendOptions& options, const Options& search, Recommendations& out) {
    ProgressMeter progress(search.progress, static_cast<double>(neighbors.queries));
    watched_for(api::threads_of(search), neighbors.queries, users_per_task, progress, "predict",
                [&](std::int64_t from, std::int64_t to) {
                    Prediction prediction(preferences, options);
                    for (std::int64_t i = from; i < to; ++i) {
                        const auto row = static_cast<std::size_t>(i * neighbors.k);
                        const auto at = static_cast<std::size_t>((first + i) * out.count);
                        prediction.recommend(first + i, &neighbors.ids[row],
                                             &neighbors.distances64[row], neighbors.k, out.count,
                                             &out.items[at], &out.predictions[at]);
                    }
                    progress.add(static_cast<double>(to - from));
                });
    progress.throw_if_cancelled();
}

// How users are dealt with whose vectors are not all dense at once. Of each block of points every
// query takes its k nearest, so that the blocks of points are the larger ones; each is made dense
// and prepared once for all the queries whose neighbours are kept together.
struct Blocks {
    std::int64_t points = 0, queries = 0;  // dense at once; points of all users: no blocks
    std::int64_t together = 0;             // users, of whole blocks of queries
};
Blocks blocks_of(const Preferences& preferences, std::int64_t k, const RecommendOptions& options) {
    const std::int64_t users = preferences.users(), asked = options.users_at_once;
    const Blocks whole{users, users, users};
    if (asked >= users) return whole;
    const std::int64_t memory = options.search.memory;
    const double room =
        memory > 0 ? static_cast<double>(memory) : static_cast<double>(free_memory()) / 2;
    const double vector = static_cast<double>(preferences.items()) * sizeof(float);
    const double neighbours = static_cast<double>(k) * cell_bytes;
    if (asked == 0 && static_cast<double>(users) * (vector + neighbours) <= room) return whole;
    // At most a half for the neighbours that are kept; the rest for vectors, as much again of them
    // prepared, and neighbours as they are found and merged.
    const double kept = std::min(static_cast<double>(users) * neighbours, room / 2);
    const auto fit = [](double bytes, double each) {
        return static_cast<std::int64_t>(std::min(bytes / each, 0x1p62));
    };
    const std::int64_t dense =
        asked > 0 ? 2 * asked
                  : std::max<std::int64_t>(fit(room - kept, 2 * (vector + neighbours)), 2);
    constexpr std::int64_t share_of_queries = 8;
    Blocks out;
    out.queries = std::clamp<std::int64_t>(dense / share_of_queries, 1, users);
    out.points = std::min(dense - out.queries, users);
    out.together = fit(room / 2, neighbours);
    if (out.together >= users) out.together = users;
    else out.together = std::max<std::int64_t>(out.together / out.queries, 1) * out.queries;
    return out;
}

void add_counts(Report& into, const Report& from) {
    api::add(from, into);
    std::stable_sort(into.fallbacks.begin(), into.fallbacks.end(),
                     [](const Fallback& a, const Fallback& b) { return a.queries > b.queries; });
    into.pairs += from.pairs;
    into.prepare_seconds += from.prepare_seconds;
    into.seconds += from.seconds;
}

// Users [first, last) in blocks.
template <class F>
void for_blocks(std::int64_t first, std::int64_t last, std::int64_t block, const F& work) {
    for (std::int64_t at = first; at < last; at += block) work(at, std::min(block, last - at));
}

// A block of points, prepared by the first search for all that follow, unless a device has too
// little memory for that: then each search prepares them for itself, in chunks.
class PointBlock {
public:
    PointBlock(const MatrixView& points, std::int64_t first) : points_(points), first_(first) {}
    PartialNeighbors nearest(const MatrixView& queries, std::int64_t first_query, std::int64_t k,
                             const Options& search, Report& report) {
        if (keeps_) {
            try {
                if (!prepared_) prepared_ = Index::borrowing(points_, search);
                return graph_shard(points_, first_, queries, first_query, k, search, &report,
                                   &*prepared_);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory) throw;
                prepared_.reset();
                keeps_ = false;
            }
        }
        return graph_shard(points_, first_, queries, first_query, k, search, &report);
    }

private:
    MatrixView points_;
    std::int64_t first_;
    std::optional<Index> prepared_;
    bool keeps_ = true;
};

// Fills `out` block by block.
void recommend_in_blocks(const Preferences& preferences, const Blocks& blocks, std::int64_t k,
                         const RecommendOptions& options, const Options& search,
                         Recommendations& out) {
    const std::int64_t users = preferences.users(), items = preferences.items();
    PartsMeter progress(search.progress, static_cast<double>(users) * static_cast<double>(users),
                        "recommend");
    const Options of_block = progress.of_part(search);
    for_blocks(0, users, blocks.together, [&](std::int64_t begin, std::int64_t together) {
        std::vector<PartialNeighbors> found(
            static_cast<std::size_t>(exact::ceil_div(together, blocks.queries)));
        for_blocks(0, users, blocks.points, [&](std::int64_t at, std::int64_t among) {
            const std::vector<float> rows = preferences.dense(at, among);
            const MatrixView points = view(rows.data(), among, items);
            PointBlock block(points, at);
            for_blocks(begin, begin + together, blocks.queries,
                       [&](std::int64_t first, std::int64_t asking) {
                           const std::vector<float> asked = preferences.dense(first, asking);
                           const MatrixView queries = view(asked.data(), asking, items);
                           Report report;
                           const PartialNeighbors part = progress.run(
                               static_cast<double>(among) * static_cast<double>(asking),
                               [&] { return block.nearest(queries, first, k, of_block, report); });
                           add_counts(out.report, report);
                           PartialNeighbors& into =
                               found[static_cast<std::size_t>((first - begin) / blocks.queries)];
                           if (at == 0) into = part;
                           else merge(into, part);
                       });
        });
        for (std::size_t block = 0; block < found.size(); ++block) {
            const std::int64_t first = begin + static_cast<std::int64_t>(block) * blocks.queries;
            progress.run(0, [&] {
                const Neighbors neighbors = finish(found[block], of_block);
                predict(preferences, neighbors, first, options, of_block, out);
            });
            found[block] = {};
        }
    });
}

void judge(const Preferences& preferences, const Options& search, Recommendations& out) {
    out.held_out = preferences.held_out();
    std::atomic<std::int64_t> judged{0}, hits{0}, popular{0};
    ProgressMeter progress(search.progress, static_cast<double>(out.users));
    const auto of_user = [&](std::int64_t user) {
        const std::int64_t held = out.held_out[static_cast<std::size_t>(user)];
        if (held < 0) return;
        ++judged;
        const auto first = out.items.begin() + user * out.count;
        if (std::find(first, first + out.count, held) != first + out.count) ++hits;
        std::int64_t told = 0;
        for (const std::int64_t item : preferences.by_popularity()) {
            if (told == out.count) break;
            if (preferences.has(user, item)) continue;
            ++told;
            if (item != held) continue;
            ++popular;
            break;
        }
    };
    watched_for(api::threads_of(search), out.users, users_per_task, progress, "judge",
                [&](std::int64_t from, std::int64_t to) {
                    for (std::int64_t user = from; user < to; ++user) of_user(user);
                    progress.add(static_cast<double>(to - from));
                });
    progress.throw_if_cancelled();
    out.judged = judged;
    if (judged == 0) return;
    out.hit_rate = static_cast<double>(hits) / static_cast<double>(judged);
    out.popular_hit_rate = static_cast<double>(popular) / static_cast<double>(judged);
}

Options search_options(const RecommendOptions& options) {
    Options search = options.search;
    search.metric = api::named_or(search.metric, MetricId::hellinger);
    search.f64 = true;
    search.include_self = false;
    if (options.weight == NeighborWeight::inverse) {
        if (api::traits_of(search.metric.id).similarity)
            refuse("metric: '{}' is a similarity; weights by inverse distance expected a distance",
                   name(search.metric.id));
        if (!(options.epsilon >= least_epsilon && std::isfinite(options.epsilon)))
            refuse("epsilon: {}; expected a number of at least {}", options.epsilon, least_epsilon);
    }
    return search;
}

}  // namespace

Recommendations recommend(const SparseView& view_of_all, std::int64_t k, std::int64_t count,
                          const RecommendOptions& options) {
    return api::guarded([&] {
        const Options search = search_options(options);
        if (k < 1) refuse("k: {}; expected at least 1", k);
        if (count < 1) refuse("count: {}; expected at least 1", count);
        if (options.users_at_once < 0)
            refuse("users_at_once: {}; expected at least 0", options.users_at_once);
        const Preferences preferences(view_of_all, options);
        if (count > preferences.items())
            refuse("count: {}; expected at most the {} items", count, preferences.items());
        Recommendations out;
        out.users = preferences.users();
        out.count = count;
        require_cells(out.users, count, cell_bytes, [&] {
            return fmt::format("count: {} for {} users: the result", count, out.users);
        });
        out.items.resize(static_cast<std::size_t>(out.users * count));
        out.predictions.resize(out.items.size());
        // A user has no more neighbours than others there are.
        const std::int64_t near = std::min(k, std::max<std::int64_t>(out.users - 1, 1));
        const Blocks blocks = blocks_of(preferences, near, options);
        if (blocks.queries == out.users) {
            Neighbors neighbors;
            {
                const std::vector<float> vectors = preferences.dense(0, out.users);
                neighbors =
                    graph(view(vectors.data(), out.users, preferences.items()), near, search);
            }
            out.report = neighbors.report;
            predict(preferences, neighbors, 0, options, search, out);
        } else {
            recommend_in_blocks(preferences, blocks, near, options, search, out);
        }
        if (options.hold_out) judge(preferences, search, out);
        return out;
    });
}

Recommendations recommend(const MatrixView& preferences, std::int64_t k, std::int64_t count,
                          const RecommendOptions& options) {
    return api::guarded([&] {
        api::check_view(preferences, "preferences");
        std::vector<std::byte> storage;
        const MatrixView here = api::on_host(preferences, storage);
        std::vector<std::int64_t> offsets{0}, ids;
        std::vector<double> values;
        for (std::int64_t r = 0; r < here.rows; ++r) {
            for (std::int64_t c = 0; c < here.cols; ++c) {
                const double value = exact::load(here.data, here.type, exact::offset(here, r, c));
                if (value == 0) continue;
                ids.push_back(c);
                values.push_back(value);
            }
            offsets.push_back(static_cast<std::int64_t>(ids.size()));
        }
        return recommend(
            SparseView{here.rows, here.cols, offsets.data(), ids.data(), values.data()}, k, count,
            options);
    });
}

}  // namespace kith
