// Chooses the devices of a call, and plans how several of them share a search.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "exact/ceil_div.h"
#include "exact/refuse.h"
#include "kith/error.h"
#include "plan/by_selector.h"

namespace kith::planner {

namespace {

// A block has at least this many queries, since a GPU reads all its points for each block.
// Reasoned: the fused filter multiplies 128 queries at a time.
constexpr std::int64_t least_block = 256;
// Blocks per device if the devices are unequal: faster ones take more of them.
constexpr std::int64_t blocks_of_unequal = 4;

// The ordinals in a list like "0,1,3"; none if it is not such a list.
std::optional<std::vector<int>> ordinals_of(const std::string& list) {
    constexpr std::size_t most_digits = 3;
    std::vector<int> ordinals;
    for (std::size_t first = 0; first <= list.size();) {
        const std::size_t end = std::min(list.find(',', first), list.size());
        const std::string number = list.substr(first, end - first);
        if (number.empty() || number.size() > most_digits ||
            number.find_first_not_of("0123456789") != std::string::npos)
            return std::nullopt;
        ordinals.push_back(std::stoi(number));
        first = end + 1;
    }
    return ordinals;
}

}  // namespace

std::vector<int> choose_devices(const std::string& device, int data_device,
                                const Machine& machine) {
    if (device == "cpu") return {host_memory};
    const int count = static_cast<int>(machine.devices.size());
    if (device.empty() || device == "auto") {
        if (data_device != host_memory) return {data_device};
        return {count > 0 ? 0 : host_memory};
    }
    std::vector<int> ordinals;
    if (device == "cuda") {
        ordinals.push_back(data_device != host_memory ? data_device : 0);
    } else if (device == "cuda:all") {
        for (int i = 0; i < std::max(1, count); ++i) ordinals.push_back(i);
    } else {
        const auto listed =
            device.rfind("cuda:", 0) == 0 ? ordinals_of(device.substr(5)) : std::nullopt;
        if (!listed)
            refuse("device: '{}'; expected auto, cpu, cuda, cuda:N, cuda:N,M,... or cuda:all",
                   device);
        ordinals = *listed;
    }
    for (std::size_t i = 0; i < ordinals.size(); ++i) {
        if (ordinals[i] >= count)
            throw Error(
                ErrorCode::device,
                fmt::format("device: '{}'; this machine has {} ({})", device,
                            count == 0 ? "no usable GPU" : fmt::format("{} GPU(s)", count),
                            machine.no_device.empty() ? "ordinals start at 0" : machine.no_device));
        if (std::find(ordinals.begin(), ordinals.begin() + static_cast<std::ptrdiff_t>(i),
                      ordinals[i]) != ordinals.begin() + static_cast<std::ptrdiff_t>(i))
            refuse("device: '{}'; expected each GPU once, and {} is there twice", device,
                   ordinals[i]);
    }
    return ordinals;
}

int choose_device(const std::string& device, int data_device, const Machine& machine) {
    const std::vector<int> devices = choose_devices(device, data_device, machine);
    if (devices.size() > 1)
        refuse("device: '{}'; expected one device: several share searches and graphs only", device);
    return devices.front();
}

std::string spelled(const std::vector<int>& devices) {
    if (devices.empty() || devices.front() == host_memory) return "cpu";
    std::string names = "cuda:";
    for (std::size_t i = 0; i < devices.size(); ++i)
        names += fmt::format("{}{}", i ? "," : "", devices[i]);
    return names;
}

Kind kind_of(const std::vector<int>& devices, const Machine& machine) {
    if (devices.front() == host_memory) return Kind::cpus;
    const auto name = [&](int device) {
        return machine.devices[static_cast<std::size_t>(device)].name;
    };
    const bool equal = std::all_of(devices.begin(), devices.end(), [&](int device) {
        return device != host_memory && name(device) == name(devices.front());
    });
    return equal ? Kind::equal_gpus : Kind::unequal_gpus;
}

std::int64_t block_queries(std::int64_t q, std::int64_t at_once, std::size_t count, Kind kind) {
    const auto devices = static_cast<std::int64_t>(count);
    const std::int64_t tile = kind == Kind::cpus ? q : std::max<std::int64_t>(1, at_once);
    const std::int64_t rounds =
        exact::ceil_div(q, devices * tile) * (kind == Kind::equal_gpus ? 1 : blocks_of_unequal);
    return std::min(
        q, std::max(kind == Kind::cpus ? 1 : least_block, exact::ceil_div(q, devices * rounds)));
}

Plan divide(const Request& request, const Machine& machine, const std::vector<int>& devices) {
    const auto count = static_cast<std::int64_t>(devices.size());
    if (forces_selector(request.selector))
        refuse("selector: '{}' runs on one device; device is {}", request.selector,
               spelled(devices));
    Request one = request;
    one.device = spelled({devices.front()});
    // A block searches one neighbour more than the graph: a point itself may be among them.
    one.shape.graph = false;
    one.shape.k += request.shape.graph ? 1 : 0;
    one.points.prepared = false;  // points that do not fit are cut into shards first
    Plan p = make(one, machine);
    const std::int64_t n = request.shape.n;
    if (p.chunk_points < n) one.shape.n = exact::ceil_div(n, count);
    one.points.prepared = request.points.prepared;
    one.shape.q =
        block_queries(request.shape.q, p.query_tile, devices.size(), kind_of(devices, machine));
    p = make(one, machine);
    p.devices = devices;
    p.device_queries = one.shape.q;
    p.device_points = one.shape.n;
    p.why += fmt::format(" {} devices: {}, blocks of {} queries.", count,
                         one.shape.n < n ? fmt::format("a shard of {} points each", one.shape.n)
                                         : "each holds all points and takes the next block",
                         one.shape.q);
    return p;
}

}  // namespace kith::planner
