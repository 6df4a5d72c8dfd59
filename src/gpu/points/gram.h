// How orthonormal columns are.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "gpu/points/directions.h"
#include "gpu/points/sample.h"

namespace kith::gpu {

// P'P of the columns that were found.
class Gram {
public:
    Gram(const Columns& columns, cudaStream_t stream) : columns_(columns.columns) {
        const Buffer<double> squares(columns_ * columns_, stream);
        gram(columns, {squares.get(), columns_, columns_, columns_}, stream);
        values_ = fetched(squares, stream);
    }
    // Columns that the ones before span are 0, and of no use; nor are what follows them.
    std::int64_t usable() const {
        std::int64_t usable = 0;
        while (usable < columns_ && std::abs(at(usable, usable) - 1) < 0.5) ++usable;
        return usable;
    }
    // The sum of the squares of P'P - I, of the first columns.
    double defect2(std::int64_t first) const {
        double sum = 0;
        for (std::int64_t i = 0; i < first; ++i)
            for (std::int64_t j = 0; j < first; ++j) {
                const double e = at(i, j) - (i == j ? 1 : 0);
                sum += e * e;
            }
        return sum;
    }

private:
    double at(std::int64_t i, std::int64_t j) const {
        return values_[static_cast<std::size_t>(i * columns_ + j)];
    }

    std::int64_t columns_;
    std::vector<double> values_;
};

}  // namespace kith::gpu
