// Column by column, each by as many threads as there are; see cholesky.h.
#include "exact/cholesky.h"

#include <cmath>

namespace kith::exact {

bool cholesky(std::vector<double>& a, std::int64_t d) {
    for (std::int64_t j = 0; j < d; ++j) {
        double* const row_j = &a[static_cast<std::size_t>(j * d)];
        double diagonal = row_j[j];
        const double scale = std::abs(diagonal);
        for (std::int64_t k = 0; k < j; ++k) diagonal -= row_j[k] * row_j[k];
        if (!(diagonal > scale * static_cast<double>(d) * 0x1p-52)) return false;
        row_j[j] = std::sqrt(diagonal);
#pragma omp parallel for schedule(static) if (d - j > 64)
        for (std::int64_t i = j + 1; i < d; ++i) {
            double* const row_i = &a[static_cast<std::size_t>(i * d)];
            double sum = row_i[j];
            for (std::int64_t k = 0; k < j; ++k) sum -= row_i[k] * row_j[k];
            row_i[j] = sum / row_j[j];
        }
    }
    return true;
}

}  // namespace kith::exact
