// Arrays of numpy that own the library's vectors.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace kith::python {

// `values` as an array of these sizes, whose product they are as many as.
template <class T, class... Sizes>
nanobind::object array_of(std::vector<T>&& values, Sizes... sizes) {
    auto held = std::make_unique<std::vector<T>>(std::move(values));
    T* const data = held->data();
    nanobind::capsule owner(held.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    held.release();
    return nanobind::cast(nanobind::ndarray<nanobind::numpy, T>(data, {static_cast<std::size_t>(sizes)...}, owner));
}

}  // namespace kith::python
