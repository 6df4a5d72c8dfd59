// The bound of error_bound.h: intervals and errors, carried from value to value and from coordinate
// to coordinate.
#include "formula/error_bound.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kith::formula {

namespace {

// An arithmetic: its roundings, and the errors of its functions.
struct Arithmetic {
    bool single;
    double unit, underflow, largest, smallest_normal;
};
constexpr Arithmetic f32{true, 0x1p-24, 0x1p-150, 0x1.fffffep127, 0x1p-126};
constexpr Arithmetic f64{false, 0x1p-53, 0x1p-1074, 0x1.fffffffffffffp1023, 0x1p-1022};

// Values of the special function units (PTX ISA, 9.7.3): reciprocal, root, log2, exp2. The root's
// is taken twice.
constexpr double reciprocal_error = 0x1p-23, root_error = 0x1p-22, log2_error = 0x1p-22,
                 exp2_error = 0x1p-22;
// metric/portable.h: a few ulp; of a power a few ulp times |p log t|, which is below 746.
constexpr double portable_error = 0x1p-48, portable_power_error = 0x1p-38;
// Beyond it a power is no step of a distance; below 2^-126 f32 may take it for 0, and 0 log 0 is no
// number.
constexpr double most_exponent = 1024;
// Of a bound that serves.
constexpr double most_relative = 0.125;
// Operations of a pair and coordinate, about: of longer formulas tiles in f32 would be mostly
// waiting for their text.
constexpr std::ptrdiff_t most_operations = 100;
// Steps of an analysis: d times those values of a program that depend on the running one.
constexpr double most_steps = 0x1p21;

// A value as a real number lies from lo to hi; the computed one is within rel |real| + abs of it.
struct State {
    double lo = 0, hi = 0, rel = 0, abs = 0;
    bool sure = false;  // the computed value is not below 0, whatever its error
    double most() const { return std::max(std::fabs(lo), std::fabs(hi)); }
    double least() const { return lo > 0 ? lo : hi < 0 ? -hi : 0; }
    bool exact() const { return rel == 0 && abs == 0; }
    // The computed value is 0, or has a sign, where the real one is or has.
    bool same_sign() const { return abs == 0 && rel < 1; }
    // The computed value is at least this, where lo is not below 0, and its magnitude at most that.
    double computed_least() const { return lo * (1 - rel) - abs; }
    double computed_most() const { return most() * (1 + rel) + abs; }
};

struct Refused {
    const char* why;
};

// Outwards, by more than binary64 rounds; 0 is exact.
void set_interval(State& s, double lo, double hi) {
    constexpr double wider = 0x1p-50, tiny = 1e-300;
    s.lo = lo > 0 ? (lo < tiny ? 0 : lo * (1 - wider)) : lo < 0 ? lo * (1 + wider) - tiny : 0;
    s.hi = hi > 0 ? hi * (1 + wider) + tiny : hi < 0 ? (hi > -tiny ? 0 : hi * (1 - wider)) : 0;
}

// A little wider; and (1 - r)^-p - 1.
double widened(double error) {
    return error * (1 + 0x1p-30);
}
double power_error(double relative, double p) {
    return widened(std::expm1(-p * std::log1p(-relative)));
}

class Analysis {
public:
    Analysis(const Arithmetic& arithmetic, const Program& program, const Range& range)
        : of_(arithmetic),
          program_(program),
          range_(range),
          states_(program.values.size()),
          roots_(states_.size()) {}

    State run(double start, std::int64_t d) {
        State a = constant(start);
        std::int32_t first_running = 0;
        const auto count = static_cast<std::int32_t>(program_.values.size());
        // By level: what does not depend on the running value comes first.
        while (first_running < count && value(first_running).level != Level::running)
            step(first_running++, a);
        if (static_cast<double>(count - first_running) * static_cast<double>(d) > most_steps)
            throw Refused{"it is too long for so many dimensions"};
        for (std::int64_t i = 0; i < d; ++i) {
            const State before = a;
            for (std::int32_t v = first_running; v < count; ++v) step(v, a);
            a = state(program_.result);
            if (before.lo == a.lo && before.hi == a.hi && before.rel == a.rel &&
                before.abs == a.abs && before.sure == a.sure)
                break;
        }
        return a;
    }

private:
    // The value is base^power, as repeated products of it have it.
    struct Power {
        std::int32_t base;
        int power;
    };

    const Value& value(std::int32_t i) const {
        return program_.values[static_cast<std::size_t>(i)];
    }
    State& state(std::int32_t i) { return states_[static_cast<std::size_t>(i)]; }

    void step(std::int32_t i, const State& a) {
        const Value& v = value(i);
        roots_[static_cast<std::size_t>(i)] = {i, 1};
        State r;
        if (v.op == Op::running) r = a;
        else if (v.op == Op::query || v.op == Op::point) r = coordinate();
        else if (v.op == Op::constant) r = constant(v.constant);
        else r = operation(i, v);
        if (!(r.rel <= most_relative) || !std::isfinite(r.abs))
            throw Refused{"its error in f32 grows too large"};
        if (!(r.computed_most() <= of_.largest)) throw Refused{"it may overflow f32"};
        state(i) = r;
    }

    State coordinate() const {
        State s;
        s.lo = range_.least;
        s.hi = range_.most;
        s.sure = s.lo >= 0;
        return s;
    }
    State constant(double c) const {
        if (!std::isfinite(c)) throw Refused{"it has a constant that is not finite"};
        State s;
        s.lo = s.hi = c;
        s.sure = c >= 0;
        if (of_.single && static_cast<double>(static_cast<float>(c)) != c) {
            if (std::fabs(c) >= of_.smallest_normal) s.rel = of_.unit;
            else s.abs = of_.underflow;
        }
        return s;
    }
    // The value of these errors, rounded once.
    State rounded(State s) const {
        s.rel += of_.unit * (1 + s.rel);
        s.abs *= 1 + of_.unit;
        return s;
    }

    State operation(std::int32_t at, const Value& v) {
        const State& x = state(v.args[0]);
        const State& y = state(v.args[arity(v.op) > 1 ? 1 : 0]);
        switch (v.op) {
            case Op::negative:
                return negated(x);
            case Op::absolute: {
                State s = x;
                s.lo = x.least();
                s.hi = x.most();
                s.sure = true;
                return s;
            }
            case Op::root:
                return root(x);
            case Op::exponential:
                return exponential(x);
            case Op::logarithm:
                return logarithm(x);
            case Op::add:
                return sum(x, y);
            case Op::subtract:
                return sum(x, negated(y));
            case Op::multiply:
                return product(at, v);
            case Op::divide:
                return quotient(x, y);
            case Op::power:
                return power(x, v.args[1]);
            case Op::minimum:
            case Op::maximum:
                return extreme(x, y, v.op == Op::maximum);
            case Op::less:
            case Op::less_equal:
            case Op::equal:
            case Op::unequal:
                return comparison(x, y);
            case Op::logical_not:
            case Op::logical_and:
            case Op::logical_or:
                if (!x.same_sign() || !y.same_sign()) throw Refused{undecided};
                return zero_or_one();
            case Op::select:
                return selection(v);
            default:
                throw Refused{"it has an operation without a bound"};
        }
    }

    static constexpr const char* undecided = "a comparison may come out otherwise in f32";

    static State negated(const State& x) {
        State s = x;
        s.lo = -x.hi;
        s.hi = -x.lo;
        s.sure = false;
        return s;
    }
    static State zero_or_one() {
        State s;
        s.hi = 1;
        s.sure = true;
        return s;
    }
    static bool is_zero(const State& s) { return s.lo == 0 && s.hi == 0 && s.exact(); }
    static State comparison(const State& x, const State& y) {
        if ((x.exact() && y.exact()) || (is_zero(x) && y.same_sign()) ||
            (is_zero(y) && x.same_sign()))
            return zero_or_one();
        throw Refused{undecided};
    }
    // `i` where `from` < `what` or, at least, not the other way round: a difference of the two is
    // not negative.
    State ordered(std::int32_t i, std::int32_t from, std::int32_t what) {
        State s = state(i);
        if (value(i).op == Op::subtract && value(i).args[0] == what && value(i).args[1] == from &&
            s.abs == 0) {
            s.lo = 0;
            s.hi = std::max(s.hi, 0.0);
            s.sure = true;
        }
        return s;
    }
    State selection(const Value& v) {
        if (!state(v.args[0]).same_sign()) throw Refused{undecided};
        State x = state(v.args[1]), y = state(v.args[2]);
        const Value& condition = value(v.args[0]);
        if (condition.op == Op::less || condition.op == Op::less_equal) {
            x = ordered(v.args[1], condition.args[0], condition.args[1]);
            y = ordered(v.args[2], condition.args[1], condition.args[0]);
        }
        State s;
        s.lo = std::min(x.lo, y.lo);
        s.hi = std::max(x.hi, y.hi);
        s.rel = std::max(x.rel, y.rel);
        s.abs = std::max(x.abs, y.abs);
        s.sure = x.sure && y.sure;
        return s;
    }
    static State extreme(const State& x, const State& y, bool larger) {
        State s;
        s.lo = larger ? std::max(x.lo, y.lo) : std::min(x.lo, y.lo);
        s.hi = larger ? std::max(x.hi, y.hi) : std::min(x.hi, y.hi);
        s.rel = std::max(x.rel, y.rel);
        s.abs = std::max(x.abs, y.abs);
        s.sure = larger ? x.sure || y.sure : x.sure && y.sure;
        return s;
    }
    State sum(const State& x, const State& y) const {
        State s;
        set_interval(s, x.lo + y.lo, x.hi + y.hi);
        s.sure = x.sure && y.sure;
        if ((x.lo >= 0 && y.lo >= 0) || (x.hi <= 0 && y.hi <= 0)) {
            s.rel = std::max(x.rel, y.rel);
            s.abs = x.abs + y.abs;
        } else {
            s.abs = x.rel * x.most() + x.abs + y.rel * y.most() + y.abs;
        }
        return rounded(s);
    }
    State product(std::int32_t at, const Value& v) {
        const State &x = state(v.args[0]), &y = state(v.args[1]);
        const Power p = roots_[static_cast<std::size_t>(v.args[0])],
                    q = roots_[static_cast<std::size_t>(v.args[1])];
        State s;
        const std::array<double, 4> ends{x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi};
        set_interval(s, *std::min_element(ends.begin(), ends.end()),
                     *std::max_element(ends.begin(), ends.end()));
        s.sure = x.sure && y.sure;
        if (p.base == q.base) {
            roots_[static_cast<std::size_t>(at)] = {p.base, p.power + q.power};
            if ((p.power + q.power) % 2 == 0) {
                // Neither the real nor the computed product is negative.
                set_interval(s, x.least() * y.least(), x.most() * y.most());
                s.sure = true;
            }
        }
        s.rel = x.rel + y.rel + x.rel * y.rel;
        s.abs = x.abs * y.most() * (1 + y.rel) + y.abs * x.most() * (1 + x.rel) + x.abs * y.abs;
        s = rounded(s);
        s.abs += of_.underflow;
        return s;
    }
    State quotient(const State& x, const State& y) const {
        const double least = y.least() * (1 - y.rel) - y.abs;
        if (!(y.least() > 0) || !(least > 0)) throw Refused{"it may divide by 0"};
        if (of_.single && (least < 0x1p-126 || y.computed_most() > 0x1p126))
            throw Refused{"a divisor may be beyond what f32 inverts"};
        const double other = y.rel + y.abs / y.least();  // the divisor's error, all of it relative
        if (!(other <= most_relative)) throw Refused{"the error of a divisor is too large"};
        State s;
        const std::array<double, 4> ends{x.lo / y.lo, x.lo / y.hi, x.hi / y.lo, x.hi / y.hi};
        set_interval(s, *std::min_element(ends.begin(), ends.end()),
                     *std::max_element(ends.begin(), ends.end()));
        s.sure = x.sure && y.lo > 0;
        s.rel = (1 + x.rel) / (1 - other) - 1;
        s.abs = x.abs / (y.least() * (1 - other));
        if (of_.single) {
            s.rel += reciprocal_error * (1 + s.rel);
            s.abs *= 1 + reciprocal_error;
        }
        s = rounded(s);
        s.abs += of_.underflow;
        return s;
    }
    void require_not_negative(const State& x) const {
        if (x.lo < 0) throw Refused{"a root or power may be of a negative number"};
        if (!x.sure && x.computed_least() < 0)
            throw Refused{"a root or power may be of a difference below its error"};
    }
    State root(const State& x) const {
        require_not_negative(x);
        State s;
        set_interval(s, std::sqrt(x.lo), std::sqrt(x.hi));
        s.sure = true;
        s.rel = widened(1 - std::sqrt(1 - x.rel));
        if (x.abs > 0) {
            const double least = x.lo * (1 - x.rel);
            s.abs = widened(
                std::min(std::sqrt(x.abs), least > 0 ? x.abs / std::sqrt(least) : HUGE_VAL));
        }
        if (!of_.single) return rounded(s);
        s.rel += root_error * (1 + s.rel);
        s.abs *= 1 + root_error;
        // Denormals are read as 0.
        if (x.computed_least() < of_.smallest_normal) s.abs += 0x1p-62;
        return s;
    }
    // 2^y where y, at most so large, is wrong by `error`: of what is not below 2^-126, and that is
    // taken for 0.
    static void exp2_errors(State& s, double error) {
        // What is as small as that is lost where denormals are read as 0.
        const double grown = widened(std::expm1((error + 0x1p-120) * 0.6931471805599454));
        s.rel += (grown + exp2_error * (1 + grown)) * (1 + s.rel);
        s.abs = s.abs * (1 + grown) * (1 + exp2_error) + 0x1p-124;
    }
    static constexpr double most_exp2 = 130;
    // t^p, p a constant that is no small whole number; in f32 2^(p log2 t).
    State power(const State& x, std::int32_t exponent) {
        if (value(exponent).op != Op::constant)
            throw Refused{"the exponent of a power is no constant"};
        const double p = value(exponent).constant, size = std::fabs(p);
        if (!(size <= most_exponent)) throw Refused{"the exponent of a power is too large"};
        if (size < 0x1p-126) throw Refused{"the exponent of a power is too small"};
        require_not_negative(x);
        const double least = x.computed_least();
        if (p < 0 && !(least >= (of_.single ? 0x1p-126 : 0x1p-1000)))
            throw Refused{"it may divide by 0"};
        State s;
        if (p >= 0) set_interval(s, std::pow(x.lo, p), std::pow(x.hi, p));
        else set_interval(s, std::pow(x.hi, p), std::pow(x.lo, p));
        s.sure = true;
        if (x.abs > 0 && x.lo > 0 && x.rel + x.abs / x.lo <= most_relative) {
            s.rel = power_error(x.rel + x.abs / x.lo, size);
        } else {
            s.rel = power_error(x.rel, size);
            if (x.abs > 0 && p < 0) throw Refused{"the error of a divisor is too large"};
            if (x.abs > 0)
                s.abs = widened(p >= 1 ? p * std::pow(x.computed_most(), p - 1) * x.abs
                                       : std::pow(x.abs, p));
        }
        if (!of_.single) {
            s.rel += portable_power_error * (1 + s.rel);
            s.abs = s.abs * (1 + portable_power_error) + 0x1p-1000;
            return s;
        }
        const double from = std::log2(std::max(least, 0x1p-126)),
                     to = std::log2(std::max(x.computed_most(), 0x1p-126));
        const double y = std::min(size * std::max(std::fabs(from), std::fabs(to)), most_exp2);
        // Below, t is read as 0.
        if (p > 0 && least < 0x1p-126) s.abs += std::pow(0x1p-125, p);
        exp2_errors(s, widened(log2_error * std::max(size, y) + 2.25 * of_.unit * y));
        return s;
    }
    State exponential(const State& x) const {
        State s;
        set_interval(s, std::exp(x.lo), std::exp(x.hi));
        s.sure = true;
        if (!(s.hi <= of_.largest)) throw Refused{"it may overflow f32"};
        if (!(x.rel <= 0x1p-5) || !(x.abs <= 1))
            throw Refused{"the error of an exponent is too large"};
        if (!of_.single) {
            const double grown = widened(std::expm1(x.rel * std::min(x.most(), 800.0) + x.abs));
            s.rel = grown + portable_error * (1 + grown);
            s.abs = 0x1p-1000;
            return s;
        }
        const double largest = std::min(x.most(), 100.0), error = x.rel * largest + x.abs;
        exp2_errors(s,
                    widened(error * 1.4426950408889634 * (1 + 4 * of_.unit) +
                            2.25 * of_.unit * std::min(1.4426950408889634 * largest, most_exp2)));
        return s;
    }
    State logarithm(const State& x) const {
        const double least = x.computed_least(), error = x.rel + (x.lo > 0 ? x.abs / x.lo : 0);
        if (!(x.lo > 0) || !(least >= of_.smallest_normal) || !(error <= most_relative))
            throw Refused{"a logarithm may be of 0 or less"};
        State s;
        set_interval(s, std::log(x.lo), std::log(x.hi));
        s.abs = widened(-std::log1p(-error));
        if (!of_.single) {
            s.rel = portable_error;
            s.abs *= 1 + portable_error;
            return s;
        }
        s.abs = (s.abs + log2_error * 0.6931471805599454) * (1 + 0x1p-20);
        s.rel = log2_error + 2.25 * of_.unit;
        return s;
    }

    const Arithmetic& of_;
    const Program& program_;
    const Range& range_;
    std::vector<State> states_;
    std::vector<Power> roots_;
};

}  // namespace

ErrorBound error_bound(const Program& program, double start, std::int64_t d, const Range& range) {
    ErrorBound bound;
    try {
        const State single = Analysis(f32, program, range).run(start, d);
        const State wide = Analysis(f64, program, range).run(start, d);
        // Both are near the same real number, of magnitude at most (|binary64| + wide.abs) / (1 -
        // wide.rel).
        const double relative = (single.rel + wide.rel) / (1 - wide.rel);
        const double absolute = single.abs + wide.abs + relative * wide.abs;
        if (!(relative <= most_relative)) throw Refused{"its error in f32 grows too large"};
        // More than what all of this rounds.
        constexpr double wider = 1 + 0x1p-20;
        bound.signed_keys = single.lo < 0 || !wide.sure;
        bound.relative = bound.signed_keys ? 0 : relative * wider;
        bound.absolute =
            (absolute + (bound.signed_keys ? relative * wide.computed_most() : 0)) * wider;
    } catch (const Refused& reason) {
        bound.refused = reason.why;
    }
    return bound;
}

std::vector<Range> ranges_around(double least, double most) {
    // Coordinates of other rows may lie beyond those of a sample.
    constexpr double room = 16;
    std::vector<Range> ranges;
    const double size = std::max(std::fabs(least), std::fabs(most)), width = (most - least) / 2;
    if (!(size > 0) || !std::isfinite(size * room)) return {{-1, 1}};
    ranges.push_back({-room * size, room * size});
    if (least >= 0) ranges.push_back({0, room * size});
    if (least >= 0) ranges.push_back({0, most + width});
    if (least > 0) ranges.push_back({least / room, room * size});
    ranges.push_back({least > 0    ? std::max(least / 4, least - width)
                      : least == 0 ? 0
                                   : least - width,
                      most + width});
    return ranges;
}

std::string why_no_bound(const Program& program, double start, std::int64_t d) {
    const auto of_a_pair = [](const Value& v) {
        return arity(v.op) > 0 && v.level >= Level::point;
    };
    if (std::count_if(program.values.begin(), program.values.end(), of_a_pair) > most_operations)
        return "it is too long";
    std::string reason;
    for (const Range& range : ranges_around(0x1p-4, 1)) {
        ErrorBound bound = error_bound(program, start, d, range);
        if (bound.refused.empty()) return "";
        reason = std::move(bound.refused);
    }
    return reason;
}

}  // namespace kith::formula
