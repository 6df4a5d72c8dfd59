// Runs a study and writes down what it found.
#include "select/study.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "kith/error.h"
#include "select/engine.h"
#include "select/regret.h"
#include "select/report.h"
#include "select/small.h"

namespace kith::bench {

std::string missing(const std::string& table, const Options& options) {
    return missing(table_named(table), Runner(options, 1, true));
}

void run(const Study& study, const Options& options) {
    if (study.goals + study.regret + study.small + !study.table.empty() > 1)
        throw Error(ErrorCode::invalid_argument, "--table, --goals, --regret, --small: expected one of them");
    if (!study.times.empty() && !study.regret) throw Error(ErrorCode::invalid_argument, "--times: serves --regret");
    const Judged judged = study.rule ? Judged::hanak_rule : Judged::planner;
    if (study.regret && !study.times.empty()) {
        const Json document = regret_of(read(study.times), judged);
        if (!study.json.empty()) write(document, study.json);
        return;
    }
    if (study.regret || study.small) {
        Runner runner(options, study.repeat, false);
        const Json document =
            study.small ? small_batches(runner, study.selectors) : regret(runner, study.selectors, study.quick, judged);
        if (!study.json.empty()) write(document, study.json);
        return;
    }
    const Table table = study.goals ? goals_table(study.selectors) : table_named(study.table);
    Runner runner(options, study.repeat, true, study.mean ? Statistic::mean : Statistic::median);
    if (const std::string why = missing(table, runner); !why.empty())
        throw Error(ErrorCode::device, fmt::format("table {}: {}", table.name, why));
    MeasuredTable so_far{table, {}};
    if (study.resume && !study.json.empty() && std::filesystem::exists(study.json)) {
        const Json before = read(study.json);
        runner.resume(cases_of(before, study.json, to_json(so_far, runner, study.quick)),
                      counts_of(before, study.json));
    }
    runner.stop_at(study.deadline);
    auto written = std::chrono::steady_clock::now();
    runner.report_to([&] {
        using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
        if (study.json.empty() || std::chrono::steady_clock::now() - written < 2s) return;
        write(to_json(so_far, runner, study.quick), study.json);  // should it end early
        written = std::chrono::steady_clock::now();
    });
    print_head(table, runner, study.quick);
    const auto save = [&](const MeasuredTable& measured) {
        if (!study.json.empty()) write(to_json(measured, runner, study.quick), study.json);
    };
    try {
        const MeasuredTable result = measure(table, runner, study.quick, [&](const MeasuredPanel& panel) {
            print(table, panel, runner.read_rate());
            so_far.panels.push_back(panel);
            save(so_far);
        });
        print_foot(result, runner);
        save(result);
    } catch (const TimeIsUp&) {
        save(so_far);
        throw;
    }
}

}  // namespace kith::bench
