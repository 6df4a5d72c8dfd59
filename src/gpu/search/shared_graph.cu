// See shared_graph.h. Rows of the graph are owned in runs of the caller's order, lists are made by position: the
// candidates that a device found are packed in the order of the rows, so that each owner's lie together.
//
// 1  each part shows the thresholds that its rows have after the samples, and reads those of all others
// 2  each takes its groups of rows with all columns from the diagonal on, for rows and columns
// 3  each drops what cannot be among the nearest and shows the rest, packed; each reads what was found for its rows,
// and appends it
#include <cstring>
#include <cub/device/device_scan.cuh>

#include "gpu/filter/shared_pass.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/launch.h"
#include "gpu/search/shared_graph.h"
#include "gpu/search/tuning.h"

namespace kith::gpu {

namespace {

__global__ void by_position_kernel(FilterForm form, const float* by_row, std::int64_t n, float* out) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) out[i] = by_row[row_at(form, i, n)];
}

__global__ void positions_kernel(FilterForm form, std::int64_t n, std::uint32_t* position) {
    const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (i < n) position[row_at(form, i, n)] = static_cast<std::uint32_t>(i);
}

// lengths[row] of n + 1, the last 0: entries that the list of the row holds; lost[row]: whether it should hold more.
__global__ void lengths_kernel(const std::uint32_t* position, const std::int32_t* counts,
                               const std::uint8_t* overflowed, std::int64_t n, unsigned long long* lengths,
                               std::uint8_t* lost) {
    const std::int64_t row = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
    if (row > n) return;
    if (row == n) {
        lengths[n] = 0;
        return;
    }
    lengths[row] = static_cast<unsigned long long>(counts[position[row]]);
    lost[row] = overflowed[position[row]];
}

// A warp owns a row.
__global__ void pack_kernel(const std::uint32_t* position, const Candidate* lists, std::int64_t n,
                            std::int64_t capacity, const unsigned long long* offsets, Candidate* out) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= n) return;
    const unsigned long long first = offsets[row], count = offsets[row + 1] - first;
    const Candidate* const list = lists + position[row] * capacity;
    for (unsigned long long i = threadIdx.x % 32; i < count; i += 32) out[first + i] = list[i];
}

// A warp owns a row of the part.
__global__ void append_kernel(CandidateLists own, const unsigned long long* offsets, const Candidate* packed,
                              const std::uint8_t* lost) {
    const std::int64_t row = (blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x) / 32;
    if (row >= own.q) return;
    const auto first = static_cast<std::int64_t>(offsets[row] - offsets[0]),
               count = static_cast<std::int64_t>(offsets[row + 1] - offsets[row]);
    const std::int64_t there = own.counts[row];
    Candidate* const list = own.candidates + row * own.capacity;
    for (std::int64_t i = threadIdx.x % 32; i < count; i += 32)
        if (there + i < own.capacity) list[there + i] = packed[first + i];
    __syncwarp();
    if (threadIdx.x % 32 != 0) return;
    own.counts[row] = static_cast<std::int32_t>(min(there + count, std::int64_t{0x7fffffff}));
    if (lost[row]) own.overflowed[row] = 1;
}

// Everything that the values of a pair depend on but the pair itself. Filters that differ in a bit prove nothing about
// each other's values.
std::vector<std::byte> bytes_of(const FilterForm& form, std::int64_t first, std::int64_t d, cudaStream_t stream) {
    const double numbers[] = {form.scale,
                              form.query_scale,
                              form.kappa,
                              form.gamma,
                              form.least,
                              form.covered,
                              static_cast<double>(form.growth),
                              static_cast<double>(form.ceiling),
                              static_cast<double>(form.width),
                              static_cast<double>(form.stride),
                              static_cast<double>(form.terms),
                              static_cast<double>(static_cast<int>(form.gemm)),
                              form.unit ? 1.0 : 0.0,
                              form.centre ? 1.0 : 0.0,
                              static_cast<double>(first)};
    const std::size_t centre = form.centre ? static_cast<std::size_t>(d) * sizeof(double) : 0;
    std::vector<std::byte> out(sizeof numbers + centre);
    std::memcpy(out.data(), numbers, sizeof numbers);
    InFlight copy(stream);
    if (centre > 0)
        check(cudaMemcpyAsync(out.data() + sizeof numbers, form.centre, centre, cudaMemcpyDefault, stream),
              "cudaMemcpy");
    copy.wait("filter");
    return out;
}

// The driver chooses the way. Memory pools are not mapped into other devices: on a virtual machine with two NVIDIA H200
// (driver 580.159), which says that they see each other, a copy from a mapped pool has lost the device.
template <class T>
void read(T* to, const T* from, int device, std::int64_t count, cudaStream_t stream) {
    if (count == 0) return;
    check(cudaMemcpyPeerAsync(to, current_device(), from, device, static_cast<std::size_t>(count) * sizeof(T), stream),
          "copy between devices");
}

// A part's share of the pairs. Its members are shown to the others until `stay_` goes.
class Part {
public:
    Part(const GraphShare& share, const CandidateLists& own, const FilterVectors& filter, const FilterPass& pass,
         cudaStream_t stream)
        : share_(share),
          exchange_(share.exchange),
          own_(own),
          filter_(filter),
          pass_(pass),
          stream_(stream),
          n_(pass.n),
          stay_(&share.exchange) {}

    void compute(std::int64_t needed, std::int64_t wanted, std::int64_t d) {
        GraphExchange::Shown& shown = exchange_.of(share_.part);
        shown = {.device = current_device(),
                 .first = share_.first,
                 .count = own_.q,
                 .form = bytes_of(filter_.form, pass_.first, d, stream_),
                 .needed = needed,
                 .thresholds = own_.threshold,
                 .errors = own_.query_error};
        meet("thresholds");
        read_thresholds();
        find();
        tighten(wanted);
        pack();
        shown.packed = packed_.get();
        shown.offsets = offsets_.get();
        shown.lost = lost_.get();
        meet("candidates");
        for (int part = 0; part < exchange_.parts(); ++part) append(exchange_.of(part));
        meet("exchange");
        stay_.done();
    }

private:
    // What this part has shown is there; so is what the others have, on return.
    void meet(const char* what) {
        check(cudaStreamSynchronize(stream_), what);
        exchange_.meet(share_.progress);
    }
    void read_thresholds() {
        const GraphExchange::Reading reading(exchange_);
        InFlight copies(stream_);
        Buffer<float> by_row(n_, stream_), errors_by_row(n_, stream_);
        for (int part = 0; part < exchange_.parts(); ++part) {
            const GraphExchange::Shown& other = exchange_.of(part);
            if (other.form != exchange_.of(0).form) throw GraphAbandoned();
            needed_ = std::max(needed_, other.needed);
            read(by_row.get() + other.first, other.thresholds, other.device, other.count, stream_);
            read(errors_by_row.get() + other.first, other.errors, other.device, other.count, stream_);
        }
        threshold_ = Buffer<float>(n_, stream_);
        error_ = Buffer<float>(n_, stream_);
        const auto to_positions = [&](const float* from, float* to) {
            by_position_kernel<<<item_blocks(n_), item_threads, 0, stream_>>>(filter_.form, from, n_, to);
            check_launch("by_position");
        };
        to_positions(by_row.get(), threshold_.get());
        to_positions(errors_by_row.get(), error_.get());
        column_threshold_ = Buffer<float>(filter_.half_norm.size(), stream_);
        column_thresholds(threshold_.get(), filter_.half_norm.get(), n_, column_threshold_.get(), stream_);
        copies.wait("thresholds of other devices");
    }
    // The pass over this part's pairs.
    void find() {
        capacity_ = tuning::part_capacity(needed_, exchange_.parts());
        lists_ = Buffer<Candidate>(n_ * capacity_, stream_);
        counts_ = Buffer<std::int32_t>(n_, stream_);
        counts_.clear_to(0);
        pass_.q = n_;
        pass_.queries = pass_.points;  // a point's vector is the same as a query
        pass_.query_term = nullptr;
        pass_.threshold = threshold_.get();
        pass_.column_threshold = column_threshold_.get();
        pass_.candidates = lists_.get();
        pass_.counts = counts_.get();
        pass_.capacity = capacity_;
        pass_.count = n_ - pass_.first;
        if (pass_.count > 0) shared_pass(pass_, share_.part, exchange_.parts(), stream_);
    }
    // Leaves in each list what may be among the `wanted` nearest: of a list that has so many, what is within the upper
    // value of the last of them.
    void tighten(std::int64_t wanted) {
        overflowed_ = Buffer<std::uint8_t>(n_, stream_);
        overflowed_.clear_to(0);
        Buffer<unsigned> lengths(2 * length_classes, stream_);
        lengths.clear_to(0);
        CandidateLists all = own_;
        all.q = n_;
        all.capacity = capacity_;
        all.candidates = lists_.get();
        all.counts = counts_.get();
        all.threshold = threshold_.get();
        all.overflowed = overflowed_.get();
        all.query_error = error_.get();
        all.lengths = lengths.get();
        tighten_lists(all, wanted, stream_);
    }
    void pack() {
        Buffer<std::uint32_t> position(n_, stream_);
        positions_kernel<<<item_blocks(n_), item_threads, 0, stream_>>>(filter_.form, n_, position.get());
        check_launch("positions");
        Buffer<unsigned long long> lengths(n_ + 1, stream_);
        lost_ = Buffer<std::uint8_t>(n_, stream_);
        lengths_kernel<<<item_blocks(n_ + 1), item_threads, 0, stream_>>>(
            position.get(), counts_.get(), overflowed_.get(), n_, lengths.get(), lost_.get());
        check_launch("lengths");
        offsets_ = Buffer<unsigned long long>(n_ + 1, stream_);
        std::size_t bytes = 0;
        check(cub::DeviceScan::ExclusiveSum(nullptr, bytes, lengths.get(), offsets_.get(), n_ + 1, stream_), "scan");
        Buffer<char> temporary(static_cast<std::int64_t>(bytes), stream_);
        check(cub::DeviceScan::ExclusiveSum(temporary.get(), bytes, lengths.get(), offsets_.get(), n_ + 1, stream_),
              "scan");
        PinnedWords words;
        words.fetch(offsets_.get() + n_, 1, stream_);
        packed_ = Buffer<Candidate>(static_cast<std::int64_t>(words.wait("candidates of a shared graph")[0]), stream_);
        pack_kernel<<<blocks_for(n_, item_warps), item_threads, 0, stream_>>>(position.get(), lists_.get(), n_,
                                                                              capacity_, offsets_.get(), packed_.get());
        check_launch("pack");
        lists_ = {};
        counts_ = {};
    }
    // What a part has found for the rows of this one.
    void append(const GraphExchange::Shown& other) {
        const GraphExchange::Reading reading(exchange_);
        const std::int64_t rows = own_.q;
        InFlight copies(stream_);
        Buffer<unsigned long long> offsets(rows + 1, stream_);
        Buffer<std::uint8_t> lost(rows, stream_);
        read(offsets.get(), other.offsets + share_.first, other.device, rows + 1, stream_);
        read(lost.get(), other.lost + share_.first, other.device, rows, stream_);
        PinnedWords first, last;
        first.fetch(offsets.get(), 1, stream_);
        last.fetch(offsets.get() + rows, 1, stream_);
        const auto from = static_cast<std::int64_t>(first.wait("candidates of another device")[0]),
                   to = static_cast<std::int64_t>(last.wait("candidates of another device")[0]);
        Buffer<Candidate> entries(to - from, stream_);
        read(entries.get(), other.packed + from, other.device, to - from, stream_);
        append_kernel<<<blocks_for(rows, item_warps), item_threads, 0, stream_>>>(own_, offsets.get(), entries.get(),
                                                                                  lost.get());
        check_launch("append");
        copies.wait("candidates of another device");
    }

    const GraphShare& share_;
    GraphExchange& exchange_;
    CandidateLists own_;
    const FilterVectors& filter_;
    FilterPass pass_;
    cudaStream_t stream_;
    std::int64_t n_, needed_ = 0, capacity_ = 0;
    Buffer<float> threshold_, error_, column_threshold_;
    Buffer<Candidate> lists_, packed_;
    Buffer<std::int32_t> counts_;
    Buffer<unsigned long long> offsets_;
    Buffer<std::uint8_t> overflowed_, lost_;
    GraphExchange::Stay stay_;
};

}  // namespace

void share_candidates(const GraphShare& share, const CandidateLists& own, const FilterVectors& filter, FilterPass pass,
                      std::int64_t needed, std::int64_t wanted, std::int64_t d, cudaStream_t stream) {
    Part(share, own, filter, pass, stream).compute(needed, wanted, d);
}

}  // namespace kith::gpu
