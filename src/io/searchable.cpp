// Wide integers become floating-point numbers of the same values.
#include "kith/searchable.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "kith/error.h"
#include "kith/memory.h"
#include "machine/float_state.h"

namespace kith {
namespace {

constexpr std::size_t asked_every = 0x10000;  // elements

std::int64_t integer_at(const Matrix& matrix, std::size_t index) {
    if (matrix.info.type == ElementType::i32) {
        std::int32_t value;
        std::memcpy(&value, matrix.bytes.data() + index * sizeof value, sizeof value);
        return value;
    }
    std::int64_t value;
    std::memcpy(&value, matrix.bytes.data() + index * sizeof value, sizeof value);
    return value;
}

void go_on(std::size_t index, const std::function<bool()>& proceed) {
    if (proceed && index % asked_every == 0 && !machine::for_caller(proceed)())
        throw Error(ErrorCode::cancelled, "cancelled");
}

template <class T>
bool holds_all(const Matrix& matrix, std::size_t cells, std::size_t& first_missing,
               const std::function<bool()>& proceed) {
    for (std::size_t i = 0; i < cells; ++i) {
        go_on(i, proceed);
        const std::int64_t value = integer_at(matrix, i);
        const T stored = static_cast<T>(value);
        if (std::abs(stored) < static_cast<T>(0x1p63) && static_cast<std::int64_t>(stored) == value)
            continue;
        first_missing = i;
        return false;
    }
    return true;
}

template <class T>
void convert_all(Matrix& matrix, std::size_t cells, ElementType type,
                 const std::function<bool()>& proceed) {
    std::vector<std::byte> converted(cells * sizeof(T));
    for (std::size_t i = 0; i < cells; ++i) {
        go_on(i, proceed);
        const auto value = static_cast<T>(integer_at(matrix, i));
        std::memcpy(converted.data() + i * sizeof(T), &value, sizeof value);
    }
    matrix.bytes = std::move(converted);
    matrix.info.type = type;
}

}  // namespace

Matrix searchable(Matrix matrix, const std::string& what, const std::function<bool()>& proceed) {
    const machine::FloatState state;
    if (matrix.info.type != ElementType::i32 && matrix.info.type != ElementType::i64) return matrix;
    const auto cells = static_cast<std::size_t>(matrix.info.rows * matrix.info.cols);
    std::size_t missing = 0;
    const bool narrow = holds_all<float>(matrix, cells, missing, proceed);
    if (!narrow && !holds_all<double>(matrix, cells, missing, proceed)) {
        const auto cols = static_cast<std::size_t>(matrix.info.cols);
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "{}: row {}, column {}: {} is not a value of f64; expected coordinates that are",
                what, missing / cols, missing % cols, integer_at(matrix, missing)));
    }
    require_memory(static_cast<std::int64_t>(cells * (narrow ? sizeof(float) : sizeof(double))),
                   what);
    if (narrow) convert_all<float>(matrix, cells, ElementType::f32, proceed);
    else convert_all<double>(matrix, cells, ElementType::f64, proceed);
    return matrix;
}

}  // namespace kith
