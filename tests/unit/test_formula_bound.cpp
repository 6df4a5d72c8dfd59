// The bound of formulas in f32, attacked: an evaluation whose functions are as wrong as they may be, whose products and
// sums are fused or not, on coordinates at the ends of a range, near each other, near 0 and denormal, has to stay
// within it of binary64. And which formulas have one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "formula/error_bound.h"
#include "formula_cases.h"

namespace {

using kith::formula::compile;
using kith::formula::error_bound;
using kith::formula::ErrorBound;
using kith::formula::Op;
using kith::formula::Program;
using kith::formula::Range;

class Attack {
public:
    explicit Attack(std::uint64_t seed) : random_(seed) {}

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
    double unit() { return std::uniform_real_distribution<double>(0, 1)(random_); }

    // Of f32, within the range.
    double coordinate(const Range& range, double near) {
        double x = 0;
        switch (below(8)) {
            case 0:
                x = range.least;
                break;
            case 1:
                x = range.most;
                break;
            case 2:
                x = near;
                break;
            case 3:
                x = static_cast<double>(std::nextafter(static_cast<float>(near), below(2) ? 1e30f : -1e30f));
                break;
            case 4:
                x = std::ldexp(unit() - 0.5, -below(150));
                break;
            case 5:
                x = 0;
                break;
            default:
                x = range.least + (range.most - range.least) * unit();
        }
        auto f = static_cast<float>(x);
        if (static_cast<double>(f) > range.most) f = std::nextafter(f, -HUGE_VALF);
        if (static_cast<double>(f) < range.least) f = std::nextafter(f, HUGE_VALF);
        return std::clamp(static_cast<double>(f), range.least, range.most) == static_cast<double>(f)
                   ? static_cast<double>(f)
                   : static_cast<double>(static_cast<float>((range.least + range.most) / 2));
    }

    float key(const Program& program, double start, const std::vector<double>& q, const std::vector<double>& x) {
        std::vector<float> values(program.values.size());
        auto a = static_cast<float>(start);
        for (std::size_t i = 0; i < q.size(); ++i) {
            for (std::size_t v = 0; v < values.size(); ++v)
                values[v] = value(program, values, v, a, static_cast<float>(q[i]), static_cast<float>(x[i]));
            a = values[static_cast<std::size_t>(program.result)];
        }
        return a;
    }

private:
    static float flushed(float x) { return std::fabs(x) < 0x1p-126f ? 0.0f : x; }
    // `error`, of which the last rounding here takes 2^-24.
    double wrong(double error) { return (below(3) - 1) * (error - 0x1p-24); }

    float reciprocal(float y) {
        return flushed(static_cast<float>(1.0 / static_cast<double>(flushed(y)) * (1 + wrong(0x1p-23))));
    }
    float root(float y) {
        return static_cast<float>(std::sqrt(static_cast<double>(flushed(y))) * (1 + wrong(0x1p-22)));
    }
    float log2_of(float y) {
        const double log = std::log2(static_cast<double>(flushed(y)));
        return static_cast<float>(y > 0.5f && y < 2 ? log + wrong(0x1p-22) : log * (1 + wrong(0x1p-22)));
    }
    float exp2_of(float y) {
        return flushed(static_cast<float>(std::exp2(static_cast<double>(flushed(y))) * (1 + wrong(0x1p-22))));
    }

    float value(const Program& program, const std::vector<float>& values, std::size_t at, float a, float q, float x) {
        const kith::formula::Value& v = program.values[at];
        const auto arg = [&](int i) { return values[static_cast<std::size_t>(v.args[static_cast<std::size_t>(i)])]; };
        const auto product = [&](int i) -> const kith::formula::Value* {
            const auto& p = program.values[static_cast<std::size_t>(v.args[static_cast<std::size_t>(i)])];
            return p.op == Op::multiply && below(2) ? &p : nullptr;
        };
        const auto of = [&](std::int32_t i) { return values[static_cast<std::size_t>(i)]; };
        switch (v.op) {
            case Op::constant:
                return static_cast<float>(v.constant);
            case Op::running:
                return a;
            case Op::query:
                return q;
            case Op::point:
                return x;
            case Op::negative:
                return -arg(0);
            case Op::absolute:
                return std::fabs(arg(0));
            case Op::root:
                return root(arg(0));
            case Op::exponential:
                return exp2_of(arg(0) * 0x1.715476p+0f);
            case Op::logarithm:
                return log2_of(arg(0)) * 0x1.62e43p-1f;
            case Op::logical_not:
                return arg(0) == 0 ? 1.0f : 0.0f;
            case Op::add:
                if (const auto* const p = product(0)) return std::fma(of(p->args[0]), of(p->args[1]), arg(1));
                if (const auto* const p = product(1)) return std::fma(of(p->args[0]), of(p->args[1]), arg(0));
                return arg(0) + arg(1);
            case Op::subtract:
                if (const auto* const p = product(0)) return std::fma(of(p->args[0]), of(p->args[1]), -arg(1));
                if (const auto* const p = product(1)) return std::fma(-of(p->args[0]), of(p->args[1]), arg(0));
                return arg(0) - arg(1);
            case Op::multiply:
                return arg(0) * arg(1);
            case Op::divide:
                return arg(0) * reciprocal(arg(1));
            case Op::less:
                return arg(0) < arg(1) ? 1.0f : 0.0f;
            case Op::less_equal:
                return arg(0) <= arg(1) ? 1.0f : 0.0f;
            case Op::equal:
                return arg(0) == arg(1) ? 1.0f : 0.0f;
            case Op::unequal:
                return arg(0) != arg(1) ? 1.0f : 0.0f;
            case Op::logical_and:
                return arg(0) != 0 && arg(1) != 0 ? 1.0f : 0.0f;
            case Op::logical_or:
                return arg(0) != 0 || arg(1) != 0 ? 1.0f : 0.0f;
            case Op::minimum:
                return std::fmin(arg(0), arg(1));
            case Op::maximum:
                return std::fmax(arg(0), arg(1));
            case Op::power:
                return exp2_of(log2_of(arg(0)) * arg(1));
            case Op::select:
                return arg(0) != 0 ? arg(1) : arg(2);
        }
        return 0;
    }

    std::mt19937_64 random_;
};

// The largest share of the bound that an attack used up.
double attacked(const Program& program, double start, std::int64_t d, const Range& range, const ErrorBound& bound,
                int pairs, Attack& attack, const std::string& what) {
    double most = 0;
    std::vector<double> q(static_cast<std::size_t>(d)), x(q.size());
    for (int pair = 0; pair < pairs; ++pair) {
        for (std::size_t i = 0; i < q.size(); ++i) {
            q[i] = attack.coordinate(range, (range.least + range.most) / 2);
            x[i] = attack.coordinate(range, q[i]);
        }
        const double wanted = kith::formula::evaluate(program, start, q.data(), x.data(), d),
                     got = static_cast<double>(attack.key(program, start, q, x)),
                     allowed = bound.relative * std::fabs(wanted) + bound.absolute;
        EXPECT_TRUE(std::isfinite(wanted) && std::isfinite(got)) << what;
        EXPECT_LE(std::fabs(got - wanted), allowed) << what << ": " << got << " and " << wanted;
        EXPECT_TRUE(bound.signed_keys || wanted >= 0) << what;
        if (allowed > 0) most = std::max(most, std::fabs(got - wanted) / allowed);
        if (testing::Test::HasFailure()) return most;
    }
    return most;
}

const char* const bounded[] = {
    "a + fabs(q - x)",
    "max(a, fabs(q - x))",
    "a + (q - x) * (q - x)",
    "a + pow(fabs(q - x), 3)",
    "a + pow(q - x, 4)",
    "a + pow(fabs(q - x), 1.5)",
    "a + pow(fabs(q - x), 0.25)",
    "a + fabs(q - x) + 0.001 * pow(fabs(q - x), 1e-30)",
    "a + (q - x) * (q - x) / (1 + fabs(q) + abs(x))",
    "a + fabs(q - x) / (1 + fabs(q) + fabs(x))",
    "a + sqrt(fabs(q - x))",
    "sqrt(a * a + (q - x) * (q - x))",
    "a + (q < x ? x - q : 2 * (q - x))",
    "a + (q < x ? x - q : q - x)",
    "a + (q == x ? 0 : 1 + fabs(q - x))",
    "a + min(fabs(q - x), 0.3)",
    "0.9 * a + fabs(q - x)",
    "a * (1 + fabs(q - x) / 64)",
    "a + 1 - exp(-fabs(q - x))",
    "a + exp(-fabs(q - x))",
    "a + log(1 + fabs(q - x))",
    "a - q * x",
    "a + q * x",
    "a + pow(q, 3)",
    "a + sqrt((q * q - x) * (q * q - x))",
    "a + (q > 0 && x > 0 ? fabs(q - x) : 1)",
    "a / 3 + fabs(q - x)",
    "max(a * 0.5, pow(fabs(q - x), 2.5))",
};

TEST(FormulaBound, HoldsForNamedFormulas) {
    Attack attack(1);
    double most = 0;
    for (const char* text : bounded) {
        const auto program = compile(text);
        for (const Range& range :
             {Range{-1, 1}, Range{-16, 16}, Range{0, 16}, Range{0.01, 3}, Range{-0x1p-40, 0x1p-40}}) {
            for (const std::int64_t d : {1, 7, 64}) {
                const double start = attack.below(2) ? 0 : 0.3;
                const ErrorBound bound = error_bound(*program, start, d, range);
                ASSERT_EQ("", bound.refused) << text << ", " << range.least << " to " << range.most << ", d " << d;
                most = std::max(most, attacked(*program, start, d, range, bound, 300, attack, text));
                if (HasFailure()) return;
            }
        }
    }
    RecordProperty("largest_share_of_bound", std::to_string(most));
    EXPECT_GT(most, 0.2);
}

// Where coordinates have to be above 0, or at least 0.
TEST(FormulaBound, HoldsWhereItAsksForASign) {
    Attack attack(2);
    const char* const texts[] = {
        "a + (sqrt(q) - sqrt(x)) * (sqrt(q) - sqrt(x))",
        "a + q * log(q / x)",
        "a + fabs(q - x) / (q + x)",
        "a + (q - x) * (q - x) / (q + x)",
        "a + fabs(log(q) - log(x))",
        "a + pow(pow(q, 0.7) - pow(x, 0.7), 2)",
        "a + pow(x, -1.5) * fabs(q - x)",
        "a + fabs(1 / q - 1 / x)",
        "a + q * log(q / x) + x - q",
        "a + pow(q, 17) + exp(-q * x)",
    };
    for (const char* text : texts) {
        const auto program = compile(text);
        EXPECT_NE("", error_bound(*program, 0, 4, {-1, 1}).refused) << text;
        for (const Range& range : {Range{0.01, 3}, Range{0.25, 4}, Range{1, 1.5}}) {
            for (const std::int64_t d : {1, 5, 40}) {
                const ErrorBound bound = error_bound(*program, 0, d, range);
                ASSERT_EQ("", bound.refused) << text;
                attacked(*program, 0, d, range, bound, 300, attack, text);
                if (HasFailure()) return;
            }
        }
    }
}

// An error that grows with the key leaves few candidates at any scale.
TEST(FormulaBound, IsAShareOfTheKeyWhereNothingCancels) {
    for (const char* text : {"a + fabs(q - x)", "max(a, fabs(q - x))", "a + sqrt(fabs(q - x))",
                             "a + (q < x ? x - q : q - x)", "a + (q - x) * (q - x) / (1 + fabs(q) + abs(x))"}) {
        const ErrorBound bound = error_bound(*compile(text), 0, 128, {-1000, 1000});
        EXPECT_FALSE(bound.signed_keys) << text;
        EXPECT_LT(bound.relative, 0x1p-15) << text;
        EXPECT_LT(bound.absolute, 0x1p-50) << text;
    }
    EXPECT_EQ(0, error_bound(*compile("a + fabs(q - x)"), 0, 128, {-1, 1}).absolute);
    EXPECT_TRUE(error_bound(*compile("a - q * x"), 0, 128, {-1, 1}).signed_keys);
}

TEST(FormulaBound, SaysWhyThereIsNone) {
    const std::pair<const char*, const char*> refused[] = {
        {"a + fabs(q - x) / (q + x)", "it may divide by 0"},
        {"a + sqrt(q - x)", "a root or power may be of a negative number"},
        {"a + log(q)", "a logarithm may be of 0 or less"},
        {"a + pow(fabs(q), x)", "the exponent of a power is no constant"},
        {"a + fabs(q - x) + 0.001 * pow(fabs(q - x), 1e-60)", "the exponent of a power is too small"},
        {"a + (q * x < 0.1 ? 1 : 2)", "a comparison may come out otherwise in f32"},
        {"a + (q < 0.1 ? 1 : 2)", "a comparison may come out otherwise in f32"},
        {"a * q * 1e30", "it may overflow f32"},
        {"a + exp(q * 100)", "it may overflow f32"},
        {"a + 1e308 * 10", "it has a constant that is not finite"},
    };
    for (const auto& [text, why] : refused)
        EXPECT_EQ(why, error_bound(*compile(text), 0.5, 100, {-1, 1}).refused) << text;
    EXPECT_EQ("it is too long for so many dimensions",
              error_bound(*compile("a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*"
                                   "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a"),
                          0.5, 65536, {-1, 1})
                  .refused);
}

// What the generator of the fuzz tests makes of a seed is mostly no distance; where it has a bound, that has to hold.
TEST(FormulaBound, HoldsForRandomFormulas) {
    int found = 0;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
        formula_cases::Generator random(seed);
        Attack attack(seed);
        const std::string text = random.text(random.expression(1 + static_cast<int>(random.below(4))));
        const auto program = compile(text);
        for (const Range& range : {Range{-4, 4}, Range{0, 2}, Range{0.125, 2}}) {
            const std::int64_t d = 1 + attack.below(6);
            const double start = attack.below(3) - 0.7;
            const ErrorBound bound = error_bound(*program, start, d, range);
            if (!bound.refused.empty()) continue;
            ++found;
            attacked(*program, start, d, range, bound, 40, attack, text + " of seed " + std::to_string(seed));
            if (HasFailure()) return;
        }
    }
    EXPECT_GT(found, 1000);
}

TEST(FormulaBound, RangesHoldWhatTheyAreMadeOf) {
    for (const auto& [least, most] :
         {std::pair{-3.0, 2.0}, {0.0, 0.0}, {0.0, 5.0}, {0.5, 0.75}, {-7.0, -6.0}, {1e-300, 1e300}}) {
        const auto ranges = kith::formula::ranges_around(least, most);
        ASSERT_FALSE(ranges.empty());
        for (const Range& range : ranges) {
            EXPECT_LE(range.least, least);
            EXPECT_GE(range.most, most);
        }
    }
}

}  // namespace
