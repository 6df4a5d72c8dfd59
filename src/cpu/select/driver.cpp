// kith::select on the CPU: rows shared out to threads, each by the chosen selector. Where rows are
// fewer than threads they are cut into parts, whose results are merged.
#include "cpu/select/driver.h"

#include <algorithm>
#include <type_traits>

#include "cpu/select/selector.h"
#include "exact/element.h"
#include "exact/missing.h"
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
// Columns that lie together are read together: as many rows as share a cache line, while their copy
// stays this small.
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
    throw Error(ErrorCode::invalid_argument,
                "selector: '" + std::string(name) + "' is not in the list");
}

template <class T>
struct Scratch {
    std::vector<Packed<T>> kept;
    std::vector<T> rows;  // of a matrix in columns or of another type, side by side
};

// A selection among elements of E, that are compared as T, and where it goes.
template <class T, class E>
struct Job {
    const Selection& selection;
    const MatrixView& matrix;
    const E* data;
    Function<T> select;
    Isa isa;
    int threads;
    ProgressMeter& progress;
    std::int64_t* ids;
    E* values;  // may be null

    static constexpr bool converted = !std::is_same_v<T, E>;
    std::int64_t step() const { return matrix.layout == Layout::row_major ? 1 : matrix.stride; }
    const E* row(std::int64_t i) const { return data + exact::offset(matrix, i, 0); }
    std::int64_t length(std::int64_t i) const {
        return selection.lengths ? selection.lengths[i] : matrix.cols;
    }
    std::int64_t kept(std::int64_t i) const { return std::min(selection.k, length(i)); }
    void advance(double pairs, int worker) const {
        progress.add(pairs);
        if (worker == 0) progress.poll("select");
    }

    // The result of a row from the columns column(0), column(1), ..., whose elements are
    // value(column).
    template <class Column, class Value>
    void put(std::int64_t i, Column column, Value value) const {
        const std::int64_t first = i * selection.k, count = kept(i);
        for (std::int64_t j = 0; j < selection.k; ++j) {
            const std::int64_t index = j < count ? column(j) : -1;
            ids[first + j] = index;
            if (values)
                values[first + j] =
                    j < count ? value(index) : exact::missing_value<E>(selection.largest);
        }
    }
};

float compared(float16 v) {
    return exact::half_to_float(v.bits);
}
float compared(bfloat16 v) {
    return exact::bfloat_to_float(v.bits);
}
template <class T>
T compared(T v) {
    return v;
}

template <class T, class E>
void select_row(const Job<T, E>& job, std::int64_t row, const T* in, std::int64_t step,
                std::vector<Packed<T>>& kept) {
    const Selection& s = job.selection;
    if (job.kept(row) > 0)
        job.select({in, step, job.length(row), job.kept(row), s.largest, s.sorted, job.isa}, kept);
    job.put(
        row,
        [&](std::int64_t j) {
            return static_cast<std::int64_t>(index_of<T>(kept[static_cast<std::size_t>(j)]));
        },
        [&](std::int64_t index) {
            if constexpr (Job<T, E>::converted) return job.row(row)[index * job.step()];
            else return in[index * step];
        });
}

// Rows [first, first + count), columns [column, column + n) as dense rows of T.
template <class T, class E>
void copy_rows(const Job<T, E>& job, std::int64_t first, std::int64_t count, std::int64_t column,
               std::int64_t n, std::vector<T>& rows) {
    rows.resize(static_cast<std::size_t>(count * n));
    for (std::int64_t j = 0; j < n; ++j) {
        const E* const in = job.row(first) + (column + j) * job.step();
        const std::int64_t next = job.matrix.layout == Layout::row_major ? job.matrix.stride : 1;
        for (std::int64_t i = 0; i < count; ++i)
            rows[static_cast<std::size_t>(i * n + j)] = compared(in[i * next]);
    }
}

template <class T, class E>
void select_whole_rows(const Job<T, E>& job) {
    const std::int64_t n = job.matrix.cols, row_bytes = n * static_cast<std::int64_t>(sizeof(T));
    constexpr std::int64_t line = line_bytes / static_cast<std::int64_t>(sizeof(E));
    const bool in_columns = job.step() != 1;
    const std::int64_t together =
        in_columns ? std::clamp<std::int64_t>(copied_bytes / row_bytes, 1, line) : 1;
    const bool copied = together > 1 || Job<T, E>::converted;
    const std::int64_t share = (job.matrix.rows + job.threads - 1) / job.threads;
    std::int64_t per_task = std::max(together, std::min(task_values / n, share));
    per_task = (per_task + together - 1) / together * together;
    std::vector<Scratch<T>> scratch(static_cast<std::size_t>(job.threads));
    watched_tasks(
        job.threads, (job.matrix.rows + per_task - 1) / per_task, job.progress, "select",
        [&](std::int64_t task, int worker) {
            Scratch<T>& own = scratch[static_cast<std::size_t>(worker)];
            const std::int64_t end = std::min((task + 1) * per_task, job.matrix.rows);
            for (std::int64_t first = task * per_task; first < end; first += together) {
                const std::int64_t count = std::min(together, end - first);
                std::int64_t longest = 0;
                for (std::int64_t i = 0; i < count; ++i)
                    longest = std::max(longest, job.length(first + i));
                if (copied) copy_rows(job, first, count, 0, longest, own.rows);
                for (std::int64_t i = 0; i < count; ++i) {
                    if (copied)
                        select_row(job, first + i, own.rows.data() + i * longest, 1, own.kept);
                    else if constexpr (!Job<T, E>::converted)
                        select_row(job, first + i, job.row(first + i), job.step(), own.kept);
                }
            }
            job.advance(static_cast<double>(end - task * per_task) * static_cast<double>(n),
                        worker);
        });
}

template <class T, class E>
void select_parts(const Job<T, E>& job, std::int64_t parts) {
    struct Candidate {
        Key<T> key;
        std::int64_t index;
        bool operator<(const Candidate& o) const {
            return key != o.key ? key < o.key : index < o.index;
        }
    };
    const Selection& s = job.selection;
    const std::int64_t rows = job.matrix.rows, length = (job.matrix.cols + parts - 1) / parts;
    std::vector<std::vector<Packed<T>>> kept(static_cast<std::size_t>(rows * parts));
    std::vector<Scratch<T>> scratch(static_cast<std::size_t>(job.threads));
    watched_tasks(
        job.threads, rows * parts, job.progress, "select", [&](std::int64_t task, int worker) {
            const std::int64_t row = task / parts, first = task % parts * length;
            const std::int64_t count = std::min(length, job.length(row) - first);
            if (count < 1) return;
            std::vector<Packed<T>>& best = kept[static_cast<std::size_t>(task)];
            const auto select = [&](const T* in, std::int64_t step) {
                job.select({in, step, count, std::min(s.k, count), s.largest, false, job.isa},
                           best);
            };
            if constexpr (Job<T, E>::converted) {
                std::vector<T>& part = scratch[static_cast<std::size_t>(worker)].rows;
                copy_rows(job, row, 1, first, count, part);
                select(part.data(), 1);
            } else {
                select(job.row(row) + first * job.step(), job.step());
            }
            job.advance(static_cast<double>(count), worker);
        });
    if (job.progress.cancelled()) return;
    watched_tasks(job.threads, rows, job.progress, "select", [&](std::int64_t row) {
        std::vector<Candidate> all;
        for (std::int64_t part = 0; part < parts; ++part)
            for (const Packed<T> p : kept[static_cast<std::size_t>(row * parts + part)])
                all.push_back({key_of<T>(p), index_of<T>(p) + part * length});
        const std::int64_t k = job.kept(row);
        if (k > 0 && k < static_cast<std::int64_t>(all.size()))
            std::nth_element(all.begin(), all.begin() + (k - 1), all.end());
        all.resize(static_cast<std::size_t>(k));
        if (s.sorted) std::sort(all.begin(), all.end());
        job.put(
            row, [&](std::int64_t j) { return all[static_cast<std::size_t>(j)].index; },
            [&](std::int64_t index) { return job.row(row)[index * job.step()]; });
    });
}

// Parts of each row: for every thread to have work, each long against what it keeps.
std::int64_t parts_of(std::int64_t rows, std::int64_t n, std::int64_t k, int threads) {
    // Long rows in parts that a cancelled call does not wait for.
    const std::int64_t needed =
        std::max((n + most_part - 1) / most_part, n / std::max(responsive_part, 16 * k));
    if (rows >= threads) return needed;
    const std::int64_t worth = n / std::max(least_part, 4 * k);
    return std::max(needed, std::min<std::int64_t>((threads + rows - 1) / rows, worth));
}

template <class T, class E>
void select_typed(const MatrixView& m, const Selection& selection, const Plan& plan,
                  ProgressMeter& progress, std::int64_t* ids, void* values) {
    const Job<T, E> job{selection,
                        m,
                        static_cast<const E*>(m.data),
                        function_of<T>(plan.selector),
                        isa_named(plan.isa),
                        std::max(plan.threads, 1),
                        progress,
                        ids,
                        static_cast<E*>(values)};
    const std::int64_t parts = parts_of(m.rows, m.cols, selection.k, job.threads);
    if (parts > 1) select_parts(job, parts);
    else select_whole_rows(job);
}

}  // namespace

void select(const MatrixView& m, const Selection& selection, const Plan& plan,
            ProgressMeter& progress, std::int64_t* ids, void* values) {
    switch (m.type) {
        case ElementType::f64:
            return select_typed<double, double>(m, selection, plan, progress, ids, values);
        case ElementType::f16:
            return select_typed<float, float16>(m, selection, plan, progress, ids, values);
        case ElementType::bf16:
            return select_typed<float, bfloat16>(m, selection, plan, progress, ids, values);
        default:
            return select_typed<float, float>(m, selection, plan, progress, ids, values);
    }
}

}  // namespace kith::cpu
