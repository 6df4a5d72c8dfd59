/* The flat C interface: kith.h for C and for any language that calls C. C99.
 *
 *     float *points = ..., *queries = ...;                                       // row-major, n x d and q x d
 *     int64_t *ids = malloc(q * k * sizeof *ids);
 *     float *distances = malloc(q * k * sizeof *distances);
 *     kith_matrix x = kith_view(points, n, d, KITH_F32), y = kith_view(queries, q, d, KITH_F32);
 *     kith_neighbors out = {ids, distances, KITH_HOST};
 *     if (kith_search(&x, &y, k, NULL, &out, NULL)) fprintf(stderr, "%s\n", kith_last_error());
 *
 * A function that can fail returns KITH_OK or one of the other codes of kith_code, and then says in kith_last_error()
 * which argument was wrong, its value and what was expected. No exception leaves it; outputs of a failed call are
 * unspecified. Every function is safe to call from several threads at once, and in a child of fork() on the CPU. All
 * memory is the caller's, except what kith_index_free() frees. Definitions, orders and the exactness promise are those
 * of kith.h. */
#ifndef KITH_C_H
#define KITH_C_H

#include <stddef.h>
#include <stdint.h>

#include "kith/export.h"

/* C has one space of names: NOLINTBEGIN(readability-identifier-naming, modernize-*) */

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- errors */

enum kith_code {
    KITH_OK = 0,
    KITH_INVALID_ARGUMENT = 1, /* an argument is wrong; the message names it, its value and what was expected */
    KITH_BAD_FILE = 2,         /* not raised by the functions below; listed to keep the numbers of kith::ErrorCode */
    KITH_DEVICE = 3,           /* a device is missing or failed */
    KITH_OUT_OF_MEMORY = 4,    /* memory, or the budget, is too small even for the smallest tile */
    KITH_CANCELLED = 5,        /* the progress callback returned 0; nothing was returned */
    KITH_INTERNAL = 99         /* none of the above: a defect of the library */
};

/* The message of this thread's last failed call; "" when none has failed. Valid until the thread's next failure. */
KITH_EXPORT const char* kith_last_error(void);

/* KITH_VERSION of version.h. Static. */
KITH_EXPORT const char* kith_version(void);

/* ---------------------------------------------------------------- matrices */

enum kith_type {
    KITH_F32 = 0,
    KITH_F64,
    KITH_F16,
    KITH_BF16,
    KITH_I8,
    KITH_U8,
    KITH_I32, /* i32 and i64: for kith_options.lengths only; not searchable */
    KITH_I64
};
enum kith_layout { KITH_ROW_MAJOR = 0, KITH_COLUMN_MAJOR = 1 };
enum { KITH_HOST = -1 }; /* the device of host memory; 0, 1, ... are CUDA ordinals, so set it always */

/* A matrix in the caller's memory, one row per point. `data` must stay valid and unchanged only during the call that
 * takes it; NULL if there are no rows. For an optional matrix that is left out, the pointer to the struct is NULL. */
typedef struct kith_matrix {
    const void* data;
    int64_t rows;
    int64_t cols;
    int64_t stride; /* elements from row to row (column to column when column-major); 0: dense */
    int32_t type;   /* enum kith_type */
    int32_t layout; /* enum kith_layout */
    int32_t device; /* KITH_HOST or a CUDA ordinal */
} kith_matrix;

/* A dense row-major matrix in host memory. Cannot fail; the call that takes it validates it. */
KITH_EXPORT kith_matrix kith_view(const void* data, int64_t rows, int64_t cols, int32_t type);

/* "f32", ...; "unknown" for another number. Static. */
KITH_EXPORT const char* kith_type_name(int32_t type);
/* Bytes of one element; 0 for another number. */
KITH_EXPORT size_t kith_type_size(int32_t type);

/* ---------------------------------------------------------------- metrics */

/* KITH_METRIC_sqeuclidean = 0, KITH_METRIC_euclidean, ...: the order of metrics.def, to which lines are only added. */
enum kith_metric {
    KITH_METRIC_default = -1, /* sqeuclidean; euclidean for range search and kith_match(); an index' own metric */
#define KITH_METRIC(name, type, aliases, what) KITH_METRIC_##name,
#include "kith/metrics.def"
#undef KITH_METRIC
    KITH_METRIC_formula = 1000, /* kith_options.formula */
    KITH_METRIC_functor = 1001  /* kith_options.functor */
};

/* Sets *metric to the number of a metric's name or alias ("euclidean", "l2", ...). The message of
 * KITH_INVALID_ARGUMENT lists the names. */
KITH_EXPORT int kith_metric_named(const char* name, int32_t* metric);
/* "sqeuclidean", ...; NULL for another number. Static. */
KITH_EXPORT const char* kith_metric_name(int32_t metric);

/* A user-defined metric, see functor.h: the next running value from the running value and the two coordinates, for
 * coordinates 0, 1, ..., d - 1. The last value is the distance; smaller is nearer. The callbacks may run on several
 * threads at once and must not throw. */
typedef struct kith_functor {
    const char* name; /* for messages; NULL: "functor" */
    /* Distances of one query (d values) to `count` points, `stride` values apart, into out[count]. */
    void (*host)(const void* state, const double* q, const double* points, int64_t stride, int64_t count, int64_t d,
                 double start, double* out);
    /* Enqueues the distances of q_count queries to x_count points on a cudaStream_t. All arrays are on the device,
     * dense row-major; out has `ld` values from query to query. Returns a cudaError_t. NULL: the CPU only. */
    int (*device)(const void* state, const double* queries, int64_t q_count, const double* points, int64_t x_count,
                  int64_t d, double start, double* out, int64_t ld, void* stream);
    const void* state; /* given to the callbacks; must outlive the call or the index */
    double start;      /* the running value before the first coordinate */
} kith_functor;

/* ---------------------------------------------------------------- options */

/* Progress of a running search. Work is counted in (query, point) pairs. */
typedef struct kith_progress {
    double done;    /* pairs so far */
    double total;   /* pairs in all */
    double seconds; /* since the call began */
    const char* stage;
} kith_progress;

/* Returns nonzero to continue; 0 cancels: the call returns KITH_CANCELLED and writes no output. Called on the calling
 * thread, about ten times a second in calls of over a second. */
typedef int (*kith_progress_callback)(const kith_progress* progress, void* user);

/* Initialise it with kith_options_init(), then change fields. A NULL pointer stands for all defaults. Later versions
 * add fields at the end and use struct_size to detect them. Strings and arrays are read during the call only. */
typedef struct kith_options {
    size_t struct_size; /* sizeof(kith_options) of the caller */

    /* ---- options that change the answer */
    int32_t metric;                        /* enum kith_metric; default KITH_METRIC_default */
    int32_t packed_bits;                   /* hamming, jaccard, dice: rows are bits packed in u8; default 0 */
    double p;                              /* minkowski: the exponent, >= 1 or infinity; default 2 */
    const kith_matrix* inverse_covariance; /* mahalanobis: d x d, f64, host, positive definite; NULL: estimated */
    const char* formula;                   /* formula: next running value from a, q, x, such as "a + fabs(q - x)" */
    double start;                          /* formula: the running value before the first coordinate; default 0 */
    const kith_functor* functor;           /* functor: the caller's own metric; copied by the call */
    int32_t largest;                       /* select only: the k largest instead of the k smallest; default 0 */
    int32_t sorted;                        /* select only: 0 permits any order within a row; default 1 */
    int32_t f64;                           /* distances as double instead of float; default 0 */

    /* ---- options that change only the speed */
    int32_t threads; /* CPU threads; 0 (default): OMP_NUM_THREADS, else affinity's and cgroup's; 1 starts none */
    int64_t memory;  /* bytes for tiles, candidates and, on a GPU, prepared points; 0 (default): most of what is free */
    const char* device;   /* "auto" (default), "cpu", "cuda", "cuda:N", "cuda:0,1", "cuda:all" */
    const char* path;     /* force a path by name; NULL (default): the planner's choice */
    const char* selector; /* force a selector by name, of a selection or a search; NULL (default): the planner's */
    const char* isa;      /* force "amx", "avx512", "avx2", "baseline" (CPU), "sm_90a", "sm_80" (GPU); NULL: the best */
    void* stream;         /* cudaStream_t of the caller: the work is ordered on it and has finished on return */
    kith_progress_callback progress; /* NULL (default): none */
    void* progress_user;             /* given to the callback */
    const char* order; /* select only: known order within all rows, "ascending" or "descending"; NULL (default): none */
    const kith_matrix* variances; /* seuclidean: d x 1 or 1 x d, f64, host, above zero; NULL (default): estimated */
    int32_t include_self; /* graph only: row i begins with id i at its distance to itself, and k counts it; default 0 */
    const kith_matrix* lengths; /* select only: rows x 1 of i64 or i32, in host memory or in that of the matrix: row i
                                   has only its first lengths[i] values, and the rest of a shorter result is missing;
                                   NULL (default): rows have all values */
    int32_t enqueue; /* select on a GPU: only enqueues the work on `stream` and returns, for example during the capture
                        of a CUDA graph; values, lengths and results stay valid on that device until it is complete;
                        default 0 */

    /* Estimators only: estimation of kith_estimate.error; see struct Bootstrap of estimators.h. */
    int64_t bootstrap_repeats; /* number of random splits of the samples; 0 (default): no error */
    int64_t bootstrap_parts;   /* number of parts of a split, each estimated; at least 2, the default */
    int64_t bootstrap_stretch; /* rows that stay together; 0 (default): 1, more for kith_transfer_entropy() */
    uint64_t bootstrap_seed;   /* default 0 */
} kith_options;

/* Sets *options to the defaults; struct_size is sizeof(kith_options). */
KITH_EXPORT void kith_options_init(kith_options* options, size_t struct_size);

/* ---------------------------------------------------------------- results */

/* Memory for a result: both arrays q x k, row-major, contiguous, on `device`. A missing neighbour (k exceeds the
 * eligible points) is id -1 at distance +inf (-inf for inner_product). */
typedef struct kith_neighbors {
    int64_t* ids;
    void* distances; /* float, or double with kith_options.f64; NULL: ids only */
    int32_t device;  /* KITH_HOST or a CUDA ordinal */
} kith_neighbors;

/* One attempt of a search: a strategy, the queries that it took, and those that it left to the next. */
typedef struct kith_attempt {
    char strategy[32]; /* "tree", "gemm-i8", ..., "exact" */
    char cause[96];    /* why most of those were left or, with 0 queries, why it was declined; truncated */
    int64_t queries, certified, left;
    double seconds; /* since the end of the previous attempt */
} kith_attempt;
#define KITH_MOST_ATTEMPTS 16

/* How a result was computed and what it cost. Set struct_size before the call: later versions add fields at the end. */
typedef struct kith_report {
    size_t struct_size;     /* sizeof(kith_report) of the caller */
    char path[64];          /* the path that certified most queries */
    char device[128];       /* such as "cpu (avx512, 2 threads)", "cpu (avx512, 1 of 2 threads)" */
    int64_t queries;        /* q */
    int64_t certified;      /* queries that the filter answered at the first try */
    int64_t retried;        /* queries that it answered by a retry */
    int64_t scanned;        /* queries answered by a full scan in binary64 */
    double candidates;      /* distances evaluated in binary64, over all queries */
    double pairs;           /* queries x points */
    double prepare_seconds; /* converting, centring, rounding, norms of the points */
    double seconds;         /* the whole call, preparation included */
    double device_seconds;  /* select on a GPU: its work, without copies; not for <= 2^24 values there */
    int32_t threads;        /* on a CPU: the available threads */
    int32_t attempts;       /* in the order in which they ran */
    kith_attempt trace[KITH_MOST_ATTEMPTS]; /* the first of them */
    char selector[64];                      /* the one that ran; "" if a strategy has its own */
} kith_report;

/* ---------------------------------------------------------------- searches */

/* The k nearest points of each query. points n x d, queries q x d, each of any element type, layout and memory; k >= 1.
 * n and q may be 0: without points every neighbour is missing, without queries nothing is written. out: q x k. report:
 * may be NULL. O(n q d) steps of the metric; n x q is never stored. */
KITH_EXPORT int kith_search(const kith_matrix* points, const kith_matrix* queries, int64_t k,
                            const kith_options* options, const kith_neighbors* out, kith_report* report);

/* Each point's k nearest among the other points: row i never holds id i; duplicates of point i are kept. out: n x k.
 * With include_self row i begins with id i, and its k - 1 nearest others follow. */
KITH_EXPORT int kith_graph(const kith_matrix* points, int64_t k, const kith_options* options, const kith_neighbors* out,
                           kith_report* report);

/* The k smallest (largest) values of each row of a matrix of f32, f64, f16 or bf16 with their column indices, by
 * (value, smaller index), NaN last. 0 <= k <= cols; rows and cols may be 0. out: rows x k; out->distances has the
 * matrix' own type. */
KITH_EXPORT int kith_select(const kith_matrix* distances, int64_t k, const kith_options* options,
                            const kith_neighbors* out, kith_report* report);

/* The distance of each query to each point, bit-identical to the one that kith_search() reports for the pair; NaN if
 * either has a NaN coordinate. out: q rows of n values of f32, or of f64 with kith_options.f64, `stride` values apart
 * (0: n; at least n), in host memory or on the CUDA device with ordinal `device`. A path other than "exact"
 * and the distance kernels, whose values are estimates in f32 ("garcia"; docs/papers.md), is rejected. */
KITH_EXPORT int kith_distances(const kith_matrix* points, const kith_matrix* queries, const kith_options* options,
                               void* out, int64_t stride, int32_t device, kith_report* report);

/* Rows [first, first + count) of the points within a radius: row i of them is ids[offsets[i]] to ids[offsets[i + 1] -
 * 1], ordered by (distance, id). The library's memory, valid within the call that gets them. */
typedef struct kith_radius_rows {
    int64_t first, count;
    const int64_t* offsets; /* count + 1, the first is 0 */
    const int64_t* ids;
    const void* distances; /* float, or double with kith_options.f64 */
} kith_radius_rows;
/* Returns nonzero to continue; 0 cancels: the call returns KITH_CANCELLED. */
typedef int (*kith_take_radius_rows)(const kith_radius_rows* rows, void* context);

/* Range search: all points within a radius of each query, passed to `take` from the calling thread, all rows in order.
 * points n x d, queries q x d; NULL: the points among themselves, each excluding itself unless include_self.
 * KITH_METRIC_default is euclidean: r is a distance, not its square. r: for all queries, unless radii is not NULL: then
 * one per query, q x 1 or 1 x q of f64 in host memory. Points at a distance of at most r (open: less than r), as the
 * metric reports it in binary64, are within; for inner_product those with a product of at least r. */
KITH_EXPORT int kith_radius(const kith_matrix* points, const kith_matrix* queries, double r, const kith_matrix* radii,
                            int32_t open, const kith_options* options, kith_take_radius_rows take, void* context,
                            kith_report* report);
/* Only the number of points per query, into counts[q]. */
KITH_EXPORT int kith_radius_counts(const kith_matrix* points, const kith_matrix* queries, double r,
                                   const kith_matrix* radii, int32_t open, const kith_options* options, int64_t* counts,
                                   kith_report* report);

/* ---------------------------------------------------------------- verification */

enum kith_verdict {
    KITH_EXACT = 0,
    KITH_EXACT_UP_TO_TIES = 1, /* some rows list an equally near neighbour in the place of another */
    KITH_NOT_EXACT = 2
};
/* How distances were compared, bit by bit. f64 that are all values of f32 are compared as f32. */
enum kith_compared { KITH_NOT_COMPARED = 0, KITH_COMPARED_F32 = 1, KITH_COMPARED_F64 = 2 };

/* The result of kith_verify(); see struct Verification of verify.h. Set struct_size before the call. */
typedef struct kith_verification {
    size_t struct_size;         /* sizeof(kith_verification) of the caller */
    int32_t verdict;            /* enum kith_verdict */
    int32_t include_self;       /* of a graph: its rows were assumed to begin with their own point */
    int64_t exact, tied, wrong; /* rows: right, right up to ties, with any fault */
    int64_t first_wrong;        /* the first of these; -1: none */
    double recall;              /* the share of the neighbours that were found, own points excluded */
    int32_t compared;           /* enum kith_compared */
    int64_t distances;          /* compared */
    int64_t different;          /* of them */
    int64_t largest_ulp;        /* between a given distance and the true one */
    char why[256];              /* the fault of the first wrong row */
} kith_verification;

/* Verifies given neighbours by searching again. points n x d, queries q x d; NULL: a graph of the points, with rows
 * that begin with their own points if most do. ids, distances: q x k, contiguous, in host memory; distances, of float
 * or, with kith_options.f64, of double, may be NULL. options: the metric, and how to search. */
KITH_EXPORT int kith_verify(const kith_matrix* points, const kith_matrix* queries, const int64_t* ids,
                            const void* distances, int64_t k, const kith_options* options,
                            kith_verification* verification);

/* ---------------------------------------------------------------- many searches, matches, parameters */

/* One search of many: a range of rows of the points, and a range of rows of the queries. Both may be empty. */
typedef struct kith_batch {
    int64_t first_point, points;
    int64_t first_query, queries;
} kith_batch;

/* The k nearest points of each query within its batch; ids count from the batch's first point. A query that is in no
 * batch has no neighbours. batches: `count` of them, at least 0; queries ascend from batch to batch without overlap;
 * points may be shared. out: q x k. */
KITH_EXPORT int kith_search_batches(const kith_matrix* points, const kith_matrix* queries, const kith_batch* batches,
                                    int64_t count, int64_t k, const kith_options* options, const kith_neighbors* out,
                                    kith_report* report);

/* Matches rows of a (n x d) with rows of b (m x d). For each row of a that has a match, ascending: writes that row to
 * first, the nearest row of b (the first of equally near ones) to second, and their distance to distances (may be
 * NULL). Each array has room for n; *count becomes the number of matches. ratio in (0, 1]: the distance must be below
 * ratio times that of the second nearest, in binary64 (Lowe 2004); 0: no such test. mutual: the row of a must also be
 * the nearest of its match. KITH_METRIC_default is euclidean; inner_product supports no ratio. report: of the search of
 * a in b. */
KITH_EXPORT int kith_match(const kith_matrix* a, const kith_matrix* b, double ratio, int32_t mutual,
                           const kith_options* options, int64_t* first, int64_t* second, double* distances,
                           int64_t* count, kith_report* report);

/* Writes the default matrix of mahalanobis, d x d, to out: the inverse of the sample covariance (divisor n - 1) of the
 * rows without NaN and infinity. */
KITH_EXPORT int kith_inverse_covariance(const kith_matrix* points, double* out);
/* Writes the default d variances of seuclidean to out. */
KITH_EXPORT int kith_variances(const kith_matrix* points, double* out);

/* Points prepared once, searched often, from several threads at once. */
typedef struct kith_index kith_index;

/* Prepares points (n x d, n >= 0, d >= 1) for the metric, device, memory and isa of `options` into *index, which owns
 * all its data: the caller's points may be freed. Free it with kith_index_free(). On failure *index is NULL. */
KITH_EXPORT int kith_index_create(const kith_matrix* points, const kith_options* options, kith_index** index);
/* NULL is permitted. No search may be running. */
KITH_EXPORT void kith_index_free(kith_index* index);

KITH_EXPORT int64_t kith_index_size(const kith_index* index);       /* n */
KITH_EXPORT int64_t kith_index_dimensions(const kith_index* index); /* d */

/* kith_search() and kith_graph() without preparing the points again. Metric and device default to the index' own; any
 * other choice returns KITH_INVALID_ARGUMENT. */
KITH_EXPORT int kith_index_search(const kith_index* index, const kith_matrix* queries, int64_t k,
                                  const kith_options* options, const kith_neighbors* out, kith_report* report);
KITH_EXPORT int kith_index_graph(const kith_index* index, int64_t k, const kith_options* options,
                                 const kith_neighbors* out, kith_report* report);

/* ---------------------------------------------------------------- information */

/* The result of an estimator; see estimators.h. */
typedef struct kith_estimate {
    double value;     /* nats; not clipped at 0 */
    double error;     /* standard deviation of value, by kith_options.bootstrap_repeats; NaN if that is 0 */
    int64_t samples;  /* number used */
    int64_t left_out; /* duplicates (entropy, divergence) */
} kith_estimate;

enum kith_divergence_form {
    KITH_DIVERGENCE_NEAREST = 0,          /* Garcia et al. 2008, eq. 2 */
    KITH_DIVERGENCE_COMMON_BALL,          /* Wang, Kulkarni and Verdu 2009: less bias where the densities differ */
    KITH_DIVERGENCE_COMMON_BALL_DISTANCES /* the same paper's second */
};
enum kith_kraskov_form { KITH_KRASKOV_FIRST = 0, KITH_KRASKOV_SECOND }; /* Kraskov et al. 2004, eq. 8 and eq. 9 */

/* Samples are rows of finite values; options are those of a search, with the metrics that estimators.h permits;
 * 1 <= k < n. */

/* The differential entropy of x (Kozachenko and Leonenko 1987). */
KITH_EXPORT int kith_entropy(const kith_matrix* x, int64_t k, const kith_options* options, kith_estimate* estimate);
/* The Kullback-Leibler divergence of the distributions of x (n x d) and y (m x d); k <= m. form: enum
 * kith_divergence_form. */
KITH_EXPORT int kith_kl_divergence(const kith_matrix* x, const kith_matrix* y, int64_t k, int32_t form,
                                   const kith_options* options, kith_estimate* estimate);
/* The mutual information of x and y; rows with equal numbers are paired. form: enum kith_kraskov_form. */
KITH_EXPORT int kith_mutual_information(const kith_matrix* x, const kith_matrix* y, int64_t k, int32_t form,
                                        const kith_options* options, kith_estimate* estimate);
/* Likewise given z (Frenzel and Pompe 2007). */
KITH_EXPORT int kith_conditional_mutual_information(const kith_matrix* x, const kith_matrix* y, const kith_matrix* z,
                                                    int64_t k, const kith_options* options, kith_estimate* estimate);
/* The information of the past of source about the next value of target beyond the target's own past (Schreiber 2000).
 * Rows are in the order of time; source_lags, target_lags >= 1. */
KITH_EXPORT int kith_transfer_entropy(const kith_matrix* source, const kith_matrix* target, int64_t k,
                                      int64_t source_lags, int64_t target_lags, const kith_options* options,
                                      kith_estimate* estimate);

/* ---------------------------------------------------------------- plans */

/* The shape of a search, without data. */
typedef struct kith_shape {
    int64_t n;     /* points */
    int64_t q;     /* queries */
    int64_t d;     /* dimensions */
    int64_t k;     /* neighbours */
    int32_t type;  /* enum kith_type */
    int32_t graph; /* nonzero: the queries are the points, self excluded */
} kith_shape;

/* Describes what a search of that shape would do on this machine and why, one fact per line, in text[capacity]. The
 * text always ends with a NUL and is truncated if it does not fit; *length (unless NULL) becomes its full length
 * without the NUL. capacity 0 with text NULL only measures. */
KITH_EXPORT int kith_plan(const kith_shape* shape, const kith_options* options, char* text, size_t capacity,
                          size_t* length);

/* Likewise for kith_select() on a matrix of f32, f64, f16 or bf16 in host memory. */
KITH_EXPORT int kith_plan_select(int64_t rows, int64_t cols, int64_t k, int32_t type, const kith_options* options,
                                 char* text, size_t capacity, size_t* length);

/* Properties of this build and this machine, as human-readable text; text, capacity and length as in kith_plan(). */
KITH_EXPORT int kith_build_info(char* text, size_t capacity, size_t* length);

/* The paths that can be asked for by name, a line each: name, devices ("cpu", "gpu", "cpu,gpu"), and what it is, with
 * tabs between them. A name that ends in "+" is a distance kernel: the name of a selector of a GPU follows it.
 * text, capacity and length as in kith_plan(). */
KITH_EXPORT int kith_paths(char* text, size_t capacity, size_t* length);

/* Likewise the selectors: name, device ("cpu" or "gpu"), the least k, the largest k (0: no limit), and what it is. */
KITH_EXPORT int kith_selectors(char* text, size_t capacity, size_t* length);

#ifdef __cplusplus
} /* extern "C" */
#endif

/* NOLINTEND(readability-identifier-naming, modernize-*) */

#endif /* KITH_C_H */
