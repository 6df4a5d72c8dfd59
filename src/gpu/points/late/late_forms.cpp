// See late_forms.h.
#include "gpu/points/late/late_forms.h"

#include <mutex>

#include "gpu/points/pca/projection.h"
#include "gpu/points/points.h"
#include "gpu/points/prepare_filter.h"
#include "gpu/points/repeats.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/memory/call_memory.h"
#include "gpu/runtime/with_room.h"
#include "gpu/tree/tree.h"

namespace kith::gpu {

namespace {

template <class Forms, class Take>
void for_each(Forms& forms, const Take& take) {
    take(forms.one_term);
    take(forms.two_terms);
    take(forms.direct_coarse);
    take(forms.direct);
    take(forms.tree);
    take(forms.repeats);
    for (auto& each : forms.wider) take(each);
}

}  // namespace

std::int64_t LateForms::bytes() const {
    std::int64_t sum = 0;
    for_each(*this, [&](const auto& slot) { sum += slot.bytes(); });
    return sum;
}

void LateForms::forget() {
    const std::unique_lock alone(in_use, std::try_to_lock);
    if (alone) for_each(*this, [](auto& slot) { slot.forget(); });
}

namespace {

template <class... T>
std::int64_t bytes_of(const Buffer<T>&... buffers) {
    return ((buffers.size() * static_cast<std::int64_t>(sizeof(T))) + ...);
}
std::int64_t bytes_of(const FilterVectors& f) {
    return bytes_of(f.centre, f.values, f.vectors, f.half_norm, f.point_error, f.order);
}
std::int64_t bytes_of(const Tree& t) {
    return bytes_of(t.coordinates, t.ends, t.ids, t.least_ids, t.counts);
}
std::int64_t bytes_of(const Repeats& r) {
    return bytes_of(r.earlier);
}
std::int64_t bytes_of(const ByteTermRows& b) {
    return bytes_of(b.rows);
}

// The form that make() returns, made on a stream of its own: it outlives the search that needs it.
template <class Form, class Make>
const Form& made_once(FormSlot<Form>& slot, const char* what, const Make& make) {
    return slot.get(
        [&] {
            InFlight work(nullptr);
            Form form = make();
            work.wait(what);
            return form;
        },
        [](const Form& form) { return bytes_of(form); });
}

const FilterVectors& filter_once(FormSlot<FilterVectors>& slot, const Chunk& chunk,
                                 const DeviceMetric& metric, FilterKind kind) {
    return made_once(slot, "preparing a filter",
                     [&] { return prepare_filter(chunk.points, metric, kind, nullptr); });
}

}  // namespace

const FilterVectors& filter_of(const Chunk& chunk, const DeviceMetric& metric, FilterKind kind) {
    const FilterForm& own = chunk.filter.form;
    const bool direct = kind == FilterKind::direct || kind == FilterKind::direct_coarse;
    if (!chunk.by_tree && kind != FilterKind::two_terms && own.is_direct() == direct &&
        (kind != FilterKind::direct || !is_coarse(own)))
        return chunk.filter;
    LateForms& late = *chunk.late;
    // A filter of the kind direct_coarse may have f32 words already.
    const FilterVectors* const coarse = late.direct_coarse.known();
    if (kind == FilterKind::direct && coarse && !is_coarse(coarse->form)) return *coarse;
    FormSlot<FilterVectors>& slot = kind == FilterKind::direct          ? late.direct
                                    : kind == FilterKind::direct_coarse ? late.direct_coarse
                                    : kind == FilterKind::one_term      ? late.one_term
                                                                        : late.two_terms;
    return filter_once(slot, chunk, metric, kind);
}

const FilterVectors& spread_filter(const Chunk& chunk, const DeviceMetric& metric) {
    return filter_once(chunk.late->one_term, chunk, metric, FilterKind::one_term);
}

const Tree& tree_of(const Chunk& chunk, const DeviceMetric& metric) {
    return made_once(chunk.late->tree, "making a tree", [&] {
        return make_tree(chunk.points.prepared(), *metric.kernels, metric.params, nullptr);
    });
}

const ByteTermRows* terms_of(const Chunk& chunk, int terms) {
    if (terms == Learned::own_terms) return &chunk.projected->byte_terms;
    const ByteTermRows* rows = nullptr;
    with_room([&] {
        rows =
            &made_once(chunk.late->wider.at(static_cast<std::size_t>(terms)), "wider terms", [&] {
                return make_byte_terms(*chunk.projected, chunk.points.rows.count, 1 << terms,
                                       nullptr);
            });
    });
    return rows;
}

const Repeats* known_repeats(const Chunk& chunk) {
    const Repeats* const found = chunk.late->repeats.known();
    return found && found->many() ? found : nullptr;
}

const Repeats& repeats_of(const Chunk& chunk, std::int64_t d) {
    return made_once(chunk.late->repeats, "counting equal rows",
                     [&] { return count_repeats(chunk.points.rows, d, nullptr); });
}

const Repeats* counted_repeats(const Chunk& chunk, std::int64_t d, double room) {
    constexpr double bytes_per_row = 48;  // temporary memory for the sort
    if (bytes_per_row * static_cast<double>(chunk.points.rows.count) <= room)
        with_room([&] { repeats_of(chunk, d); });
    return known_repeats(chunk);
}

std::int64_t late_bytes(const Points& points) {
    return points.resident.late->bytes();
}

void forget_late(const Points& points) {
    if (late_bytes(points) == 0) return;
    const DeviceScope scope(points.device);
    CallMemory call(points.device, nullptr);
    points.resident.late->forget();
    call.wait("releasing forms of the points");
}

}  // namespace kith::gpu
