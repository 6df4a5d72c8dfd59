// Random formulas: a text, and what it means by IEEE arithmetic in the order of the text.
#pragma once

#include <cmath>
#include <functional>
#include <iterator>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "adversarial.h"

namespace random_formula {

using Step = std::function<double(double a, double q, double x)>;

// A part of a formula, with the precedence of its outermost operator: 0 ?:, 1 ||, 2 &&, 3 ==, 4 <, 5 +, 6 *,
// 7 unary, 8 none.
struct Part {
    std::string text;
    int precedence;
    Step value;
};

inline std::string within(const Part& part, int least) {
    return part.precedence < least ? "(" + part.text + ")" : part.text;
}

inline Part literal(adversarial::Random& random) {
    const std::pair<const char*, double> literals[] = {
        {"0", 0},    {"1", 1},   {"2", 2},       {"3", 3},       {"0.1", 0.1},
        {"010", 10}, {".5", .5}, {"1e16", 1e16}, {"1e-3", 1e-3}, {"123456789", 123456789.0},
        {"2.", 2}};
    const auto& [text, value] = literals[random.below(std::size(literals))];
    return {text, 8, [v = value](double, double, double) { return v; }};
}

inline Part variable(adversarial::Random& random) {
    switch (random.below(3)) {
        case 0:
            return {"a", 8, [](double a, double, double) { return a; }};
        case 1:
            return {"q", 8, [](double, double q, double) { return q; }};
        default:
            return {"x", 8, [](double, double, double x) { return x; }};
    }
}

template <class F>
Part binary(const Part& left, const char* sign, const Part& right, int precedence, F f) {
    // Operators associate to the left.
    return {within(left, precedence) + " " + sign + " " + within(right, precedence + 1), precedence,
            [l = left.value, r = right.value, f](double a, double q, double x) { return f(l(a, q, x), r(a, q, x)); }};
}

template <class F>
Part unary(const char* sign, const Part& of, F f) {
    return {sign + within(of, 7), 7, [v = of.value, f](double a, double q, double x) { return f(v(a, q, x)); }};
}

template <class F>
Part call(const char* name, const std::vector<Part>& of, F f) {
    if constexpr (std::is_invocable_v<F, double>) {
        return {std::string(name) + "(" + of[0].text + ")", 8,
                [v = of[0].value, f](double a, double q, double x) { return f(v(a, q, x)); }};
    } else {
        return {
            std::string(name) + "(" + of[0].text + ", " + of[1].text + ")", 8,
            [l = of[0].value, r = of[1].value, f](double a, double q, double x) { return f(l(a, q, x), r(a, q, x)); }};
    }
}

inline Part make(adversarial::Random& random, int depth) {
    if (depth == 0 || random.below(6) == 0) return random.below(3) ? variable(random) : literal(random);
    const auto part = [&] { return make(random, depth - 1); };
    const Part first = part();
    switch (random.below(24)) {
        case 0:
        case 1:
        case 2:
            return binary(first, "+", part(), 5, [](double l, double r) { return l + r; });
        case 3:
        case 4:
        case 5:
            return binary(first, "-", part(), 5, [](double l, double r) { return l - r; });
        case 6:
        case 7:
        case 8:
            return binary(first, "*", part(), 6, [](double l, double r) { return l * r; });
        case 9:
        case 10:
            return binary(first, "/", part(), 6, [](double l, double r) { return l / r; });
        case 11:
            return binary(first, "<", part(), 4, [](double l, double r) { return double(l < r); });
        case 12:
            return binary(first, ">=", part(), 4, [](double l, double r) { return double(l >= r); });
        case 13:
            return binary(first, "==", part(), 3, [](double l, double r) { return double(l == r); });
        case 14:
            return binary(first, "!=", part(), 3, [](double l, double r) { return double(l != r); });
        case 15:
            return binary(first, "&&", part(), 2, [](double l, double r) { return double(l != 0 && r != 0); });
        case 16:
            return binary(first, "||", part(), 1, [](double l, double r) { return double(l != 0 || r != 0); });
        case 17:
            return call("abs", {first}, [](double v) { return std::fabs(v); });
        case 18:
            return call("sqrt", {first}, [](double v) { return std::sqrt(v); });
        case 19:  // the one that is a number, the first of equal ones
            return call("min", {first, part()}, [](double l, double r) { return std::isnan(l) || r < l ? r : l; });
        case 20:
            return call("fmax", {first, part()}, [](double l, double r) { return std::isnan(l) || l < r ? r : l; });
        case 21:
            return unary("-", first, [](double v) { return -v; });
        case 22:
            return unary("!", first, [](double v) { return double(v == 0); });
        default: {
            const Part yes = part(), no = part();
            return {within(first, 1) + " ? " + yes.text + " : " + no.text, 0,
                    [c = first.value, y = yes.value, n = no.value](double a, double q, double x) {
                        return c(a, q, x) != 0 ? y(a, q, x) : n(a, q, x);
                    }};
        }
    }
}

}  // namespace random_formula
