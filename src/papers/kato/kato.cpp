// See kato.h. A device's computation is in papers/kato/triangle.cpp and papers/kato/triangle.cu.
#include "papers/kato/kato.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>

#include "api/data/host_view.h"
#include "api/data/rows.h"
#include "api/data/self.h"
#include "api/group/device_group.h"
#include "api/group/device_index.h"
#include "api/group/group_report.h"
#include "api/request.h"
#include "cpu/backend.h"
#include "exact/order.h"
#include "exact/refuse.h"
#include "exact/report/watched.h"
#include "gpu/backend.h"
#include "kith/memory.h"
#include "papers/graph.h"
#include "papers/kato/schedule.h"
#include "papers/kato/triangle.h"
#include "papers/names.h"
#include "scale/blocks.h"

namespace kith::api {

namespace {

// Rows that a thread merges at a time.
constexpr std::int64_t merged_rows = 64;

// The heaps of all points from one part.
struct Heaps {
    std::unique_ptr<std::uint64_t[]> keys;
    std::unique_ptr<std::uint32_t[]> ids;
    std::unique_ptr<std::uint8_t[]> scanned;
};

class Kato {
public:
    Kato(const MatrixView& points, const MetricSpec& metric, std::int64_t k, const Options& options,
         const KatoProbe& probe)
        : points_(points),
          metric_(metric),
          options_(options),
          probe_(probe),
          n_(points.rows),
          k_(std::min(k, points.rows)),
          symmetric_(is_symmetric(options.metric)) {
        options_.progress = nullptr;
        options_.stream = nullptr;
        devices_ = probe.devices.empty() ? devices_of(options) : probe.devices;
        if (devices_.empty()) {
            const int device =
                planner::choose_device(options.device, points.device, machine(options.device));
            devices_.push_back(planner::spelled({device}));
        }
        grid_ = probe.grid > 0 ? probe.grid : papers::kato_grid(n_, parts());
        if (n_ > 0x7fffffff) refuse("n: {}; path kato takes up to 2^31 - 1 points", n_);
        const bool any_cpu = std::find(devices_.begin(), devices_.end(), "cpu") != devices_.end();
        if (any_cpu && points.device != host_memory) points_ = on_host(points, host_points_);
    }

    Report run(ProgressMeter& progress, std::int64_t k, const NeighborsView& out) {
        const auto on_cpu = std::ranges::count(devices_, "cpu");
        require_memory(n_ * k_ * parts() * 12 + on_cpu * cpu::triangle_bytes(n_, k_),
                       "path kato: the heaps of all points");
        const double held =
            papers::kato_device_bytes({n_, n_, points_.cols, k_, points_.type, true}, grid_);
        if (on_cpu < parts() && options_.memory > 0 && held > static_cast<double>(options_.memory))
            throw Error(ErrorCode::out_of_memory,
                        fmt::format("memory: {} bytes; path kato takes {:.0f} on each GPU",
                                    options_.memory, held));
        heaps_.resize(devices_.size());
        reports_.resize(devices_.size() + 1);
        const scale::Outcome outcome = scale::run_blocks(
            parts(), parts(), scale::Sharing::own, "search", progress,
            [&](int device, std::int64_t part, ProgressMeter& own) {
                if (probe_.before) probe_.before(device);
                compute(static_cast<int>(part), devices_[static_cast<std::size_t>(device)], own,
                        reports_[static_cast<std::size_t>(device)]);
            });
        std::vector<Fallback> failures;
        std::vector<bool> failed(devices_.size());
        for (const scale::Failure& failure : outcome.failures) {
            const auto device = static_cast<std::size_t>(failure.device);
            failed[device] = true;
            failures.push_back(describe(failure.error, devices_[device], n_));
        }
        for (const std::int64_t part : outcome.left)
            take_over(static_cast<int>(part), failed, failures, progress);
        merge(progress, k, out);
        std::vector<std::string> names = devices_;
        names.emplace_back("cpu");
        Report report = total(reports_, names, failures, n_, n_);
        report.path = papers::kato;
        report.scanned = scanned();
        report.certified = n_ - report.scanned;
        report.retried = 0;
        report.trace = {{std::string(papers::kato), n_, n_, 0, "", 0}};
        return report;
    }

private:
    int parts() const { return static_cast<int>(devices_.size()); }

    // The number of points with pairs that some part computed in binary64 throughout.
    std::int64_t scanned() const {
        std::int64_t count = 0;
        for (std::int64_t i = 0; i < n_; ++i)
            count += std::ranges::any_of(heaps_, [&](const Heaps& heaps) {
                return heaps.scanned[static_cast<std::size_t>(i)] != 0;
            });
        return count;
    }
    // Computes a part on a device, into its heaps.
    void compute(int part, const std::string& device, ProgressMeter& progress, Report& report) {
        Heaps& heaps = heaps_[static_cast<std::size_t>(part)];
        const auto cells = static_cast<std::size_t>(n_ * k_);
        heaps.keys = std::make_unique_for_overwrite<std::uint64_t[]>(cells);
        heaps.ids = std::make_unique_for_overwrite<std::uint32_t[]>(cells);
        heaps.scanned =
            std::make_unique_for_overwrite<std::uint8_t[]>(static_cast<std::size_t>(n_));
        Report done;
        done.path = papers::kato;
        done.queries = n_;
        if (device == "cpu") {
            std::vector<std::byte> storage;
            const MatrixView host = on_host(points_, storage);
            cpu::triangle_part(host, metric_,
                               {part, parts(), grid_, k_, symmetric_, nullptr, progress},
                               heaps.keys.get(), heaps.ids.get());
            std::fill_n(heaps.scanned.get(), n_, std::uint8_t{1});
            done.device = "cpu (1 thread)";
            done.threads = 1;
        } else {
            Options options = options_;
            options.device = device;
            options.path = name(Path::exact);
            const DeviceIndex index(points_, metric_,
                                    {n_, n_, points_.cols, k_, points_.type, true}, options, false,
                                    false, progress);
            const auto stream = gpu::call_stream(index.prepared().plan.device);
            gpu::triangle_part(*index.prepared().gpu,
                               {part, parts(), grid_, k_, symmetric_, stream.get(), progress},
                               {heaps.keys.get(), heaps.ids.get(), heaps.scanned.get()});
            done.device =
                device + " (" + gpu::device_facts(index.prepared().plan.device).name + ")";
        }
        add(done, report);
    }
    // Computes the part of a failed device on another one, or on the CPU.
    void take_over(int part, std::vector<bool>& failed, std::vector<Fallback>& failures,
                   ProgressMeter& progress) {
        for (std::size_t other = 0; other < devices_.size(); ++other) {
            if (failed[other]) continue;
            try {
                compute(part, devices_[other], progress, reports_[other]);
                return;
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory && error.code() != ErrorCode::device)
                    throw;
                failed[other] = true;
                failures.push_back(describe(std::current_exception(), devices_[other], n_));
            }
        }
        compute(part, "cpu", progress, reports_.back());
    }
    // Merges the heaps of all parts into the k nearest.
    void merge(ProgressMeter& progress, std::int64_t k, const NeighborsView& out) const {
        const cpu::Results results(metric_, k, out.ids, out.distances, options_.f64);
        watched_for(threads_of(options_), n_, merged_rows, progress, "search",
                    [&](std::int64_t first, std::int64_t last) {
                        for (std::int64_t i = first; i < last; ++i) {
                            cpu::TopK best(k);
                            for (const Heaps& heaps : heaps_) {
                                for (std::int64_t at = i * k_; at < (i + 1) * k_; ++at) {
                                    const std::uint64_t key =
                                        heaps.keys[static_cast<std::size_t>(at)];
                                    if (key == exact::Order<double>::nan) break;
                                    best.push(exact::Order<double>::value(key),
                                              heaps.ids[static_cast<std::size_t>(at)]);
                                }
                            }
                            results.put(i, best);
                        }
                    });
        progress.throw_if_cancelled();
    }

    MatrixView points_;
    const MetricSpec& metric_;
    Options options_;
    const KatoProbe& probe_;
    std::int64_t n_, k_, grid_ = 0;
    bool symmetric_;
    std::vector<std::byte> host_points_;
    std::vector<std::string> devices_;
    std::vector<Heaps> heaps_;
    std::vector<Report> reports_;  // the last: of the CPU, for parts that all others leave
};

Report to_host(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
               const Options& options, ProgressMeter& progress, const NeighborsView& out,
               const KatoProbe& probe) {
    return Kato(points, metric, k, options, probe).run(progress, k, out);
}

}  // namespace

Report kato_graph(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
                  const Options& options, ProgressMeter& progress, const NeighborsView& out,
                  const KatoProbe& probe) {
    const auto start = std::chrono::steady_clock::now();
    if (!out.ids) refuse("out.ids: null; expected room for queries x k ids");
    if (options.enqueue) refuse("enqueue: serves selections; a search has finished on return");
    if (points.device != host_memory) {  // waits for the work of the caller's streams
        char first = 0;
        gpu::copy(&first, points.data, sizeof first);
    }
    Report report;
    if (options.include_self) {
        std::vector<std::byte> storage;
        report =
            with_self(metric, on_host(points, storage), k, options, progress, out,
                      [&](std::int64_t searched, const NeighborsView& into) {
                          return to_host(points, metric, searched, options, progress, into, probe);
                      });
    } else if (out.device != host_memory) {
        const Neighbors found =
            collect(points.rows, k, options.f64, [&](const NeighborsView& into) {
                return to_host(points, metric, k, options, progress, into, probe);
            });
        put(found, out);
        report = found.report;
    } else {
        report = to_host(points, metric, k, options, progress, out, probe);
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return report;
}

}  // namespace kith::api

namespace kith::papers {

Report graph(const MatrixView& points, const MetricSpec& metric, std::int64_t k,
             const Options& options, ProgressMeter& progress, const NeighborsView& out) {
    return api::kato_graph(points, metric, k, options, progress, out);
}

}  // namespace kith::papers
