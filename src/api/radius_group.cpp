// All points within a radius, on several devices: queries in blocks to whichever is free, or all
// queries to each shard. Counts are added. Rows are found in waves, as large as what was found
// before lets expect and cut where they hold more, merged by (distance key, id), and handed on in
// order.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>

#include "api/group_call.h"
#include "api/group_report.h"
#include "api/radius.h"
#include "api/radius_merge.h"
#include "api/request.h"
#include "api/rows.h"
#include "exact/ceil_div.h"

namespace kith::api {

namespace {

// Queries of a first wave for each device, unless the rows of more are sure to fit.
constexpr std::int64_t first_wave = 256;
// Rows of a wave may be longer than those before; a wave is at most so many times as large as the
// last.
constexpr double reserve = 2, growth = 4;

// Rows from one device: those of the first queries of its block.
struct Found {
    std::vector<std::int64_t> offsets{0}, ids;
    std::vector<float> distances;
    std::vector<double> distances64;  // keys, where they are to be merged

    std::int64_t rows() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
    std::int64_t entries() const { return offsets.back(); }
};

// Thrown to a device whose further rows are not wanted.
struct Enough {};

class GroupRadius {
public:
    GroupRadius(const DeviceGroup& group, const MetricSpec& metric, const RadiusCall& call)
        : metric_(metric),
          call_(call),
          shared_(group, call.options, call.progress),
          parts_(shared_.parts()),
          keys_(call.wants.keys || parts_ > 1),
          f64_(call.options.f64 || keys_) {
        if (call.queries) settle(*call.queries);
        // Where each device has all points, blocks of these are its own.
        if (call.queries) queries_ = *call.queries;
        else if (parts_ > 1) queries_ = group.all_points(storage_);
        n_ = group.points();
        q_ = call.queries ? call.queries->rows : n_;
        radii_ = radii_of(call.r, q_, metric);
        const ElementType type = call.queries ? call.queries->type : group.type();
        shared_.require_plan(std::min(q_, shared_.block_queries(q_)), 1, type);
        const std::int64_t bytes =
            call.options.memory > 0 ? call.options.memory : radius_list_bytes;
        list_bytes_ = std::max<std::int64_t>(1, bytes / 2 / group.devices());
        // Of a neighbour: in its list, which grows by doubling, and as it is handed on.
        most_ = std::max<std::int64_t>(1, bytes / 2 / (3 * (f64_ ? 16 : 12)));
        at_first_ = first_wave * group.devices();
    }

    Report run() {
        const auto start = std::chrono::steady_clock::now();
        if (call_.wants.counts) count();
        else list();
        Report report = shared_.report(q_);
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    }

private:
    void run_task(const GroupTask& task, std::int64_t* counts, const TakeRadiusRows* take) const {
        const MatrixView queries =
            rows_of(queries_.data ? queries_ : task.index.points(), task.first, task.rows);
        Report report;
        const RadiusRun run{.queries = queries,
                            .radii = radii_.data() + task.first,
                            .open = call_.r.open,
                            .graph = call_.own().has_value(),
                            .first_own = task.first + call_.own().value_or(0) - task.first_point,
                            .f64 = f64_,
                            .keys = keys_,
                            .list_bytes = list_bytes_,
                            .options = task.call,
                            .progress = task.progress,
                            .counts = counts,
                            .take = take};
        try {
            run_radius(task.index, run, report);
        } catch (const Enough&) {
        }
        add(report, task.report);
    }

    void count() {
        std::fill_n(call_.wants.counts, q_, 0);
        std::mutex adding;
        shared_.run(0, q_, shared_.block_queries(q_), [&](const GroupTask& task) {
            std::vector<std::int64_t> counts(static_cast<std::size_t>(task.rows));
            run_task(task, counts.data(), nullptr);
            const std::lock_guard lock(adding);
            for (std::int64_t i = 0; i < task.rows; ++i)
                call_.wants.counts[task.first + i] += counts[static_cast<std::size_t>(i)];
        });
    }

    void list() {
        const double before = call_.progress.done(), most = static_cast<double>(most_);
        double rows = std::max(most / static_cast<double>(n_), static_cast<double>(at_first_)),
               handed_on = 0;
        for (std::int64_t first = 0; first < q_;) {
            const auto wanted =
                static_cast<std::int64_t>(std::min(rows, static_cast<double>(q_ - first)));
            const std::int64_t block =
                parts_ > 1 ? wanted : std::min(wanted, shared_.block_queries(wanted));
            find(first, wanted, block);
            const auto [count, entries] =
                parts_ > 1 ? hand_on_merged(first) : hand_on_blocks(first, block);
            first += count;
            handed_on += static_cast<double>(entries);
            // Rows beyond the cut are found anew.
            call_.progress.add(before + static_cast<double>(n_) * static_cast<double>(first) -
                               call_.progress.done());
            if (count == 0) {
                rows = std::max(static_cast<double>(wanted) / growth, 1.0);
                continue;
            }
            const double these = static_cast<double>(count);
            const double mean = std::max({handed_on / static_cast<double>(first),
                                          static_cast<double>(entries) / these, 1.0});
            rows = std::clamp(most / mean / reserve, 1.0, growth * these);
        }
    }

    // A wave: its blocks' rows, or those of each shard, as many as fit; of a single query all.
    void find(std::int64_t first, std::int64_t wanted, std::int64_t block) {
        found_.assign(
            parts_ > 1 ? parts_ : static_cast<std::size_t>(exact::ceil_div(wanted, block)), {});
        std::atomic<std::int64_t> held = 0;
        shared_.run(first, wanted, block, [&](const GroupTask& task) {
            Found& mine = found_[parts_ > 1 ? task.part : static_cast<std::size_t>(task.block)];
            held -= mine.entries();  // of a device that has failed
            mine = {};
            if (wanted > 1 && held > most_) return;
            const TakeRadiusRows take = [&](const RadiusRows& rows) {
                const std::int64_t entries = rows.offsets[rows.count], at = mine.entries();
                const bool spent = held.fetch_add(entries) + entries > most_ && wanted > 1;
                for (std::int64_t i = 1; i <= rows.count; ++i)
                    mine.offsets.push_back(at + rows.offsets[i]);
                mine.ids.insert(mine.ids.end(), rows.ids, rows.ids + entries);
                if (rows.distances64)
                    mine.distances64.insert(mine.distances64.end(), rows.distances64,
                                            rows.distances64 + entries);
                else
                    mine.distances.insert(mine.distances.end(), rows.distances,
                                          rows.distances + entries);
                if (spent) throw Enough{};
            };
            run_task(task, nullptr, &take);
            if (parts_ > 1)
                for (std::int64_t& id : mine.ids) id += task.first_point;
        });
    }

    // Rows and neighbours that have been handed on.
    using HandedOn = std::pair<std::int64_t, std::int64_t>;

    // The blocks up to the first that was cut.
    HandedOn hand_on_blocks(std::int64_t first, std::int64_t block) {
        HandedOn done{0, 0};
        for (Found& of_block : found_) {
            const std::int64_t rows = of_block.rows();
            const bool whole = rows == block;
            if (rows > 0) {
                (*call_.wants.take)({first + done.first, rows, of_block.offsets.data(),
                                     of_block.ids.data(),
                                     f64_ ? nullptr : of_block.distances.data(),
                                     f64_ ? of_block.distances64.data() : nullptr});
                done.first += rows;
                done.second += of_block.entries();
            }
            of_block = {};
            if (!whole) break;
        }
        found_.clear();
        return done;
    }

    // The rows that all shards have found.
    HandedOn hand_on_merged(std::int64_t first) {
        std::int64_t rows = found_.front().rows();
        for (const Found& part : found_) rows = std::min(rows, part.rows());
        if (rows == 0) return {0, 0};
        std::vector<RadiusRows> parts;
        for (const Found& part : found_)
            parts.push_back({first, rows, part.offsets.data(), part.ids.data(), nullptr,
                             part.distances64.data()});
        const bool keys = call_.wants.keys, f64 = call_.options.f64 || keys;
        const RadiusNeighbors all =
            merged(parts, rows, keys ? cpu::ReportedDistance() : cpu::ReportedDistance(metric_),
                   f64, threads_of(call_.options));
        found_.clear();
        (*call_.wants.take)({first, rows, all.offsets.data(), all.ids.data(),
                             f64 ? nullptr : all.distances.data(),
                             f64 ? all.distances64.data() : nullptr});
        return {rows, all.offsets.back()};
    }

    const MetricSpec& metric_;
    const RadiusCall& call_;
    GroupCall shared_;
    std::size_t parts_;
    bool keys_, f64_;  // what the devices hand over
    std::vector<std::byte> storage_;
    MatrixView queries_;
    std::int64_t n_ = 0, q_ = 0;
    std::vector<double> radii_;
    std::int64_t list_bytes_ = 0;  // of one device
    std::int64_t most_ = 0;        // neighbours that a wave may hold
    std::int64_t at_first_ = 0;    // queries
    std::vector<Found> found_;     // of each block of a wave, or each shard
};

}  // namespace

Report run_radius(const DeviceGroup& group, const MetricSpec& metric, const RadiusCall& call) {
    check_options(call.options);
    return GroupRadius(group, metric, call).run();
}

}  // namespace kith::api
