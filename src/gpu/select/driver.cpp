// kith::select on a device: rows in tiles, brought to the layout that the selector wants, then one
// job per tile.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "gpu/backend.h"
#include "gpu/points/points.h"
#include "gpu/primitives/gather.h"
#include "gpu/primitives/transpose.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/handles.h"
#include "gpu/runtime/waited_launch.h"
#include "gpu/select/ragged.h"
#include "gpu/select/selector.h"
#include "machine/lasting.h"
#include "papers/gpu.h"

namespace kith::gpu {

namespace {

struct Entry {
    SelectFunction function;  // null: the papers' component has it
    int variant;
};

// In the order of `selectors`.
constexpr Entry entries[] = {
#define KITH_SELECTOR(function, variant, ...) {function, variant},
#define KITH_PAPERS_SELECTOR(function, variant, ...) {nullptr, variant},
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
#undef KITH_PAPERS_SELECTOR
};

Entry entry_of(std::string_view name) {
    const Selector* const found = find_selector(name);
    if (!found)
        throw Error(ErrorCode::invalid_argument,
                    "selector: '" + std::string(name) + "' is not in the list");
    const auto place = static_cast<std::size_t>(found - selectors.data());
    Entry entry = entries[place];
    if (found->papers) entry.function = papers::selector_function(place);
    return entry;
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
    if (layout == SelectLayout::by_column && (in.row_stride == 1 || in.count == 1))
        return {in.data, in.col_stride, {}};
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
        transpose(static_cast<const float*>(in.data), stride, outer, inner,
                  reinterpret_cast<float*>(copied.copy.get()), stream);
    return copied;
}

// Gives a job, whose shape and result are set, its values: the caller's, or such a copy as the
// selector takes.
void run_job(const Entry& entry, const Selector& selector, const Rows& in,
             const std::int64_t* lengths, SelectJob& job) {
    const bool narrow = in.type == ElementType::f16 || in.type == ElementType::bf16;
    const bool widen = narrow && selector.types != SelectTypes::narrow,
               pad = lengths && !selector.lengths;
    if (!pad) job.lengths = lengths;
    // A copy that a selector takes whatever it wants: the layout is a selector's that takes narrow
    // values, by_row.
    if (!widen && !pad && !(narrow && in.col_stride != 1)) {
        const LayoutCopy copied = in_layout(in, job.n, selector.layout, job.stream);
        job.values = copied.data;
        job.type = in.type;
        job.stride = copied.stride;
        return entry.function(job, entry.variant);
    }
    Rows wide{nullptr, in.count, job.n, 1,
              in.type == ElementType::f64 ? ElementType::f64 : ElementType::f32};
    const Buffer<char> values(in.count * job.n * static_cast<std::int64_t>(size_of(wide.type)),
                              job.stream);
    wide.data = values.get();
    widen_rows(in, lengths, job.n, values.get(), job.stream);
    const LayoutCopy copied = in_layout(wide, job.n, selector.layout, job.stream);
    job.values = copied.data;
    job.type = wide.type;
    job.stride = copied.stride;
    void* const out = std::exchange(job.out, nullptr);
    entry.function(job, entry.variant);
    finish_rows(in, lengths, job.n, job.rows, job.k, job.largest, job.ids, out, job.stream);
}

// Pairs of events that no timer has, of each device.
struct IdleEvents {
    std::mutex mutex;
    std::array<std::vector<std::pair<Event, Event>>, max_devices> free;
};
constinit machine::Lasting<IdleEvents> idle_events;

// Device time between two points of a stream. Its events come from a pool that lives as long as the
// process: making them takes as long as a small selection.
class DeviceTimer {
public:
    explicit DeviceTimer(cudaStream_t stream)
        : device_(current_device()), stream_(stream), events_(taken(device_)) {
        check(cudaEventRecord(events_.first.get(), stream_), "cudaEventRecord");
    }
    ~DeviceTimer() {
        const std::lock_guard lock(idle_events.get().mutex);
        idle_events.get().free[static_cast<std::size_t>(device_)].push_back(std::move(events_));
    }
    DeviceTimer(const DeviceTimer&) = delete;
    DeviceTimer& operator=(const DeviceTimer&) = delete;
    void stop() { check(cudaEventRecord(events_.second.get(), stream_), "cudaEventRecord"); }
    // After the stream has been synchronised.
    double seconds() const {
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, events_.first.get(), events_.second.get()),
              "cudaEventElapsedTime");
        return 1e-3 * milliseconds;
    }

private:
    using Events = std::pair<Event, Event>;
    static Events taken(int device) {
        {
            const std::lock_guard lock(idle_events.get().mutex);
            std::vector<Events>& free = idle_events.get().free[static_cast<std::size_t>(device)];
            if (!free.empty()) {
                Events events = std::move(free.back());
                free.pop_back();
                return events;
            }
        }
        return {make_event(cudaEventDefault), make_event(cudaEventDefault)};
    }

    int device_;
    cudaStream_t stream_;
    Events events_;
};

// Up to so many values that lie on the device, two events are a tenth of what their caller waits
// for.
constexpr std::int64_t most_untimed = 1 << 24;
constinit std::atomic<bool> small_ones_timed = false;
// Whether enqueued work has left memory in the pool, which the next call that may wait gives back.
constinit std::atomic<bool> left_in_pool = false;

}  // namespace

void time_small_selections(bool yes) {
    small_ones_timed = yes;
}

void run_selector(std::string_view name, const Rows& values, SelectJob job) {
#ifdef KITH_COUNT_OPERATIONS
    const Buffer<unsigned long long> counts(operation_slots, job.stream);  // nobody reads them
    job.counts = counts.get();
#endif
    const Entry entry = entry_of(name);
    run_job(entry, *find_selector(name), values, nullptr, job);
}

std::vector<std::uint64_t> take_operation_counts() {
#ifdef KITH_COUNT_OPERATIONS
    return std::exchange(operations, {});
#else
    return {};
#endif
}

void select(const SelectRequest& request) {
    const auto& [m, selection, lengths_on_device, plan, caller_stream, enqueue, progress, out,
                 report] = request;
    const std::int64_t k = selection.k;
    const DeviceScope scope(plan.device);
    auto* const stream = static_cast<cudaStream_t>(caller_stream);
    std::optional<TrimAtEnd> trim;
    if (enqueue) left_in_pool = true;
    else if (left_in_pool.exchange(false)) trim_pool(plan.device, stream);
    if (!enqueue) trim.emplace(plan.device, stream);
    const Entry entry = entry_of(plan.selector);
    const Selector& selector = *find_selector(plan.selector);
    const std::int64_t tile = std::min(plan.query_tile, m.rows);
    const auto element = static_cast<std::int64_t>(size_of(m.type));
    const bool direct = out.device == plan.device;
    const bool small = direct && m.device == plan.device && m.rows <= most_untimed / m.cols;
    const bool timed = !enqueue && (!small || small_ones_timed);
    Buffer<std::int64_t> ids(direct ? 0 : tile * k, stream);
    Buffer<char> values(direct || !out.distances ? 0 : tile * k * element, stream);
    Buffer<std::int64_t> lengths(selection.lengths && !lengths_on_device ? tile : 0, stream);
    for (std::int64_t first = 0; first < m.rows; first += tile) {
        const std::int64_t rows = std::min(tile, m.rows - first), cells = rows * k;
        WaitedLaunch waited;  // declared before what waits
        InFlight work = enqueue ? InFlight() : InFlight(stream);
        const DeviceRows loaded = upload(m, first, rows, false, stream);
        const std::int64_t* row_lengths = selection.lengths ? selection.lengths + first : nullptr;
        if (row_lengths && !lengths_on_device) {
            check(cudaMemcpyAsync(lengths.get(), row_lengths,
                                  static_cast<std::size_t>(rows) * sizeof(std::int64_t),
                                  cudaMemcpyDefault, stream),
                  "copy of the lengths");
            row_lengths = lengths.get();
        }
        auto* const target = static_cast<char*>(out.distances);
        std::optional<DeviceTimer> timer;
        if (timed) timer.emplace(stream);
        SelectJob job{.rows = rows,
                      .n = m.cols,
                      .k = k,
                      .largest = selection.largest,
                      .sorted = selection.sorted};
        job.ids = direct ? out.ids + first * k : ids.get();
        job.out = direct && target ? target + first * k * element : values.get();
        job.stream = stream;
        if (!enqueue) job.waited = &waited;
#ifdef KITH_COUNT_OPERATIONS
        Buffer<unsigned long long> counts(operation_slots, stream);
        counts.clear_to(0);
        job.counts = counts.get();
#endif
        run_job(entry, selector, loaded.rows, row_lengths, job);
        if (timer) timer->stop();
#ifdef KITH_COUNT_OPERATIONS
        std::vector<std::uint64_t> these(operation_slots);
        InFlight counting(stream);
        check(cudaMemcpyAsync(these.data(), counts.get(), these.size() * sizeof(std::uint64_t),
                              cudaMemcpyDefault, stream),
              "copy of the counts");
        counting.wait("select");
        operations.resize(these.size());
        for (std::size_t i = 0; i < these.size(); ++i) operations[i] += these[i];
#endif
        if (!direct) {
            check(cudaMemcpyAsync(out.ids + first * k, ids.get(),
                                  static_cast<std::size_t>(cells) * sizeof(std::int64_t),
                                  cudaMemcpyDefault, stream),
                  "copy of the ids");
            if (target)
                check(cudaMemcpyAsync(target + first * k * element, values.get(),
                                      static_cast<std::size_t>(cells * element), cudaMemcpyDefault,
                                      stream),
                      "copy of the values");
        }
        if (enqueue) continue;
        work.wait("select");
        if (timer) report.device_seconds += timer->seconds();
        progress.add(static_cast<double>(rows) * static_cast<double>(m.cols));
        progress.poll("select");
        progress.throw_if_cancelled();
    }
}

}  // namespace kith::gpu
