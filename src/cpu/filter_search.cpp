// Filter and refine: blocks of queries against all panels of points. A tile's values that do not exceed their query's
// threshold become candidates; when a query's list is full its threshold falls to the k-th smallest upper value. At the
// end the candidates' canonical ranks decide. A list that no threshold empties (ties, hostile data) is refined in
// place, so that no query ever fails.
#include "cpu/filter_search.h"

#include <omp.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "cpu/candidates.h"
#include "cpu/parallel.h"
#include "cpu/scan.h"
#include "cpu/top_k.h"

namespace kith::cpu {

namespace {

// Packed queries of a block: with a panel beside them they fit into the second-level cache.
constexpr std::int64_t block_bytes = 384 << 10;
constexpr std::int64_t max_block_tiles = 16;
// Canonical ranks are evaluated for this many candidates at a time.
constexpr std::int64_t refine_points = 32;
// Panels between two looks at the progress.
constexpr std::int64_t panels_per_report = 256;

struct Search {
    const Points& points;
    const Filter& filter;
    const MatrixView& queries;
    std::int64_t k;  // at most the number of points
    bool graph;
    Isa isa;
    ProgressMeter& progress;
};

struct Counts {
    std::int64_t certified = 0, retried = 0;
    double candidates = 0;
};

// One block of queries against a range of panels, on one thread.
class Block {
public:
    Block(const Search& s, std::int64_t first, std::int64_t count)
        : s_(s),
          first_(first),
          count_(count),
          d_(s.points.rows.cols),
          tiles_(tile_kernels(s.isa)),
          ranker_(s.points.metric, s.isa),
          rows_(count, d_),
          gathered_(refine_points, d_),
          packed_(count * d_),
          threshold_(static_cast<std::size_t>(count)),
          refined_(static_cast<std::size_t>(count), false) {
        ranker_.load(s.queries, first, count, rows_);
        const std::int64_t width = tiles_.queries[static_cast<int>(s.filter.step())];
        std::vector<float> form(static_cast<std::size_t>(d_));
        for (std::int64_t i = 0; i < count; ++i) {
            terms_.push_back(s.filter.query(rows_, i, tiles_, form.data()));
            candidates_.emplace_back(s.k, terms_.back(), room);
            best_.emplace_back(s.k);
            const std::int64_t tile = i / width * width, here = std::min(width, count - tile);
            float* out = packed_.data() + tile * d_ + (i - tile);
            const bool scanned = !filtered(i);
            for (std::int64_t j = 0; j < d_; ++j) out[j * here] = scanned ? 0.0f : form[static_cast<std::size_t>(j)];
            threshold_[static_cast<std::size_t>(i)] = std::numeric_limits<float>::infinity();
        }
    }

    // A query without NaN that the bound covers; one that it does not cover is left to the scan.
    bool filtered(std::int64_t i) const { return !rows_.nan()[i] && terms_[static_cast<std::size_t>(i)].usable; }
    bool has_nan(std::int64_t i) const { return rows_.nan()[i] != 0; }
    TopK& best(std::int64_t i) { return best_[static_cast<std::size_t>(i)]; }
    const Counts& counts() const { return counts_; }

    void run(std::int64_t begin, std::int64_t end) {
        const bool caller = omp_get_thread_num() == 0;
        // Hostile orders (each point nearer than the last) are broken by a stride through the range; a single tile
        // streams in order instead, as memory likes it.
        const std::int64_t panels = end - begin;
        std::int64_t stride = 1;
        if (count_ > 4 && panels > 8) {
            stride = static_cast<std::int64_t>(static_cast<double>(panels) * 0.618);
            while (std::gcd(stride, panels) != 1) ++stride;
        }
        for (std::int64_t p = 0, at = 0; p < panels; ++p) {
            panel(begin + at);
            at += stride;
            if (at >= panels) at -= panels;
            if (p % panels_per_report == panels_per_report - 1 || p == panels - 1) {
                const std::int64_t done = p % panels_per_report + 1;
                s_.progress.add(static_cast<double>(std::min(done * panel_points, s_.points.rows.rows) * count_));
                if (caller) s_.progress.poll("search");
                if (s_.progress.cancelled()) return;
            }
        }
        for (std::int64_t i = 0; i < count_; ++i) {
            if (!filtered(i)) continue;
            candidates_[static_cast<std::size_t>(i)].tighten();
            refine(i);
            ++(refined_[static_cast<std::size_t>(i)] ? counts_.retried : counts_.certified);
        }
    }

private:
    static constexpr std::int64_t room = 2 * panel_points;

    void panel(std::int64_t p) {
        const float* data = s_.filter.panel(p);
        const int step = static_cast<int>(s_.filter.step());
        const std::int64_t width = tiles_.queries[step];
        std::uint32_t hits[max_tile_queries];
        alignas(64) float values[max_tile_queries * panel_points];
        for (std::int64_t tile = 0; tile < count_; tile += width) {
            const std::int64_t here = std::min(width, count_ - tile);
            if (!tiles_.tile[step][here](data, d_, packed_.data() + tile * d_, threshold_.data() + tile, hits, values))
                continue;
            for (std::int64_t i = 0; i < here; ++i) {
                if (hits[i]) append(tile + i, p, data, hits[i], values + i * panel_points);
            }
        }
    }

    void append(std::int64_t i, std::int64_t p, const float* data, std::uint32_t hits, const float* values) {
        if (!filtered(i)) return;
        Candidates& list = candidates_[static_cast<std::size_t>(i)];
        for (; hits; hits &= hits - 1) {
            const int lane = std::countr_zero(hits);
            const std::int64_t id = p * panel_points + lane;
            // h = +inf: no point, or one with a NaN.
            if (data[lane] == std::numeric_limits<float>::infinity() || (s_.graph && id == first_ + i)) continue;
            list.append(values[lane], data[panel_points + lane], id);
        }
        if (!list.full()) return;
        if (!list.tighten()) {
            refine(i);
            refined_[static_cast<std::size_t>(i)] = true;
            list.lower(terms_[static_cast<std::size_t>(i)].threshold_from_rank(best(i).threshold()));
        }
        threshold_[static_cast<std::size_t>(i)] = list.threshold();
    }

    // Canonical ranks of a query's candidates, which leave the list.
    void refine(std::int64_t i) {
        std::vector<Candidate>& list = candidates_[static_cast<std::size_t>(i)].list();
        TopK& top = best(i);
        double ranks[refine_points];
        counts_.candidates += static_cast<double>(list.size());
        for (std::size_t at = 0; at < list.size(); at += refine_points) {
            const std::int64_t here =
                std::min<std::int64_t>(refine_points, static_cast<std::int64_t>(list.size() - at));
            for (std::int64_t j = 0; j < here; ++j)
                ranker_.load(s_.points.rows, list[at + static_cast<std::size_t>(j)].id, 1, gathered_, j);
            ranker_.ranks(rows_, i, gathered_, 0, here, ranks);
            for (std::int64_t j = 0; j < here; ++j) top.push(ranks[j], list[at + static_cast<std::size_t>(j)].id);
        }
        list.clear();
        top.settle();
    }

    const Search& s_;
    std::int64_t first_, count_, d_;
    const TileKernels& tiles_;
    Ranker ranker_;
    RowBlock rows_, gathered_;
    Buffer<float> packed_;
    std::vector<float> threshold_;
    std::vector<bool> refined_;
    std::vector<QueryTerms> terms_;
    std::vector<Candidates> candidates_;
    std::vector<TopK> best_;
    Counts counts_;
};

}  // namespace

void filter_search(const Points& points, const Filter& filter, const MatrixView& queries, std::int64_t k, bool graph,
                   Isa isa, const Plan& plan, ProgressMeter& progress, std::int64_t* ids, double* ranks,
                   Report& report) {
    const std::int64_t q = queries.rows, d = points.rows.cols;
    const int threads = std::max(plan.threads, 1);
    const Search s{points, filter, queries, std::min(k, points.rows.rows), graph, isa, progress};
    const std::int64_t width = tile_kernels(isa).queries[static_cast<int>(filter.step())];
    std::int64_t block = std::clamp<std::int64_t>(block_bytes / (4 * d) / width, 1, max_block_tiles) * width;
    if (plan.query_tile > 0) block = std::min(block, plan.query_tile);
    block = std::clamp<std::int64_t>((q + threads - 1) / threads, 1, block);
    const std::int64_t blocks = (q + block - 1) / block;
    const std::int64_t wanted = blocks >= 4 * threads ? 1 : (2 * threads + blocks - 1) / blocks;
    const std::int64_t ranges = std::min(wanted, filter.panels());

    std::vector<std::vector<TopK>> partial(static_cast<std::size_t>(ranges > 1 ? blocks * ranges : 0));
    std::vector<char> left(static_cast<std::size_t>(q), 0);
    std::vector<Counts> counts(static_cast<std::size_t>(blocks * ranges));
    parallel_tasks(threads, blocks * ranges, [&](std::int64_t task) {
        if (progress.cancelled()) return;
        const std::int64_t first = task / ranges * block, here = std::min(block, q - first), range = task % ranges;
        Block work(s, first, here);
        work.run(range * filter.panels() / ranges, (range + 1) * filter.panels() / ranges);
        counts[static_cast<std::size_t>(task)] = work.counts();
        if (ranges > 1) partial[static_cast<std::size_t>(task)].reserve(static_cast<std::size_t>(here));
        for (std::int64_t i = 0; i < here; ++i) {
            if (range == 0 && !work.filtered(i) && !work.has_nan(i)) left[static_cast<std::size_t>(first + i)] = 1;
            if (ranges > 1) partial[static_cast<std::size_t>(task)].push_back(std::move(work.best(i)));
            else work.best(i).finish(ids + (first + i) * k, ranks + (first + i) * k, k);
        }
    });
    if (progress.cancelled()) return;
    if (ranges > 1) {
        for (std::int64_t i = 0; i < q; ++i) {
            const auto row = [&](std::int64_t range) -> TopK& {
                return partial[static_cast<std::size_t>(i / block * ranges + range)]
                              [static_cast<std::size_t>(i % block)];
            };
            for (std::int64_t r = 1; r < ranges; ++r) row(0).merge(row(r));
            row(0).finish(ids + i * k, ranks + i * k, k);
        }
    }
    std::int64_t retried = 0, scanned = 0;
    for (const Counts& c : counts) {
        retried += c.retried;
        report.candidates += c.candidates;
    }
    for (std::int64_t i = 0; i < q; ++i) {
        if (!left[static_cast<std::size_t>(i)]) continue;
        scan(points, queries, i, 1, k, graph, isa, threads, progress, ids + i * k, ranks + i * k);
        ++scanned;
        report.candidates += static_cast<double>(points.rows.rows);
    }
    retried = std::min(retried, q - scanned);
    report.scanned += scanned;
    report.retried += retried;
    report.certified += q - scanned - retried;
}

}  // namespace kith::cpu
