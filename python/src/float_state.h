// The floating-point state that the library computes in, for what the package's Python files compute themselves.
#pragma once

#include <nanobind/nanobind.h>

#include <cfenv>

namespace kith::python {

// A context manager of one thread: rounding to nearest, subnormal numbers, no exception that stops the process; at its
// end the caller's state, sticky flags included.
class FloatState {
public:
    void enter() {
        std::fegetenv(&callers_);
        std::fesetenv(FE_DFL_ENV);
    }
    void exit() { std::fesetenv(&callers_); }

private:
    std::fenv_t callers_{};
};

inline void add_float_state(nanobind::module_& module) {
    nanobind::class_<FloatState>(module, "FloatState")
        .def(nanobind::init<>())
        .def("__enter__", &FloatState::enter)
        .def("__exit__", [](FloatState& state, const nanobind::args&) { state.exit(); });
}

}  // namespace kith::python
