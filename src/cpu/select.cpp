// k-selection on the CPU: one pass over a row against the current k-th key, candidates to a buffer of 2k or more, which
// nth_element halves when it is full; the k survivors are sorted by (key, index).
#include "cpu/select.h"

#include <omp.h>

#include <algorithm>
#include <vector>

#include "exact/element.h"
#include "exact/order.h"

namespace kith::cpu {

namespace {

template <class T>
void select_rows(const MatrixView& m, std::int64_t k, bool largest, int threads, ProgressMeter& progress,
                 std::int64_t* ids, T* values) {
    using Key = typename exact::Order<T>::Key;
    struct Candidate {
        Key key;
        std::int64_t index;
        bool operator<(const Candidate& o) const { return key != o.key ? key < o.key : index < o.index; }
    };
    const auto* data = static_cast<const T*>(m.data);
    const auto capacity = static_cast<std::size_t>(std::min(m.cols, k + std::max<std::int64_t>(k, 1024)));
    const std::int64_t step = m.layout == Layout::row_major ? 1 : m.stride;
#pragma omp parallel num_threads(threads)
    {
        std::vector<Candidate> buffer;
        buffer.reserve(capacity);
#pragma omp for schedule(dynamic, 1)
        for (std::int64_t row = 0; row < m.rows; ++row) {
            if (progress.cancelled()) continue;
            const T* const in = data + exact::offset(m, row, 0);
            buffer.clear();
            // Candidates come in index order: one that ties with the k-th key comes after it and is not needed.
            Key threshold = exact::Order<T>::nan;
            bool full = false;
            const auto kth = buffer.begin() + (k - 1);
            for (std::int64_t i = 0; i < m.cols; ++i) {
                const Key key = exact::Order<T>::key(in[i * step], largest);
                if (full && key >= threshold) continue;
                buffer.push_back({key, i});
                if (buffer.size() < capacity) continue;
                std::nth_element(buffer.begin(), kth, buffer.end());
                threshold = kth->key;
                full = true;
                buffer.resize(static_cast<std::size_t>(k));
            }
            if (static_cast<std::int64_t>(buffer.size()) > k) std::nth_element(buffer.begin(), kth, buffer.end());
            buffer.resize(static_cast<std::size_t>(k));
            std::sort(buffer.begin(), buffer.end());
            for (std::int64_t j = 0; j < k; ++j) {
                const std::int64_t index = buffer[static_cast<std::size_t>(j)].index;
                ids[row * k + j] = index;
                if (values) values[row * k + j] = in[index * step];
            }
            progress.add(static_cast<double>(m.cols));
            if (omp_get_thread_num() == 0) progress.poll("select");
        }
    }
}

}  // namespace

void select(const MatrixView& m, std::int64_t k, bool largest, int threads, ProgressMeter& progress, std::int64_t* ids,
            void* values) {
    if (m.type == ElementType::f64) select_rows(m, k, largest, threads, progress, ids, static_cast<double*>(values));
    else select_rows(m, k, largest, threads, progress, ids, static_cast<float*>(values));
}

}  // namespace kith::cpu
