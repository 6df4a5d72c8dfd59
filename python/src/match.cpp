// Matches into arrays of numpy; see match.h.
#include "match.h"

#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "interrupt.h"
#include "kith/match.h"
#include "matrix.h"
#include "missing.h"
#include "owned.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {

namespace {

nb::tuple match_in(nb::handle a, nb::handle b, std::optional<double> ratio, bool mutual, const MetricSettings& metric,
                   const Settings& settings) {
    const Matrix first(a, "a"), second(b, "b");
    HeldOptions held(&metric, settings);
    NanCount nan_first(first, "a", settings), nan_second(second, "b", settings);
    Interruptible interruptible(held.options, settings.progress);
    Matches found = interruptible.run([&] {
        return match(first.view(), second.view(), {ratio, mutual, held.options});
    });
    std::vector<std::int64_t> pairs;
    pairs.reserve(2 * found.first.size());
    for (std::size_t i = 0; i < found.first.size(); ++i) pairs.insert(pairs.end(), {found.first[i], found.second[i]});
    const std::size_t count = found.first.size();
    return nb::make_tuple(array_of(std::move(pairs), count, 2), array_of(std::move(found.distances), count),
                          nan_first.rows(), nan_second.rows());
}

}  // namespace

void add_match(nb::module_& module) {
    module.def("match", match_in, nb::arg("a"), nb::arg("b"), nb::arg("ratio").none(), nb::arg("mutual"),
               nb::arg("metric"), nb::arg("settings"));
}

}  // namespace kith::python
