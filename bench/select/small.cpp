// Small batches: the planner's choice as a caller waits for it and as it is enqueued, and every candidate's time on the
// device.
#include "select/small.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "gpu/select/choice.h"
#include "kith/error.h"
#include "select/regret.h"

namespace kith::bench {

namespace {

struct Shape {
    std::int64_t rows, n, k;
    double goal;  // seconds of a call; NaN: none
};

constexpr Shape shapes[] = {
    {1, 4096, 8, no_figure},        {1, 32768, 50, no_figure},     {1, 65536, 64, 15e-6},
    {1, 65536, 2048, no_figure},    {1, 131072, 64, no_figure},    {1, 262144, 64, no_figure},
    {8, 32768, 2048, no_figure},    {16, 65536, 64, no_figure},    {64, 4096, 64, no_figure},
    {64, 65536, 64, no_figure},     {64, 65536, 2048, 25e-6},      {128, 32768, 128, no_figure},
    {128, 131072, 2048, no_figure}, {512, 16384, 64, no_figure},   {512, 65536, 1024, no_figure},
    {2048, 4096, 64, no_figure},    {2048, 16384, 256, no_figure}, {2048, 131072, 64, no_figure},
    {2048, 131072, 512, no_figure}, {16384, 4096, 64, no_figure}};

}  // namespace

Json small_batches(Runner& runner, std::vector<std::string> selectors) {
    if (!runner.on_gpu()) throw Error(ErrorCode::device, "small: needs a GPU");
    if (selectors.empty()) selectors = candidates();
    Json json = head("small", runner, false);
    fmt::print("{:>6} {:>7} {:>5}  {:>9} {:>9} {:>9}  {:<22} best candidate\n", "rows", "n", "k", "call us", "enqueued",
               "goal us", "planner");
    for (const Shape& s : shapes) {
        const Case planned{"", s.rows, s.n, s.k};
        const CallTimes own = runner.calls(planned);
        Json cell{{"rows", s.rows}, {"n", s.n}, {"k", s.k}, {"planned", runner.planned(planned)}};
        cell["call_seconds"] = number(own.call);
        cell["enqueued_seconds"] = number(own.enqueued);
        cell["goal_seconds"] = number(s.goal);
        std::string best;
        double least = no_figure;
        for (const std::string& name : selectors) {
            if (!gpu::serves(*gpu::find_selector(name), {s.n, s.rows, s.k})) continue;
            const double seconds = runner.select({name, s.rows, s.n, s.k}, 3 * (std::isnan(least) ? 1.0 : least));
            cell["seconds"][name] = number(seconds);
            if (std::isnan(seconds) || seconds >= least) continue;
            least = seconds;
            best = name;
        }
        fmt::print("{:>6} {:>7} {:>5}  {:>9} {:>9} {:>9}  {:<22} {} {} us\n", s.rows, s.n, s.k, figure(1e6 * own.call),
                   figure(1e6 * own.enqueued), figure(1e6 * s.goal), runner.planned(planned), best,
                   figure(1e6 * least));
        std::fflush(stdout);
        json["cells"].push_back(cell);
    }
    json["notes"] = runner.notes();
    return json;
}

}  // namespace kith::bench
