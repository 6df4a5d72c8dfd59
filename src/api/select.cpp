// select: the k smallest or largest values of each row.
#include <fmt/format.h>

#include <chrono>

#include "api/guard.h"
#include "api/host_view.h"
#include "api/request.h"
#include "api/run.h"
#include "api/validate.h"
#include "cpu/select/driver.h"
#include "kith/kith.h"

namespace kith {

namespace {

void check(const MatrixView& m, std::int64_t k) {
    api::check_view(m, "distances");
    api::check_selection(m, k);
}

}  // namespace

Report select_into(const MatrixView& m, std::int64_t k, const Options& options, const NeighborsView& out) {
    return api::guarded([&] {
        check(m, k);
        api::check_out(out);
        const auto start = std::chrono::steady_clock::now();
        const Plan plan = api::plan_selection(m, k, options);
        Report report;
        report.path = name(plan.path);
        report.queries = m.rows;
        report.pairs = static_cast<double>(m.rows) * static_cast<double>(m.cols);
        ProgressMeter progress(options.progress, report.pairs);
        if (plan.device != host_memory) {
            report.device = fmt::format("cuda:{} ({})", plan.device, gpu::device_info(plan.device).name);
            gpu::select({m, k, options.largest, options.sorted, plan, options.stream, progress, out, report});
        } else {
            std::vector<std::byte> storage;
            const MatrixView host = api::on_host(m, storage);
            const auto cells = static_cast<std::size_t>(m.rows * k);
            if (out.device != host_memory)
                api::check_result_memory(k, m.rows, static_cast<std::int64_t>(sizeof(std::int64_t) + size_of(m.type)));
            std::vector<std::int64_t> ids(out.device == host_memory ? 0 : cells);
            std::vector<std::byte> values(ids.empty() || !out.distances ? 0 : cells * size_of(m.type));
            cpu::select(host, k, options.largest, options.sorted, plan, progress, ids.empty() ? out.ids : ids.data(),
                        values.empty() ? out.distances : values.data());
            progress.throw_if_cancelled();
            api::name_cpu(plan, report);
            if (!ids.empty()) gpu::copy(out.ids, ids.data(), cells * sizeof(std::int64_t));
            if (!values.empty()) gpu::copy(out.distances, values.data(), values.size());
        }
        progress.throw_if_cancelled();
        report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    });
}

Neighbors select(const MatrixView& m, std::int64_t k, const Options& options) {
    return api::guarded([&] {
        check(m, k);
        return api::collect(m.rows, k, m.type == ElementType::f64,
                            [&](const NeighborsView& out) { return select_into(m, k, options, out); });
    });
}

}  // namespace kith
