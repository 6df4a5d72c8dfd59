// The format of a machine's file: its facts and rates as JSON. src/plan/machines/*.json are such
// files, and kith calibrate writes one.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kith/error.h"
#include "plan/rates/json.h"
#include "plan/rates/machines.h"

namespace kith::planner {

namespace {

// The newest format that this version reads.
constexpr double version = 1;
constexpr double largest = 1e15;

class File {
public:
    File(std::string_view text, const std::string& origin)
        : origin_(origin), root_(parse_json(text, origin)) {
        check(root_, JsonValue::Kind::object, "the file", "an object");
    }

    KnownMachine machine() {
        const double found = number(root_, "version", 1, largest);
        if (found > version)
            fail(root_, fmt::format(
                            "version {}; this kith reads version {}: kith calibrate writes it anew",
                            found, version));
        KnownMachine m;
        m.facts = {text(root_, "name"), text(root_, "what")};
        m.date = text(root_, "date");
        m.source = text(root_, "source");
        m.start_seconds = number(root_, "start_seconds", 0, largest);
        m.copied_bytes = number(root_, "copied_bytes_per_second", 0, largest);
        m.prepared_values = number(root_, "prepared_values_per_second", 0, largest);
        read_facts(member(root_, "machine", JsonValue::Kind::object, "an object"), m.machine);
        const JsonValue& rates = member(root_, "rates", JsonValue::Kind::array, "an array");
        for (const JsonValue& row : rates.items) m.rates.push_back(rate(row));
        if (m.rates.empty()) fail(rates, "no rates");
        return m;
    }

private:
    [[noreturn]] void fail(const JsonValue& where, const std::string& what) const {
        throw Error(ErrorCode::bad_file,
                    fmt::format("{}:{}:{}: {}", origin_, where.line, where.column, what));
    }

    void check(const JsonValue& value, JsonValue::Kind kind, std::string_view name,
               std::string_view expected) const {
        if (value.kind != kind) fail(value, fmt::format("{}: expected {}", name, expected));
    }

    const JsonValue& member(const JsonValue& of, std::string_view key, JsonValue::Kind kind,
                            std::string_view expected) const {
        const JsonValue* const value = of.find(key);
        if (!value) fail(of, fmt::format("no '{}'; expected {}", key, expected));
        check(*value, kind, key, expected);
        return *value;
    }

    double number(const JsonValue& of, std::string_view key, double least, double most) const {
        const JsonValue& value = member(of, key, JsonValue::Kind::number, "a number");
        if (!(value.number >= least && value.number <= most))
            fail(value, fmt::format("{}: {}; expected {} to {}", key, value.number, least, most));
        return value.number;
    }
    // 0 if the member is absent.
    double seconds(const JsonValue& of, std::string_view key) const {
        return of.find(key) ? number(of, key, 0, largest) : 0;
    }
    std::string text(const JsonValue& of, std::string_view key) const {
        return member(of, key, JsonValue::Kind::text, "a text").text;
    }
    bool boolean(const JsonValue& of, std::string_view key) const {
        return member(of, key, JsonValue::Kind::boolean, "true or false").boolean;
    }

    void read_facts(const JsonValue& facts, Machine& m) const {
        constexpr double most_threads = 4096, most_capability = 1000,
                         most_multiprocessors = 1 << 16;
        m.isa = text(facts, "isa");
        m.bf16 = boolean(facts, "bf16");
        m.vnni = boolean(facts, "vnni");
        m.threads = static_cast<int>(number(facts, "threads", 1, most_threads));
        m.free_bytes = static_cast<std::int64_t>(number(facts, "free_bytes", 0, largest));
        m.no_device = text(facts, "no_device");
        for (const JsonValue& device :
             member(facts, "devices", JsonValue::Kind::array, "an array").items) {
            check(device, JsonValue::Kind::object, "a device", "an object");
            m.devices.push_back(
                {text(device, "name"),
                 static_cast<int>(number(device, "capability", 0, most_capability)),
                 static_cast<std::int64_t>(number(device, "free_bytes", 0, largest)),
                 static_cast<int>(number(device, "multiprocessors", 1, most_multiprocessors))});
        }
    }

    MeasuredRate rate(const JsonValue& row) const {
        check(row, JsonValue::Kind::object, "a rate", "an object");
        MeasuredRate r;
        r.device = text(row, "device");
        const std::string path = text(row, "path");
        const auto known =
            std::ranges::find(paths(), path, [](const PathFacts& p) { return name(p.path); });
        if (known == paths().end()) fail(row, fmt::format("path: '{}' is unknown", path));
        r.path = known->path;
        r.metric = text(row, "metric");
        r.d = number(row, "d", 1, largest);
        r.k = number(row, "k", 1, largest);
        r.pairs_per_second =
            row.find("pairs_per_second") ? number(row, "pairs_per_second", 1, 1e30) : 0;
        r.call_seconds = seconds(row, "call_seconds");
        r.point_seconds = seconds(row, "point_seconds");
        r.query_seconds = seconds(row, "query_seconds");
        if (r.pairs_per_second + r.call_seconds + r.point_seconds + r.query_seconds <= 0)
            fail(row, "a rate of nothing: expected pairs_per_second");
        return r;
    }

    const std::string& origin_;
    JsonValue root_;
};

// The text as a JSON string.
std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        if (code < 0x20) out += fmt::format("\\u{:04x}", code);
        else out += c;
    }
    return out + '"';
}

std::string written(const Machine& m) {
    std::string devices;
    for (const Machine::Device& device : m.devices)
        devices += fmt::format(R"({}
   {{"name": {}, "capability": {}, "free_bytes": {}, "multiprocessors": {}}})",
                               devices.empty() ? "" : ",", quoted(device.name), device.capability,
                               device.free_bytes, device.multiprocessors);
    return fmt::format(R"({{
  "isa": {}, "bf16": {}, "vnni": {}, "threads": {}, "free_bytes": {}, "no_device": {},
  "devices": [{}]
 }})",
                       quoted(m.isa), m.bf16, m.vnni, m.threads, m.free_bytes, quoted(m.no_device),
                       devices);
}

std::string written(const MeasuredRate& r) {
    std::string text =
        fmt::format(R"(  {{"device": {}, "path": "{}", "metric": {}, "d": {}, "k": {})",
                    quoted(r.device), name(r.path), quoted(r.metric), r.d, r.k);
    const std::pair<const char*, double> numbers[] = {{"pairs_per_second", r.pairs_per_second},
                                                      {"call_seconds", r.call_seconds},
                                                      {"point_seconds", r.point_seconds},
                                                      {"query_seconds", r.query_seconds}};
    for (const auto& [key, value] : numbers)
        if (value > 0) text += fmt::format(R"(, "{}": {:.4g})", key, value);
    return text + "}";
}

}  // namespace

std::string written(const KnownMachine& m) {
    std::string rates;
    for (const MeasuredRate& r : m.rates) rates += (rates.empty() ? "" : ",\n") + written(r);
    return fmt::format(R"({{
 "version": {}, "name": {}, "what": {}, "date": {}, "source": {},
 "machine": {},
 "start_seconds": {}, "copied_bytes_per_second": {}, "prepared_values_per_second": {},
 "rates": [
{}
 ]
}}
)",
                       version, quoted(m.facts.name), quoted(m.facts.what), quoted(m.date),
                       quoted(m.source), written(m.machine), m.start_seconds, m.copied_bytes,
                       m.prepared_values, rates);
}

KnownMachine read_machine(std::string_view text, const std::string& origin) {
    return File(text, origin).machine();
}

}  // namespace kith::planner
