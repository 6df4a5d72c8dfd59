// kith._core: the library's calls for the package's Python files, which fill in defaults and make the arrays of
// results.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <string>
#include <tuple>
#include <vector>

#include "batches.h"
#include "devices.h"
#include "distances.h"
#include "exchange.h"
#include "float_state.h"
#include "gil.h"
#include "information.h"
#include "interrupt.h"
#include "into.h"
#include "kith/kith.h"
#include "match.h"
#include "matrix.h"
#include "missing.h"
#include "modules.h"
#include "radius.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

CountedReport search_in(nb::handle points, nb::handle queries, std::int64_t k, const MetricSettings& metric,
                        const Settings& settings, nb::handle ids, nb::handle distances) {
    const Matrix p(points, "points");
    const Matrix q(queries, "queries");
    return into({&p, &q}, &metric, settings, false, q.view().rows, k, ids, distances, distance_type(settings),
                [&](const Options& options, auto& out) { return search_into(p.view(), q.view(), k, options, out); });
}

CountedReport graph_in(nb::handle points, std::int64_t k, bool include_self, const MetricSettings& metric,
                       const Settings& settings, nb::handle ids, nb::handle distances) {
    const Matrix p(points, "points");
    return into({&p, nullptr}, &metric, settings, include_self, p.view().rows, k, ids, distances,
                distance_type(settings),
                [&](const Options& options, auto& out) { return graph_into(p.view(), k, options, out); });
}

// Elements of the values' own type are selected.
CountedReport select_in(nb::handle values, std::int64_t k, bool largest, bool sorted, const Settings& settings,
                        nb::handle ids, nb::handle selected) {
    const Matrix v(values, "values");
    return into({&v, nullptr}, nullptr, settings, false, v.view().rows, k, ids, selected, v.view().type,
                [&](Options& options, auto& out) {
                    options.largest = largest;
                    options.sorted = sorted;
                    return select_into(v.view(), k, options, out);
                });
}

// A metric's parameter as `estimate` finds it, a function of kith.h; Ctrl-C ends it.
std::vector<double> estimated(nb::handle points, std::vector<double> (*estimate)(const MatrixView&, const Options&)) {
    const Matrix p(points, "points");
    Options options;
    Interruptible interruptible(options, nb::none());
    return interruptible.run([&] { return estimate(p.view(), options); });
}

// An Index and the place of its points.
class PythonIndex {
public:
    PythonIndex(nb::handle points, const MetricSettings& metric, const Settings& settings)
        : index_(prepared(points, metric, settings, nan_points_)) {}

    std::int64_t size() const { return index_.size(); }
    std::int64_t dimensions() const { return index_.dimensions(); }

    // Those of the points; the reports of an Index leave them out.
    const RowCount& nan_points() const { return nan_points_; }

    CountedReport search(nb::handle queries, std::int64_t k, const Settings& settings, nb::handle ids,
                         nb::handle distances) const {
        const Matrix q(queries, "queries");
        return into({nullptr, &q}, nullptr, settings, false, q.view().rows, k, ids, distances, distance_type(settings),
                    [&](const Options& options, auto& out) { return index_.search_into(q.view(), k, options, out); });
    }

    CountedReport graph(std::int64_t k, bool include_self, const Settings& settings, nb::handle ids,
                        nb::handle distances) const {
        return into({nullptr, nullptr}, nullptr, settings, include_self, index_.size(), k, ids, distances,
                    distance_type(settings),
                    [&](const Options& options, auto& out) { return index_.graph_into(k, options, out); });
    }

    nb::tuple radius(nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
                     const Settings& settings) const {
        return radius_of_index(index_, {queries, r, radii, open, include_self}, settings);
    }

    CountedReport radius_blocks(nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
                                const Settings& settings, nb::handle to) const {
        return radius_blocks_of_index(index_, {queries, r, radii, open, include_self}, settings, to);
    }

    nb::tuple radius_counts(nb::handle queries, double r, nb::handle radii, bool open, bool include_self,
                            const Settings& settings) const {
        return radius_counts_of_index(index_, {queries, r, radii, open, include_self}, settings);
    }

private:
    static Index prepared(nb::handle points, const MetricSettings& metric, const Settings& settings,
                          RowCount& nan_points) {
        const Matrix p(points, "points");
        NanCount counted(p, "points", settings);
        HeldOptions held(&metric, settings);
        Interruptible interruptible(held.options, settings.progress);
        Index index = interruptible.run([&] { return Index(p.view(), held.options); });
        nan_points = counted.rows();
        return index;
    }

    RowCount nan_points_;  // before the Index, whose making counts them
    Index index_;
};

std::string number_of(const RowCount& rows) {
    return rows ? std::to_string(*rows) : "None";
}

std::string text_of(const CountedReport& report) {
    return fmt::format(
        "Report(path='{}', device='{}', queries={}, certified={}, retried={}, scanned={}, candidates={:.0f}, "
        "pairs={:.0f}, prepare_seconds={:.6f}, seconds={:.6f}, nan_points={}, nan_queries={})",
        report.path, report.device, report.queries, report.certified, report.retried, report.scanned, report.candidates,
        report.pairs, report.prepare_seconds, report.seconds, number_of(report.nan.points),
        number_of(report.nan.queries));
}

// Queries, whether they were scanned, why, what helps.
using FallbackState = std::vector<std::tuple<std::int64_t, bool, std::string, std::string>>;

// Strategy, queries, certified, left, cause, seconds.
using TraceState = std::vector<std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::string, double>>;

// For pickle and copy.
using ReportState =
    std::tuple<std::string, std::string, int, std::int64_t, std::int64_t, std::int64_t, std::int64_t, double, double,
               double, double, double, FallbackState, TraceState, RowCount, RowCount, std::string>;

FallbackState fallbacks_of(const CountedReport& r) {
    FallbackState out;
    for (const Fallback& f : r.fallbacks) out.emplace_back(f.queries, f.scanned, f.why, f.help);
    return out;
}

TraceState trace_of(const Report& r) {
    TraceState out;
    for (const TraceEntry& e : r.trace)
        out.emplace_back(e.strategy, e.queries, e.certified, e.left, e.cause, e.seconds);
    return out;
}

// A list of kith._results.Attempt.
nb::list attempts_of(const CountedReport& r) {
    const nb::object attempt = imported("kith._results", "Attempt");
    nb::list out;
    for (const TraceEntry& e : r.trace)
        out.append(attempt(e.strategy, e.queries, e.certified, e.left, e.cause, e.seconds));
    return out;
}

ReportState state_of(const CountedReport& r) {
    return {r.path,          r.device,     r.threads,    r.queries,         r.certified, r.retried,
            r.scanned,       r.candidates, r.pairs,      r.prepare_seconds, r.seconds,   r.device_seconds,
            fallbacks_of(r), trace_of(r),  r.nan.points, r.nan.queries,     r.selector};
}

CountedReport report_from(const ReportState& state) {
    constexpr std::size_t behind = 5;  // fallbacks, attempts, what was counted, and the selector
    CountedReport report = std::apply(
        [](const auto&... field) {
            const auto fields = std::tie(field...);
            return [&]<std::size_t... i>(std::index_sequence<i...>) {
                return Report{std::get<i>(fields)..., {}, {}, {}};
            }
            (std::make_index_sequence<sizeof...(field) - behind>{});
        },
        state);
    constexpr std::size_t counts = std::tuple_size_v<ReportState> - 3;
    report.nan = {std::get<counts>(state), std::get<counts + 1>(state)};
    report.selector = std::get<counts + 2>(state);
    for (const auto& [queries, scanned, why, help] : std::get<FallbackState>(state))
        report.fallbacks.push_back({queries, scanned, why, help});
    for (const auto& [strategy, queries, certified, left, cause, seconds] : std::get<TraceState>(state))
        report.trace.push_back({strategy, queries, certified, left, cause, seconds});
    return report;
}

Missing missing_named(const std::string& name) {
    if (name == "warn") return Missing::counted;
    if (name == "raise") return Missing::refused;
    if (name == "ignore") return Missing::ignored;
    throw nb::type_error("missing: expected 'warn', 'raise' or 'ignore'");
}

// Threads out of range are refused here and named by kith._arguments, which asks first without checks of its own.
void settings_from(Settings* to, bool f64, std::string device, std::int64_t memory, int threads, std::string path,
                   std::string selector, std::string isa, std::uintptr_t stream, nb::object progress,
                   const std::string& missing) {
    if (threads < 0 || threads > 4096) throw nb::type_error("threads: expected 0 to 4096");
    new (to) Settings{f64,
                      std::move(device),
                      memory,
                      threads,
                      std::move(path),
                      std::move(selector),
                      std::move(isa),
                      stream,
                      std::move(progress),
                      missing_named(missing)};
}

// The Python exception of each ErrorCode; what C++ throws otherwise nanobind translates.
struct Exceptions {
    nb::object device;
    nb::object cancelled;
};

void translate(const std::exception_ptr& thrown, void* payload) {
    try {
        std::rethrow_exception(thrown);
    } catch (const Error& error) {
        const auto* exceptions = static_cast<const Exceptions*>(payload);
        PyObject* type = PyExc_ValueError;
        switch (error.code()) {
            case ErrorCode::invalid_argument:
                type = PyExc_ValueError;
                break;
            case ErrorCode::bad_file:
                type = PyExc_OSError;
                break;
            case ErrorCode::device:
                type = exceptions->device.ptr();
                break;
            case ErrorCode::out_of_memory:
                type = PyExc_MemoryError;
                break;
            case ErrorCode::cancelled:
                type = exceptions->cancelled.ptr();
                break;
        }
        PyErr_SetString(type, error.what());
    }
}

}  // namespace

NB_MODULE(_core, module) {
    // Lives as long as the interpreter.
    static Exceptions exceptions;
    exceptions.device = nb::steal(PyErr_NewException("kith.DeviceError", PyExc_RuntimeError, nullptr));
    exceptions.cancelled = nb::steal(PyErr_NewException("kith.Cancelled", PyExc_RuntimeError, nullptr));
    module.attr("DeviceError") = exceptions.device;
    module.attr("Cancelled") = exceptions.cancelled;
    // A daemon thread that searches when the interpreter ends keeps what it holds.
    nb::set_leak_warnings(false);
    nb::register_exception_translator(translate, &exceptions);

    nb::class_<CountedReport>(module, "Report")
        .def_ro("path", &Report::path)
        .def_ro("selector", &Report::selector)
        .def_ro("device", &Report::device)
        .def_ro("threads", &Report::threads)
        .def_ro("queries", &Report::queries)
        .def_ro("certified", &Report::certified)
        .def_ro("retried", &Report::retried)
        .def_ro("scanned", &Report::scanned)
        .def_ro("candidates", &Report::candidates)
        .def_ro("pairs", &Report::pairs)
        .def_ro("prepare_seconds", &Report::prepare_seconds)
        .def_ro("seconds", &Report::seconds)
        .def_ro("device_seconds", &Report::device_seconds)
        .def_prop_ro("fallbacks", fallbacks_of)
        .def_prop_ro("trace", attempts_of)
        .def_prop_rw(
            "nan_points", [](const CountedReport& report) { return report.nan.points; },
            [](CountedReport& report, RowCount rows) { report.nan.points = rows; }, nb::arg("rows").none())
        .def_prop_rw(
            "nan_queries", [](const CountedReport& report) { return report.nan.queries; },
            [](CountedReport& report, RowCount rows) { report.nan.queries = rows; }, nb::arg("rows").none())
        .def("__reduce__",
             [](const CountedReport& report) {
                 return nb::make_tuple(imported("kith._results", "restored_report"), nb::make_tuple(state_of(report)));
             })
        .def("__repr__", text_of);

    module.def("report_from", report_from);

    nb::class_<ArrayInterface>(module, "ArrayInterface")
        .def(nb::init<nb::object, std::uintptr_t, std::vector<std::int64_t>, std::vector<std::int64_t>, std::string,
                      int>(),
             nb::arg("owner"), nb::arg("data"), nb::arg("shape"), nb::arg("strides"), nb::arg("type"),
             nb::arg("device"));
    nb::class_<MetricSettings>(module, "MetricSettings")
        .def(nb::init<std::optional<std::string>, double, nb::object, nb::object, bool, std::string, double>(),
             nb::arg("metric").none(), nb::arg("p").noconvert(), nb::arg("inverse_covariance").none(),
             nb::arg("variances").none(), nb::arg("packed_bits"), nb::arg("formula"), nb::arg("start").noconvert());
    nb::class_<Settings>(module, "Settings")
        .def("__init__", settings_from, nb::arg("f64"), nb::arg("device"), nb::arg("memory").noconvert(),
             nb::arg("threads").noconvert(), nb::arg("path"), nb::arg("selector"), nb::arg("isa"),
             nb::arg("stream").noconvert(), nb::arg("progress").none(), nb::arg("missing"));

    module.def("search", search_in, nb::arg("points").none(), nb::arg("queries").none(), nb::arg("k"),
               nb::arg("metric"), nb::arg("settings"), nb::arg("ids").none(), nb::arg("distances").none());
    module.def("graph", graph_in, nb::arg("points").none(), nb::arg("k"), nb::arg("include_self"), nb::arg("metric"),
               nb::arg("settings"), nb::arg("ids").none(), nb::arg("distances").none());
    module.def("select", select_in, nb::arg("values").none(), nb::arg("k"), nb::arg("largest"), nb::arg("sorted"),
               nb::arg("settings"), nb::arg("ids").none(), nb::arg("selected").none());

    add_batches(module);
    add_devices(module);
    add_distances(module);
    add_exchange(module);
    add_float_state(module);
    add_information(module);
    add_match(module);
    add_recommend(module);
    add_retrieval(module);
    add_plan(module);
    add_verify(module);

    nb::class_<PythonIndex>(module, "Index")
        .def(nb::init<nb::handle, const MetricSettings&, const Settings&>(), nb::arg("points").none(),
             nb::arg("metric"), nb::arg("settings"))
        .def_prop_ro("size", &PythonIndex::size)
        .def_prop_ro("dimensions", &PythonIndex::dimensions)
        .def_prop_ro("nan_points", &PythonIndex::nan_points)
        .def("search", &PythonIndex::search, nb::arg("queries").none(), nb::arg("k"), nb::arg("settings"),
             nb::arg("ids").none(), nb::arg("distances").none())
        .def("graph", &PythonIndex::graph, nb::arg("k"), nb::arg("include_self"), nb::arg("settings"),
             nb::arg("ids").none(), nb::arg("distances").none())
        .def("radius", &PythonIndex::radius, nb::arg("queries").none(), nb::arg("r"), nb::arg("radii").none(),
             nb::arg("open"), nb::arg("include_self"), nb::arg("settings"))
        .def("radius_blocks", &PythonIndex::radius_blocks, nb::arg("queries").none(), nb::arg("r"),
             nb::arg("radii").none(), nb::arg("open"), nb::arg("include_self"), nb::arg("settings"), nb::arg("to"))
        .def("radius_counts", &PythonIndex::radius_counts, nb::arg("queries").none(), nb::arg("r"),
             nb::arg("radii").none(), nb::arg("open"), nb::arg("include_self"), nb::arg("settings"));
    add_radius(module);

    module.def("nan_rows", [](nb::handle points, const Settings& settings) {
        return NanCount(Matrix(points, "points"), "points", settings).rows();
    });
    module.def("inverse_covariance", [](nb::handle points) { return estimated(points, inverse_covariance); });
    module.def("variances", [](nb::handle points) { return estimated(points, variances); });
    add_shards(module);
    add_groundtruth(module);
    module.def("metric_name", [](const std::string& given) { return std::string(name(metric_named(given).id)); });
    module.def("build_info", build_info);
    module.attr("version") = KITH_VERSION;
}

}  // namespace kith::python
