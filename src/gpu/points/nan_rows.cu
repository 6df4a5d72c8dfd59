// Looks for a NaN in all elements, many at a time. Rows are counted only where there is one.
#include "gpu/points/nan_rows.h"

#include <algorithm>
#include <cstring>

#include "gpu/primitives/rows.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/in_flight.h"
#include "gpu/runtime/launch.h"
#include "gpu/runtime/memory/device_memory.h"
#include "gpu/runtime/memory/pinned_block.h"

namespace kith::gpu {

namespace {

// Bits of a type whose magnitude is above that of infinity are a NaN.
template <class Bits, Bits infinity>
struct NanBits {
    using Element = Bits;
    static constexpr Bits magnitude = static_cast<Bits>(~Bits{0}) >> 1;
    __device__ static bool is_nan(Bits bits) {
        return static_cast<Bits>(bits & magnitude) > infinity;
    }
};
using NanF16 = NanBits<std::uint16_t, 0x7c00>;
using NanBf16 = NanBits<std::uint16_t, 0x7f80>;
using NanF32 = NanBits<std::uint32_t, 0x7f80'0000>;
using NanF64 = NanBits<std::uint64_t, 0x7ff0'0000'0000'0000>;

// A matrix as lines of adjacent elements: its rows, or its columns.
struct Lines {
    const void* data;
    std::int64_t count, length, stride;
};

// Lines without a gap are one.
Lines lines_of(const MatrixView& v) {
    const bool across = v.layout == Layout::row_major;
    Lines lines{v.data, across ? v.rows : v.cols, across ? v.cols : v.rows, v.stride};
    if (lines.stride == lines.length || lines.count == 1)
        lines = {v.data, 1, lines.count * lines.length, lines.count * lines.length};
    return lines;
}

// blockIdx.y, in strides of the grid, is the line; threads take 16 bytes of it at a time where it
// is aligned. `found` is host memory, which is written to only where there is a NaN.
template <class N>
__global__ void any_nan_kernel(Lines lines, volatile unsigned* found) {
    using Bits = typename N::Element;
    constexpr int wide = 16 / sizeof(Bits);
    const std::int64_t thread = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x,
                       threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
    bool nan = false;
    for (std::int64_t line = blockIdx.y; line < lines.count; line += gridDim.y) {
        const Bits* const values = static_cast<const Bits*>(lines.data) + line * lines.stride;
        const bool aligned = reinterpret_cast<std::uintptr_t>(values) % 16 == 0;
        const std::int64_t pieces = aligned ? lines.length / wide : 0;
        for (std::int64_t p = thread; p < pieces; p += threads) {
            const uint4 piece = reinterpret_cast<const uint4*>(values)[p];
            Bits bits[wide];
            memcpy(bits, &piece, sizeof piece);
#pragma unroll
            for (int i = 0; i < wide; ++i) nan |= N::is_nan(bits[i]);
        }
        for (std::int64_t i = pieces * wide + thread; i < lines.length; i += threads)
            nan |= N::is_nan(values[i]);
    }
    if (nan) *found = 1;
}

// A thread per row, as rows that hold a NaN are rare.
__global__ void nan_rows_kernel(Rows rows, std::int64_t cols, unsigned long long* count) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    bool nan = false;
    for (std::int64_t i = 0; row < rows.count && i < cols && !nan; ++i) {
        const double x = rows.at(row, i);
        nan = x != x;
    }
    const int of_block = __syncthreads_count(nan);
    if (threadIdx.x == 0 && of_block > 0)
        atomicAdd(count, static_cast<unsigned long long>(of_block));
}

template <class N>
void look(const Lines& lines, unsigned* found, cudaStream_t stream) {
    constexpr std::int64_t most_blocks = 2048, most_lines = 65535;
    constexpr std::int64_t wide = 16 / sizeof(typename N::Element);
    const std::int64_t across = std::min<std::int64_t>(most_blocks,
                                                       item_blocks(lines.length / wide + 1)),
                       down = std::min({most_lines, lines.count,
                                        std::max<std::int64_t>(1, most_blocks / across)});
    any_nan_kernel<N><<<dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)),
                        item_threads, 0, stream>>>(lines, found);
    check_launch("any_nan");
}

// The stream, or, if it is another device's than the matrix, the default stream after all work that
// the matrix's device has been given.
cudaStream_t stream_for(const MatrixView& v, cudaStream_t stream) {
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return stream;
    int device = v.device;
    if (cudaStreamGetDevice(stream, &device) != cudaSuccess) cudaGetLastError();
    if (device == v.device) return stream;
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return nullptr;
}

bool has_no_nan(const MatrixView& v) {
    return v.rows == 0 || v.cols == 0 ||
           (v.type != ElementType::f32 && v.type != ElementType::f64 &&
            v.type != ElementType::f16 && v.type != ElementType::bf16);
}

}  // namespace

struct NanSearch::Work {
    Work(const MatrixView& rows, cudaStream_t on) : view(rows), stream(on), block(on) {
        auto* const found = static_cast<unsigned*>(block.data());
        *found = 0;
        const Lines lines = lines_of(view);
        if (view.type == ElementType::f16) look<NanF16>(lines, found, stream);
        else if (view.type == ElementType::bf16) look<NanBf16>(lines, found, stream);
        else if (view.type == ElementType::f64) look<NanF64>(lines, found, stream);
        else look<NanF32>(lines, found, stream);
    }

    std::int64_t count() {
        const DeviceScope scope(view.device);
        constexpr const char* what = "looking for a NaN";
        if (*static_cast<const unsigned*>(block.wait(what)) == 0) return 0;
        Buffer<unsigned long long> rows(1, stream);
        rows.clear_to(0);
        nan_rows_kernel<<<item_blocks(view.rows), item_threads, 0, stream>>>(rows_of(view),
                                                                             view.cols, rows.get());
        check_launch("nan_rows");
        unsigned long long found = 0;
        InFlight copy(stream);
        check(cudaMemcpyAsync(&found, rows.get(), sizeof found, cudaMemcpyDefault, stream),
              "cudaMemcpy");
        copy.wait(what);
        return static_cast<std::int64_t>(found);
    }

    MatrixView view;
    cudaStream_t stream;
    PinnedBlock block;
};

NanSearch::NanSearch(const MatrixView& rows, void* stream) {
    if (has_no_nan(rows)) return;
    const DeviceScope scope(rows.device);
    work_ = std::make_unique<Work>(rows, stream_for(rows, static_cast<cudaStream_t>(stream)));
}

NanSearch::~NanSearch() {
    if (!work_) return;
    const DeviceScope scope(work_->view.device);
    work_.reset();
}

std::int64_t NanSearch::count() {
    return work_ ? work_->count() : 0;
}

}  // namespace kith::gpu
