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
    formula,  // an expression evaluated per coordinate, see Metric::formula
    functor,  // the caller's own C++ functor, see kith/functor.h
};

struct FunctorMetric;  // kith/functor.h

// A distance and its parameter, evaluated in binary64 (docs/contract.md). metrics.def defines each. Names and
// definitions are those of scipy.spatial.distance, except for three that it lacks. `hellinger` is the Hellinger
// distance of the unnormalised coordinates (over sqrt 2). `kl_divergence` is the sum of scipy.special.rel_entr(q, x),
// also unnormalised. `inner_product` is a similarity: the largest product comes first.
struct Metric {
    MetricId id = MetricId::sqeuclidean;
    // Named explicitly, even if as sqeuclidean. An Index rejects a named metric other than its own. An unnamed one
    // defaults to euclidean for range search (kith/radius.h) and match().
    bool chosen = false;
    // minkowski: the exponent, >= 1; +infinity is chebyshev.
    double p = 2.0;
    // mahalanobis: the inverse covariance, d x d, f64, row-major, host, symmetric and positive definite; copied by the
    // call. Without data it is estimated: the inverse of the points' sample covariance (divisor n - 1).
    MatrixView inverse_covariance{};
    // hamming, jaccard, dice: rows are bit strings packed in u8; d counts bytes, the shares count bits.
    bool packed_bits = false;
    // formula: the next running value from `a` (running value), `q` and `x` (coordinates of query and point), in
    // binary64, for coordinates 0, 1, ..., d - 1: the "cumulatively computable" distance of Kato and Hosino 2009. It
    // supports + - * / ?: comparisons && || !, parentheses, decimal numbers (all doubles), and abs fabs sqrt exp log
    // pow min max fmin fmax, with C's precedence, evaluated as written. The last value is the distance.
    std::string formula;
    double start = 0.0;
    // functor: not owned, must outlive the call or the Index.
    const FunctorMetric* functor = nullptr;
    // seuclidean: the variance of each coordinate, d x 1 or 1 x d, f64, host, above zero; copied by the call. Without
    // data they are the points' own (divisor n - 1), none of which may be zero.
    MatrixView variances{};

    Metric() = default;
    Metric(MetricId id_) : id(id_), chosen(true) {}  // NOLINT: options.metric = MetricId::cosine
};

// The metric with that name or alias ("euclidean", "l2", ...). Throws invalid_argument with the list of names.
KITH_EXPORT Metric metric_named(std::string_view name);
// "sqeuclidean", ..., "formula", "functor".
KITH_EXPORT const char* name(MetricId id);

// ---------------------------------------------------------------- options

// Progress of a running search. Work is counted in (query, point) pairs; for a bootstrap in its parts' estimates.
struct Progress {
    double done = 0;     // pairs so far
    double total = 0;    // pairs in all
    double seconds = 0;  // since the call began
    // "prepare", "search", "select", "bootstrap", "retrieve", "recommend", "predict", "judge", or "units" of a job
    const char* stage = "";
};

struct Options {
    // ---- options that change the answer
    Metric metric{};
    bool largest = false;  // select() only: the k largest instead of the k smallest
    bool sorted = true;    // select() only: false permits any order within a row
    // select() only: rows x 1 of i64 or i32, in host memory or in that of the matrix: row i has only its first
    // lengths[i] values. Each is 0 to cols; values beyond are clamped on a device and an error in host memory. If a row
    // has fewer than k, the rest of its result is missing. Without data all rows have all values.
    MatrixView lengths{};
    bool include_self = false;  // graph() only: row i begins with id i at its distance to itself, and k counts it
    bool f64 = false;           // distances as f64 (Neighbors::distances64) instead of f32

    // ---- options that change only the speed

    // "auto" (the device of the data, else a GPU if there is one, else the CPU), "cpu", "cuda", "cuda:N". Except for
    // select() also several GPUs of this host, "cuda:0,1" or "cuda:all".
    std::string device = "auto";
    // Bytes for tiles and candidates, and on a GPU also for the prepared points (points that do not fit are streamed).
    // 0: most of the free memory. Up to 64 MiB in addition stay allocated for a GPU's next call.
    std::int64_t memory = 0;
    // CPU threads, the caller's included; 0: OMP_NUM_THREADS if set, else the processors that affinity and cgroup
    // permit. 1 starts none.
    int threads = 0;
    std::string path;      // force a path by name (kith info lists them); "": the planner's choice
    std::string selector;  // force a selector by name, of select() or a search (kith info --selectors lists them)
    std::string order;     // select(): known order within rows: "" (none), "ascending", "descending"
    // Force an instruction set: "amx", "avx512", "avx2", "baseline" on a CPU, "sm_90a", "sm_80" on a GPU; "": the best.
    std::string isa;
    void* stream = nullptr;  // cudaStream_t of the caller; the work is ordered on it and complete on return
    // select_into() on a GPU: only enqueues the work on `stream` and returns, for example during the capture of a CUDA
    // graph. Values, lengths and results must be on that device and stay valid until the work is complete; the stream
    // reports its errors. Report::device_seconds is 0, and progress is not called.
    bool enqueue = false;
    // Called from the calling thread about ten times a second in calls of over a second, while the points are prepared
    // and searched. Returning false cancels: within half a second the call throws Error{cancelled} and leaves a
    // caller's result arrays unspecified. The constructor of an Index calls it, too.
    std::function<bool(const Progress&)> progress;
};

// ---------------------------------------------------------------- results

// Queries that a filter did not answer at once, for one common reason.
struct Fallback {
    std::int64_t queries = 0;
    bool scanned = false;  // true: answered by a full scan; false: by a retry
    std::string why;       // the property of the data that caused it
    std::string help;      // a remedy
};

// One attempt at a search's queries: a strategy (docs/design.md), the queries that it took, and those that it left to
// the next.
struct TraceEntry {
    std::string strategy;        // its name, e.g. "tree", "gemm-i8", "rows", "exact"; a full scan is "exact"
    std::int64_t queries = 0;    // taken; 0: it was declined, and `cause` is the reason
    std::int64_t certified = 0;  // answered, with a certificate
    std::int64_t left = 0;       // not answered
    std::string cause;           // why most of those were left, in a word or two; "": none was
    double seconds = 0;          // since the end of the previous attempt
};

// How a result was computed and what it cost. A filter in f32 or less selects candidates for each query, binary64
// computes their distances, and a bound certifies that no other point can be among the k nearest. A query without a
// certificate is retried with its own k-th distance as the threshold, and finally scanned: every pair in binary64.
struct Report {
    std::string path;    // the path that certified most queries (on a GPU: the one that filtered), e.g. "gemm-f32"
    std::string device;  // e.g. "cpu (avx512, 2 threads)"; "1 of 2 threads" if the system had no more
    int threads = 0;     // on a CPU: the available threads
    std::int64_t queries = 0;
    std::int64_t certified = 0;  // queries that the filter answered at the first try
    std::int64_t retried = 0;    // queries that it answered by a retry
    std::int64_t scanned = 0;    // queries answered by a full scan
    double candidates = 0;       // distances evaluated in binary64, over all queries
    double pairs = 0;            // queries x points
    double prepare_seconds = 0;  // converting, centring, rounding, norms of the points
    double seconds = 0;          // the whole call, preparation included
    double device_seconds = 0;   // select() on a GPU: its work, without copies; not for <= 2^24 values there
    // The reasons for retried queries, and for scanned ones if there was a filter. Each query counts once; the reasons
    // of most queries come first.
    std::vector<Fallback> fallbacks;
    // The attempts in the order in which they ran. If several devices, shards or batches share a search, attempts of
    // one strategy are summed into one entry. On a GPU a query counts once per step, however many parts the points
    // have.
    std::vector<TraceEntry> trace;
    std::string selector;  // the one that ran, e.g. "bits"; "" if a strategy has its own
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
// with Options::f64; for select() elements of the matrix' own type. It may be null if only the ids are needed.
struct NeighborsView {
    std::int64_t* ids = nullptr;
    void* distances = nullptr;
    int device = host_memory;
};

}  // namespace kith
