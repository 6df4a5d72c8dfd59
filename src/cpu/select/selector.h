// The contract of a CPU selector: one slice of values in, its k smallest out, packed as (key of the
// value, index).
//
// A selector is one file with template <class T> void function(const RowSlice<T>&,
// std::vector<Packed<T>>& kept) for float and double, and a line in selectors.def. The driver
// (driver.cpp) cuts rows into slices, calls it from several threads and merges; a selector may
// trust the slice: 1 <= k <= count < 2^32, k within its range.
#pragma once

#include <type_traits>
#include <vector>

#include "cpu/select/selectors.h"
#include "cpu/simd/isa.h"
#include "exact/order.h"

namespace kith::cpu {

__extension__ typedef unsigned __int128 Wide;

// Ascending order of Packed is the order of select(): the key of the value, then the index. All are
// distinct.
template <class T>
using Packed = std::conditional_t<sizeof(T) == 4, std::uint64_t, Wide>;
template <class T>
using Key = typename exact::Order<T>::Key;

template <class T>
inline Packed<T> pack(Key<T> key, std::int64_t index) {
    return static_cast<Packed<T>>(key) << 8 * sizeof(T) | static_cast<Packed<T>>(index);
}
template <class T>
inline Key<T> key_of(Packed<T> p) {
    return static_cast<Key<T>>(p >> 8 * sizeof(T));
}
template <class T>
inline std::int64_t index_of(Packed<T> p) {
    return static_cast<std::int64_t>(p & 0xffffffffu);
}

// A row, or a part of one.
template <class T>
struct RowSlice {
    const T* values;
    std::int64_t step;  // elements from value to value
    std::int64_t count;
    std::int64_t k;
    bool largest;
    bool sorted;  // false: `kept` in any order
    Isa isa;

    const T& operator[](std::int64_t i) const { return values[i * step]; }
    Key<T> key(std::int64_t i) const { return exact::Order<T>::key(values[i * step], largest); }
    Packed<T> packed(std::int64_t i) const { return pack<T>(key(i), i); }
};

#define KITH_CPU_SELECTOR(function, ...) \
    template <class T>                   \
    void function(const RowSlice<T>& slice, std::vector<Packed<T>>& kept);
#include "cpu/select/selectors.def"
#undef KITH_CPU_SELECTOR

// For the end of a selector's file.
#define KITH_INSTANTIATE_SELECTOR(function)                                             \
    template void function<float>(const RowSlice<float>&, std::vector<Packed<float>>&); \
    template void function<double>(const RowSlice<double>&, std::vector<Packed<double>>&);

}  // namespace kith::cpu
