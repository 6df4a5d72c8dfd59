// select: the k smallest or largest values of each row.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "api/check/validate.h"
#include "api/data/empty.h"
#include "api/data/host_view.h"
#include "api/guard.h"
#include "api/request.h"
#include "api/run.h"
#include "cpu/select/driver.h"
#include "exact/element.h"
#include "exact/refuse.h"
#include "kith/kith.h"

namespace kith {

namespace {

void check(const MatrixView& m, std::int64_t k, const Options& options) {
    // For a matrix without columns only its number of rows is checked.
    MatrixView checked = m;
    if (m.cols == 0) {
        checked.rows = 0;
        checked.cols = checked.stride = 1;
        if (m.rows < 0) refuse("distances: {} rows; expected at least 0", m.rows);
    }
    api::check_view(checked, "distances", 0);
    api::check_selection(m, k);
    api::check_lengths(options.lengths, m);
}

// Converts lengths of i32 to i64 in host memory. Lengths from a device are clamped to the columns.
MatrixView widened(const MatrixView& lengths, const MatrixView& m,
                   std::vector<std::int64_t>& wide) {
    std::vector<std::byte> storage;
    const auto* const values =
        static_cast<const std::int32_t*>(api::on_host(lengths, storage).data);
    wide.assign(values, values + m.rows);
    if (!storage.empty())
        for (std::int64_t& length : wide) length = std::clamp<std::int64_t>(length, 0, m.cols);
    return view(wide.data(), m.rows, 1);
}

// Work that is only enqueued must have all of its data on the device.
void check_enqueued(const MatrixView& m, const Options& options, const Plan& plan,
                    const NeighborsView& out) {
    const char* const elsewhere =
        plan.device == host_memory  ? "the selection runs on the CPU"
        : m.device != plan.device   ? "the values do not lie on the device that selects"
        : out.device != plan.device ? "the results do not lie on the device that selects"
        : options.lengths.data && options.lengths.device != plan.device
            ? "the lengths do not lie on the device that selects"
            : nullptr;
    if (elsewhere) refuse("enqueue: {}", elsewhere);
}

// Selects on the CPU: copies device data to the host, and results back.
void select_on_cpu(const MatrixView& m, Selection selection, const Options& options,
                   const Plan& plan, ProgressMeter& progress, const NeighborsView& out) {
    std::vector<std::byte> storage, lengths;
    const MatrixView host = api::on_host(m, storage);
    if (options.lengths.data) {
        MatrixView all = api::on_host(options.lengths, lengths);
        selection.lengths = static_cast<const std::int64_t*>(all.data);
        auto* const copied = reinterpret_cast<std::int64_t*>(lengths.data());
        for (std::int64_t i = 0; !lengths.empty() && i < m.rows; ++i)
            copied[i] = std::clamp<std::int64_t>(copied[i], 0, m.cols);
    }
    const auto cells = static_cast<std::size_t>(m.rows * selection.k);
    if (out.device != host_memory)
        api::check_result_memory(selection.k, m.rows,
                                 static_cast<std::int64_t>(sizeof(std::int64_t) + size_of(m.type)));
    std::vector<std::int64_t> ids(out.device == host_memory ? 0 : cells);
    std::vector<std::byte> values(ids.empty() || !out.distances ? 0 : cells * size_of(m.type));
    cpu::select(host, selection, plan, progress, ids.empty() ? out.ids : ids.data(),
                values.empty() ? out.distances : values.data());
    progress.throw_if_cancelled();
    if (!ids.empty()) gpu::copy(out.ids, ids.data(), cells * sizeof(std::int64_t));
    if (!values.empty()) gpu::copy(out.distances, values.data(), values.size());
}

}  // namespace

Report select_into(const MatrixView& m, std::int64_t k, const Options& options,
                   const NeighborsView& out) {
    return api::guarded([&] {
        check(m, k, options);
        api::check_out(out, k > 0 ? m.rows : 0);
        const auto start = std::chrono::steady_clock::now();
        if (m.rows == 0 || k == 0) return api::report_without_pairs(options, m.rows);
        if (options.lengths.data && options.lengths.type == ElementType::i32) {
            if (options.enqueue)
                refuse("lengths: elements are i32; work that is only enqueued expected i64");
            std::vector<std::int64_t> wide;
            Options others = options;
            others.lengths = widened(options.lengths, m, wide);
            return select_into(m, k, others, out);
        }
        const Plan plan = api::plan_selection(m, k, options, false);
        Report report;
        report.path = name(plan.path);
        report.selector = plan.selector;
        report.queries = m.rows;
        report.pairs = static_cast<double>(m.rows) * static_cast<double>(m.cols);
        ProgressMeter progress(options.progress, report.pairs);
        if (options.enqueue) check_enqueued(m, options, plan, out);
        Selection selection{k, options.largest, options.sorted, nullptr};
        if (plan.device != host_memory) {
            report.device =
                fmt::format("cuda:{} ({})", plan.device, gpu::device_facts(plan.device).name);
            const int lengths_on = options.lengths.data ? options.lengths.device : host_memory;
            if (lengths_on != host_memory && lengths_on != plan.device)
                refuse("lengths: on cuda:{}; the selection runs on cuda:{}", lengths_on,
                       plan.device);
            selection.lengths = static_cast<const std::int64_t*>(options.lengths.data);
            gpu::select({m, selection, lengths_on != host_memory, plan, options.stream,
                         options.enqueue, progress, out, report});
        } else {
            select_on_cpu(m, selection, options, plan, progress, out);
            api::name_cpu(plan, report);
        }
        progress.throw_if_cancelled();
        report.seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report;
    });
}

Neighbors select(const MatrixView& m, std::int64_t k, const Options& options) {
    return api::guarded([&] {
        check(m, k, options);
        if (options.enqueue)
            refuse("enqueue: serves select_into(), whose results lie on the device");
        return api::collect(m.rows, k, m.type == ElementType::f64, [&](const NeighborsView& out) {
            if (m.type != ElementType::f16 && m.type != ElementType::bf16)
                return select_into(m, k, options, out);
            std::vector<std::uint16_t> narrow(static_cast<std::size_t>(m.rows * k));
            Report report = select_into(m, k, options, {out.ids, narrow.data(), host_memory});
            std::ranges::transform(
                narrow, static_cast<float*>(out.distances),
                m.type == ElementType::f16 ? exact::half_to_float : exact::bfloat_to_float);
            return report;
        });
    });
}

}  // namespace kith
