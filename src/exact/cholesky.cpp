// Column by column, each by several threads; see cholesky.h.
#include "exact/cholesky.h"

#include <cmath>

#include "machine/parallel.h"

namespace kith::exact {

namespace {
constexpr std::int64_t rows_per_task = 64;
}

bool cholesky(std::vector<double>& a, std::int64_t d, int threads) {
    for (std::int64_t j = 0; j < d; ++j) {
        double* const row_j = &a[static_cast<std::size_t>(j * d)];
        double diagonal = row_j[j];
        const double scale = std::abs(diagonal);
        for (std::int64_t k = 0; k < j; ++k) diagonal -= row_j[k] * row_j[k];
        if (!(diagonal > scale * static_cast<double>(d) * 0x1p-52)) return false;
        row_j[j] = std::sqrt(diagonal);
        machine::parallel_for(threads, d - j - 1, rows_per_task, [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = j + 1 + first; i < j + 1 + last; ++i) {
                double* const row_i = &a[static_cast<std::size_t>(i * d)];
                double sum = row_i[j];
                for (std::int64_t k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
                row_i[j] = sum / row_j[j];
            }
        });
    }
    return true;
}

}  // namespace kith::exact
