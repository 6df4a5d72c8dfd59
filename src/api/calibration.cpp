// Finds the file of this machine's measured rates and checks that it fits; estimates times from a
// machine's rates.
#include "api/calibration.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>

#include "api/request.h"
#include "exact/metric_spec.h"
#include "exact/refuse.h"
#include "kith/error.h"
#include "machine/lasting.h"
#include "plan/choice.h"
#include "plan/rates/costs.h"

namespace kith::api {

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& file, const std::string& what) {
    throw Error(ErrorCode::bad_file, fmt::format("{}: {}", file, what));
}

// An owned file descriptor.
class File {
public:
    // Does not wait for the writer of a pipe.
    explicit File(const std::string& path)
        : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const { return descriptor_; }

private:
    int descriptor_;
};

std::string contents(const std::string& file) {
    const auto unreadable = [&] {
        fail(file, fmt::format("cannot be read: {}", std::strerror(errno)));
    };
    struct stat status {};
    // Checked first, because opening some devices acts on them.
    if (::stat(file.c_str(), &status) != 0) unreadable();
    if (!S_ISREG(status.st_mode)) fail(file, "expected a regular file, written by kith calibrate");
    const File input(file);
    if (input.get() < 0 || ::fstat(input.get(), &status) != 0) unreadable();
    if (!S_ISREG(status.st_mode)) fail(file, "expected a regular file, written by kith calibrate");
    std::string text(most_bytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(input.get(), text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) unreadable();
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    text.resize(size);
    if (text.size() > most_bytes)
        fail(file, "is no machine's file: it has more than a million bytes");
    return text;
}

planner::KnownMachine read(const std::string& file) {
    return planner::read_machine(contents(file), file);
}

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value ? value : "";
}

// kith/machine.json in the user's configuration folder, or "". XDG ignores a relative folder.
std::string usual_file() {
    if (const std::string folder = variable("XDG_CONFIG_HOME"); folder.starts_with('/'))
        return folder + "/kith/machine.json";
    const std::string home = variable("HOME");
    return home.starts_with('/') ? home + "/.config/kith/machine.json" : "";
}

// Why the rates do not belong to this machine's processor, or "".
std::string not_of(const planner::Machine& file, const planner::Machine& here) {
    const auto described = [](const planner::Machine& m) {
        return fmt::format("{}{}{}", m.isa, m.bf16 ? ", bf16" : "", m.vnni ? ", vnni" : "");
    };
    if (described(file) == described(here)) return "";
    return fmt::format("it is of another machine ({}; this one: {})", described(file),
                       described(here));
}

// The time by the first measured path; 0: none was measured.
double first_measured(const planner::KnownMachine& known, planner::Asked asked,
                      std::initializer_list<Path> paths) {
    for (const Path path : paths) {
        asked.path = path;
        if (const double seconds = planner::known_seconds(known, asked); seconds > 0)
            return seconds;
    }
    return 0;
}

// Result of the first use.
struct Found {
    Calibration calibration;
    std::optional<planner::KnownMachine> rates;
};
constinit machine::Lasting<Found> found_file;

std::unique_ptr<Found> find() {
    auto found = std::make_unique<Found>();
    Calibration& c = found->calibration;
    c.file = variable("KITH_MACHINE");
    c.asked = !c.file.empty();
    if (!c.asked) c.file = usual_file();
    if (c.file.empty()) return found;
    if (!c.asked) {
        // A missing file is the usual case.
        struct stat status {};
        if (::stat(c.file.c_str(), &status) != 0 && (errno == ENOENT || errno == ENOTDIR))
            return found;
    }
    try {
        found->rates = read(c.file);
        const planner::Machine here = machine("cpu");
        if (std::string other = not_of(found->rates->machine, here); !other.empty()) {
            c.problem = fmt::format("{}: {}", c.file, other);
            found->rates.reset();
        } else {
            found->rates->facts.what = "this machine";
        }
    } catch (const Error& error) {
        c.problem = error.what();
    }
    c.used = found->rates.has_value();
    return found;
}

}  // namespace

planner::KnownMachine machine_named(const std::string& name) {
    return name.ends_with(".json") || name.find('/') != std::string::npos
               ? read(name)
               : planner::known_machine(name);
}

const planner::KnownMachine* calibrated() {
    const Found& found = found_file.get(find);
    if (found.calibration.asked && !found.calibration.problem.empty())
        throw Error(ErrorCode::bad_file,
                    fmt::format("KITH_MACHINE: {}", found.calibration.problem));
    return found.rates ? &*found.rates : nullptr;
}

Calibration calibration_found() {
    return found_file.get(find).calibration;
}

std::vector<std::string> devices_to_measure() {
    const planner::Machine here = machine("cuda:all");
    std::vector<std::string> devices{"cpu"};
    for (auto at = here.devices.begin(); at != here.devices.end(); ++at) {
        const auto first =
            std::ranges::find(here.devices, at->name, &planner::Machine::Device::name);
        if (first == at) devices.push_back(fmt::format("cuda:{}", at - here.devices.begin()));
    }
    return devices;
}

std::string calibration_text(const std::vector<MeasuredRate>& rates, const std::string& date) {
    planner::KnownMachine known;
    known.facts = {"this machine", "this machine"};
    known.date = date;
    known.source = fmt::format("kith calibrate, {}", date);
    known.machine = machine("cuda:all");
    known.rates = rates;
    for (MeasuredRate& r : known.rates) {
        for (std::size_t i = 0; i < known.machine.devices.size(); ++i)
            if (r.device == fmt::format("cuda:{}", i)) r.device = known.machine.devices[i].name;
        const bool there = r.device == "cpu" ||
                           std::ranges::any_of(known.machine.devices, [&](const auto& device) {
                               return device.name == r.device;
                           });
        if (!there) refuse("rates: device '{}'; expected cpu or a GPU of this machine", r.device);
        for (const double number :
             {r.d, r.k, r.pairs_per_second, r.call_seconds, r.point_seconds, r.query_seconds})
            if (!(number >= 0 && number <= std::numeric_limits<double>::max()))
                refuse("rates: {}; expected a number that is not negative", number);
    }
    std::string text = planner::written(known);
    try {
        planner::read_machine(text, "rates");
    } catch (const Error& error) {
        refuse("{}", error.what());
    }
    return text;
}

MeasuredTime time_by_costs(const Shape& shape, const Options& options, const Plan& plan) {
    const MetricId id = computed_metric(options.metric);
    const bool cpu = plan.device == host_memory;
    // A cost is that of one device, and of its own algorithms.
    if (is_user_metric(id) || !plan.distances.empty() || (!cpu && plan.device_points > 0))
        return {};
    MetricSpec metric;
    metric.id = id;
    metric.params = {
        .p = options.metric.p, .d = shape.d, .packed_bits = options.metric.packed_bits};
    planner::Request asked = request(shape, metric, options, host_memory);
    asked.points.prepared = shape.prepared;
    asked.threads = cpu ? plan.threads : options.threads;
    asked.isa = plan.isa;
    const planner::CostRates& rates = planner::built_in_costs(cpu ? plan.isa : "sm_90a");
    const double seconds = planner::planned_seconds(rates, asked, plan);
    if (!std::isfinite(seconds)) return {};
    return {seconds, fmt::format("built-in rates of {}: {}", rates.name, rates.source)};
}

MeasuredTime time_by(const planner::KnownMachine& known, const Shape& shape, const Options& options,
                     const Plan& plan) {
    const bool cpu = plan.device == host_memory;
    const bool directions = plan.path == Path::projected, clusters = plan.path == Path::clustered,
               bytes = planner::searches_by_bytes(plan);
    planner::Asked asked;
    asked.path = plan.path;
    asked.metric = name(options.metric.id);
    asked.n = static_cast<double>(shape.n);
    asked.q = static_cast<double>(shape.q);
    asked.d = static_cast<double>(shape.d);
    asked.k = static_cast<double>(shape.k);
    const auto ordinal = static_cast<std::size_t>(plan.device);
    asked.device = cpu                                      ? "cpu"
                   : ordinal < known.machine.devices.size() ? known.machine.devices[ordinal].name
                                                            : "";
    // Prepared points that are streamed are transferred again in each search.
    asked.prepared = shape.prepared && (bytes || plan.chunk_points >= shape.n);
    if (cpu) asked.faster = static_cast<double>(plan.threads) / known.machine.threads;
    // The data decide how much a PCA projection or a ball-cover partition saves: the estimate takes
    // a full-dimensional pass over all points. A sample also chooses among a GPU's products, by the
    // k that int8 serves.
    const bool by_sample = directions || clusters || bytes;
    double seconds = 0;
    if (plan.distances.empty()) {
        if (!by_sample) seconds = planner::known_seconds(known, asked);
        else if (cpu)
            seconds =
                first_measured(known, asked, {Path::gemm_i8, Path::gemm_bf16, Path::gemm_f32});
        else seconds = first_measured(known, asked, {Path::gemm_f16});
    }
    if (by_sample && !cpu && plan.host_points == HostPoints::none) {
        asked.path = Path::gemm_i8;
        const double by_bytes = planner::known_seconds(known, asked);
        if (by_bytes > 0 && asked.k <= planner::most_measured_k(known, asked))
            seconds = seconds > 0 ? std::min(seconds, by_bytes) : by_bytes;
    }
    if (seconds <= 0 && plan.distances.empty()) return time_by_costs(shape, options, plan);
    if (seconds <= 0)
        return {0, fmt::format("{} on {} was not measured by path {}", asked.metric,
                               known.facts.what, path_name(plan))};
    MeasuredTime time{
        known.start_seconds + seconds,
        fmt::format("rates of {}, {}{}", known.facts.what, known.source,
                    directions ? ", by all coordinates; along few directions it takes less"
                    : clusters ? ", with all points; in clusters it takes less"
                    : bytes    ? ", by fp16; numbers of 8 bits take less"
                               : "")};
    const double coordinates =
                     ((asked.prepared ? 0 : asked.n) + (shape.graph ? 0 : asked.q)) * asked.d,
                 element = static_cast<double>(size_of(shape.type));
    const double results = asked.q * asked.k * (sizeof(std::int64_t) + sizeof(float));
    if (known.copied_bytes > 0)
        time.seconds += (coordinates * element + results) / known.copied_bytes;
    // The filter's candidates, slightly more than the neighbours.
    constexpr double candidates = 1.1;
    if (plan.host_points != HostPoints::none && known.copied_bytes > 0) {
        time.seconds += candidates * asked.q * asked.k * asked.d * element / known.copied_bytes;
        time.source +=
            "; points that pass the filter are read at the rate of copies, which was not measured";
    }
    if (known.prepared_values > 0) time.seconds += coordinates / known.prepared_values;
    return time;
}

}  // namespace kith::api
