// Queries of a tree in an order in which those that follow each other visit the same leaves: those
// of a graph are the leaves' own points, others are ordered by the leaf that looks nearest.
#include "gpu/search/tree_pass.h"

#include <algorithm>
#include <bit>

#include "gpu/runtime/pinned_words.h"
#include "gpu/search/deliver.h"
#include "gpu/search/tuning.h"
#include "gpu/tree/order.h"
#include "gpu/tree/search.h"

namespace kith::gpu {

namespace {

static_assert(most_tree_k == tuning::most_tree_k);

// What traversals counted.
struct Tallies {
    double points = 0;         // looked at
    std::int64_t stopped = 0;  // queries that came to the most leaves
};

class TreePass {
public:
    explicit TreePass(const SearchContext& context)
        : context_(context),
          stream_(context.stream),
          metric_(context.points.metric),
          tree_(tree_of(context.points.resident, metric_)),
          search_(tree_search_of(traits_of(metric_))),
          tallies_(2 * tree_tallies, stream_) {}

    bool run() {
        const std::int64_t q = context_.queries.rows, k = context_.k;
        const std::int64_t most = tuning::tree_tile(
                               static_cast<double>(context_.plan.workspace_bytes), q,
                               context_.points.d, context_.queries.type, k, context_.graph),
                           tiles = std::max<std::int64_t>((q + most - 1) / most, 1),
                           tile = std::max<std::int64_t>((q + tiles - 1) / tiles, 1);
        for (std::int64_t first = 0; first < q; first += tile) {
            const std::int64_t count = std::min(tile, q - first);
            if (!search(first, count)) {
                advance(-done_);
                return false;
            }
            advance(first + count - done_);
            cancel_if_asked(context_);
        }
        context_.report.certified += q;
        return true;
    }

private:
    // So many queries are done, or are to be answered again.
    void advance(std::int64_t queries) {
        done_ += queries;
        context_.progress.add(static_cast<double>(queries) *
                              static_cast<double>(context_.points.n));
    }

    // Queries [first, first + count). False where they do not pay, of which nothing is delivered.
    bool search(std::int64_t first, std::int64_t count) {
        const std::int64_t k = context_.k;
        TreeTask task;
        task.tree = tree_.view;
        task.count = count;
        task.k = k;
        task.tallies = tallies_.get();
        if (context_.graph) task.self = first;
        // Of a graph whose queries are all there they lie in the tree, in order.
        DeviceRows rows;
        Buffer<double> mapped;
        Buffer<std::uint32_t> order;
        if (!context_.graph || count < context_.points.n) {
            rows = load_queries(context_, first, count);
            mapped = map_rows(rows.prepared(), *metric_.kernels, metric_.params, stream_);
            task.queries = mapped.get();
            task.nan = rows.nan.get();
            order = ordered(task);
            task.order = order.get();
        }
        const bool few = count <= tuning::tree_pilots, sure = context_.plan.forced;
        // What the device is known to have time for, or what pilots look at.
        double expected = static_cast<double>(context_.points.n);
        if (!few && (!sure || expected * static_cast<double>(count) >
                                  tuning::tree_step_points(context_.points.d))) {
            const double before = context_.report.candidates;
            expected = tried(task);
            if (!sure && expected > most_points()) return false;
            context_.report.candidates = before;  // they are searched again
        }
        Buffer<std::uint64_t> keys(count * k, stream_);
        Buffer<std::int64_t> ids(context_.direct ? 0 : count * k, stream_);
        task.keys = keys.get();
        task.ids = context_.direct ? context_.out.ids + first * k : ids.get();
        if (few && !sure) task.most_leaves = std::min(most_leaves(), tuning::tree_leaves_of_few);
        visit(task, tuning::tree_step(expected, context_.points.d, k));
        const bool limited = task.most_leaves < tree_.view.leaves();
        if (limited && tallied().stopped > 0) return false;
        deliver(context_, {task.keys, task.ids}, first, count);
        if (!limited) tallied();
        return true;
    }

    // In steps, between which the caller is asked.
    void visit(TreeTask task, std::int64_t step) {
        tallies_.clear_to(0);
        const std::int64_t end = task.first + task.count;
        for (; task.first < end; task.first += step) {
            task.count = std::min(step, end - task.first);
            search_.visit(task, stream_);
            if (task.first + step >= end) return;
            check(cudaStreamSynchronize(stream_), "search by a tree");
            advance(task.count);
            cancel_if_asked(context_);
        }
    }

    // Queries by the leaf that looks nearest.
    Buffer<std::uint32_t> ordered(const TreeTask& task) const {
        if (task.count <= tuning::tree_pilots) return {};
        Buffer<std::uint32_t> leaves(task.count, stream_);
        search_.homes(task, leaves.get(), stream_);
        return sorted_numbers(
            leaves, std::bit_width(static_cast<std::uint64_t>(tree_.view.leaves())), stream_);
    }

    // Points that queries from here and there look at on average; one that was stopped might have
    // looked at all.
    double tried(TreeTask task) {
        const std::int64_t all = task.count;
        task.step = (all + tuning::tree_pilots - 1) / tuning::tree_pilots;
        task.count = (all + task.step - 1) / task.step;
        task.most_leaves = most_leaves();
        tallies_.clear_to(0);
        search_.visit(task, stream_);
        const Tallies found = tallied();
        return (found.points +
                static_cast<double>(found.stopped) * static_cast<double>(context_.points.n)) /
               static_cast<double>(task.count);
    }
    double most_points() const {
        return tuning::tree_points(context_.points.n, context_.k,
                                   tuning::behind_tree(context_.plan) == Path::direct_f32);
    }
    std::uint32_t most_leaves() const {
        return static_cast<std::uint32_t>(std::min(4 * most_points() / leaf_points + 1, 4e9));
    }

    // Of the visit before; into the report. Waits.
    Tallies tallied() const {
        static_assert(2 * tree_tallies <= PinnedWords::words);
        PinnedWords words;
        words.fetch(tallies_.get(), 2 * tree_tallies, stream_);
        const unsigned long long* const found = words.wait("search by a tree");
        Tallies sums;
        for (int i = 0; i < 2 * tree_tallies; i += 2) {
            sums.points += static_cast<double>(found[i]);
            sums.stopped += static_cast<std::int64_t>(found[i + 1]);
        }
        context_.report.candidates += sums.points;
        return sums;
    }

    const SearchContext& context_;
    cudaStream_t stream_;
    const DeviceMetric& metric_;
    const Tree& tree_;
    TreeSearch search_;
    Buffer<unsigned long long> tallies_;
    std::int64_t done_ = 0;  // queries
};

}  // namespace

bool search_by_tree(const SearchContext& context) {
    return TreePass(context).run();
}

}  // namespace kith::gpu
