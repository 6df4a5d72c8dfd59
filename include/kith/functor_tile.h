// Distances of a metric that steps from coordinate to coordinate, in tiles: the body of the kernels of functors
// (functor_cuda.h) and, as text that is compiled at run time, of formulas. Includes nothing.
//
// A block of 256 threads, TX of them along the points, owns 256 / TX * PQ queries x TX * PN points, and walks the tiles
// of queries of its block row. It brings a slice of 16 coordinates of them at a time to shared memory; a thread takes
// PQ x PN pairs through them, each pair's coordinates one after the other: the same running values as of a plain loop.
//
// One NVIDIA H200, 2026-11-22, n 65,536, q 2,048, d 128, a + |q - x| (2 instructions a coordinate; 65 G/s at 1.98 GHz
// would be all that there are): a thread per pair, which this replaces, 1.9 G/s; tiles of 4 x 4 pairs a thread, three
// blocks a multiprocessor, 47.8; 8 x 4, two blocks, 50.0; 2 x 2 32.0. With a division a coordinate 7.1, 5.9 and 6.7.
#pragma once

namespace kith {

template <int TX, int PQ, int PN>
struct StepTiles {
    // `blocks`: of a multiprocessor, at least.
    static constexpr int threads = 256, blocks = 3, depth = 16, padding = 2;
    static constexpr int columns = TX, queries = threads / TX * PQ, points = TX * PN;

    // Coordinates k0, k0 + 1, ... of `rows` rows from `first` on, a thread's share. Beyond the last row it is repeated:
    // a step never sees coordinates that are not the caller's.
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

    // step(a, q, x) is the next running value; store.row(i)(j, a) takes the last one of query i and point j.
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
            // Once in the text, for it would be most of it: the values of the next query move up.
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

// For more queries than one tile of another shape holds; for up to 4 and up to 16. Same machine and day, one tile of
// queries by each: 1 query 0.6, 2.2 and 1.2 G/s, 16 queries 9.9, 11.7 and 19.1.
using ManyQueries = StepTiles<16, 4, 4>;
using FewQueries = StepTiles<64, 1, 4>;
using SomeQueries = StepTiles<16, 1, 4>;

}  // namespace kith
