// Random formulas as text, and what they mean: an evaluator that walks the generator's own tree in plain double
// arithmetic. It shares no code with src/formula; exp, log and pow are those of metric/portable.h, which are their
// definition.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "metric/portable.h"

namespace formula_cases {

struct Expression {
    std::string what;  // "a", "q", "x", "number", an operator, "u-", "u+", "?" or the name of a function
    std::vector<Expression> of;
    std::string text;  // of a number
};

inline double smaller(double l, double r) {
    if (std::isnan(l)) return r;
    return r < l ? r : l;
}
inline double larger(double l, double r) {
    if (std::isnan(l)) return r;
    return l < r ? r : l;
}

inline double evaluate(const Expression& e, double a, double q, double x) {
    if (e.what == "a") return a;
    if (e.what == "q") return q;
    if (e.what == "x") return x;
    if (e.what == "number") return std::strtod(e.text.c_str(), nullptr);
    const double l = evaluate(e.of[0], a, q, x);
    if (e.what == "u-") return -l;
    if (e.what == "u+") return l;
    if (e.what == "!") return l == 0 ? 1.0 : 0.0;
    if (e.what == "abs" || e.what == "fabs") return std::fabs(l);
    if (e.what == "sqrt") return std::sqrt(l);
    if (e.what == "exp") return kith::portable::any_exp(l);
    if (e.what == "log") return kith::portable::any_log(l);
    const double r = evaluate(e.of[1], a, q, x);
    if (e.what == "+") return l + r;
    if (e.what == "-") return l - r;
    if (e.what == "*") return l * r;
    if (e.what == "/") return l / r;
    if (e.what == "<") return l < r ? 1.0 : 0.0;
    if (e.what == ">") return l > r ? 1.0 : 0.0;
    if (e.what == "<=") return l <= r ? 1.0 : 0.0;
    if (e.what == ">=") return l >= r ? 1.0 : 0.0;
    if (e.what == "==") return l == r ? 1.0 : 0.0;
    if (e.what == "!=") return l != r ? 1.0 : 0.0;
    if (e.what == "&&") return l != 0 && r != 0 ? 1.0 : 0.0;
    if (e.what == "||") return l != 0 || r != 0 ? 1.0 : 0.0;
    if (e.what == "min" || e.what == "fmin") return smaller(l, r);
    if (e.what == "max" || e.what == "fmax") return larger(l, r);
    if (e.what == "pow") return kith::portable::any_pow(l, r);
    return l != 0 ? r : evaluate(e.of[2], a, q, x);  // "?"
}

// As C binds: ?: 0, || 1, && 2, == 3, < 4, + 5, * 6, a sign 7, anything else 8.
inline int precedence(const std::string& what) {
    if (what == "?") return 0;
    if (what == "||") return 1;
    if (what == "&&") return 2;
    if (what == "==" || what == "!=") return 3;
    if (what == "<" || what == ">" || what == "<=" || what == ">=") return 4;
    if (what == "+" || what == "-") return 5;
    if (what == "*" || what == "/") return 6;
    return what == "u-" || what == "u+" || what == "!" ? 7 : 8;
}

class Generator {
public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    Expression expression(int depth) {
        if (depth == 0 || below(5) == 0) return leaf();
        static const std::vector<std::string> unary = {"u-", "u-", "u+", "!", "abs", "fabs", "sqrt", "exp", "log"};
        static const std::vector<std::string> binary = {
            "+", "+",  "+",  "-",  "-",  "-",  "*",  "*",   "*",   "/",    "/",    "<",
            ">", "<=", ">=", "==", "!=", "&&", "||", "min", "max", "fmin", "fmax", "pow"};
        const int kind = below(10);
        if (kind < 2) return {pick(unary), {expression(depth - 1)}, ""};
        if (kind < 9) {
            Expression left = expression(depth - 1);
            return {pick(binary), {std::move(left), expression(depth - 1)}, ""};
        }
        Expression condition = expression(depth - 1), yes = expression(depth - 1);
        return {"?", {std::move(condition), std::move(yes), expression(depth - 1)}, ""};
    }

    // With the parentheses that C needs and a few more, and with blanks where there may be some.
    std::string text(const Expression& e, int needed = 0) {
        const int own = precedence(e.what);
        const bool open = own < needed || below(8) == 0;
        std::string out = blank();
        if (open) out += "(" + blank();
        if (e.what == "number") out += e.text;
        else if (e.of.empty()) out += e.what;
        else if (own == 0) out += text(e.of[0], 1) + "?" + text(e.of[1]) + ":" + text(e.of[2]);
        else if (own < 7) out += text(e.of[0], own) + e.what + text(e.of[1], own + 1);
        else if (own == 7) out += (e.what == "!" ? "!" : e.what.substr(1)) + text(e.of[0], 7);
        else if (e.of.size() == 1) out += e.what + blank() + "(" + text(e.of[0]) + ")";
        else out += e.what + blank() + "(" + text(e.of[0]) + "," + text(e.of[1]) + ")";
        if (open) out += blank() + ")";
        return out + blank();
    }

    // A coordinate or a running value, the awkward ones too.
    double value() {
        static const double awkward[] = {0.0,
                                         -0.0,
                                         1.0,
                                         -1.0,
                                         2.0,
                                         0x1p-1074,
                                         0x1p-1022,
                                         1e16,
                                         -1e16,
                                         1.7976931348623157e308,
                                         0.5,
                                         3.0,
                                         16.0,
                                         17.0,
                                         std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity(),
                                         std::numeric_limits<double>::quiet_NaN()};
        if (below(4) == 0) return awkward[below(std::size(awkward))];
        if (below(4) == 0) return static_cast<double>(below(21)) - 10;
        return std::normal_distribution<double>(0, below(2) ? 1 : 100)(random_);
    }

    std::size_t below(std::size_t count) { return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_); }

private:
    Expression leaf() {
        static const std::vector<std::string> variables = {"a", "a", "q", "q", "x", "x"};
        if (below(3) != 0) return {pick(variables), {}, ""};
        static const std::vector<std::string> numbers = {"0",
                                                         "1",
                                                         "2",
                                                         "3",
                                                         "4",
                                                         "5",
                                                         "8",
                                                         "9",
                                                         "16",
                                                         "17",
                                                         "010",
                                                         "0.5",
                                                         "1.5",
                                                         ".25",
                                                         "7.",
                                                         "00.10",
                                                         "1e16",
                                                         "1E16",
                                                         "1e+3",
                                                         "5e-324",
                                                         "2.2250738585072014e-308",
                                                         "1e308",
                                                         "1.7976931348623157e308",
                                                         "0.1",
                                                         "1e-3",
                                                         "9007199254740993",
                                                         "0.1000000000000000055511151231257827021181583404541015625",
                                                         "123456789012345678901234567890"};
        if (below(2)) return {"number", {}, pick(numbers)};
        std::string digits;
        const std::size_t count = 1 + below(20);
        for (std::size_t i = 0; i < count; ++i) digits += static_cast<char>('0' + below(10));
        if (below(2)) digits.insert(1 + below(count), 1, '.');
        if (below(2)) digits.append(1, 'e').append(std::to_string(static_cast<int>(below(61)) - 30));
        return {"number", {}, digits};
    }
    const std::string& pick(const std::vector<std::string>& of) { return of[below(of.size())]; }
    std::string blank() { return below(4) ? "" : below(8) ? " " : below(2) ? "\t" : "\n"; }

    std::mt19937_64 random_;
};

inline bool same_bits(double want, double got) {
    return std::isnan(want) ? std::isnan(got) : std::bit_cast<std::uint64_t>(want) == std::bit_cast<std::uint64_t>(got);
}

}  // namespace formula_cases
