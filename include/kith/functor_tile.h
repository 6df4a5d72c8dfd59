// Distances of a metric that steps from coordinate to coordinate, in tiles: the kernel body for functors
// (functor_cuda.h) and, as text compiled at run time, for formulas. It includes nothing.
//
// A block has 256 threads, TX of them along the points. It owns 256 / TX * PQ queries x TX * PN points, and loops over
// the tiles of queries of its block row. It copies slices of 16 of their coordinates to shared memory. A thread
// processes PQ x PN pairs, each pair's coordinates in order: the running values are those of a plain loop.
//
// Tiles of 4 x 4 pairs per thread with three blocks per multiprocessor are the best compromise between cheap and
// expensive steps. They were measured against 8 x 4, 2 x 2 and one thread per pair (benchmarks of formulas).
#pragma once

namespace kith {

template <int TX, int PQ, int PN>
struct StepTiles {
    // `blocks`: the least number of blocks per multiprocessor.
    static constexpr int threads = 256, blocks = 3, depth = 16, padding = 2;
    static constexpr int columns = TX, queries = threads / TX * PQ, points = TX * PN;

    // A thread's share of coordinates k0, k0 + 1, ... of `rows` rows from `first` on. The last row is repeated beyond
    // the end: a step never reads coordinates that are not the caller's.
    template <int rows>
    struct Slice {
        static constexpr int at_once = threads / depth, share = (rows + at_once - 1) / at_once;
        double values[share];
        __device__ __forceinline__ void read(const double* from, long long first, long long count, long long d,
                                             long long k0) {
            const long long k = k0 + threadIdx.x % depth;
            if (k >= d) return;
#pragma unroll
            for (int i = 0; i < share; ++i) {
                const int at = threadIdx.x / depth + i * at_once;
                if (rows % at_once != 0 && at >= rows) continue;
                const long long row = first + at;
                values[i] = from[(row < count ? row : count - 1) * d + k];
            }
        }
        __device__ __forceinline__ void write(double (*to)[rows + padding]) const {
#pragma unroll
            for (int i = 0; i < share; ++i) {
                const int at = threadIdx.x / depth + i * at_once;
                if (rows % at_once == 0 || at < rows) to[threadIdx.x % depth][at] = values[i];
            }
        }
    };

    // step(a, q, x) is the next running value; store.row(i)(j, a) receives the last one of query i and point j.
    template <class Step, class Store>
    static __device__ __forceinline__ void run(const Step& step, const Store& store, double start, const double* q_rows,
                                               long long q_count, const double* x_rows, long long x_count,
                                               long long d) {
        __shared__ alignas(16) double q_shared[depth][queries + padding];
        __shared__ alignas(16) double x_shared[depth][points + padding];
        const int tx = threadIdx.x % TX, ty = threadIdx.x / TX;
        const long long x0 = static_cast<long long>(blockIdx.x) * points;
        for (long long q0 = static_cast<long long>(blockIdx.y) * queries; q0 < q_count;
             q0 += static_cast<long long>(gridDim.y) * queries) {
            double a[PQ][PN];
#pragma unroll
            for (int i = 0; i < PQ; ++i)
#pragma unroll
                for (int j = 0; j < PN; ++j) a[i][j] = start;
            Slice<queries> q_next;
            Slice<points> x_next;
            q_next.read(q_rows, q0, q_count, d, 0);
            x_next.read(x_rows, x0, x_count, d, 0);
            for (long long k0 = 0; k0 < d; k0 += depth) {
                __syncthreads();
                q_next.write(q_shared);
                x_next.write(x_shared);
                __syncthreads();
                q_next.read(q_rows, q0, q_count, d, k0 + depth);
                x_next.read(x_rows, x0, x_count, d, k0 + depth);
                const int some = d - k0 < depth ? static_cast<int>(d - k0) : depth;
#pragma unroll 2
                for (int k = 0; k < some; ++k) {
                    double q[PQ], x[PN];
#pragma unroll
                    for (int i = 0; i < PQ; ++i) q[i] = q_shared[k][ty * PQ + i];
#pragma unroll
                    for (int j = 0; j < PN; ++j) x[j] = x_shared[k][tx + TX * j];
#pragma unroll
                    for (int i = 0; i < PQ; ++i)
#pragma unroll
                        for (int j = 0; j < PN; ++j) a[i][j] = step(a[i][j], q[i], x[j]);
                }
            }
            // The loop is not unrolled, because it would dominate the text: the values of the next query move up.
#pragma unroll 1
            for (int i = 0; i < PQ; ++i) {
                const long long query = q0 + ty * PQ + i;
                if (query >= q_count) break;
                const auto row = store.row(query);
#pragma unroll
                for (int j = 0; j < PN; ++j) {
                    const long long point = x0 + tx + TX * j;
                    if (point < x_count) row(point, a[0][j]);
                }
#pragma unroll
                for (int next = 1; next < PQ; ++next)
#pragma unroll
                    for (int j = 0; j < PN; ++j) a[next - 1][j] = a[next][j];
            }
        }
    }
};

// ManyQueries: for more queries than one tile of another shape holds. FewQueries: up to 4. SomeQueries: up to 16
// (measured: benchmarks of formulas).
using ManyQueries = StepTiles<16, 4, 4>;
using FewQueries = StepTiles<64, 1, 4>;
using SomeQueries = StepTiles<16, 1, 4>;

}  // namespace kith
