// Estimators of samples in arrays; see information.h.
#include "information.h"

#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <tuple>

#include "interrupt.h"
#include "kith/estimators.h"
#include "matrix.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {

namespace {

// Repeats, parts, stretch, seed.
using Numbers = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::uint64_t>;
Bootstrap bootstrap_of(const Numbers& numbers) {
    const auto& [repeats, parts, stretch, seed] = numbers;
    return {repeats, parts, stretch, seed};
}

using Found = std::tuple<double, double, std::int64_t, std::int64_t>;

// `metric` None: the estimator's own.
template <class Work>
Found estimated(nb::handle metric, const Settings& settings, const Work& work) {
    HeldOptions held(metric.is_none() ? nullptr : nb::cast<const MetricSettings*>(metric), settings);
    Interruptible interruptible(held.options, settings.progress);
    const Estimate e = interruptible.run([&] { return work(held.options); });
    return {e.value, e.error, e.samples, e.left_out};
}

}  // namespace

void add_information(nb::module_& module) {
    module.def("entropy",
               [](nb::handle x, std::int64_t k, nb::handle metric, const Numbers& bootstrap, const Settings& settings) {
                   const Matrix a(x, "x");
                   return estimated(metric, settings,
                                    [&](const Options& o) { return entropy(a.view(), k, o, bootstrap_of(bootstrap)); });
               });
    module.def("kl_divergence", [](nb::handle x, nb::handle y, std::int64_t k, int form, nb::handle metric,
                                   const Numbers& bootstrap, const Settings& settings) {
        const Matrix a(x, "x"), b(y, "y");
        return estimated(metric, settings, [&](const Options& o) {
            return kl_divergence(a.view(), b.view(), k, static_cast<DivergenceForm>(form), o, bootstrap_of(bootstrap));
        });
    });
    module.def("mutual_information", [](nb::handle x, nb::handle y, std::int64_t k, int form, const Numbers& bootstrap,
                                        const Settings& settings) {
        const Matrix a(x, "x"), b(y, "y");
        return estimated(nb::none(), settings, [&](const Options& o) {
            return mutual_information(a.view(), b.view(), k, static_cast<KraskovForm>(form), o,
                                      bootstrap_of(bootstrap));
        });
    });
    module.def("conditional_mutual_information", [](nb::handle x, nb::handle y, nb::handle z, std::int64_t k,
                                                    const Numbers& bootstrap, const Settings& settings) {
        const Matrix a(x, "x"), b(y, "y"), c(z, "z");
        return estimated(nb::none(), settings, [&](const Options& o) {
            return conditional_mutual_information(a.view(), b.view(), c.view(), k, o, bootstrap_of(bootstrap));
        });
    });
    module.def("transfer_entropy", [](nb::handle source, nb::handle target, std::int64_t k, std::int64_t source_lags,
                                      std::int64_t target_lags, const Numbers& bootstrap, const Settings& settings) {
        const Matrix a(source, "source"), b(target, "target");
        return estimated(nb::none(), settings, [&](const Options& o) {
            return transfer_entropy(a.view(), b.view(), k, source_lags, target_lags, o, bootstrap_of(bootstrap));
        });
    });
}

}  // namespace kith::python
