// kith::recommend for Python: sparse rows come as their three arrays.
#include "kith/recommend.h"

#include <nanobind/ndarray.h>

#include <utility>

#include "interrupt.h"
#include "missing.h"
#include "modules.h"
#include "owned.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

template <class T>
using Line = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

nb::tuple recommend_in(std::int64_t users, std::int64_t items, const Line<std::int64_t>& offsets,
                       const Line<std::int64_t>& ids, const Line<double>& values, std::int64_t k, std::int64_t count,
                       bool as_given, bool uniform, double epsilon, bool hold_out, std::uint64_t seed,
                       std::int64_t users_at_once, const MetricSettings& metric, const Settings& settings) {
    const auto stored = static_cast<std::int64_t>(ids.shape(0));
    if (static_cast<std::int64_t>(offsets.shape(0)) != users + 1 ||
        stored != static_cast<std::int64_t>(values.shape(0)) || (users >= 0 && offsets.data()[users] != stored))
        throw nb::value_error("preferences: offsets, ids and values contradict each other");
    HeldOptions held(&metric, settings);
    Interruptible interruptible(held.options, settings.progress);
    RecommendOptions options;
    options.form = as_given ? PreferenceForm::as_given : PreferenceForm::shares;
    options.weight = uniform ? NeighborWeight::uniform : NeighborWeight::inverse;
    options.epsilon = epsilon;
    options.hold_out = hold_out;
    options.seed = seed;
    options.users_at_once = users_at_once;
    options.search = held.options;
    Recommendations found = interruptible.run([&] {
        return recommend(SparseView{users, items, offsets.data(), ids.data(), values.data()}, k, count, options);
    });
    const nb::object held_out = hold_out ? array_of(std::move(found.held_out), found.users) : nb::object(nb::none());
    return nb::make_tuple(array_of(std::move(found.items), found.users, found.count),
                          array_of(std::move(found.predictions), found.users, found.count), held_out, found.judged,
                          found.hit_rate, found.popular_hit_rate, CountedReport(std::move(found.report)));
}

}  // namespace

void add_recommend(nb::module_& module) {
    module.def("recommend", recommend_in);
}

}  // namespace kith::python
