// A matrix and room for a result, on the host or on a device.
#pragma once

#include <memory>
#include <string>

#include "kith/types.h"
#include "search/data.h"
#include "search/ordinary_data.h"

namespace kith::bench {

// Freed with its last owner. Throws kith::Error.
std::shared_ptr<void> array_on(int device, std::size_t bytes);

struct Rows {
    std::shared_ptr<void> memory;
    MatrixView view;

    Rows(std::int64_t rows, std::int64_t cols, ElementType type, int device);
    std::size_t bytes() const;
    // Its copy elsewhere.
    Rows on(int device) const;
};

Rows rows_of(const Recipe& recipe, std::int64_t rows, std::int64_t cols, ElementType type, int device);
// Points of an ordinary set, or queries of that many points; made on the host.
Rows points_of(const OrdinarySet& set, std::int64_t points, int device);
Rows queries_of(const OrdinarySet& set, std::int64_t queries, std::int64_t points, int device);
// A file of u8 or f32, as f32.
Rows rows_of(const std::string& file, int device);

// Square images of such a file and, until there are `rows` of them, their mirror images and both of these shifted by
// a pixel in every direction.
Rows shifted_images(const std::string& file, std::int64_t rows, int device);

// A result's memory: f32 distances, f64 where asked.
struct Output {
    std::shared_ptr<void> ids, distances;
    NeighborsView view;

    Output(std::int64_t rows, std::int64_t k, int device, bool f64 = false);
};

}  // namespace kith::bench
