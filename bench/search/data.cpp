// Names of the data and of element types; data made on the host, a row at a time.
#include "search/data.h"

#include <algorithm>
#include <string_view>

#include "machine/parallel.h"

namespace kith::bench {

namespace {

template <class T>
void fill_on_host(T* to, std::int64_t rows, std::int64_t d, const Recipe& r) {
    machine::parallel_tasks(machine::default_threads(), rows, [&](std::int64_t row) {
        double squares = 0;
        for (std::int64_t i = 0; r.data == Data::unit && i < d; ++i) {
            const double value = coordinate(r, row, i, d);
            squares += value * value;
        }
        const float scale = r.data == Data::unit ? static_cast<float>(1 / std::sqrt(squares)) : 1;
        for (std::int64_t i = 0; i < d; ++i) to[row * d + i] = element_of<T>(scale * coordinate(r, row, i, d), r.data);
    });
}

}  // namespace

Data data_named(const std::string& name) {
    const auto* const found = std::ranges::find(data_names, std::string_view(name));
    if (found != std::end(data_names)) return static_cast<Data>(found - data_names);
    std::string names;
    for (const char* const each : data_names) names += (names.empty() ? "" : ", ") + std::string(each);
    throw Error(ErrorCode::invalid_argument, "data: '" + name + "'; expected one of " + names);
}

ElementType type_named(const std::string& name) {
    for (const ElementType type :
         {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16, ElementType::i8, ElementType::u8})
        if (name == kith::name(type)) return type;
    throw Error(ErrorCode::invalid_argument, "type: '" + name + "'; expected f32, f64, f16, bf16, i8 or u8");
}

void fill(int device, void* to, ElementType type, std::int64_t rows, std::int64_t d, const Recipe& recipe) {
    if (device != host_memory) return fill_on_device(device, to, type, rows, d, recipe);
    with_element(type, [&]<class T>(T) { fill_on_host(static_cast<T*>(to), rows, d, recipe); });
}

}  // namespace kith::bench
