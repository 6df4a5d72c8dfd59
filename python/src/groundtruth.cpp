// Ground-truth jobs. Their descriptions become dicts, of which the package's Python files make named tuples.
#include "kith/groundtruth.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gil.h"
#include "interrupt.h"
#include "kith/io.h"
#include "matrix.h"
#include "modules.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

nb::dict dict_of(const groundtruth::JobInfo& job) {
    nb::dict dict;
    dict["folder"] = job.folder;
    dict["id"] = job.id;
    dict["graph"] = job.graph;
    dict["k"] = job.k;
    dict["dimensions"] = job.dimensions;
    dict["metric"] = std::string(name(job.metric.id));
    dict["points"] = job.base.rows;
    dict["queries"] = job.queries.rows;
    dict["memory"] = job.memory;
    dict["shards"] = job.shards;
    dict["blocks"] = job.blocks;
    dict["outside"] = nb::tuple(nb::cast(files_outside(job)));
    return dict;
}

nb::dict dict_of(const groundtruth::Status& status) {
    nb::list workers;
    for (const groundtruth::Worker& worker : status.workers) {
        workers.append(nb::make_tuple(name(worker.unit), worker.host, worker.pid, worker.share, worker.silent_seconds,
                                      worker.stale));
    }
    nb::dict dict;
    dict["units"] = status.done.size();
    dict["done"] = status.units_done;
    dict["pairs"] = status.pairs;
    dict["pairs_done"] = status.pairs_done;
    dict["pairs_per_second"] = status.rate;
    const auto left = status.seconds_left();
    dict["seconds_left"] = left ? nb::object(nb::float_(*left)) : nb::object(nb::none());
    dict["workers"] = nb::tuple(workers);
    return dict;
}

// `call(options)` without the GIL; its `search` and `on_step` are set.
template <class Asked, class Call>
auto interruptibly(const Settings& settings, Asked asked, Call&& call) {
    HeldOptions held(nullptr, settings);
    Interruptible interruptible(held.options, settings.progress);
    asked.on_step = held.options.progress;
    if constexpr (requires { asked.search; }) {
        asked.search = held.options;
        asked.search.progress = {};
    }
    return interruptible.run([&] { return call(asked); });
}

nb::dict init_in(const std::string& folder, const std::vector<std::string>& base, const std::string& queries,
                 bool graph, std::int64_t k, const std::string& format, const MetricSettings& metric,
                 std::int64_t shard_rows, std::int64_t query_rows, const Settings& settings) {
    const HeldOptions held(&metric, settings);
    groundtruth::InitOptions options;
    options.base = base;
    options.queries = queries;
    options.graph = graph;
    options.k = k;
    options.format = format;
    options.metric = held.options.metric;
    if (settings.memory != 0) options.memory = settings.memory;
    options.shard_rows = shard_rows;
    options.query_rows = query_rows;
    return dict_of(interruptibly(settings, options, [&](const auto& asked) { return init(folder, asked); }));
}

nb::dict run_in(const std::string& folder, std::int64_t units, bool wait, double lease, bool strict,
                const Settings& settings) {
    groundtruth::RunOptions options;
    options.units = units;
    options.wait = wait;
    options.lease = lease;
    options.strict = strict;
    const auto result =
        interruptibly(settings, options, [&](const auto& asked) { return groundtruth::run(folder, asked); });
    nb::dict dict;
    dict["status"] = dict_of(result.status);
    dict["units"] = result.units;
    dict["taken_over"] = result.taken_over;
    dict["repeated"] = result.repeated;
    dict["pairs"] = result.pairs;
    dict["seconds"] = result.seconds;
    dict["waited_seconds"] = result.waited_seconds;
    return dict;
}

bool run_unit_in(const std::string& folder, std::int64_t shard, std::int64_t block, double lease, bool strict,
                 const Settings& settings) {
    groundtruth::RunOptions options;
    options.lease = lease;
    options.strict = strict;
    return interruptibly(settings, options, [&](const auto& asked) {
        return groundtruth::run_unit(folder, {shard, block}, asked);
    });
}

nb::dict status_in(const std::string& folder) {
    groundtruth::Status status;
    {
        const ReleasedGil released;
        status = groundtruth::status(folder);
    }
    nb::dict dict = dict_of(status);
    nb::list done;
    for (const bool unit : status.done) done.append(unit);
    dict["units_done"] = done;
    return dict;
}

nb::dict verify_in(const std::string& folder, std::int64_t sample, bool strict, const Settings& settings) {
    groundtruth::VerifyOptions options;
    options.sample = sample;
    options.strict = strict;
    const auto found =
        interruptibly(settings, options, [&](const auto& asked) { return groundtruth::verify(folder, asked); });
    nb::dict dict;
    dict["exact"] = found.is_exact();
    dict["complete"] = found.is_complete();
    dict["missing"] = found.missing;
    dict["damaged"] = nb::cast(found.damaged);
    dict["computed"] = found.computed;
    dict["left_out"] = found.left_out;
    dict["wrong"] = nb::cast(found.wrong);
    return dict;
}

void merge_in(const std::string& folder, const Settings& settings, nb::handle ids, nb::handle distances) {
    const groundtruth::JobInfo job = groundtruth::info(folder);
    const ElementType type = settings.f64 ? ElementType::f64 : ElementType::f32;
    const Output ids_out(ids, "indices", ElementType::i64, job.queries.rows, job.k);
    const Output distances_out(distances, "distances", type, job.queries.rows, job.k);
    if (ids_out.device() != host_memory || distances_out.device() != host_memory) {
        throw nb::value_error("out: expected arrays in host memory");
    }
    auto* to_ids = static_cast<std::int64_t*>(ids_out.data());
    auto* to_f32 = static_cast<float*>(distances_out.data());
    auto* to_f64 = static_cast<double*>(distances_out.data());
    const auto take = [&](const Neighbors& block) {
        to_ids = std::copy(block.ids.begin(), block.ids.end(), to_ids);
        if (!distances_out.data()) return;
        if (settings.f64) to_f64 = std::copy(block.distances64.begin(), block.distances64.end(), to_f64);
        else to_f32 = std::copy(block.distances.begin(), block.distances.end(), to_f32);
    };
    groundtruth::MergeOptions options;
    options.f64 = settings.f64;
    interruptibly(settings, options, [&](const auto& asked) { groundtruth::merge(folder, take, asked); });
}

}  // namespace

void add_groundtruth(nb::module_& module) {
    module.def("groundtruth_init", init_in, nb::arg("folder"), nb::arg("base"), nb::arg("queries"), nb::arg("graph"),
               nb::arg("k"), nb::arg("format"), nb::arg("metric"), nb::arg("shard_rows"), nb::arg("query_rows"),
               nb::arg("settings"));
    module.def(
        "table_format",
        [](const std::string& format, std::optional<bool> header, std::int64_t skip, bool decimal_comma,
           const std::string& columns) {
            return table_format(format, {header, skip, decimal_comma, columns});
        },
        nb::arg("format"), nb::arg("header").none(), nb::arg("skip"), nb::arg("decimal_comma"), nb::arg("columns"));
    module.def("table_remark", [](const std::string& path, const std::string& format) {
        const ReleasedGil released;
        return MatrixReader(path, format).info().remark;
    });
    module.def("groundtruth_info", [](const std::string& folder) { return dict_of(groundtruth::info(folder)); });
    module.def("groundtruth_run", run_in, nb::arg("folder"), nb::arg("units"), nb::arg("wait"), nb::arg("lease"),
               nb::arg("strict"), nb::arg("settings"));
    module.def("groundtruth_run_unit", run_unit_in, nb::arg("folder"), nb::arg("shard"), nb::arg("block"),
               nb::arg("lease"), nb::arg("strict"), nb::arg("settings"));
    module.def("groundtruth_status", status_in, nb::arg("folder"));
    module.def("groundtruth_verify", verify_in, nb::arg("folder"), nb::arg("sample"), nb::arg("strict"),
               nb::arg("settings"));
    module.def("groundtruth_merge", merge_in, nb::arg("folder"), nb::arg("settings"), nb::arg("ids"),
               nb::arg("distances").none());
}

}  // namespace kith::python
