// Garcia, Debreuve and Barlaud 2008, "Fast k nearest neighbor search using GPU": a thread per pair,
// both sides by columns, queries in global memory and points in a texture.
//
// A block of 16 x 16 threads owns a tile of 16 queries x 16 points. Adjacent threads have adjacent
// queries, with adjacent words in global memory, and one point, with its word from the texture. By
// column, as the paper has the matrix, the tile is written as it is. By row shared memory holds the
// finished tile: it is transposed there, so that the values of a query are written side by side.
#include <cstdint>
#include <vector>

#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/in_flight.h"
#include "papers/distance/steps.cuh"

namespace kith::gpu {

namespace {

constexpr int tile = 16;

// Words of device memory as a texture. They are fetched as integers, which leaves their bits
// unchanged.
class Texture {
public:
    Texture(const void* words, std::size_t count) {
        cudaResourceDesc resource{};
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr =
            const_cast<void*>(words);  // NOLINT(cppcoreguidelines-pro-type-const-cast): read
        resource.res.linear.desc = cudaCreateChannelDesc<unsigned>();
        resource.res.linear.sizeInBytes = count * sizeof(unsigned);
        cudaTextureDesc reading{};
        reading.readMode = cudaReadModeElementType;
        check(cudaCreateTextureObject(&texture_, &resource, &reading, nullptr),
              "cudaCreateTextureObject");
    }
    ~Texture() {
        if (texture_ != 0) cudaDestroyTextureObject(texture_);
    }
    Texture(Texture&& other) noexcept : texture_(other.texture_) { other.texture_ = 0; }
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;
    cudaTextureObject_t get() const { return texture_; }

private:
    cudaTextureObject_t texture_ = 0;
};

// Points [first, first + count); their first word is at `offset` of the texture.
struct TexturedPoints {
    cudaTextureObject_t texture;
    int offset;
    std::int64_t first, count;
};

template <class Step>
__global__ void __launch_bounds__(tile* tile)
    garcia_kernel(DistanceJob job, TexturedPoints points) {
    __shared__ typename Step::Acc sums[tile][tile + 1];  // [query][point]
    const auto across = static_cast<unsigned>((points.count + tile - 1) / tile);
    const std::int64_t first_point = std::int64_t{blockIdx.x % across} * tile,
                       first_query = std::int64_t{blockIdx.x / across} * tile;
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    {
        // Past the last row, that one is read again.
        const std::int64_t query = min(first_query + x, job.q - 1),
                           point = min(first_point + y, points.count - 1);
        const float* const q =
            job.queries + distance::row_place<Step>(job.first_query + query, job.width);
        const int p = points.offset + static_cast<int>(distance::row_place<Step>(point, job.width));
        const int width = static_cast<int>(job.width);
        typename Step::Acc sum{};
        for (int i = 0; i < width; ++i) {
            const int at = distance::word_place<Step>(i);
            Step::step(sum, q[at], __uint_as_float(tex1Dfetch<unsigned>(points.texture, p + at)),
                       job.exponent);
        }
        if (job.by_column) {
            if (first_query + x < job.q && first_point + y < points.count)
                distance::store_in_column<Step>(job, first_query + x,
                                                points.first + first_point + y, sum);
            return;
        }
        sums[x][y] = sum;
    }
    __syncthreads();
    const std::int64_t query = first_query + y, point = points.first + first_point + x;
    if (first_point + x >= points.count || query >= job.q) return;
    distance::store_value<Step>(job, query, point, sums[y][x]);
}

template <class Step>
void launch(const DistanceJob& job) {
    // A texture begins at an aligned address and has at most `most` words: it holds some panels of
    // points.
    const cudaChannelFormatDesc word = cudaCreateChannelDesc<unsigned>();
    std::size_t most = 0;
    int alignment = 0;
    check(cudaDeviceGetTexture1DLinearMaxWidth(&most, &word, current_device()),
          "words of a texture");
    check(cudaDeviceGetAttribute(&alignment, cudaDevAttrTextureAlignment, current_device()),
          "alignment of a texture");
    const std::int64_t panel = filter_tile_queries * job.width,
                       panels =
                           (std::min(static_cast<std::int64_t>(most), most_texture_words.load()) -
                            alignment) /
                           panel;
    if (panels < 1)
        throw Error(ErrorCode::invalid_argument,
                    "distances: garcia, whose textures hold rows of fewer words");
    std::vector<Texture> textures;
    InFlight fetching(job.stream);  // a texture must last until it has been read
    for (std::int64_t first = 0; first < job.n; first += panels * filter_tile_queries) {
        const std::int64_t count = std::min(panels * filter_tile_queries, job.n - first),
                           words = (count + filter_tile_queries - 1) / filter_tile_queries * panel;
        const float* const points = job.points + direct_place(first, 0, job.width);
        const auto offset =
            static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(points) %
                                      static_cast<std::uintptr_t>(alignment) / sizeof(float));
        textures.emplace_back(points - offset, static_cast<std::size_t>(offset + words));
        const TexturedPoints textured{textures.back().get(), static_cast<int>(offset), first,
                                      count};
        const std::int64_t blocks = (count + tile - 1) / tile * ((job.q + tile - 1) / tile);
        garcia_kernel<Step>
            <<<static_cast<unsigned>(blocks), dim3(tile, tile), 0, job.stream>>>(job, textured);
        check_launch("garcia_distances");
    }
    fetching.wait("garcia_distances");
}

}  // namespace

void garcia_distances(const DistanceJob& job) {
    distance::with_step(job.step, [&]<class Step>() { launch<Step>(job); });
}

}  // namespace kith::gpu
