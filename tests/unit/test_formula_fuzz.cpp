// Formulas against an evaluator of their own, bit for bit, on every instruction set: random ones, and named ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "cpu/metric/formula.h"
#include "formula_cases.h"
#include "kith/error.h"

namespace {

using formula_cases::Expression;
using kith::cpu::Formula;
using kith::cpu::Isa;

struct Values {
    std::int64_t n, d;
    double start;
    std::vector<double> q, points;  // points: n rows of d

    Values(formula_cases::Generator& random, std::int64_t n_, std::int64_t d_) : n(n_), d(d_), start(random.value()) {
        for (std::int64_t i = 0; i < d; ++i) q.push_back(random.value());
        for (std::int64_t i = 0; i < n * d; ++i) points.push_back(random.value());
    }
    // Points of one coordinate.
    Values(std::vector<double> coordinates, double query)
        : n(static_cast<std::int64_t>(coordinates.size())), d(1), start(0), q{query}, points(std::move(coordinates)) {}
};

std::vector<double> evaluated(const std::shared_ptr<const kith::formula::Program>& program, const Values& v, Isa isa) {
    Formula formula(program, v.start, isa);
    std::vector<double> columns(static_cast<std::size_t>(Formula::columns(v.n) * v.d)),
        out(static_cast<std::size_t>(v.n));
    formula.transpose(v.points.data(), v.d, v.n, v.d, columns.data());
    formula.distances(v.q.data(), columns.data(), v.n, v.d, out.data());
    return out;
}

template <class Step>
void expect_meaning(const std::string& text, const Values& v, const Step& step) {
    const auto program = kith::formula::compile(text);
    for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
        if (!kith::cpu::supported(isa)) continue;
        const std::vector<double> got = evaluated(program, v, isa);
        for (std::int64_t i = 0; i < v.n; ++i) {
            double a = v.start;
            for (std::int64_t j = 0; j < v.d; ++j)
                a = step(a, v.q[static_cast<std::size_t>(j)], v.points[static_cast<std::size_t>(i * v.d + j)]);
            ASSERT_TRUE(formula_cases::same_bits(a, got[static_cast<std::size_t>(i)]))
                << text << "\non " << kith::cpu::name(isa) << ", n " << v.n << ", d " << v.d << ", start " << v.start
                << ", point " << i << ": expected " << a << ", got " << got[static_cast<std::size_t>(i)];
        }
    }
}

TEST(FormulaFuzz, RandomFormulasHaveTheBitsOfTheirTree) {
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        SCOPED_TRACE(seed);
        formula_cases::Generator random(seed);
        const Expression e = random.expression(1 + static_cast<int>(random.below(6)));
        const std::string text = random.text(e);
        const std::int64_t sizes[] = {1, 5, 8, 21}, dims[] = {1, 1, 2, 3, 9};
        const Values values(random, sizes[random.below(4)], dims[random.below(5)]);
        expect_meaning(text, values, [&](double a, double q, double x) { return evaluate(e, a, q, x); });
        if (HasFatalFailure()) return;
    }
}

// Values that stay finite, so that each coordinate of each point leaves its trace.
TEST(FormulaFuzz, EveryShapeOfATile) {
    for (const std::int64_t n : {1, 7, 40, 64, 509, 512, 600}) {
        for (const std::int64_t d : {1, 11, 63, 64, 65, 130}) {
            formula_cases::Generator random(static_cast<std::uint64_t>(n * 1000 + d));
            Values v(random, n, d);
            v.start = 0.5;
            const auto tame = [&](double& value) { value = 1 + 0.001 * static_cast<double>(random.below(1000)); };
            std::for_each(v.q.begin(), v.q.end(), tame);
            std::for_each(v.points.begin(), v.points.end(), tame);
            expect_meaning("a + fabs(q - x)", v, [](double a, double q, double x) { return a + std::fabs(q - x); });
            expect_meaning("a * 0.75 + sqrt(q) * x - (q < x ? a / x : q / 3)", v, [](double a, double q, double x) {
                return a * 0.75 + std::sqrt(q) * x - (q < x ? a / x : q / 3);
            });
            expect_meaning("max(a * q, x) - sqrt(q) / 7 * a + (x - q * q)", v, [](double a, double q, double x) {
                return formula_cases::larger(a * q, x) - std::sqrt(q) / 7 * a + (x - q * q);
            });
            expect_meaning("q * x", v, [](double, double q, double x) { return q * x; });
            expect_meaning("q / 3", v, [](double, double q, double) { return q / 3; });
            if (HasFatalFailure()) return;
        }
    }
}

TEST(FormulaFuzz, NamedFormulas) {
    formula_cases::Generator random(1);
    const Values values(random, 50, 1);
    const auto fabs = [](double v) { return std::fabs(v); };
    expect_meaning("a + ((x + 1e16) - 1e16)", values,
                   [](double a, double, double x) { return a + ((x + 1e16) - 1e16); });
    expect_meaning("a + x + 1e16 - 1e16", values, [](double a, double, double x) { return ((a + x) + 1e16) - 1e16; });
    expect_meaning("x * 1e308 * 10 / 10", values, [](double, double, double x) { return ((x * 1e308) * 10) / 10; });
    expect_meaning("1/3", values, [](double, double, double) { return 1.0 / 3.0; });
    expect_meaning("q * 1/3", values, [](double, double q, double) { return (q * 1) / 3; });
    expect_meaning("010 + x", values, [](double, double, double x) { return 10 + x; });
    expect_meaning("5e-324 * 1", values, [](double, double, double) { return 0x1p-1074; });
    expect_meaning("1e308*10", values, [](double, double, double) { return INFINITY; });
    expect_meaning("0 * q - 0", values, [](double, double q, double) { return 0 * q - 0; });
    expect_meaning("-x - -q", values, [](double, double q, double x) { return -x - -q; });
    expect_meaning("q - x - a", values, [](double a, double q, double x) { return (q - x) - a; });
    expect_meaning("q / x / a", values, [](double a, double q, double x) { return (q / x) / a; });
    expect_meaning("q < x == 0", values, [](double, double q, double x) { return (q < x ? 1 : 0) == 0 ? 1.0 : 0.0; });
    expect_meaning("q ? x ? 1 : 2 : a ? 3 : 4", values,
                   [](double a, double q, double x) { return q != 0 ? (x != 0 ? 1.0 : 2.0) : (a != 0 ? 3.0 : 4.0); });
    expect_meaning("a + q*x + fabs(q)", values, [&](double a, double q, double x) { return (a + (q * x)) + fabs(q); });
    for (const int p : {-17, -16, -3, -2, -1, 0, 1, 2, 3, 7, 15, 16, 17, 18})
        expect_meaning("pow(q - x, " + std::to_string(p) + ")", values,
                       [p](double, double q, double x) { return kith::portable::any_pow(q - x, p); });
}

// The vector code of exp, log and pow against the scalar code that defines them.
TEST(FormulaFuzz, FunctionsAreThoseOfPortable) {
    formula_cases::Generator random(2);
    const Values values(random, 3000, 1);
    const std::pair<const char*, double> exponents[] = {{"0.5", 0.5},
                                                        {"-0.5", -0.5},
                                                        {"1.5", 1.5},
                                                        {"2.5", 2.5},
                                                        {"17", 17},
                                                        {"-17", -17},
                                                        {"1000", 1000},
                                                        {"9007199254740991", 9007199254740991},
                                                        {"-1e16", -1e16},
                                                        {"1e308*10", INFINITY},
                                                        {"-1e308*10", -INFINITY},
                                                        {"0/0", NAN},
                                                        {"1e-300", 1e-300}};
    for (const char* scale : {"1", "20", "1e-3", "1e300", "1e-308"}) {
        const std::string argument = std::string("x * ") + scale;
        expect_meaning("exp(" + argument + ")", values, [&](double, double, double x) {
            return kith::portable::any_exp(x * std::strtod(scale, nullptr));
        });
        expect_meaning("log(" + argument + ")", values, [&](double, double, double x) {
            return kith::portable::any_log(x * std::strtod(scale, nullptr));
        });
        for (const auto& [text, p] : exponents)
            expect_meaning("pow(" + argument + ", " + text + ")", values, [&, p = p](double, double, double x) {
                return kith::portable::any_pow(x * std::strtod(scale, nullptr), p);
            });
    }
    expect_meaning("pow(x, q)", values, [](double, double q, double x) { return kith::portable::any_pow(x, q); });
    expect_meaning("pow(q, x)", values, [](double, double q, double x) { return kith::portable::any_pow(q, x); });
}

// Zeros, infinities, NaN and signs of powers are those of C's pow, which is right to an ulp elsewhere.
TEST(FormulaFuzz, SpecialPowersAreThoseOfC) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double bases[] = {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, infinity, -infinity, NAN};
    constexpr double powers[] = {0.0,  -0.0, 1.0,  -1.0, 2.0,   -2.0,  3.0,      -3.0,      16.0, 17.0,
                                 18.0, 0.5,  -0.5, 1.5,  -17.0, -18.0, infinity, -infinity, NAN,  9007199254740991.0,
                                 -1.5, 1e16, 0.1,  -0.1, 1e300, -1e300};
    for (const double t : bases)
        for (const double p : powers) {
            const double expected = std::pow(t, p), got = kith::portable::any_pow(t, p);
            if (std::isnan(expected)) {
                EXPECT_TRUE(std::isnan(got)) << t << ", " << p;
                continue;
            }
            EXPECT_EQ(std::signbit(expected), std::signbit(got)) << t << ", " << p;
            EXPECT_TRUE(got == expected || std::fabs(got - expected) <= 1e-14 * std::fabs(expected))
                << t << ", " << p << ": " << got << ", not " << expected;
        }
    for (const double power : powers) {
        const Values values({std::begin(bases), std::end(bases)}, power);
        expect_meaning("pow(x, q)", values, [](double, double q, double x) { return kith::portable::any_pow(x, q); });
        expect_meaning("pow(x, q + 0 * x)", values,
                       [](double, double q, double x) { return kith::portable::any_pow(x, q + 0 * x); });
    }
    const std::pair<const char*, double> constants[] = {
        {"17", 17}, {"-17", -17},   {"0.5", 0.5},           {"-1.5", -1.5},           {"3", 3},
        {"-3", -3}, {"1e16", 1e16}, {"1e308*10", infinity}, {"-1e308*10", -infinity}, {"0/0", NAN}};
    const Values values({std::begin(bases), std::end(bases)}, 0);
    for (const auto& [text, p] : constants)
        expect_meaning(std::string("pow(x, ") + text + ")", values,
                       [p = p](double, double, double x) { return kith::portable::any_pow(x, p); });
}

// What the parser says of a text that is no formula.
std::string refused(const std::string& text) {
    try {
        kith::formula::parse(text);
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        return error.what();
    }
    ADD_FAILURE() << "accepted: " << text.substr(0, 100);
    return "";
}

TEST(FormulaErrors, NameOnePositionAndWhatWasExpected) {
    const std::pair<std::string, std::string> cases[] = {
        {"", "formula: '' at position 1: it is empty; expected a, q, x, a number, a function or '('"},
        {" \t", "formula: ' \\x09' at position 3: it is empty; expected a, q, x, a number, a function or '('"},
        {"a +", "formula: 'a +' at position 4: it ends there; expected a, q, x, a number, a function or '('"},
        {"a + y",
         "formula: 'a + y' at position 5: unknown name 'y'; expected a, q, x, abs, fabs, sqrt, exp, log, pow, min, "
         "max, fmin, fmax"},
        {"a + q x", "formula: 'a + q x' at position 7: unexpected 'x'; expected an operator or the end"},
        {"a + 0x10",
         "formula: 'a + 0x10' at position 6: unexpected 'x10'; expected a decimal number such as 10, 0.5 or 1e-3"},
        {"1e999", "formula: '1e999' at position 1: 1e999 is beyond the range of a double; expected 5e-324 to 1.8e308"},
        {"a ^ 2", "formula: 'a ^ 2' at position 3: '^' is not an operator; expected pow(x, y) for a power"},
        {"a = q", "formula: 'a = q' at position 3: '=' assigns; expected == for a comparison"},
        {"(a", "formula: '(a' at position 3: it ends there; expected ')' or an operator"},
        {"a)", "formula: 'a)' at position 2: unexpected ')'; expected an operator or the end"},
        {"fabs(q, x)", "formula: 'fabs(q, x)' at position 7: unexpected ','; expected ')' after one argument"},
        {"min(q)", "formula: 'min(q)' at position 6: unexpected ')'; expected ',' and a second argument"},
        {"sqrt q", "formula: 'sqrt q' at position 6: unexpected 'q'; expected '(' after the name of a function"},
        {"a ? q", "formula: 'a ? q' at position 6: it ends there; expected ':' or an operator"},
        {"a + \xc3\xa9",
         "formula: 'a + \xc3\xa9' at position 5: unexpected '\xc3\xa9'; expected a, q, x, a number, a function or '('"},
    };
    for (const auto& [text, message] : cases) EXPECT_EQ(message, refused(text));
    for (const char* text :
         {"1e-999", "1.2.3", "1e",           "1f",   ".",        "a.",    "a & q", "a | q", "a % q", "a && ", "? a : q",
          "()",     "a()",   "pow(q, x, a)", "a, q", "q == = x", "\"a\"", "a;",    "sqrt",  "A",     "abs(q"})
        EXPECT_NE("", refused(text));
}

TEST(FormulaErrors, StayBoundedWhateverTheLength) {
    for (const char* part : {"(", "-", "!", "+", "a?", "a?a:", "abs(", "min(a,", "a+(", "1?1:("}) {
        std::string text;
        while (text.size() < 1000000) text += part;
        EXPECT_LT(refused(text).size(), 500u);
        text.resize(kith::formula::max_length);
        EXPECT_LT(refused(text).size(), 500u);
        EXPECT_NE(std::string::npos, refused(text + "1").find("expected at most 10000"));
    }
    std::string sum = "a";
    while (sum.size() + 2 <= kith::formula::max_length) sum += "+q";
    EXPECT_NO_THROW(kith::formula::compile(sum));
    std::string powers = "a";
    while (powers.size() + 10 <= kith::formula::max_length) powers += "+pow(x,16)";
    EXPECT_NO_THROW(kith::formula::compile(powers));
    const std::string deep = std::string(150, '(') + "a" + std::string(150, ')');
    EXPECT_NO_THROW(kith::formula::compile(deep));
}

TEST(FormulaErrors, AreTheOnlyAnswerToADamagedText) {
    for (std::uint64_t seed = 0; seed < 20000; ++seed) {
        formula_cases::Generator random(seed);
        std::string text = random.text(random.expression(3));
        for (std::size_t change = random.below(4) + 1; change > 0 && !text.empty(); --change) {
            static const std::string letters = "aqx019.eE+-*/()<>=!&|?:, \tfminpowZ^%\"\x01\xff";
            const std::size_t at = random.below(text.size());
            if (random.below(2)) text.erase(at, 1 + random.below(3));
            else text.insert(at, 1, letters[random.below(letters.size())]);
        }
        try {
            kith::formula::compile(text);
        } catch (const kith::Error&) {  // as good
        }
    }
}

TEST(FormulaProgram, ComputesEachThingOnceAndAsRarelyAsItCan) {
    using kith::formula::Level;
    const auto count = [](const std::string& text, Level level) {
        const auto program = kith::formula::compile(text);
        int found = 0;
        for (const auto& value : program->values) found += value.level == level && kith::formula::arity(value.op) > 0;
        return found;
    };
    EXPECT_EQ(1, count("a + (q - x) * (q - x)", Level::running));
    EXPECT_EQ(2, count("a + (q - x) * (q - x)", Level::point));
    EXPECT_EQ(1, count("a + fabs(sqrt(q) - x)", Level::query));
    EXPECT_EQ(0, count("a + sqrt(2) * 3 - exp(1)", Level::point));
    EXPECT_EQ(1, count("1 ? a + q : exp(x)", Level::running));
    EXPECT_EQ(0, count("1 ? a + q : exp(x)", Level::point));
}

}  // namespace
