// Subspace iteration with Cholesky QR and a step of Newton and Schulz: products in matrix units, the factor by one
// block.
#include "gpu/points/directions.h"

#include <algorithm>

#include "gpu/primitives/product_f64.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Products with the sample's matrix of squares between two orthonormalisations, and how often.
constexpr int powers = 2, iterations = 2;
// Of further directions, orthonormalised after each product: they only narrow down what a pass has left.
constexpr int further_powers = 2;
// A column of whose square less than this share is left has no direction of its own.
constexpr double least_left = 1e-12;
constexpr int factor_threads = 1024;

// Numbers in [-1, 1) that look random.
__global__ void fill_kernel(Columns out) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= out.rows * out.columns) return;
    auto bits = static_cast<std::uint64_t>(at) * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    out.data[at / out.columns * out.stride + at % out.columns] =
        static_cast<double>(static_cast<std::int64_t>(bits ^ bits >> 31)) * 0x1p-63;
}

// The cosine transform of coordinates whose signs look random: entries of one size, about.
__global__ void cosines_kernel(Columns out) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= out.rows * out.columns) return;
    const std::int64_t i = at / out.columns, j = at % out.columns;
    const auto m = static_cast<double>(out.columns);
    const double cosine = cospi(static_cast<double>((2 * i + 1) * j) / (2 * m)) * sqrt((j == 0 ? 1 : 2) / m);
    const std::uint64_t bits = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
    out.data[i * out.stride + j] = (bits ^ bits >> 29) & 1u << 20 ? -cosine : cosine;
}

// R of G = R'R into the upper triangle of G, 0 in the rows of columns without a direction of their own. One block.
__global__ void __launch_bounds__(factor_threads) factor_kernel(Columns g) {
    __shared__ double pivot;
    extern __shared__ double before[];  // the diagonal, and the row in hand
    const auto m = static_cast<int>(g.columns);
    double* const row = before + m;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const auto at = [&](int i, int j) -> double& { return g.data[i * g.stride + j]; };
    for (int i = threadIdx.x; i < m; i += factor_threads) before[i] = at(i, i);
    __syncthreads();
    for (int k = 0; k < m; ++k) {
        if (threadIdx.x == 0) pivot = at(k, k) > least_left * before[k] ? sqrt(at(k, k)) : 0.0;
        __syncthreads();
        const double own = pivot;
        for (int j = k + static_cast<int>(threadIdx.x); j < m; j += factor_threads)
            row[j] = at(k, j) = own > 0 ? (j == k ? own : at(k, j) / own) : 0.0;
        __syncthreads();
        for (int i = k + 1 + warp; own > 0 && i < m; i += factor_threads / 32)
            for (int j = i + lane; j < m; j += 32) at(i, j) -= row[i] * row[j];
        __syncthreads();
    }
}

// 1.5 I - 0.5 G in place of G: columns times it are orthonormal but for the square of what they were.
__global__ void polish_kernel(Columns g) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= g.columns * g.columns) return;
    const std::int64_t i = at / g.columns, j = at % g.columns;
    double& x = g.data[i * g.stride + j];
    x = (i == j ? 1.5 : 0.0) - 0.5 * x;
}

// Of `out` less those of `taken`, which are `out.columns` apart.
__global__ void subtract_kernel(Columns out, const double* taken) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= out.rows * out.columns) return;
    out.data[at / out.columns * out.stride + at % out.columns] -= taken[at];
}

// X R = Z, in place of Z: a block owns a row, a thread its columns.
__global__ void solve_kernel(Columns z, Columns r) {
    extern __shared__ double row[];
    double* const own = z.data + blockIdx.x * z.stride;
    const auto m = static_cast<int>(z.columns);
    for (int j = threadIdx.x; j < m; j += blockDim.x) row[j] = own[j];
    __syncthreads();
    for (int i = 0; i < m; ++i) {
        const double pivot = r.data[i * r.stride + i];
        const double x = pivot > 0 ? row[i] / pivot : 0.0;
        __syncthreads();
        for (int j = i + static_cast<int>(threadIdx.x); j < m; j += static_cast<int>(blockDim.x)) {
            if (j == i) row[j] = x;
            else row[j] -= x * r.data[i * r.stride + j];
        }
        __syncthreads();
    }
    for (int j = threadIdx.x; j < m; j += blockDim.x) own[j] = row[j];
}

// Columns of the same span, orthonormal but for what one Cholesky factor rounds. `g`: columns x columns.
void orthonormalise(const Columns& z, const Columns& g, cudaStream_t stream) {
    gram(z, g, stream);
    const auto bytes = static_cast<std::size_t>(z.columns) * sizeof(double);
    factor_kernel<<<1, factor_threads, 2 * bytes, stream>>>(g);
    check_launch("orthonormalise");
    solve_kernel<<<static_cast<unsigned>(z.rows), 128, bytes, stream>>>(z, g);
    check_launch("orthonormalise");
}

// A step of Newton and Schulz. `g`: columns x columns.
void polish(const Columns& out, const Columns& g, cudaStream_t stream) {
    const std::int64_t depth = out.rows, m = out.columns;
    gram(out, g, stream);
    polish_kernel<<<item_blocks(m * m), item_threads, 0, stream>>>(g);
    check_launch("polish");
    const Buffer<double> rough(depth * m, stream);
    check(cudaMemcpy2DAsync(rough.get(), static_cast<std::size_t>(m) * sizeof(double), out.data,
                            static_cast<std::size_t>(out.stride) * sizeof(double),
                            static_cast<std::size_t>(m) * sizeof(double), static_cast<std::size_t>(depth),
                            cudaMemcpyDefault, stream),
          "cudaMemcpy");
    product(Operand<double>{rough.get(), depth, m, m, 1}, g.data, m, m, out.data, out.stride, stream);
}

void fill(const Columns& out, cudaStream_t stream) {
    fill_kernel<<<item_blocks(out.rows * out.columns), item_threads, 0, stream>>>(out);
    check_launch("fill");
}

// One product with the sample's matrix of squares. `along`: count x columns.
void multiply(const __half* rows, std::int64_t count, const Columns& out, double* along, cudaStream_t stream) {
    const std::int64_t depth = out.rows, m = out.columns;
    product(Operand<__half>{rows, count, depth, depth, 1}, out.data, out.stride, m, along, m, stream);
    product(Operand<__half>{rows, depth, count, 1, depth}, along, m, m, out.data, out.stride, stream);
}

// Takes off what the columns have along the known ones. `along`: known columns x columns, `taken`: rows x columns.
void take_off(const Columns& known, const Columns& out, double* along, double* taken, cudaStream_t stream) {
    const std::int64_t m = out.columns;
    product(Operand<double>{known.data, known.columns, known.rows, 1, known.stride}, out.data, out.stride, m, along, m,
            stream);
    product(Operand<double>{known.data, known.rows, known.columns, known.stride, 1}, along, m, m, taken, m, stream);
    subtract_kernel<<<item_blocks(out.rows * m), item_threads, 0, stream>>>(out, taken);
    check_launch("take_off");
}

}  // namespace

void gram(const Columns& a, const Columns& out, cudaStream_t stream) {
    product(Operand<double>{a.data, a.columns, a.rows, 1, a.stride}, a.data, a.stride, a.columns, out.data, out.stride,
            stream);
}

void find_directions(const __half* rows, std::int64_t count, const Columns& out, cudaStream_t stream) {
    const std::int64_t m = out.columns;
    const Buffer<double> along(count * m, stream), squares(m * m, stream);
    const Columns g{squares.get(), m, m, m};
    fill(out, stream);
    for (int i = 0; i < iterations; ++i) {
        for (int power = 0; power < powers; ++power) multiply(rows, count, out, along.get(), stream);
        orthonormalise(out, g, stream);
    }
    polish(out, g, stream);
}

void find_further_directions(const __half* rows, std::int64_t count, const Columns& known, const Columns& out,
                             cudaStream_t stream) {
    const std::int64_t m = out.columns;
    const Buffer<double> along(std::max(count, known.columns) * m, stream), squares(m * m, stream),
        taken(out.rows * m, stream);
    const Columns g{squares.get(), m, m, m};
    fill(out, stream);
    take_off(known, out, along.get(), taken.get(), stream);
    for (int power = 0; power < further_powers; ++power) {
        multiply(rows, count, out, along.get(), stream);
        take_off(known, out, along.get(), taken.get(), stream);
        orthonormalise(out, g, stream);
    }
    // What rounding has left of the known ones, where next to nothing else was.
    take_off(known, out, along.get(), taken.get(), stream);
    polish(out, g, stream);
}

void find_rotation(const Columns& out, cudaStream_t stream) {
    cosines_kernel<<<item_blocks(out.rows * out.columns), item_threads, 0, stream>>>(out);
    check_launch("find_rotation");
}

}  // namespace kith::gpu
