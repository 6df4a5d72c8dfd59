// Matrices and results as shared arrays.
#include "arrays.h"

#include <cmath>
#include <cstddef>

#include "device_memory.h"
#include "gpu/backend.h"
#include "kith/io.h"
#include "machine/parallel.h"

namespace kith::bench {

std::shared_ptr<void> array_on(int device, std::size_t bytes) {
    if (device != host_memory) return device_array(device, bytes);
    return std::make_shared_for_overwrite<std::byte[]>(bytes);
}

Rows::Rows(std::int64_t rows, std::int64_t cols, ElementType type, int device)
    : memory(array_on(device, static_cast<std::size_t>(rows * cols) * size_of(type))),
      view{memory.get(), rows, cols, cols, type, Layout::row_major, device} {}

std::size_t Rows::bytes() const {
    return static_cast<std::size_t>(view.rows * view.cols) * size_of(view.type);
}

Rows Rows::on(int device) const {
    Rows copy(view.rows, view.cols, view.type, device);
    gpu::copy(copy.memory.get(), view.data, bytes());
    return copy;
}

Rows rows_of(const Recipe& recipe, std::int64_t rows, std::int64_t cols, ElementType type, int device) {
    Rows made(rows, cols, type, device);
    fill(device, made.memory.get(), type, rows, cols, recipe);
    return made;
}

Rows points_of(const OrdinarySet& set, std::int64_t points, int device) {
    const Rows made(points, set.d, set.type, host_memory);
    fill(set, false, points, points, made.memory.get());
    return device == host_memory ? made : made.on(device);
}

Rows queries_of(const OrdinarySet& set, std::int64_t queries, std::int64_t points, int device) {
    const Rows made(queries, set.d, set.type, host_memory);
    fill(set, true, queries, points, made.memory.get());
    return device == host_memory ? made : made.on(device);
}

Rows rows_of(const std::string& file, int device) {
    const Matrix matrix = read_matrix(file);
    const FileInfo& info = matrix.info;
    if (info.type != ElementType::u8 && info.type != ElementType::f32)
        throw Error(ErrorCode::bad_file, file + ": " + name(info.type) + "; expected u8 or f32");
    const Rows made(info.rows, info.cols, ElementType::f32, host_memory);
    auto* const to = static_cast<float*>(made.memory.get());
    const auto count = static_cast<std::size_t>(info.rows * info.cols);
    if (info.type == ElementType::u8)
        for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(std::to_integer<int>(matrix.bytes[i]));
    else gpu::copy(to, matrix.bytes.data(), made.bytes());
    return device == host_memory ? made : made.on(device);
}

Rows shifted_images(const std::string& file, std::int64_t rows, int device) {
    const Rows images = rows_of(file, host_memory);
    const std::int64_t count = images.view.rows, d = images.view.cols, side = std::lround(std::sqrt(d));
    if (side * side != d) throw Error(ErrorCode::invalid_argument, "images: '" + file + "': not square");
    Rows out(rows, d, ElementType::f32, host_memory);
    const auto* const from = static_cast<const float*>(images.view.data);
    auto* const to = static_cast<float*>(out.memory.get());
    machine::parallel_tasks(machine::default_threads(), rows, [&](std::int64_t row) {
        // For the nine places of a pixel and its neighbours the middle one first.
        const std::int64_t copy = row / count, shift = (copy / 2 + 4) % 9, down = shift / 3 - 1, right = shift % 3 - 1;
        const float* const image = from + row % count * d;
        for (std::int64_t y = 0; y < side; ++y)
            for (std::int64_t x = 0; x < side; ++x) {
                const std::int64_t at = (x + right + side) % side;
                to[row * d + y * side + x] =
                    image[(y + down + side) % side * side + (copy % 2 == 1 ? side - 1 - at : at)];
            }
    });
    return out.on(device);
}

Output::Output(std::int64_t rows, std::int64_t k, int device, bool f64)
    : ids(array_on(device, static_cast<std::size_t>(rows * k) * sizeof(std::int64_t))),
      distances(array_on(device, static_cast<std::size_t>(rows * k) * (f64 ? sizeof(double) : sizeof(float)))),
      view{static_cast<std::int64_t*>(ids.get()), distances.get(), device} {}

}  // namespace kith::bench
