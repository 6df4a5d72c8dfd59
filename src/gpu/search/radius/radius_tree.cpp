// Range search by a tree, with queries in the order of their leaves; see radius_tree.h.
#include "gpu/search/radius/radius_tree.h"

#include <algorithm>
#include <bit>

#include "gpu/backend.h"
#include "gpu/runtime/memory/pinned_words.h"
#include "gpu/search/tuning.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

constexpr std::int64_t most_points = 0x7fffffff;
constexpr int tallies_of_one = 3;

bool is_direct(const SearchContext& context) {
    return context.plan.path == Path::direct_f32;
}

}  // namespace

bool RadiusTree::serves(const SearchContext& context, const RadiusRequest& request) {
    const Points& points = context.points;
    const Plan& plan = context.plan;
    if (points.streams || plan.forced || plan.path == Path::exact || points.n > most_points ||
        points.d > most_ball_dimensions || !traits_of(points.metric).monotone)
        return false;
    const std::int64_t q = request.queries.rows;
    for (std::int64_t i = 0; i < q; ++i)  // reports of such metrics are monotone in the key
        if (request.outer[i] == request.outer[i] && request.inner[i] != request.outer[i])
            return false;
    if (has_tree(points)) return true;
    return tuning::tree_leaves_out(points.n, points.d, is_direct(context)) &&
           static_cast<double>(q) * static_cast<double>(points.n) >=
               tuning::tree_pairs(points.n, is_direct(context)) &&
           tuning::tree_bytes(points.n, points.d) <= spare(context);
}

RadiusTree::RadiusTree(const SearchContext& context, const RadiusRequest& request)
    : context_(context),
      request_(request),
      stream_(context.stream),
      metric_(context.points.metric),
      tree_(tree_of(context.points.resident, metric_)),
      search_(tree_search_of(traits_of(metric_))),
      tallies_(tallies_of_one * tree_tallies, stream_) {}

std::int64_t RadiusTree::tile() const {
    const std::int64_t q = request_.queries.rows;
    return tuning::tree_tile(spare(context_), q, context_.points.d, request_.queries.type, 1,
                             are_its_points(0, q));
}

double RadiusTree::most_steps() const {
    return tuning::tree_points(context_.points.n, 0, is_direct(context_)) / leaf_points;
}

bool RadiusTree::count(std::int64_t first, std::int64_t count) {
    outer_ = Buffer<double>(count, stream_);
    totals_ = Buffer<std::int64_t>(count, stream_);
    {
        InFlight reading(stream_);
        check(cudaMemcpyAsync(outer_.get(), request_.outer + first,
                              static_cast<std::size_t>(count) * sizeof(double), cudaMemcpyDefault,
                              stream_),
              "cudaMemcpy");
        reading.wait("radii");
    }
    task_ = {};
    task_.tree = tree_.view;
    task_.count = count;
    task_.graph = request_.graph;
    task_.first_own = request_.first_own + first;
    task_.outer = outer_.get();
    task_.totals = totals_.get();
    task_.tallies = tallies_.get();
    const bool few = count <= tuning::tree_pilots;
    order_ = {};
    if (!are_its_points(first, count)) {
        rows_ = load_queries(context_, first, count);
        mapped_ = map_rows(rows_.prepared(), *metric_.kernels, metric_.params, stream_);
        task_.queries = mapped_.get();
        task_.nan = rows_.nan.get();
        if (!few) {
            TreeTask homes;
            homes.tree = tree_.view;
            homes.count = count;
            homes.queries = mapped_.get();
            Buffer<std::uint32_t> leaves(count, stream_);
            search_.homes(homes, leaves.get(), stream_);
            order_ = sorted_numbers(
                leaves, std::bit_width(static_cast<std::uint64_t>(tree_.view.leaves())), stream_);
            task_.order = order_.get();
        }
    }
    const auto limit = static_cast<std::uint32_t>(std::min(4 * most_steps() + 1, 4e9));
    expected_ = static_cast<double>(context_.points.n);
    BallTask task = task_;
    if (few) {
        task.most_steps = std::min(limit, tuning::tree_leaves_of_few);
    } else {
        // Evenly spaced pilot queries.
        BallTask pilots = task_;
        pilots.step = (count + tuning::tree_pilots - 1) / tuning::tree_pilots;
        pilots.count = (count + pilots.step - 1) / pilots.step;
        pilots.most_steps = limit;
        tallies_.clear_to(0);
        search_.balls(pilots, stream_);
        const Tallies tried = tallied(pilots.count);
        if (tried.stopped > 0 || tried.steps > most_steps()) return false;
        expected_ = std::max(tried.steps * leaf_points, 1.0);
    }
    visit(task);
    const Tallies found = tallied(count);
    if (few && found.stopped > 0) return false;
    context_.report.candidates += found.points * static_cast<double>(count);
    if (few) expected_ = std::max(found.steps * leaf_points, 1.0);
    return true;
}

void RadiusTree::list(const std::int64_t* offsets, std::uint64_t* keys, std::int64_t* ids) {
    BallTask task = task_;
    task.offsets = offsets;
    task.keys = keys;
    task.ids = ids;
    visit(task);
    const Tallies found = tallied(task.count);
    context_.report.candidates += found.points * static_cast<double>(task.count);
}

// Visits in steps; between two of them the caller may cancel.
void RadiusTree::visit(BallTask task) {
    tallies_.clear_to(0);
    const std::int64_t end = task.count, step = tuning::tree_step(expected_, context_.points.d, 1);
    for (; task.first < end; task.first += step) {
        task.count = std::min(step, end - task.first);
        search_.balls(task, stream_);
        if (task.first + step >= end) return;
        check(cudaStreamSynchronize(stream_), "search by a tree");
        cancel_if_asked(context_);
    }
}

// The tallies of the visit before. Waits.
RadiusTree::Tallies RadiusTree::tallied(std::int64_t queries) const {
    static_assert(tallies_of_one * tree_tallies <= PinnedWords::words);
    PinnedWords words;
    words.fetch(tallies_.get(), tallies_of_one * tree_tallies, stream_);
    const unsigned long long* const found = words.wait("search by a tree");
    Tallies sums;
    for (int i = 0; i < tallies_of_one * tree_tallies; i += tallies_of_one) {
        sums.points += static_cast<double>(found[i]) / static_cast<double>(queries);
        sums.steps += static_cast<double>(found[i + 1]) / static_cast<double>(queries);
        sums.stopped += static_cast<std::int64_t>(found[i + 2]);
    }
    return sums;
}

}  // namespace kith::gpu
