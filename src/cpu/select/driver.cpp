// kith::select on the CPU: rows shared out to threads, each by the chosen selector. Where rows are fewer than threads
// they are cut into parts, whose results are merged.
#include "cpu/select/driver.h"

#include <algorithm>

#include "cpu/select/selector.h"
#include "exact/element.h"
#include "exact/watched.h"

namespace kith::cpu {

namespace {

// Shorter parts of a row cost more in merging than they save.
constexpr std::int64_t least_part = 1 << 17;
// Indexes within a slice have 32 bits.
constexpr std::int64_t most_part = std::int64_t{1} << 31;
// Values that are selected from in some hundredths of a second.
constexpr std::int64_t responsive_part = 1 << 25;
// Values that one task sees at least, so that taking it costs nothing.
constexpr std::int64_t task_values = 1 << 14;
// Columns that lie together are read together: as many rows as share a cache line, while their copy stays this small.
constexpr std::int64_t line_bytes = 64, copied_bytes = 8 << 20;

template <class T>
using Function = void (*)(const RowSlice<T>&, std::vector<Packed<T>>&);

template <class T>
Function<T> function_of(std::string_view name) {
    // In the order of `selectors`.
    constexpr Function<T> functions[] = {
#define KITH_CPU_SELECTOR(function, ...) function<T>,
#include "cpu/select/selectors.def"
#undef KITH_CPU_SELECTOR
    };
    if (const Selector* s = find_selector(name)) return functions[s - selectors.data()];
    throw Error(ErrorCode::invalid_argument, "selector: '" + std::string(name) + "' is not in the list");
}

template <class T>
struct Scratch {
    std::vector<Packed<T>> kept;
    std::vector<T> rows;  // of a matrix in columns, side by side
};

// A selection, and where it goes.
template <class T>
struct Job {
    const MatrixView& matrix;
    const T* data;
    std::int64_t k;
    bool largest, sorted;
    Function<T> select;
    Isa isa;
    int threads;
    ProgressMeter& progress;
    std::int64_t* ids;
    T* values;  // may be null

    std::int64_t step() const { return matrix.layout == Layout::row_major ? 1 : matrix.stride; }
    const T* row(std::int64_t i) const { return data + exact::offset(matrix, i, 0); }
    void advance(double pairs, int worker) const {
        progress.add(pairs);
        if (worker == 0) progress.poll("select");
    }
};

template <class T>
void select_row(const Job<T>& job, std::int64_t row, const T* in, std::int64_t step, std::vector<Packed<T>>& kept) {
    job.select({in, step, job.matrix.cols, job.k, job.largest, job.sorted, job.isa}, kept);
    for (std::int64_t j = 0; j < job.k; ++j) {
        const std::int64_t index = index_of<T>(kept[static_cast<std::size_t>(j)]);
        job.ids[row * job.k + j] = index;
        if (job.values) job.values[row * job.k + j] = in[index * step];
    }
}

// Rows [first, first + count) of a matrix in columns as dense rows.
template <class T>
void copy_rows(const Job<T>& job, std::int64_t first, std::int64_t count, std::vector<T>& rows) {
    const std::int64_t n = job.matrix.cols;
    rows.resize(static_cast<std::size_t>(count * n));
    for (std::int64_t column = 0; column < n; ++column) {
        const T* const in = job.data + column * job.matrix.stride + first;
        for (std::int64_t i = 0; i < count; ++i) rows[static_cast<std::size_t>(i * n + column)] = in[i];
    }
}

template <class T>
void select_whole_rows(const Job<T>& job) {
    const std::int64_t n = job.matrix.cols, row_bytes = n * static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t line = line_bytes / static_cast<std::int64_t>(sizeof(T));
    const bool in_columns = job.step() != 1;
    const std::int64_t together = in_columns ? std::clamp<std::int64_t>(copied_bytes / row_bytes, 1, line) : 1;
    const std::int64_t share = (job.matrix.rows + job.threads - 1) / job.threads;
    std::int64_t per_task = std::max(together, std::min(task_values / n, share));
    per_task = (per_task + together - 1) / together * together;
    std::vector<Scratch<T>> scratch(static_cast<std::size_t>(job.threads));
    watched_tasks(job.threads, (job.matrix.rows + per_task - 1) / per_task, job.progress, "select",
                  [&](std::int64_t task, int worker) {
                      Scratch<T>& own = scratch[static_cast<std::size_t>(worker)];
                      const std::int64_t end = std::min((task + 1) * per_task, job.matrix.rows);
                      for (std::int64_t first = task * per_task; first < end; first += together) {
                          const std::int64_t count = std::min(together, end - first);
                          if (together > 1) copy_rows(job, first, count, own.rows);
                          for (std::int64_t i = 0; i < count; ++i) {
                              const T* const in = together > 1 ? own.rows.data() + i * n : job.row(first + i);
                              select_row(job, first + i, in, together > 1 ? 1 : job.step(), own.kept);
                          }
                      }
                      job.advance(static_cast<double>(end - task * per_task) * static_cast<double>(n), worker);
                  });
}

template <class T>
void select_parts(const Job<T>& job, std::int64_t parts) {
    struct Candidate {
        Key<T> key;
        std::int64_t index;
        bool operator<(const Candidate& o) const { return key != o.key ? key < o.key : index < o.index; }
    };
    const std::int64_t rows = job.matrix.rows, n = job.matrix.cols, length = (n + parts - 1) / parts;
    std::vector<std::vector<Packed<T>>> kept(static_cast<std::size_t>(rows * parts));
    watched_tasks(job.threads, rows * parts, job.progress, "select", [&](std::int64_t task, int worker) {
        const std::int64_t first = task % parts * length, count = std::min(length, n - first);
        if (count < 1) return;
        const T* const in = job.row(task / parts) + first * job.step();
        job.select({in, job.step(), count, std::min(job.k, count), job.largest, false, job.isa},
                   kept[static_cast<std::size_t>(task)]);
        job.advance(static_cast<double>(count), worker);
    });
    if (job.progress.cancelled()) return;
    watched_tasks(job.threads, rows, job.progress, "select", [&](std::int64_t row) {
        std::vector<Candidate> all;
        for (std::int64_t part = 0; part < parts; ++part)
            for (const Packed<T> p : kept[static_cast<std::size_t>(row * parts + part)])
                all.push_back({key_of<T>(p), index_of<T>(p) + part * length});
        std::nth_element(all.begin(), all.begin() + (job.k - 1), all.end());
        all.resize(static_cast<std::size_t>(job.k));
        if (job.sorted) std::sort(all.begin(), all.end());
        for (std::int64_t j = 0; j < job.k; ++j) {
            const std::int64_t index = all[static_cast<std::size_t>(j)].index;
            job.ids[row * job.k + j] = index;
            if (job.values) job.values[row * job.k + j] = job.row(row)[index * job.step()];
        }
    });
}

// Parts of each row: for every thread to have work, each long against what it keeps.
std::int64_t parts_of(std::int64_t rows, std::int64_t n, std::int64_t k, int threads) {
    // Long rows in parts that a cancelled call does not wait for.
    const std::int64_t needed = std::max((n + most_part - 1) / most_part, n / std::max(responsive_part, 16 * k));
    if (rows >= threads) return needed;
    const std::int64_t worth = n / std::max(least_part, 4 * k);
    return std::max(needed, std::min<std::int64_t>((threads + rows - 1) / rows, worth));
}

template <class T>
void select_typed(const MatrixView& m, std::int64_t k, bool largest, bool sorted, const Plan& plan,
                  ProgressMeter& progress, std::int64_t* ids, void* values) {
    const Job<T> job{m,
                     static_cast<const T*>(m.data),
                     k,
                     largest,
                     sorted,
                     function_of<T>(plan.selector),
                     isa_named(plan.isa),
                     std::max(plan.threads, 1),
                     progress,
                     ids,
                     static_cast<T*>(values)};
    const std::int64_t parts = parts_of(m.rows, m.cols, k, job.threads);
    if (parts > 1) select_parts(job, parts);
    else select_whole_rows(job);
}

}  // namespace

void select(const MatrixView& m, std::int64_t k, bool largest, bool sorted, const Plan& plan, ProgressMeter& progress,
            std::int64_t* ids, void* values) {
    if (m.type == ElementType::f64) select_typed<double>(m, k, largest, sorted, plan, progress, ids, values);
    else select_typed<float>(m, k, largest, sorted, plan, progress, ids, values);
}

}  // namespace kith::cpu
