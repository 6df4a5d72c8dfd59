// Matches into arrays of numpy; see match.h.
#include "match.h"

#include <nanobind/stl/optional.h>

#include <optional>
#include <vector>

#include "interrupt.h"
#include "kith/match.h"
#include "matrix.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {

namespace {

// An array that owns its values.
template <class T, class... Sizes>
auto array_of(std::vector<T> values, Sizes... sizes) {
    auto* const held = new std::vector<T>(std::move(values));
    const nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(held->data(), {static_cast<std::size_t>(sizes)...}, owner));
}

nb::tuple match_in(nb::handle a, nb::handle b, std::optional<double> ratio, bool mutual, const MetricSettings& metric,
                   const Settings& settings) {
    const Matrix first(a, "a"), second(b, "b");
    HeldOptions held(&metric, settings);
    Interruptible interruptible(held.options, settings.progress);
    const Matches found = interruptible.run([&] {
        return match(first.view(), second.view(), {ratio, mutual, held.options});
    });
    std::vector<std::int64_t> pairs;
    pairs.reserve(2 * found.first.size());
    for (std::size_t i = 0; i < found.first.size(); ++i) pairs.insert(pairs.end(), {found.first[i], found.second[i]});
    return nb::make_tuple(array_of(std::move(pairs), found.first.size(), 2),
                          array_of(found.distances, found.distances.size()));
}

}  // namespace

void add_match(nb::module_& module) {
    module.def("match", match_in, nb::arg("a"), nb::arg("b"), nb::arg("ratio").none(), nb::arg("mutual"),
               nb::arg("metric"), nb::arg("settings"));
}

}  // namespace kith::python
