// Recommendations: the graph of all users' vectors, whole or in blocks, and what the neighbours have of the rest.
#include "kith/recommend.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "api/guard.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/validate.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "exact/watched.h"
#include "kith/kith.h"
#include "kith/memory.h"
#include "kith/shards.h"
#include "recommend/preferences.h"

namespace kith {

namespace {

using recommending::Preferences;

constexpr std::int64_t users_per_task = 64;

// The predictions of one user at a time; all items' sums are 0 in between.
class Prediction {
public:
    Prediction(const Preferences& preferences, const RecommendOptions& options)
        : preferences_(preferences),
          options_(options),
          sums_(static_cast<std::size_t>(preferences.items())),
          seen_(sums_.size()) {}

    // The first items of the order that recommend.h says, from `k` neighbours.
    void recommend(std::int64_t user, const std::int64_t* ids, const double* distances, std::int64_t k,
                   std::int64_t count, std::int64_t* items, double* predictions) {
        double weights = 0;
        for (std::int64_t j = 0; j < k && ids[j] >= 0; ++j) {
            const double weight = weight_at(distances[j]);
            weights += weight;
            for (std::size_t cell = preferences_.first(ids[j]); cell < preferences_.first(ids[j] + 1); ++cell) {
                const auto item = static_cast<std::size_t>(preferences_.item(cell));
                if (!seen_[item]) {
                    seen_[item] = true;
                    touched_.push_back(static_cast<std::int64_t>(item));
                }
                sums_[item] = std::fma(weight, static_cast<double>(preferences_.value(cell)), sums_[item]);
            }
        }
        ranked_.clear();
        for (const std::int64_t item : touched_) {
            double& sum = sums_[static_cast<std::size_t>(item)];
            const double prediction = weights > 0 ? sum / weights : 0;
            sum = 0;
            seen_[static_cast<std::size_t>(item)] = false;
            if (prediction > 0 && !preferences_.has(user, item)) ranked_.push_back({prediction, item});
        }
        touched_.clear();
        const std::size_t shown = std::min(static_cast<std::size_t>(count), ranked_.size());
        std::partial_sort(ranked_.begin(), ranked_.begin() + static_cast<std::ptrdiff_t>(shown), ranked_.end());
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
            return prediction != other.prediction ? prediction > other.prediction : item < other.item;
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
                        prediction.recommend(first + i, &neighbors.ids[row], &neighbors.distances64[row], neighbors.k,
                                             out.count, &out.items[at], &out.predictions[at]);
                    }
                    progress.add(static_cast<double>(to - from));
                });
    progress.throw_if_cancelled();
}

// Users whose vectors are dense at once, in a block of queries and a block of points beside it.
std::int64_t users_of_block(const Preferences& preferences, std::int64_t k, std::int64_t asked) {
    const std::int64_t users = preferences.users();
    if (asked > 0) return std::min(asked, users);
    constexpr double cell_bytes = sizeof(std::int64_t) + sizeof(double);
    const double vector = static_cast<double>(preferences.items()) * sizeof(float);
    const double neighbours = static_cast<double>(k) * cell_bytes, room = static_cast<double>(free_memory()) / 2;
    if (static_cast<double>(users) * (vector + neighbours) <= room) return users;
    // Two blocks of vectors; neighbours as they are found, as keys, of two blocks merged, and as distances.
    const double of_user = 2 * vector + 4 * neighbours;
    return std::clamp(static_cast<std::int64_t>(room / of_user), std::int64_t{1}, users);
}

void add_counts(Report& into, const Report& from) {
    const std::int64_t certified = into.certified + from.certified, retried = into.retried + from.retried;
    const std::int64_t scanned = into.scanned + from.scanned, queries = into.queries + from.queries;
    const double candidates = into.candidates + from.candidates, pairs = into.pairs + from.pairs;
    const double prepare = into.prepare_seconds + from.prepare_seconds, seconds = into.seconds + from.seconds;
    into = from;
    into.queries = queries;
    into.certified = certified;
    into.retried = retried;
    into.scanned = scanned;
    into.candidates = candidates;
    into.pairs = pairs;
    into.prepare_seconds = prepare;
    into.seconds = seconds;
}

// Of users [first, first + block) the nearest among all, block by block.
Neighbors neighbors_of_block(const Preferences& preferences, std::int64_t first, std::int64_t block, std::int64_t k,
                             const Options& search, Report& report) {
    const std::int64_t users = preferences.users(), items = preferences.items();
    const std::int64_t asking = std::min(block, users - first);
    const std::vector<float> queries = preferences.dense(first, asking);
    PartialNeighbors found;
    for (std::int64_t at = 0; at < users; at += block) {
        const std::int64_t among = std::min(block, users - at);
        const std::vector<float> points = at == first ? std::vector<float>() : preferences.dense(at, among);
        const float* const shard = at == first ? queries.data() : points.data();
        Report of_block;
        const PartialNeighbors part = graph_shard(view(shard, among, items), at, view(queries.data(), asking, items),
                                                  first, k, search, &of_block);
        add_counts(report, of_block);
        if (at == 0) found = part;
        else merge(found, part);
    }
    return finish(found, search);
}

void judge(const Preferences& preferences, Recommendations& out) {
    out.held_out = preferences.held_out();
    std::int64_t hits = 0, popular = 0;
    for (std::int64_t user = 0; user < out.users; ++user) {
        const std::int64_t held = out.held_out[static_cast<std::size_t>(user)];
        if (held < 0) continue;
        ++out.judged;
        const auto first = out.items.begin() + user * out.count;
        hits += std::find(first, first + out.count, held) != first + out.count;
        std::int64_t told = 0;
        for (const std::int64_t item : preferences.by_popularity()) {
            if (told == out.count) break;
            if (preferences.has(user, item)) continue;
            ++told;
            if (item != held) continue;
            ++popular;
            break;
        }
    }
    if (out.judged == 0) return;
    out.hit_rate = static_cast<double>(hits) / static_cast<double>(out.judged);
    out.popular_hit_rate = static_cast<double>(popular) / static_cast<double>(out.judged);
}

Options search_options(const RecommendOptions& options) {
    Options search = options.search;
    if (!search.metric.chosen) search.metric = MetricId::hellinger;
    search.f64 = true;
    search.include_self = false;
    if (options.weight == NeighborWeight::inverse) {
        if (api::traits_of(search.metric.id).similarity)
            refuse("metric: '{}' is a similarity; weights by inverse distance expected a distance",
                   name(search.metric.id));
        if (!(options.epsilon > 0 && std::isfinite(options.epsilon)))
            refuse("epsilon: {}; expected a number above 0", options.epsilon);
    }
    return search;
}

}  // namespace

Recommendations recommend(const SparseView& view_of_all, std::int64_t k, std::int64_t count,
                          const RecommendOptions& options) {
    return api::guarded([&] {
        const Options search = search_options(options);
        if (count < 1) refuse("count: {}; expected at least 1", count);
        if (options.users_at_once < 0) refuse("users_at_once: {}; expected at least 0", options.users_at_once);
        const Preferences preferences(view_of_all, options);
        api::check_k(k, preferences.users());
        api::check_k(count, preferences.users());
        Recommendations out;
        out.users = preferences.users();
        out.count = count;
        out.items.resize(static_cast<std::size_t>(out.users * count));
        out.predictions.resize(out.items.size());
        const std::int64_t block = users_of_block(preferences, k, options.users_at_once);
        if (block == out.users) {
            Neighbors neighbors;
            {
                const std::vector<float> vectors = preferences.dense(0, out.users);
                neighbors = graph(view(vectors.data(), out.users, preferences.items()), k, search);
            }
            out.report = neighbors.report;
            predict(preferences, neighbors, 0, options, search, out);
        } else {
            for (std::int64_t first = 0; first < out.users; first += block)
                predict(preferences, neighbors_of_block(preferences, first, block, k, search, out.report), first,
                        options, search, out);
        }
        if (options.hold_out) judge(preferences, out);
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
        return recommend(SparseView{here.rows, here.cols, offsets.data(), ids.data(), values.data()}, k, count,
                         options);
    });
}

}  // namespace kith
