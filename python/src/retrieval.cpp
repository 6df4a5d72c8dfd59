// kith::image_features and kith::retrieve for Python.
#include "kith/retrieval.h"

#include <fmt/format.h>
#include <nanobind/stl/list.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gil.h"
#include "interrupt.h"
#include "matrix.h"
#include "modules.h"
#include "owned.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

nb::list image_features_in(nb::handle image, int channels, std::uint64_t seed) {
    const Matrix pixels(image, "image");
    std::vector<FeatureSet> sets;
    {
        const ReleasedGil released;
        sets = image_features(pixels.view(), channels, seed);
    }
    nb::list out;
    for (FeatureSet& set : sets) out.append(array_of(std::move(set.values), set.n, set.d));
    return out;
}

nb::tuple retrieve_in(const nb::list& images, std::int64_t k, int form, bool both_ways, std::vector<std::int64_t> asked,
                      const MetricSettings& metric, const Settings& settings) {
    std::vector<std::unique_ptr<Matrix>> held_arrays;
    std::vector<std::vector<MatrixView>> views;
    for (const nb::handle image : images) {
        const std::string name = fmt::format("images[{}]", views.size());
        views.emplace_back();
        for (const nb::handle scale : nb::cast<nb::list>(image)) {
            held_arrays.push_back(std::make_unique<Matrix>(scale, name.c_str()));
            views.back().push_back(held_arrays.back()->view());
        }
    }
    HeldOptions held(&metric, settings);
    Interruptible interruptible(held.options, settings.progress);
    RetrievalOptions options;
    options.form = static_cast<DivergenceForm>(form);
    options.both_ways = both_ways;
    options.asked = std::move(asked);
    options.search = held.options;
    Retrieved found = interruptible.run([&] { return retrieve(views, k, options); });
    const std::size_t rows = found.asked.size();
    return nb::make_tuple(array_of(std::move(found.divergences), rows, found.images),
                          array_of(std::move(found.order), rows, found.images - 1),
                          array_of(std::move(found.asked), rows), found.left_out);
}

}  // namespace

void add_retrieval(nb::module_& module) {
    module.def("image_features", image_features_in);
    module.def("retrieve", retrieve_in);
}

}  // namespace kith::python
