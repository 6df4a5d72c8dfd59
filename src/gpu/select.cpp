// kith::select on a device: rows in tiles, brought to the layout that the selector wants, then one job per tile.
#include <algorithm>
#include <memory>
#include <type_traits>
#include <utility>

#include "gpu/backend.h"
#include "gpu/points.h"
#include "gpu/results.h"
#include "gpu/select/selector.h"
#include "gpu/select/transpose.h"

namespace kith::gpu {

namespace {

using Function = void (*)(const SelectJob&, int);
struct Entry {
    Function function;
    int variant;
};

Entry entry_of(std::string_view name) {
#define KITH_SELECTOR(text, family, variant, ...) \
    if (name == text) return {family, variant};
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
    throw Error(ErrorCode::invalid_argument, "selector: '" + std::string(name) + "' is not in the list");
}

#ifdef KITH_COUNT_OPERATIONS
std::vector<std::uint64_t> operations;
#endif

// Values in the layout that a selector wants: the caller's, or a transposed copy.
struct Laid {
    const void* data;
    std::int64_t stride;
    Buffer<char> copy;
};

Laid lay(const Rows& in, std::int64_t n, SelectLayout layout, cudaStream_t stream) {
    const bool dense_rows = in.col_stride == 1;
    if (layout == SelectLayout::by_row && dense_rows) return {in.data, in.row_stride, {}};
    if (layout == SelectLayout::by_column && (in.row_stride == 1 || in.count == 1)) return {in.data, in.col_stride, {}};
    Laid laid;
    laid.copy = Buffer<char>(in.count * n * static_cast<std::int64_t>(size_of(in.type)), stream);
    laid.data = laid.copy.get();
    const std::int64_t outer = dense_rows ? in.count : n, inner = dense_rows ? n : in.count;
    const std::int64_t stride = dense_rows ? in.row_stride : in.col_stride;
    laid.stride = outer;
    if (in.type == ElementType::f64)
        transpose(static_cast<const double*>(in.data), stride, outer, inner, reinterpret_cast<double*>(laid.copy.get()),
                  stream);
    else
        transpose(static_cast<const float*>(in.data), stride, outer, inner, reinterpret_cast<float*>(laid.copy.get()),
                  stream);
    return laid;
}

// Device time between two points of a stream.
class DeviceTimer {
public:
    explicit DeviceTimer(cudaStream_t stream) : stream_(stream) {
        check(cudaEventRecord(start_.get(), stream_), "cudaEventRecord");
    }
    void stop() { check(cudaEventRecord(stop_.get(), stream_), "cudaEventRecord"); }
    // After the stream has been synchronised.
    double seconds() const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()), "cudaEventElapsedTime");
        return 1e-3 * milliseconds;
    }

private:
    struct Destroy {
        void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
    };
    using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, Destroy>;
    static Event event() {
        cudaEvent_t event = nullptr;
        const cudaError_t status = cudaEventCreate(&event);
        Event made(event);
        check(status, "cudaEventCreate");
        return made;
    }

    cudaStream_t stream_;
    Event start_ = event(), stop_ = event();
};

}  // namespace

std::vector<std::uint64_t> take_operation_counts() {
#ifdef KITH_COUNT_OPERATIONS
    return std::exchange(operations, {});
#else
    return {};
#endif
}

void select(const MatrixView& m, std::int64_t k, bool largest, bool sorted, const Plan& plan, void* caller_stream,
            ProgressMeter& progress, const NeighborsView& out, Report& report) {
    const DeviceScope scope(plan.device);
    auto* const stream = static_cast<cudaStream_t>(caller_stream);
    const Entry entry = entry_of(plan.selector);
    const Selector& selector = *find_selector(plan.selector);
    const std::int64_t tile = std::min(plan.query_tile, m.rows);
    const auto element = static_cast<std::int64_t>(size_of(m.type));
    const bool direct = out.device == plan.device;
    Buffer<std::int64_t> ids(direct ? 0 : tile * k, stream);
    Buffer<char> values(direct || !out.distances ? 0 : tile * k * element, stream);
    for (std::int64_t first = 0; first < m.rows; first += tile) {
        const std::int64_t rows = std::min(tile, m.rows - first), cells = rows * k;
        InFlight work(stream);
        const DeviceRows loaded = upload(m, first, rows, false, stream);
        auto* const target = static_cast<char*>(out.distances);
        DeviceTimer timer(stream);
        const Laid laid = lay(loaded.rows, m.cols, selector.layout, stream);
        SelectJob job{laid.data, m.type, rows, m.cols, k, laid.stride, largest, sorted};
        job.ids = direct ? out.ids + first * k : ids.get();
        job.out = direct && target ? target + first * k * element : values.get();
        job.stream = stream;
#ifdef KITH_COUNT_OPERATIONS
        Buffer<unsigned long long> counts(operation_slots, stream);
        counts.clear_to(0);
        job.counts = counts.get();
#endif
        entry.function(job, entry.variant);
        timer.stop();
#ifdef KITH_COUNT_OPERATIONS
        std::vector<std::uint64_t> these(operation_slots);
        InFlight counting(stream);
        check(cudaMemcpyAsync(these.data(), counts.get(), these.size() * sizeof(std::uint64_t), cudaMemcpyDefault,
                              stream),
              "copy of the counts");
        counting.wait("select");
        operations.resize(these.size());
        for (std::size_t i = 0; i < these.size(); ++i) operations[i] += these[i];
#endif
        if (!direct) {
            check(cudaMemcpyAsync(out.ids + first * k, ids.get(),
                                  static_cast<std::size_t>(cells) * sizeof(std::int64_t), cudaMemcpyDefault, stream),
                  "copy of the ids");
            if (target)
                check(cudaMemcpyAsync(target + first * k * element, values.get(),
                                      static_cast<std::size_t>(cells * element), cudaMemcpyDefault, stream),
                      "copy of the values");
        }
        work.wait("select");
        report.device_seconds += timer.seconds();
        progress.add(static_cast<double>(rows) * static_cast<double>(m.cols));
        progress.poll("select");
        progress.throw_if_cancelled();
    }
}

}  // namespace kith::gpu
