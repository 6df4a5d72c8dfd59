// The matrix of all distances into an array of the caller; see distances.h.
#include "distances.h"

#include "interrupt.h"
#include "kith/distances.h"
#include "matrix.h"
#include "settings.h"

namespace nb = nanobind;

namespace kith::python {

namespace {

void distances_in(nb::handle points, nb::handle queries, const MetricSettings& metric, const Settings& settings,
                  nb::handle out) {
    const Matrix p(points, "points");
    const Matrix q(queries, "queries");
    HeldOptions held(&metric, settings);
    const std::int64_t rows = q.view().rows, columns = p.view().rows;
    const Output to(out, "out", settings.f64 ? ElementType::f64 : ElementType::f32, rows, columns);
    const Bytes bytes = bytes_of(to, rows * columns, settings.f64 ? sizeof(double) : sizeof(float));
    refuse_overlap(bytes_of(p.view()), bytes);
    refuse_overlap(bytes_of(q.view()), bytes);
    Interruptible interruptible(held.options, settings.progress);
    interruptible.run([&] { distances_into(p.view(), q.view(), held.options, {to.data(), columns, to.device()}); });
}

}  // namespace

void add_distances(nb::module_& module) {
    module.def("distances", distances_in, nb::arg("points").none(), nb::arg("queries").none(), nb::arg("metric"),
               nb::arg("settings"), nb::arg("out"));
}

}  // namespace kith::python
