#include "matrix.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string>

namespace nb = nanobind;

namespace kith::python {
namespace {

std::string class_name(nb::handle object) {
    return nb::str(object.type().attr("__name__")).c_str();
}

std::string element_name(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    switch (static_cast<Code>(type.code)) {
        case Code::Int:
            return fmt::format("int{}", type.bits);
        case Code::UInt:
            return fmt::format("uint{}", type.bits);
        case Code::Float:
            return fmt::format("float{}", type.bits);
        case Code::Bfloat:
            return "bfloat16";
        case Code::Complex:
            return fmt::format("complex{}", type.bits);
        case Code::Bool:
            return "bool";
        default:
            return fmt::format("of code {} and {} bits", type.code, type.bits);
    }
}

std::optional<ElementType> element_type(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    if (type.lanes != 1) return {};
    switch (static_cast<Code>(type.code)) {
        case Code::Float:
            if (type.bits == 16) return ElementType::f16;
            if (type.bits == 32) return ElementType::f32;
            if (type.bits == 64) return ElementType::f64;
            return {};
        case Code::Bfloat:
            return type.bits == 16 ? std::optional(ElementType::bf16) : std::nullopt;
        case Code::Bool:
            return type.bits == 8 ? std::optional(ElementType::u8) : std::nullopt;
        case Code::UInt:
            return type.bits == 8 ? std::optional(ElementType::u8) : std::nullopt;
        case Code::Int:
            if (type.bits == 8) return ElementType::i8;
            if (type.bits == 32) return ElementType::i32;
            if (type.bits == 64) return ElementType::i64;
            return {};
        default:
            return {};
    }
}

template <class Array>
int device_of(const Array& array, const char* name) {
    switch (array.device_type()) {
        case nb::device::cpu::value:
        case nb::device::cuda_host::value:
            return host_memory;
        case nb::device::cuda::value:
        case nb::device::cuda_managed::value:
            return array.device_id();
        default:
            throw nb::type_error(
                fmt::format("{}: expected memory of the host or of a CUDA device, got DLPack device type {}", name,
                            array.device_type())
                    .c_str());
    }
}

// The elements of a matrix whose strides (in elements) are any, row after row.
std::vector<std::byte> pack(const nb::ndarray<nb::ro>& array, std::size_t element) {
    const auto rows = static_cast<std::int64_t>(array.shape(0));
    const auto cols = static_cast<std::int64_t>(array.shape(1));
    std::vector<std::byte> packed(array.size() * element);
    const auto* from = static_cast<const std::byte*>(array.data());
    std::byte* to = packed.data();
    const auto bytes = static_cast<std::int64_t>(element);
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j, to += element) {
            std::memcpy(to, from + (i * array.stride(0) + j * array.stride(1)) * bytes, element);
        }
    }
    return packed;
}

}  // namespace

Matrix::Matrix(nb::handle array, const char* name) {
    if (!nb::try_cast(array, array_, false)) {
        throw nb::type_error(
            fmt::format("{}: expected an array (__dlpack__ or the buffer protocol), got {}", name, class_name(array))
                .c_str());
    }
    if (array_.ndim() != 2) {
        throw nb::value_error(fmt::format("{}: expected 2 dimensions, got {}", name, array_.ndim()).c_str());
    }
    const std::optional<ElementType> type = element_type(array_.dtype());
    if (!type) {
        throw nb::type_error(fmt::format("{}: no search in elements {}", name, element_name(array_.dtype())).c_str());
    }
    const auto rows = static_cast<std::int64_t>(array_.shape(0));
    const auto cols = static_cast<std::int64_t>(array_.shape(1));
    view_ = {array_.data(), rows, cols, cols, *type, Layout::row_major, device_of(array_, name)};
    if (rows == 0 || cols == 0) return;
    const std::int64_t down = array_.stride(0);
    const std::int64_t along = array_.stride(1);
    if ((along == 1 || cols == 1) && (down >= cols || rows == 1)) {
        view_.stride = rows == 1 ? cols : down;
    } else if ((down == 1 || rows == 1) && (along >= rows || cols == 1)) {
        view_.layout = Layout::column_major;
        view_.stride = cols == 1 ? rows : along;
    } else if (view_.device == host_memory) {
        packed_ = pack(array_, size_of(*type));
        view_.data = packed_.data();
    } else {
        throw nb::value_error(
            fmt::format("{}: neither rows nor columns are contiguous in the device's memory", name).c_str());
    }
}

Output::Output(nb::handle array, const char* name, ElementType type, std::int64_t rows, std::int64_t cols) {
    if (array.is_none()) return;
    if (!nb::try_cast(array, array_, false)) {
        throw nb::type_error(fmt::format("{}: expected a writable array, got {}", name, class_name(array)).c_str());
    }
    if (array_.ndim() != 2 || static_cast<std::int64_t>(array_.shape(0)) != rows ||
        static_cast<std::int64_t>(array_.shape(1)) != cols) {
        throw nb::value_error(fmt::format("{}: expected shape ({}, {})", name, rows, cols).c_str());
    }
    if (element_type(array_.dtype()) != type) {
        throw nb::type_error(
            fmt::format("{}: expected {}, got {}", name, kith::name(type), element_name(array_.dtype())).c_str());
    }
    if (array_.size() != 0 && ((cols > 1 && array_.stride(1) != 1) || (rows > 1 && array_.stride(0) != cols))) {
        throw nb::value_error(fmt::format("{}: expected contiguous rows", name).c_str());
    }
    device_of(array_, name);
}

int Output::device() const {
    return array_.is_valid() ? device_of(array_, "out") : host_memory;
}

}  // namespace kith::python
