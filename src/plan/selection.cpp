// The plan of a selection: device, selector, and rows at a time.
#include <fmt/format.h>

#include <algorithm>

#include "cpu/select/selectors.h"
#include "exact/refuse.h"
#include "gpu/select/choice.h"
#include "gpu/select/cluster/tuning.h"
#include "gpu/select/selectors.h"
#include "kith/error.h"
#include "papers/plan.h"
#include "plan/planner.h"

namespace kith::planner {

namespace {

// GPU selectors count the values of a row in 32 bits, and reserve one number.
constexpr std::int64_t most_gpu_columns = 0xfffffffe;
// The most blocks of a launch; a row takes at least one.
constexpr std::int64_t most_gpu_rows = 0x7fffffff;
// The most bytes of values copied from the host at a time. They take less than a quarter of a
// second at 20 GB/s: a selection can be cancelled between tiles only.
constexpr double most_host_bytes = 4.0 * (1 << 30);

// The CPU's choice. EPYC (Zen 5), 2026-11-21, f32, one thread, uniform values, three rounds on a
// shared machine (rates varied by 2, ratios within a round less). Rate of insertion over the better
// of vector and nth-element: n 400: 1.2 to 2.4 at k 10, 0.4 to 0.6 at k 100; n 1000: 0.8 to 1.4 at
// k 4, 0.9 to 1.6 at k 20. Rate of nth-element over vector at n 2^20: 0.7 to 0.8 at k 30 %, 1 at k
// 50 %. Rows shorter than short_row are not sampled; sampling is what makes "vector" fast.
constexpr std::int64_t short_row = 512, short_row_insertion_k = 32;
constexpr std::int64_t middling_row = 2048, middling_row_insertion_k = 8;
// If k exceeds this share of a row, partitioning the whole row costs no more than a threshold.
constexpr double whole_row_share = 1.0 / 3;

bool in_build(const cpu::Selector&) {
    return true;
}
bool in_build(const gpu::Selector& selector) {
    return papers::has(selector);
}

// The names of the selectors that this build has.
template <class Selectors>
std::string names_of(const Selectors& selectors) {
    std::string names;
    for (const auto& each : selectors)
        if (in_build(each)) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    return names;
}

// Refuses a forced selector that the device lacks, or whose range of k excludes this one.
// `selector` may be null. `elsewhere`: another kind of device has it.
template <class Selector>
void check_forced(const Request& r, const Selector* selector, bool elsewhere, const char* here,
                  const char* there, const std::string& names) {
    if (!selector && elsewhere)
        refuse("selector: '{}' runs on {} only; expected on {} one of {}", r.selector, there, here,
               names);
    if (!selector)
        refuse("selector: '{}' is unknown; expected on {} one of {}", r.selector, here, names);
    if (!in_build(*selector)) refuse("selector: '{}': {}", r.selector, papers::not_built);
    if (r.shape.k < selector->min_k || (selector->max_k && r.shape.k > selector->max_k))
        refuse("selector: '{}' serves k from {} to {}; k is {}", r.selector, selector->min_k,
               selector->max_k ? std::to_string(selector->max_k) : "the row's length", r.shape.k);
}

std::string cpu_selector(const Request& r, std::string& why) {
    if (!r.selector.empty()) {
        check_forced(r, cpu::find_selector(r.selector), gpu::find_selector(r.selector) != nullptr,
                     "the CPU", "a GPU", names_of(cpu::selectors));
        why += fmt::format("selector {}: forced. ", r.selector);
        return r.selector;
    }
    const std::int64_t n = r.shape.n, k = r.shape.k;
    if ((n < short_row && k <= short_row_insertion_k) ||
        (n < middling_row && k <= middling_row_insertion_k)) {
        why += "selector insertion: a short row, of which few are kept. ";
        return "insertion";
    }
    const double share = static_cast<double>(k) / static_cast<double>(n);
    if (n < short_row) {
        why += "selector nth-element: a short row. ";
        return "nth-element";
    }
    if (share > whole_row_share) {
        why += fmt::format("selector nth-element: k is {:.0f} % of a row. ", 100 * share);
        return "nth-element";
    }
    why += "selector vector: one pass of vector comparisons, of which few values pass. ";
    return "vector";
}

std::string gpu_selector(const Request& r, bool clusters, std::string& why) {
    const Shape& s = r.shape;
    const bool f64 = s.type == ElementType::f64;
    if (!r.selector.empty()) {
        const gpu::Selector* const selector = gpu::find_selector(r.selector);
        check_forced(r, selector, cpu::find_selector(r.selector) != nullptr, "a GPU", "the CPU",
                     names_of(gpu::selectors));
        if (f64 && selector->types != gpu::SelectTypes::any)
            refuse("selector: '{}' serves f32; the values are f64", r.selector);
        if (r.selected.enqueue && selector->waits)
            refuse(
                "selector: '{}' waits for the device in mid-selection; it cannot be only enqueued",
                r.selector);
        const std::int64_t longest = gpu::longest_row(*selector, clusters);
        if (s.n > longest)
            refuse("selector: '{}' serves rows of at most {} values on this device; they have {}",
                   r.selector, longest, s.n);
        if (r.selected.explained) why += fmt::format("selector {}: forced. ", r.selector);
        return r.selector;
    }
    const bool improving = r.selected.order == (r.selected.largest ? "ascending" : "descending");
    const gpu::SelectChoice& choice = gpu::choose_selector(
        {s.n, s.q, s.k, f64, improving, r.selected.sorted, clusters, r.selected.enqueue});
    if (r.selected.explained)
        why += fmt::format("selector {}: {}. ", choice.selector, choice.reason);
    return choice.selector;
}

// Bytes that one row takes on the device beyond the caller's memory: its values (copied from the
// host, into the other layout, or as f32), the selector's workspace, and the result.
double row_bytes(const Request& r, const gpu::Selector& selector) {
    const auto element = static_cast<double>(size_of(r.shape.type));
    // 16-bit floats, and rows padded to one length, have a copy that is at least as wide as f32.
    const bool narrow = r.shape.type == ElementType::f16 || r.shape.type == ElementType::bf16;
    const bool copied = (narrow && selector.types != gpu::SelectTypes::narrow) ||
                        (r.selected.lengths && !selector.lengths);
    const double copies = (r.data_device == host_memory ? 3 : 1) * element +
                          (narrow || copied ? 2 * std::max(element, 4.0) : 0);
    return static_cast<double>(r.shape.n) * (copies + static_cast<double>(selector.per_value)) +
           static_cast<double>(r.shape.k) *
               (8 + std::max(element, 4.0) + static_cast<double>(selector.per_neighbour)) +
           static_cast<double>(selector.per_row) + 8;
}

void plan_cpu(const Request& r, const Machine& machine, Plan& p) {
    p.isa = r.isa.empty() ? machine.isa : r.isa;
    p.threads = r.threads > 0 ? r.threads : machine.threads;
    p.selector = cpu_selector(r, p.why);
}

void plan_gpu(const Request& r, const Machine::Device& device, Plan& p) {
    if (r.shape.n > most_gpu_columns)
        refuse("distances: {} columns; a GPU selects from at most {}", r.shape.n, most_gpu_columns);
    p.selector = gpu_selector(r, gpu::tuning::has_clusters(device.capability), p.why);
    const double row = row_bytes(r, *gpu::find_selector(p.selector));
    const auto budget = static_cast<double>(r.memory > 0 ? r.memory : device.free_bytes / 2);
    double fit = std::min<double>(budget / row, most_gpu_rows);
    if (r.data_device == host_memory)
        fit = std::min(fit, most_host_bytes / static_cast<double>(r.shape.n) /
                                static_cast<double>(size_of(r.shape.type)));
    fit = std::clamp(fit, 1.0, static_cast<double>(r.shape.q));
    p.query_tile = static_cast<std::int64_t>(fit);
    const double needed = row * static_cast<double>(p.query_tile);
    if (needed > budget)
        throw Error(ErrorCode::out_of_memory,
                    fmt::format("memory: {:.0f} bytes{}; one row of this selection needs {:.0f}",
                                budget, r.memory > 0 ? "" : ", half of what is free", needed));
    p.workspace_bytes = static_cast<std::int64_t>(needed);
    if (r.selected.explained)
        p.why +=
            fmt::format("{} rows at a time, within {:.2f} GiB.", p.query_tile, budget / (1 << 30));
}

}  // namespace

double selection_bytes(const Request& r, const Machine& machine) {
    const int device = choose_device(r.device, r.data_device, machine);
    if (device == host_memory) return 0;
    std::string why;
    const bool clusters =
        gpu::tuning::has_clusters(machine.devices[static_cast<std::size_t>(device)].capability);
    const gpu::Selector* const selector =
        gpu::find_selector(r.selector.empty() ? gpu_selector(r, clusters, why) : r.selector);
    return selector ? row_bytes(r, *selector) * static_cast<double>(r.shape.q) : 0;
}

Plan selection(const Request& r, const Machine& machine) {
    Plan p;
    p.device = choose_device(r.device, r.data_device, machine);
    p.path = Path::select;
    p.chunk_points = p.point_tile = r.shape.n;
    p.query_tile = r.shape.q;
    const bool chosen = r.device.empty() || r.device == "auto";
    // Too many columns for a GPU, or a selector that only the CPU has: "auto" then takes the CPU if
    // the data are there.
    const bool cpu_only = r.shape.n > most_gpu_columns ||
                          (!gpu::find_selector(r.selector) && cpu::find_selector(r.selector));
    if (p.device != host_memory && chosen && cpu_only && r.data_device == host_memory)
        p.device = host_memory;
    if (p.device == host_memory) {
        p.why = r.device == "cpu" ? "device cpu: asked for. "
                : cpu_only && !machine.devices.empty()
                    ? "device cpu: a GPU does not serve this selection. "
                : machine.no_device.empty() ? "device cpu: the data lie there. "
                                            : fmt::format("device cpu: {}. ", machine.no_device);
        plan_cpu(r, machine, p);
        p.why.pop_back();
        return p;
    }
    const Machine::Device& device = machine.devices[static_cast<std::size_t>(p.device)];
    if (r.selected.explained) p.why = fmt::format("device cuda:{} ({}). ", p.device, device.name);
    p.isa = machine.isa;
    p.threads = r.threads > 0 ? r.threads : machine.threads;
    plan_gpu(r, device, p);
    return p;
}

}  // namespace kith::planner
