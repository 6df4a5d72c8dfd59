// kith::select on a device: rows in tiles, brought to the layout that the selector wants, then one job per tile.
#include <algorithm>
#include <utility>

#include "gpu/backend.h"
#include "gpu/points/points.h"
#include "gpu/primitives/gather.h"
#include "gpu/primitives/transpose.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/handles.h"
#include "gpu/select/selector.h"

namespace kith::gpu {

namespace {

using Function = void (*)(const SelectJob&, int);
struct Entry {
    Function function;
    int variant;
};

// In the order of `selectors`.
constexpr Entry entries[] = {
#define KITH_SELECTOR(function, variant, ...) {function, variant},
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
};

Entry entry_of(std::string_view name) {
    if (const Selector* s = find_selector(name)) return entries[s - selectors.data()];
    throw Error(ErrorCode::invalid_argument, "selector: '" + std::string(name) + "' is not in the list");
}

#ifdef KITH_COUNT_OPERATIONS
std::vector<std::uint64_t> operations;
#endif

// Values in the layout that a selector wants: the caller's, or a transposed copy.
struct LayoutCopy {
    const void* data;
    std::int64_t stride;
    Buffer<char> copy;
};

LayoutCopy in_layout(const Rows& in, std::int64_t n, SelectLayout layout, cudaStream_t stream) {
    const bool dense_rows = in.col_stride == 1;
    if (layout == SelectLayout::by_row && dense_rows) return {in.data, in.row_stride, {}};
    if (layout == SelectLayout::by_column && (in.row_stride == 1 || in.count == 1)) return {in.data, in.col_stride, {}};
    LayoutCopy copied;
    copied.copy = Buffer<char>(in.count * n * static_cast<std::int64_t>(size_of(in.type)), stream);
    copied.data = copied.copy.get();
    const std::int64_t outer = dense_rows ? in.count : n, inner = dense_rows ? n : in.count;
    const std::int64_t stride = dense_rows ? in.row_stride : in.col_stride;
    copied.stride = outer;
    if (in.type == ElementType::f64)
        transpose(static_cast<const double*>(in.data), stride, outer, inner,
                  reinterpret_cast<double*>(copied.copy.get()), stream);
    else
        transpose(static_cast<const float*>(in.data), stride, outer, inner, reinterpret_cast<float*>(copied.copy.get()),
                  stream);
    return copied;
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
    cudaStream_t stream_;
    Event start_ = make_event(cudaEventDefault), stop_ = make_event(cudaEventDefault);
};

}  // namespace

std::vector<std::uint64_t> take_operation_counts() {
#ifdef KITH_COUNT_OPERATIONS
    return std::exchange(operations, {});
#else
    return {};
#endif
}

void select(const SelectRequest& request) {
    const auto& [m, k, largest, sorted, plan, caller_stream, progress, out, report] = request;
    const DeviceScope scope(plan.device);
    auto* const stream = static_cast<cudaStream_t>(caller_stream);
    const TrimAtEnd trim(plan.device, stream);
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
        const LayoutCopy copied = in_layout(loaded.rows, m.cols, selector.layout, stream);
        SelectJob job{copied.data, m.type, rows, m.cols, k, copied.stride, largest, sorted};
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
