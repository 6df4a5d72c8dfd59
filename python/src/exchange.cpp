// DLPack's C functions (DLPackExchangeAPI of dlpack.h 1.3; torch has them from 2.10 on) take a quarter of the time in
// which Python asks for a tensor's attributes one by one; a capsule takes longer than that.
#include "exchange.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gil.h"
#include "matrix.h"

namespace nb = nanobind;

namespace kith::python {
namespace {

// DLPackExchangeAPI of version 1. Functions return 0, or set a Python exception.
struct Exchange {
    std::uint32_t major, minor;
    const Exchange* previous;  // of an older version
    void (*unused[3])();
    int (*describe)(void* object, nb::dlpack::dltensor* out);  // may be null
    int (*current_stream)(std::int32_t device_type, std::int32_t device, void** out);
};

const Exchange* of_version_1(nb::handle capsule) {
    const auto* found = static_cast<const Exchange*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    if (!found) PyErr_Clear();
    while (found && found->major != 1) found = found->previous;
    return found && found->describe ? found : nullptr;
}

// For torch.Tensor itself: a subclass may be read by methods of its own, and of what other libraries write to and when
// their arrays are filled these functions do not tell. Null: the array is none, or torch is older.
const Exchange* exchange_of(nb::handle array) {
    static nb::handle tensor;  // as long as the process, like its functions
    static const Exchange* exchange = nullptr;
    if (array.type().is(tensor)) return exchange;
    if (tensor) return nullptr;
    const nb::object module = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));
    if (!module.is_valid() || !array.type().is(nb::getattr(module, "Tensor", nb::none()))) {
        PyErr_Clear();
        return nullptr;
    }
    tensor = nb::borrow(array.type()).release();
    const nb::object capsule = nb::getattr(tensor, "__dlpack_c_exchange_api__", nb::none());
    if (!capsule.is_none()) exchange = of_version_1(capsule);
    return exchange;
}

// A view that is negated when it is read: DLPack's description does not tell.
bool negated_when_read(nb::handle tensor) {
    static PyObject* method = nullptr;  // as long as the process, under the GIL
    if (!method) method = PyUnicode_InternFromString("is_neg");
    HeldAtExit held;
    PyObject* const answer = PyObject_CallMethodObjArgs(tensor.ptr(), method, nullptr);
    held.returned();
    if (!answer) throw nb::python_error();
    return !nb::steal(answer).is(Py_False);
}

bool searched(ElementType type) {
    return type != ElementType::i32 && type != ElementType::i64;
}

}  // namespace

std::optional<ArrayInterface> described(nb::handle array, nb::handle stream) {
    const Exchange* const exchange = exchange_of(array);
    nb::dlpack::dltensor tensor;
    if (!exchange) return {};
    if (exchange->describe(array.ptr(), &tensor) != 0) {  // sparse, nested, without memory
        PyErr_Clear();
        return {};
    }
    if (tensor.ndim != 2 || !tensor.strides || tensor.dtype.lanes != 1) return {};
    const std::optional<int> device = device_of(tensor.device.device_type, tensor.device.device_id);
    std::string name = element_name(tensor.dtype);
    const std::optional<ElementType> type = element_type(name);
    if (!device || !type || negated_when_read(array)) return {};
    if (stream.is_valid()) {
        if (!searched(*type)) return {};
        if (*device != host_memory) {
            void* current = nullptr;
            if (exchange->current_stream(tensor.device.device_type, *device, &current) != 0) {
                PyErr_Clear();
                return {};
            }
            const bool in_place = tensor.shape[0] == 0 || tensor.shape[1] == 0 ||
                                  layout_of(tensor.shape[0], tensor.shape[1], tensor.strides[0], tensor.strides[1]);
            const auto number = reinterpret_cast<std::uintptr_t>(current);  // NOLINT: as Python has it
            if (!in_place || !stream.equal(nb::int_(number))) return {};
        }
    }
    const auto data = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;  // NOLINT: as Python has it
    return ArrayInterface{
        nb::borrow(array), data,   {tensor.shape[0], tensor.shape[1]}, {tensor.strides[0], tensor.strides[1]},
        std::move(name),   *device};
}

void add_exchange(nb::module_& module) {
    module.def(
        "described", [](nb::handle array, nb::handle stream) { return described(array, stream); },
        nb::arg("array").none(), nb::arg("stream").none());
}

}  // namespace kith::python
