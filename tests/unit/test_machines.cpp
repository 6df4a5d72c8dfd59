// Files of machines: what is read, what is refused and how, which file is this machine's, what rates say between and
// beyond what was measured.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "kith/error.h"
#include "kith/kith.h"
#include "kith/plan.h"
#include "plan/rates/json.h"
#include "plan/rates/machines.h"

namespace {

using kith::Error;
using kith::ErrorCode;
using kith::planner::Asked;
using kith::planner::KnownMachine;
using kith::planner::parse_json;
using kith::planner::read_machine;

std::string refusal(const std::string& text) {
    try {
        read_machine(text, "m.json");
    } catch (const Error& error) {
        EXPECT_EQ(ErrorCode::bad_file, error.code());
        return error.what();
    }
    return "read";
}

std::string small(const std::string& rate) {
    return R"({"version": 1, "name": "m", "what": "a machine", "date": "2026-11-29", "source": "here",
 "machine": {"isa": "avx2", "bf16": false, "vnni": false, "threads": 4, "free_bytes": 1e10, "no_device": "none",
             "devices": []},
 "start_seconds": 0, "copied_bytes_per_second": 0, "prepared_values_per_second": 0, "rates": [)" +
           rate + "]}";
}

const std::string gemm =
    R"({"device": "cpu", "path": "gemm-f32", "metric": "", "d": 16, "k": 10, "pairs_per_second": 1e9})";

TEST(Json, ReadsEveryKindOfValue) {
    const auto value =
        parse_json(R"( {"a": [1, -2.5e3, true, false, null], "b": "x\"\\\né\ud83d\ude00", "c": {}} )", "t");
    ASSERT_NE(nullptr, value.find("a"));
    ASSERT_EQ(5U, value.find("a")->items.size());
    EXPECT_EQ(-2500, value.find("a")->items[1].number);
    EXPECT_TRUE(value.find("a")->items[2].boolean);
    EXPECT_EQ("x\"\\\n\xc3\xa9\xf0\x9f\x98\x80", value.find("b")->text);
    EXPECT_EQ(nullptr, value.find("d"));
}

TEST(Json, SaysWhereATextIsNoJson) {
    const auto what = [](const std::string& text) {
        try {
            parse_json(text, "t");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("read");
    };
    EXPECT_EQ("t:1:1: ends too early", what(""));
    EXPECT_EQ("t:2:1: expected ','", what("[1\n2]"));
    EXPECT_EQ("t:1:11: key 'a' twice", what(R"({"a":1,"a"   :2})"));
    EXPECT_EQ("t:1:3: more than one value", what("1 2"));
    for (const char* text : {"{", "[", "[1,]", "{\"a\"}", "{\"a\":1,}", "\"x", "\"\\q\"", "\"\\ud800\"", "\"\\u12", "-",
                             "1e999", "nan", "tru", "{a:1}", "\"\n\""})
        EXPECT_NE("read", what(text)) << text;
    EXPECT_NE(std::string::npos, what(std::string(1000, '[')).find("levels"));
    EXPECT_NE(std::string::npos, what(std::string(2 << 20, ' ')).find("bytes"));
}

TEST(MachineFile, NamesTheFileTheLineAndWhatIsWrong) {
    EXPECT_EQ("read", refusal(small(gemm)));
    const auto expect = [](const std::string& text, const std::string& what) {
        const std::string said = refusal(text);
        EXPECT_EQ(0U, said.find("m.json:")) << said;
        EXPECT_NE(std::string::npos, said.find(what)) << said;
    };
    const auto with = [](std::string text, const std::string& from, const std::string& to) {
        return text.replace(text.find(from), from.size(), to);
    };
    expect("[]", "expected an object");
    expect("{}", "no 'version'");
    expect(with(small(gemm), "\"version\": 1", "\"version\": 2"), "kith calibrate writes it anew");
    expect(small(""), "no rates");
    expect(small("3"), "a rate: expected an object");
    expect(small(with(gemm, "gemm-f32", "gemm-f33")), "path: 'gemm-f33' is unknown");
    expect(small(with(gemm, "1e9", "-1e9")), "pairs_per_second: -1");
    expect(small(with(gemm, "1e9", "\"fast\"")), "expected a number");
    expect(small(with(gemm, ", \"pairs_per_second\": 1e9", "")), "a rate of nothing");
    expect(small(with(gemm, "\"d\": 16", "\"d\": 0")), "d: 0; expected 1 to");
    expect(with(small(gemm), "\"threads\": 4", "\"threads\": 0"), "threads: 0; expected 1 to 4096");
    expect(with(small(gemm), "\"bf16\": false", "\"bf16\": 0"), "bf16: expected true or false");
}

TEST(MachineFile, IsReadAsItWasWritten) {
    for (KnownMachine machine : kith::planner::known_machines()) {
        machine.facts.what = "quotes \" and \\ and\ttabs";
        machine.rates[0].call_seconds = 0.125;
        const KnownMachine again = read_machine(written(machine), "again");
        EXPECT_EQ(machine.facts.name, again.facts.name);
        EXPECT_EQ(machine.facts.what, again.facts.what);
        EXPECT_EQ(machine.rates, again.rates);
        EXPECT_EQ(machine.machine.isa, again.machine.isa);
        EXPECT_EQ(machine.machine.free_bytes, again.machine.free_bytes);
        EXPECT_EQ(machine.machine.devices.size(), again.machine.devices.size());
        EXPECT_EQ(machine.copied_bytes, again.copied_bytes);
    }
}

double seconds(const KnownMachine& m, double d, double k, double n = 1e6, double q = 1e3) {
    return known_seconds(
        m, {.device = "cpu", .path = kith::Path::gemm_f32, .metric = "cosine", .n = n, .q = q, .d = d, .k = k});
}

TEST(MachineFile, RatesHoldAtWhatWasMeasuredBetweenAndBeyond) {
    const auto row = [](int d, int k, const char* rate) {
        return R"({"device": "cpu", "path": "gemm-f32", "metric": "", "d": )" + std::to_string(d) + R"(, "k": )" +
               std::to_string(k) + R"(, "pairs_per_second": )" + rate + "}";
    };
    // In no order.
    const KnownMachine m = read_machine(
        small(row(64, 100, "1e8") + "," + row(16, 10, "8e8") + "," + row(64, 10, "2e8") + "," + row(16, 100, "4e8")),
        "m");
    EXPECT_DOUBLE_EQ(1e9 / 8e8, seconds(m, 16, 10));
    EXPECT_DOUBLE_EQ(1e9 / 1e8, seconds(m, 64, 100));
    EXPECT_NEAR(1e9 / 4e8, seconds(m, 32, 10), 1e-6);  // the middle, as a power
    EXPECT_DOUBLE_EQ(1e9 / 8e8, seconds(m, 2, 10));
    EXPECT_DOUBLE_EQ(2 * 1e9 / 2e8, seconds(m, 128, 10));
    EXPECT_DOUBLE_EQ(1e9 / 4e8, seconds(m, 16, 1000));
    EXPECT_GT(seconds(m, 40, 50), seconds(m, 20, 20));
    EXPECT_EQ(0,
              known_seconds(
                  m, {.device = "cpu", .path = kith::Path::exact, .metric = "cosine", .n = 1, .q = 1, .d = 1, .k = 1}));
    EXPECT_EQ(
        0,
        known_seconds(
            m, {.device = "a GPU", .path = kith::Path::gemm_f32, .metric = "cosine", .n = 1, .q = 1, .d = 1, .k = 1}));
}

TEST(MachineFile, AMetricsOwnRatesComeBeforeThoseOfAny) {
    std::string own = gemm;
    own.replace(own.find("\"\""), 2, "\"cosine\"").replace(own.find("1e9"), 3, "5e8");
    const KnownMachine m = read_machine(small(gemm + "," + own), "m");
    EXPECT_DOUBLE_EQ(2, seconds(m, 16, 10));
    EXPECT_DOUBLE_EQ(1, known_seconds(m, {.device = "cpu",
                                          .path = kith::Path::gemm_f32,
                                          .metric = "sqeuclidean",
                                          .n = 1e6,
                                          .q = 1e3,
                                          .d = 16,
                                          .k = 10}));
}

TEST(MachineFile, PointsThatArePreparedTakeNoTime) {
    const KnownMachine m =
        read_machine(small(R"({"device": "cpu", "path": "tree", "metric": "", "d": 3, "k": 10, "call_seconds": 1,
                  "point_seconds": 1e-6, "query_seconds": 1e-3})"),
                     "m");
    Asked asked{.device = "cpu", .path = kith::Path::tree, .metric = "", .n = 65534, .q = 100, .d = 3, .k = 10};
    EXPECT_NEAR(1 + 0.065534 + 0.1, known_seconds(m, asked), 1e-9);
    asked.prepared = true;
    EXPECT_NEAR(1.1, known_seconds(m, asked), 1e-9);
    asked.faster = 2;
    EXPECT_NEAR(1.05, known_seconds(m, asked), 1e-9);
}

// int8 serves few neighbours alone: for more the rate is that of fp16.
TEST(MeasuredMachines, BytesCountWhereTheyWereMeasured) {
    const auto pairs = [](std::int64_t k) {
        const kith::Shape shape{1 << 20, 8192, 128, k, kith::ElementType::f32, false, true};
        const kith::Plan plan = kith::plan_on("h100", shape);
        return 0x1p33 / kith::measured_time("h100", shape, {}, plan).seconds;
    };
    EXPECT_GT(pairs(10), 2.5e12);
    EXPECT_LT(pairs(1000), 1.2e12);
}

TEST(MachineFile, AFileIsAMachineByItsName) {
    const std::string folder = testing::TempDir();
    const std::string file = folder + "/machine_by_name.json";
    const kith::Shape shape{1000, 10, 16, 10};
    std::ofstream(file) << small(gemm);
    EXPECT_EQ("avx2", kith::plan_on(file, shape).isa);
    EXPECT_GT(kith::measured_time(file, shape, {}, kith::plan_on(file, shape)).seconds, 0);
    std::ofstream(file) << "{";
    for (const std::string& name : {file, folder + "/no_such_machine.json"}) {
        try {
            kith::plan_on(name, shape);
            FAIL() << name;
        } catch (const Error& error) {
            EXPECT_EQ(ErrorCode::bad_file, error.code());
            EXPECT_EQ(0U, std::string(error.what()).find(name)) << error.what();
        }
    }
    std::filesystem::remove(file);
}

TEST(Calibration, WritesWhatItReads) {
    const std::vector<kith::MeasuredRate> rates = {
        {.device = "cpu", .path = kith::Path::exact, .metric = "canberra", .d = 8, .k = 10, .pairs_per_second = 2e8}};
    const KnownMachine m = read_machine(kith::calibration_text(rates, "2026-11-29"), "m");
    EXPECT_EQ(rates, m.rates);
    EXPECT_EQ("2026-11-29", m.date);
    EXPECT_FALSE(m.machine.isa.empty());
    EXPECT_THROW(kith::calibration_text({}, "2026-11-29"), Error);
    EXPECT_THROW(
        kith::calibration_text({{.device = "cuda:77", .metric = "", .d = 1, .k = 1, .pairs_per_second = 1}}, ""),
        Error);
    EXPECT_THROW(kith::calibration_text({{.device = "cpu", .metric = "", .d = 1, .k = 1, .pairs_per_second = -1}}, ""),
                 Error);
    EXPECT_EQ("cpu", kith::devices_to_measure().at(0));
}

}  // namespace
