// Strategy tree: distance keys of the points in the leaves that may hold a neighbour. Queries come
// in an order in which neighbouring ones visit the same leaves: those of a graph are the leaves'
// own points, others are sorted by their nearest leaf.
#include <algorithm>
#include <bit>

#include "gpu/runtime/memory/pinned_words.h"
#include "gpu/search/ahead/ahead.h"
#include "gpu/search/deliver.h"
#include "gpu/search/tuning.h"
#include "gpu/tree/order.h"
#include "gpu/tree/search.h"

namespace kith::gpu {

namespace {

static_assert(most_tree_k == tuning::most_tree_k);

// Counts of a traversal.
struct Tallies {
    double points = 0;         // compared
    std::int64_t stopped = 0;  // queries that reached the limit of leaves
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

    // True: all queries are answered; false: none.
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
                context_.log.declined(Step::tree,
                                      "a few of the queries look at too many of the points");
                context_.log.lap(Step::tree);
                return false;
            }
            advance(first + count - done_);
            cancel_if_asked(context_);
        }
        context_.report.certified += q;
        context_.log.took(Step::tree, 0, q);
        context_.log.lap(Step::tree);
        return true;
    }

private:
    // Adds to the progress; negative: queries that will be answered again.
    void advance(std::int64_t queries) {
        done_ += queries;
        context_.progress.add(static_cast<double>(queries) *
                              static_cast<double>(context_.points.n));
    }

    // Answers queries [first, first + count). False, with nothing delivered, if the tree does not
    // pay for them.
    bool search(std::int64_t first, std::int64_t count) {
        const std::int64_t k = context_.k;
        TreeTask task;
        task.tree = tree_.view;
        task.count = count;
        task.k = k;
        task.tallies = tallies_.get();
        if (context_.graph) task.self = first;
        // If all points are queries, as in a graph, they lie in the tree, in order.
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
        // Points a query: the pessimistic bound, or the mean of the pilot queries.
        double expected = static_cast<double>(context_.points.n);
        if (!few && (!sure || expected * static_cast<double>(count) >
                                  tuning::tree_step_points(context_.points.d))) {
            const double before = context_.report.candidates;
            expected = tried(task);
            if (!sure && expected > most_points()) return false;
            context_.report.candidates = before;  // the pilots are searched again
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

    // Visits in steps; between two of them the caller may cancel.
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

    // Sorts the queries by their nearest leaf.
    Buffer<std::uint32_t> ordered(const TreeTask& task) const {
        if (task.count <= tuning::tree_pilots) return {};
        Buffer<std::uint32_t> leaves(task.count, stream_);
        search_.homes(task, leaves.get(), stream_);
        return sorted_numbers(
            leaves, std::bit_width(static_cast<std::uint64_t>(tree_.view.leaves())), stream_);
    }

    // The mean number of points that pilot queries compare. A query that was stopped counts as all
    // points.
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

    // The counts of the visit before, which are added to the report. Waits.
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

bool takes(const SearchContext& context) {
    return context.plan.path == Path::tree;
}

// Leaves all queries if pilot queries compare too many points; a forced path answers them.
QueryRange answer(const SearchContext& context) {
    return TreePass(context).run() ? QueryRange{} : QueryRange{0, context.queries.rows};
}

}  // namespace

constinit const Ahead tree_ahead{
    .takes = takes,
    .answer = answer,
    .behind = tuning::behind_tree,
    .reported = nullptr,
    .left = "a tree leaves out too few of the points for these queries",
    .wish = "path {} from the start"};

}  // namespace kith::gpu
