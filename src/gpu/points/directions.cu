// Subspace iteration with Cholesky QR of panels, each orthogonal to the ones before, and a step of
// Newton and Schulz: products in matrix units, a panel's factor by one block.
#include "gpu/points/directions.h"

#include <algorithm>

#include "gpu/primitives/product_f64.h"
#include "gpu/primitives/spectral_norm.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device_memory.h"
#include "gpu/runtime/launch.h"

namespace kith::gpu {

namespace {

// Products with the sample's matrix of squares between two orthonormalisations, and how often.
constexpr int powers = 2, iterations = 2;
// Of further directions, orthonormalised after each product: they only narrow down what a pass has
// left.
constexpr int further_powers = 2;
// A column of whose square less than this share is left has no direction of its own.
constexpr double least_left = 1e-12;
// Columns that are orthonormalised at a time, in one block's shared memory.
constexpr int panel = 64, factor_threads = 512, square_rows = 8;

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
    const double cosine =
        cospi(static_cast<double>((2 * i + 1) * j) / (2 * m)) * sqrt((j == 0 ? 1 : 2) / m);
    const std::uint64_t bits = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15ull;
    out.data[i * out.stride + j] = (bits ^ bits >> 29) & 1u << 20 ? -cosine : cosine;
}

// The squares of columns.
__global__ void squares_kernel(Columns z, double* out) {
    __shared__ double sums[square_rows][panel];
    const std::int64_t column = blockIdx.x * panel + threadIdx.x;
    double sum = 0;
    for (std::int64_t i = threadIdx.y; column < z.columns && i < z.rows; i += square_rows) {
        const double x = z.data[i * z.stride + column];
        sum += x * x;
    }
    sums[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y > 0 || column >= z.columns) return;
    for (int i = 1; i < square_rows; ++i) sum += sums[i][threadIdx.x];
    out[column] = sum;
}

// R of G = R'R into the upper triangle of G, of a panel, 0 in the rows of columns without a
// direction of their own: of whose squares, `before`, next to nothing is left. One block.
__global__ void __launch_bounds__(factor_threads) factor_kernel(Columns g, const double* before) {
    __shared__ double r[panel][panel + 1];
    const auto m = static_cast<int>(g.columns);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int at = threadIdx.x; at < m * m; at += factor_threads)
        r[at / m][at % m] = g.data[at / m * g.stride + at % m];
    __syncthreads();
    for (int k = 0; k < m; ++k) {
        const double square = r[k][k], pivot = square > least_left * before[k] ? sqrt(square) : 0.0;
        __syncthreads();
        if (const int j = k + static_cast<int>(threadIdx.x); j < m)
            r[k][j] = pivot > 0 ? (j == k ? pivot : r[k][j] / pivot) : 0.0;
        __syncthreads();
        for (int i = k + 1 + warp; i < m; i += factor_threads / 32)
            for (int j = i + lane; j < m; j += 32) r[i][j] -= r[k][i] * r[k][j];
        __syncthreads();
    }
    for (int at = threadIdx.x; at < m * m; at += factor_threads)
        g.data[at / m * g.stride + at % m] = r[at / m][at % m];
}

// 1.5 I - 0.5 G in place of G: columns times it are orthonormal but for the square of what they
// were.
__global__ void polish_kernel(Columns g) {
    const std::int64_t at = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (at >= g.columns * g.columns) return;
    const std::int64_t i = at / g.columns, j = at % g.columns;
    double& x = g.data[i * g.stride + j];
    x = (i == j ? 1.5 : 0.0) - 0.5 * x;
}

// G - I in place of G.
__global__ void less_identity_kernel(Columns g) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < g.columns) g.data[i * g.stride + i] -= 1;
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

// Takes off what the columns have along the known ones. `along`: known columns x columns, `taken`:
// rows x columns.
void take_off(const Columns& known, const Columns& out, double* along, double* taken,
              cudaStream_t stream) {
    const std::int64_t m = out.columns;
    product(Operand<double>{known.data, known.columns, known.rows, 1, known.stride}, out.data,
            out.stride, m, along, m, stream);
    product(Operand<double>{known.data, known.rows, known.columns, known.stride, 1}, along, m, m,
            taken, m, stream);
    subtract_kernel<<<item_blocks(out.rows * m), item_threads, 0, stream>>>(out, taken);
    check_launch("take_off");
}

// Columns of the same span, orthonormal but for what a Cholesky factor of each panel rounds.
void orthonormalise(const Columns& z, cudaStream_t stream) {
    const Buffer<double> squares(z.columns, stream), g(panel * panel, stream),
        along(z.columns * panel, stream), taken(z.rows * panel, stream);
    squares_kernel<<<blocks_for(z.columns, panel), dim3(panel, square_rows), 0, stream>>>(
        z, squares.get());
    check_launch("orthonormalise");
    for (std::int64_t first = 0; first < z.columns; first += panel) {
        const Columns own{z.data + first, z.rows, std::min<std::int64_t>(panel, z.columns - first),
                          z.stride},
            factor{g.get(), own.columns, own.columns, own.columns};
        if (first > 0)
            take_off({z.data, z.rows, first, z.stride}, own, along.get(), taken.get(), stream);
        gram(own, factor, stream);
        factor_kernel<<<1, factor_threads, 0, stream>>>(factor, squares.get() + first);
        check_launch("orthonormalise");
        solve_kernel<<<static_cast<unsigned>(z.rows), panel, panel * sizeof(double), stream>>>(
            own, factor);
        check_launch("orthonormalise");
    }
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
                            static_cast<std::size_t>(m) * sizeof(double),
                            static_cast<std::size_t>(depth), cudaMemcpyDefault, stream),
          "cudaMemcpy");
    product(Operand<double>{rough.get(), depth, m, m, 1}, g.data, m, m, out.data, out.stride,
            stream);
}

void fill(const Columns& out, cudaStream_t stream) {
    fill_kernel<<<item_blocks(out.rows * out.columns), item_threads, 0, stream>>>(out);
    check_launch("fill");
}

// One product with the sample's matrix of squares. `along`: count x columns.
void multiply(const __half* rows, std::int64_t count, const Columns& out, double* along,
              cudaStream_t stream) {
    const std::int64_t depth = out.rows, m = out.columns;
    product(Operand<__half>{rows, count, depth, depth, 1}, out.data, out.stride, m, along, m,
            stream);
    product(Operand<__half>{rows, depth, count, 1, depth}, along, m, m, out.data, out.stride,
            stream);
}

}  // namespace

void gram(const Columns& a, const Columns& out, cudaStream_t stream) {
    product(Operand<double>{a.data, a.columns, a.rows, 1, a.stride}, a.data, a.stride, a.columns,
            out.data, out.stride, stream);
}

void find_directions(const __half* rows, std::int64_t count, const Columns& out,
                     cudaStream_t stream) {
    const std::int64_t m = out.columns;
    const Buffer<double> along(count * m, stream), squares(m * m, stream);
    const Columns g{squares.get(), m, m, m};
    fill(out, stream);
    for (int i = 0; i < iterations; ++i) {
        for (int power = 0; power < powers; ++power)
            multiply(rows, count, out, along.get(), stream);
        orthonormalise(out, stream);
    }
    polish(out, g, stream);
}

void find_further_directions(const __half* rows, std::int64_t count, const Columns& known,
                             const Columns& out, cudaStream_t stream) {
    const std::int64_t m = out.columns;
    const Buffer<double> along(std::max(count, known.columns) * m, stream), squares(m * m, stream),
        taken(out.rows * m, stream);
    const Columns g{squares.get(), m, m, m};
    fill(out, stream);
    take_off(known, out, along.get(), taken.get(), stream);
    for (int power = 0; power < further_powers; ++power) {
        multiply(rows, count, out, along.get(), stream);
        take_off(known, out, along.get(), taken.get(), stream);
        orthonormalise(out, stream);
    }
    // What rounding has left of the known ones, where next to nothing else was.
    take_off(known, out, along.get(), taken.get(), stream);
    polish(out, g, stream);
}

double defect(const Columns& a, cudaStream_t stream) {
    const std::int64_t m = a.columns;
    Buffer<double> squares(m * m, stream);
    const Columns g{squares.get(), m, m, m};
    gram(a, g, stream);
    less_identity_kernel<<<item_blocks(m), item_threads, 0, stream>>>(g);
    check_launch("defect");
    return spectral_norm(squares, m, stream);
}

void find_rotation(const Columns& out, cudaStream_t stream) {
    cosines_kernel<<<item_blocks(out.rows * out.columns), item_threads, 0, stream>>>(out);
    check_launch("find_rotation");
}

}  // namespace kith::gpu
