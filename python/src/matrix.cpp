// Where rows and columns lie, and what is refused.
#include "matrix.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "exchange.h"
#include "gil.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

template <class... Args>
[[noreturn]] void type_error(fmt::format_string<Args...> format, Args&&... args) {
    throw nb::type_error(fmt::format(format, std::forward<Args>(args)...).c_str());
}

template <class... Args>
[[noreturn]] void value_error(fmt::format_string<Args...> format, Args&&... args) {
    throw nb::value_error(fmt::format(format, std::forward<Args>(args)...).c_str());
}

std::string class_name(nb::handle object) {
    return nb::str(object.type().attr("__name__")).c_str();
}

// Memory, whoever described it.
struct Block {
    void* data;
    std::int64_t rows, cols;
    std::int64_t down, along;  // elements from row to row, from column to column
    std::string type;
    int device;
};

void expect_matrix(std::size_t dimensions, const char* name) {
    if (dimensions == 1) {
        value_error(
            "{0}: expected 2 dimensions, got 1; give one row as {0}[None], values of one coordinate as {0}[:, None]",
            name);
    }
    if (dimensions != 2) {
        value_error("{}: expected 2 dimensions, got {}; many searches at once are kith.search_batches", name,
                    dimensions);
    }
}

void expect_memory(const Block& block, const char* name) {
    if (!block.data && block.rows > 0 && block.cols > 0) {
        value_error("{}: expected memory of {} x {} elements, got the address 0", name, block.rows, block.cols);
    }
}

Block block_of(const ArrayInterface& array, const char* name) {
    expect_matrix(array.shape.size(), name);
    return {reinterpret_cast<void*>(array.data),  // NOLINT: a pointer that Python knows as a number
            array.shape[0],
            array.shape[1],
            array.strides.at(0),
            array.strides.at(1),
            array.type,
            array.device};
}

template <class Array>
Block block_of(const Array& array, const char* name) {
    expect_matrix(array.ndim(), name);
    if (array.dtype().lanes != 1) type_error("{}: no search in vectors of {} lanes", name, array.dtype().lanes);
    const std::optional<int> device = device_of(array.device_type(), array.device_id());
    if (!device) {
        type_error("{}: expected memory of the host or of a CUDA device, got DLPack device type {}", name,
                   array.device_type());
    }
    return {const_cast<void*>(static_cast<const void*>(array.data())),  // Output asked for writable memory
            static_cast<std::int64_t>(array.shape(0)),
            static_cast<std::int64_t>(array.shape(1)),
            array.stride(0),
            array.stride(1),
            element_name(array.dtype()),
            *device};
}

// A memoryview where there is no DLPack: it has strides, which ctypes leaves out though they are asked for.
nb::object with_strides(nb::handle object) {
    if (nb::hasattr(object.type(), "__dlpack__") || PyCapsule_CheckExact(object.ptr())) return nb::borrow(object);
    nb::object view = nb::steal(PyMemoryView_FromObject(object.ptr()));
    if (view.is_valid()) return view;
    PyErr_Clear();
    return nb::borrow(object);
}

// The block of `object`, which `keeper` holds if it comes by DLPack or the buffer protocol.
template <class Array>
Block take(nb::handle object, const char* name, const char* expected, Array& keeper) {
    if (nb::isinstance<ArrayInterface>(object)) return block_of(nb::cast<const ArrayInterface&>(object), name);
    if (!nb::try_cast(with_strides(object), keeper, false))
        type_error("{}: expected {}, got {}", name, expected, class_name(object));
    return block_of(keeper, name);
}

// The description by kith._arrays of an array that is to be written to; `array` or a view of it.
nb::object writable_interface(nb::handle array, const char* name) {
    // As long as the process, and under the GIL, which importing may give away: no guard of C++ is held meanwhile.
    static nb::handle function;
    if (!function) {
        nb::object found = imported("kith._arrays", "array_interface");
        if (!function) function = found.release();
    }
    return call(function, nb::make_tuple(array, name, nb::none(), true));
}

template <std::size_t Size>
void pack_elements(const Block& block, std::byte* to) {
    constexpr auto size = static_cast<std::int64_t>(Size);
    for (std::int64_t i = 0; i < block.rows; ++i) {
        const std::byte* from = static_cast<const std::byte*>(block.data) + i * block.down * size;
        for (std::int64_t j = 0; j < block.cols; ++j, to += size) std::memcpy(to, from + j * block.along * size, Size);
    }
}

// The elements of a block whose strides are any, row after row.
std::vector<std::byte> pack(const Block& block, std::size_t element) {
    std::vector<std::byte> packed(static_cast<std::size_t>(block.rows * block.cols) * element);
    switch (element) {
        case 1:
            pack_elements<1>(block, packed.data());
            break;
        case 2:
            pack_elements<2>(block, packed.data());
            break;
        case 4:
            pack_elements<4>(block, packed.data());
            break;
        default:
            pack_elements<8>(block, packed.data());
    }
    return packed;
}

}  // namespace

std::string element_name(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    switch (static_cast<Code>(type.code)) {
        case Code::Int:
            return "int" + std::to_string(type.bits);
        case Code::UInt:
            return "uint" + std::to_string(type.bits);
        case Code::Float:
            return "float" + std::to_string(type.bits);
        case Code::Bfloat:
            return fmt::format("bfloat{}", type.bits);
        case Code::Complex:
            return fmt::format("complex{}", type.bits);
        case Code::Bool:
            return "bool";
        default:
            return fmt::format("of code {} and {} bits", type.code, type.bits);
    }
}

std::optional<ElementType> element_type(std::string_view name) {
    constexpr std::array<std::pair<std::string_view, ElementType>, 9> known{{{"float32", ElementType::f32},
                                                                             {"float64", ElementType::f64},
                                                                             {"float16", ElementType::f16},
                                                                             {"bfloat16", ElementType::bf16},
                                                                             {"int8", ElementType::i8},
                                                                             {"uint8", ElementType::u8},
                                                                             {"bool", ElementType::u8},
                                                                             {"int32", ElementType::i32},
                                                                             {"int64", ElementType::i64}}};
    for (const auto& [known_name, type] : known) {
        if (known_name == name) return type;
    }
    return {};
}

std::optional<int> device_of(int dlpack_type, int id) {
    switch (dlpack_type) {
        case nb::device::cpu::value:
        case nb::device::cuda_host::value:
            return host_memory;
        case nb::device::cuda::value:
        case nb::device::cuda_managed::value:
            return id;
        default:
            return {};
    }
}

ElementType element_type_named(const std::string& name) {
    const std::optional<ElementType> type = element_type(name);
    if (!type) type_error("no search in elements {}", name);
    return *type;
}

std::optional<Layout> layout_of(std::int64_t rows, std::int64_t cols, std::int64_t down, std::int64_t along) {
    if ((along == 1 || cols == 1) && (down >= cols || rows == 1)) return Layout::row_major;
    if ((down == 1 || rows == 1) && (along >= rows || cols == 1)) return Layout::column_major;
    return {};
}

Matrix::Matrix(nb::handle array, const char* name) {
    const Block block = take(array, name, "an array (__dlpack__ or the buffer protocol)", array_);
    expect_memory(block, name);
    const std::optional<ElementType> type = element_type(block.type);
    if (!type) type_error("{}: no search in elements {}", name, block.type);
    const auto [data, rows, cols, down, along, type_name, device] = block;
    view_ = {data, rows, cols, cols, *type, Layout::row_major, device};
    if (rows == 0 || cols == 0) return;
    const std::optional<Layout> layout = layout_of(rows, cols, down, along);
    if (layout == Layout::row_major) {
        view_.stride = rows == 1 ? cols : down;
    } else if (layout == Layout::column_major) {
        view_.layout = Layout::column_major;
        view_.stride = cols == 1 ? rows : along;
    } else if (device == host_memory) {
        const ReleasedGil released;
        packed_ = pack(block, size_of(*type));
        view_.data = packed_.data();
    } else {
        value_error(
            "{}: neither rows nor columns are contiguous and apart in the device's memory; give a contiguous copy",
            name);
    }
}

Output::Output(nb::handle array, const char* name, ElementType type, std::int64_t rows, std::int64_t cols) {
    if (array.is_none()) return;
    const std::optional<ArrayInterface> tensor = described(array);
    const Block block =
        tensor ? block_of(*tensor, name) : take(writable_interface(array, name), name, "a writable array", array_);
    expect_memory(block, name);
    if (block.rows != rows || block.cols != cols) {
        value_error("{}: expected shape ({}, {}), got ({}, {})", name, rows, cols, block.rows, block.cols);
    }
    if (element_type(block.type) != type) type_error("{}: expected {}, got {}", name, kith::name(type), block.type);
    const bool contiguous = (cols <= 1 || block.along == 1) && (rows <= 1 || block.down == cols);
    if (rows * cols > 0 && !contiguous) value_error("{}: expected contiguous rows", name);
    data_ = block.data;
    device_ = block.device;
}

Bytes bytes_of(const MatrixView& view) {
    if (!view.data || view.rows == 0 || view.cols == 0) return {};
    const bool rows = view.layout == Layout::row_major;
    const std::int64_t vectors = rows ? view.rows : view.cols, along = rows ? view.cols : view.rows;
    const auto size = static_cast<std::int64_t>(size_of(view.type));
    const auto* first = static_cast<const char*>(view.data);
    return {first, first + ((vectors - 1) * view.stride + along) * size};
}

Bytes bytes_of(const Output& out, std::int64_t cells, std::int64_t size) {
    const auto* first = static_cast<const char*>(out.data());
    return {first, first ? first + cells * size : nullptr};
}

void refuse_overlap(const Bytes& a, const Bytes& b) {
    if (a.first && b.first && a.first < b.last && b.first < a.last) {
        throw nb::value_error("out: overlaps with an input or with itself");
    }
}

}  // namespace kith::python
