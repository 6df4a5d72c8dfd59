// Views, metrics, options, results: the plain types that every entry point takes and returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kith/export.h"

namespace kith {

// ---------------------------------------------------------------- matrices

// Storage-only 16-bit floats: the bit patterns of IEEE binary16 and of bfloat16.
struct float16 {
    std::uint16_t bits;
};
struct bfloat16 {
    std::uint16_t bits;
};

enum class ElementType : std::uint8_t {
    f32,
    f64,
    f16,
    bf16,
    i8,
    u8,
    i32,  // ids in files, Options::lengths; not searchable
    i64,  // likewise
};

// "f32", "f64", ...
KITH_EXPORT const char* name(ElementType type);
// Bytes of one element.
KITH_EXPORT std::size_t size_of(ElementType type);

enum class Layout : std::uint8_t { row_major, column_major };

// MatrixView::device of host memory; any other value is a CUDA ordinal.
inline constexpr int host_memory = -1;

// A matrix in the caller's memory: one row per point. Never owns. `data` must stay valid and unchanged during the call
// (for an Index: during its constructor only).
struct MatrixView {
    const void* data = nullptr;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t stride = 0;  // elements from one row to the next (row_major) or one column to the next (column_major)
    ElementType type = ElementType::f32;
    Layout layout = Layout::row_major;
    int device = host_memory;
};

namespace detail {
template <class T>
constexpr ElementType element_type_of() {
    if constexpr (std::is_same_v<T, float>) return ElementType::f32;
    else if constexpr (std::is_same_v<T, double>) return ElementType::f64;
    else if constexpr (std::is_same_v<T, float16>) return ElementType::f16;
    else if constexpr (std::is_same_v<T, bfloat16>) return ElementType::bf16;
    else if constexpr (std::is_same_v<T, std::int8_t>) return ElementType::i8;
    else if constexpr (std::is_same_v<T, std::uint8_t>) return ElementType::u8;
    else if constexpr (std::is_same_v<T, std::int32_t>) return ElementType::i32;
    else {
        static_assert(std::is_same_v<T, std::int64_t>, "kith: no element type for T");
        return ElementType::i64;
    }
}
}  // namespace detail

// A row-major view of rows x cols elements, `stride` elements from row to row (0: cols).
template <class T>
MatrixView view(const T* data, std::int64_t rows, std::int64_t cols, std::int64_t stride = 0,
                int device = host_memory) {
    return {data, rows, cols, stride ? stride : cols, detail::element_type_of<T>(), Layout::row_major, device};
}

// A column-major view of rows x cols elements, `stride` elements from column to column (0: rows).
template <class T>
MatrixView view_column_major(const T* data, std::int64_t rows, std::int64_t cols, std::int64_t stride = 0,
                             int device = host_memory) {
    return {data, rows, cols, stride ? stride : rows, detail::element_type_of<T>(), Layout::column_major, device};
}

// ---------------------------------------------------------------- metrics

enum class MetricId : std::uint8_t {
#define KITH_METRIC(name, type, aliases, what) name,
#include "kith/metrics.def"
#undef KITH_METRIC
    formula,  // a text evaluated per coordinate, see Metric::formula
    functor,  // the caller's own C++ functor, see kith/functor.h
};

struct FunctorMetric;  // kith/functor.h

// A distance and its parameter, evaluated in binary64 (docs/exactness.md). metrics.def defines each. Names and
// definitions are those of scipy.spatial.distance but for three that it lacks: `hellinger` is the Hellinger distance of
// the coordinates as they are (not scaled to sum 1, over sqrt 2), `kl_divergence` the sum of scipy.special.rel_entr(q,
// x), not scaled either, and `inner_product` a similarity: the largest product comes first.
struct Metric {
    MetricId id = MetricId::sqeuclidean;
    bool chosen = false;  // named, if only as sqeuclidean: an Index refuses another metric than its own, and one that
                          // is left alone is euclidean within a radius (kith/radius.h) and of match()
    // minkowski: the exponent, >= 1; +infinity is chebyshev.
    double p = 2.0;
    // mahalanobis: the inverse covariance, d x d, f64, row-major, host, symmetric and positive definite; copied by the
    // call. Without data it is estimated: the inverse of the points' sample covariance (divisor n - 1).
    MatrixView inverse_covariance{};
    // hamming, jaccard, dice: rows are bit strings packed in u8; d counts bytes, the shares count bits.
    bool packed_bits = false;
    // formula: the next running value from `a` (running value), `q` and `x` (coordinates of query and point), in
    // binary64, for coordinate 0, 1, ..., d - 1: the "cumulatively computable" distance of Kato and Hosino 2009.
    // + - * / ?: comparisons && || !, parentheses, decimal numbers (all of them doubles), and abs fabs sqrt exp log pow
    // min max fmin fmax, with C's precedence, evaluated as written. The last value is the distance.
    std::string formula;
    double start = 0.0;
    // functor: not owned, must outlive the call or the Index.
    const FunctorMetric* functor = nullptr;
    // seuclidean: the variance of each coordinate, d x 1 or 1 x d, f64, host, above zero; copied by the call. Without
    // data the points' own (divisor n - 1), of which none may be zero.
    MatrixView variances{};

    Metric() = default;
    Metric(MetricId id_) : id(id_), chosen(true) {}  // NOLINT: options.metric = MetricId::cosine
};

// The metric of a name or alias ("euclidean", "l2", ...). Throws invalid_argument with the list of names.
KITH_EXPORT Metric metric_named(std::string_view name);
// "sqeuclidean", ..., "formula", "functor".
KITH_EXPORT const char* name(MetricId id);

// ---------------------------------------------------------------- options

// Where a running search stands. Work is counted in (query, point) pairs, that of a bootstrap in its parts' estimates.
struct Progress {
    double done = 0;     // pairs so far
    double total = 0;    // pairs in all
    double seconds = 0;  // since the call began
    // "prepare", "search", "select", "bootstrap", "retrieve", "recommend", "predict", "judge", or "units" of a job
    const char* stage = "";
};

struct Options {
    // ---- what changes the answer
    Metric metric{};
    bool largest = false;  // select() only: the k largest instead of the k smallest
    bool sorted = true;    // select() only: false permits any order within a row
    MatrixView lengths{};  // select() only: rows x 1 of i64 or i32, in host memory or where the matrix lies: of row i
                           // the first lengths[i] values alone are there. 0 to cols (on a device cut to that, in host
                           // memory an error); where they are fewer than k, the rest of a result is missing. Without
                           // data all values of every row are there
    bool include_self = false;  // graph() only: row i begins with id i at its distance to itself, and k counts it
    bool f64 = false;           // distances as f64 (Neighbors::distances64) instead of f32

    // ---- what changes only the speed
    // "auto" (where the data lie, else a GPU if there is one, else the CPU), "cpu", "cuda", "cuda:N"; but for select()
    // also several GPUs of this host, "cuda:0,1" or "cuda:all".
    std::string device = "auto";
    std::int64_t memory = 0;  // bytes that tiles and candidates may take, and on a GPU the prepared points as well
                              // (points that do not fit stream through it); 0: most of what is free. Up to 64 MiB
                              // beside that wait for a GPU's next call
    int threads = 0;          // CPU threads, the caller's included; 0: OMP_NUM_THREADS where it is set, else the
                              // processors that affinity and cgroup leave the process. 1 starts none
    std::string path;         // force a path by name (kith info lists them); "": the planner's choice
    std::string selector;     // force a selector by name, of select() or a search (kith info --selectors lists them)
    std::string order;        // select(): what is known of the order within rows: "" (nothing), "ascending",
                              // "descending"
    std::string
        isa;  // force an instruction set: "amx", "avx512", "avx2", "baseline" on a CPU, "sm_90a", "sm_80" on a GPU;
              // "": the best there is
    void* stream = nullptr;  // cudaStream_t of the caller; the work is ordered on it and has finished on return
    bool enqueue = false;    // select_into() on a GPU: only enqueues the work on `stream` and returns, as within the
                             // capture of a CUDA graph. Values, lengths and results lie on that device, and stay until
                             // the work is over, whose errors the stream then reports; Report::device_seconds is 0,
                             // progress is not called
    // Called from the calling thread about ten times a second in calls of over a second, while the points are prepared
    // and searched; false cancels: within half a second the call throws Error{cancelled} and leaves a caller's result
    // arrays unspecified. The constructor of an Index calls it, too.
    std::function<bool(const Progress&)> progress;
};

// ---------------------------------------------------------------- results

// Queries that a filter did not answer at once, for one and the same reason.
struct Fallback {
    std::int64_t queries = 0;
    bool scanned = false;  // answered by a full scan; false: when retried
    std::string why;       // what in the data made it necessary
    std::string help;      // what would help
};

// An attempt at queries of a search as it ran: one strategy (docs/design.md), the queries that it took, and what of
// them it left to the next.
struct TraceEntry {
    std::string strategy;        // its name, e.g. "tree", "gemm-i8", "rows", "exact"; a full scan is "exact"
    std::int64_t queries = 0;    // that it took; 0: it was declined, and `cause` is the reason
    std::int64_t certified = 0;  // that it answered, with a certificate
    std::int64_t left = 0;       // the others
    std::string cause;           // why most of those were left, in a word or two; "": none was
    double seconds = 0;          // from the end of the attempt before
};

// How an answer was reached and what it cost. A filter in f32 or less proposes candidates for each query, binary64
// gives their distances, and a bound certifies that no other point can be among the k nearest; a query that it cannot
// certify is filtered again with its own k-th distance as the threshold, and at last scanned: every pair in binary64.
struct Report {
    std::string path;    // that certified most queries, on a GPU the one that filtered, e.g. "gemm-f32"
    std::string device;  // e.g. "cpu (avx512, 2 threads)"; "1 of 2 threads" where the system had no more
    int threads = 0;     // on a CPU: those that it could have
    std::int64_t queries = 0;
    std::int64_t certified = 0;  // queries that the filter answered at once
    std::int64_t retried = 0;    // queries that it answered when retried
    std::int64_t scanned = 0;    // queries answered by a full scan
    double candidates = 0;       // distances evaluated in binary64, over all queries
    double pairs = 0;            // queries x points
    double prepare_seconds = 0;  // converting, centring, rounding, norms of the points
    double seconds = 0;          // the whole call, preparation included
    double device_seconds = 0;   // select() on a GPU: its work, without copies; not of <= 2^24 values there
    // Of the queries that were retried, and of those that were scanned although there was a filter: why. Each counts
    // once; what concerns most queries comes first.
    std::vector<Fallback> fallbacks;
    // The attempts in the order in which they ran. Where several devices, shards or batches share a search, those of
    // one strategy are one entry, the sum. On a GPU a query counts once for a step, however many parts the points have.
    std::vector<TraceEntry> trace;
};

// q x k neighbours, row-major, each row ordered by (distance, id). A missing neighbour (k exceeds the eligible points)
// is id -1 at distance +inf (-inf for inner_product and for the largest of select()).
struct Neighbors {
    std::int64_t queries = 0;
    std::int64_t k = 0;
    std::vector<std::int64_t> ids;
    std::vector<float> distances;     // unless Options::f64
    std::vector<double> distances64;  // with Options::f64
    Report report;
};

// Caller's memory for a result: both arrays q x k, row-major, contiguous, on `device`. `distances` holds f32, or f64
// with Options::f64, of select() elements of the matrix' own type; may be null when only the ids are wanted.
struct NeighborsView {
    std::int64_t* ids = nullptr;
    void* distances = nullptr;
    int device = host_memory;
};

}  // namespace kith
