// True if neighbours are the true ones.
#include "kith/verify.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <utility>

#include "interrupt.h"
#include "matrix.h"
#include "modules.h"
#include "owned.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {

namespace {

using Ids = nb::ndarray<const std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Found = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T, class Array>
MatrixView view_of(const Array& array) {
    const auto rows = static_cast<std::int64_t>(array.shape(0)), cols = static_cast<std::int64_t>(array.shape(1));
    return view(static_cast<const T*>(array.data()), rows, cols);
}

// Without queries: of the points among themselves. distances: f32, f64 or None.
nb::dict verify_in(nb::handle points, nb::handle queries, const Ids& ids, nb::handle distances, std::int64_t sample,
                   std::optional<bool> include_self, bool of_others, const MetricSettings& metric,
                   const Settings& settings) {
    const Matrix p(points, "points");
    const Matrix q = queries.is_none() ? Matrix() : Matrix(queries, "queries");
    HeldOptions held(&metric, settings);
    Interruptible interruptible(held.options, settings.progress);
    VerifyOptions options;
    options.search = held.options;
    options.sample = sample;
    options.include_self = include_self;
    options.distances_of_others = of_others;
    FoundNeighbors found(view_of<std::int64_t>(ids));
    Found<float> narrow;
    Found<double> wide;
    if (!distances.is_none()) {
        if (nb::try_cast(distances, narrow, false)) found.distances = view_of<float>(narrow);
        else found.distances = view_of<double>(wide = nb::cast<Found<double>>(distances, false));
    }
    Verification v = interruptible.run([&] {
        return queries.is_none() ? verify_graph(p.view(), found, options) : verify(p.view(), q.view(), found, options);
    });
    nb::list reasons;
    for (const WrongRow& row : v.first_wrong) reasons.append(nb::make_tuple(row.row, row.place, row.why));
    nb::dict all;
    all["exact"] = v.is_exact();
    all["rows"] = v.rows;
    const std::size_t wrong = v.wrong_rows.size();
    all["wrong_rows"] = array_of(std::move(v.wrong_rows), wrong);
    all["recall"] = v.recall();
    all["tied"] = v.tied;
    all["verdict"] = v.verdict();
    all["reasons"] = nb::tuple(reasons);
    all["distances"] = name(v.compared);
    all["include_self"] = v.include_self;
    return all;
}

}  // namespace

void add_verify(nb::module_& module) {
    module.def("verify", verify_in, nb::arg("points").none(), nb::arg("queries").none(), nb::arg("ids"),
               nb::arg("distances").none(), nb::arg("sample"), nb::arg("include_self").none(), nb::arg("of_others"),
               nb::arg("metric"), nb::arg("settings"));
}

}  // namespace kith::python
