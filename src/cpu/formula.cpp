// A metric given as text, evaluated by muParser over a tile of points, one coordinate at a time.
#include "cpu/formula.h"

#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kith/error.h"
#include "metric/portable.h"

namespace kith::cpu {

namespace {

[[noreturn]] void refuse(const std::string& text, std::size_t position, const std::string& reason) {
    throw Error(ErrorCode::invalid_argument, "formula: '" + text + "' at position " + std::to_string(position + 1) +
                                                 ": " + reason + "; expected an expression of a, q and x");
}

double absolute(double x) {
    return std::fabs(x);
}
double root(double x) {
    return std::sqrt(x);
}
double exponential(double x) {
    return portable::any_exp(x);
}
double logarithm(double x) {
    return portable::any_log(x);
}
double power(double x, double y) {
    return portable::any_pow(x, y);
}
double smaller(double x, double y) {
    return std::fmin(x, y);
}
double larger(double x, double y) {
    return std::fmax(x, y);
}

// What muParser reads otherwise than C does: assignment, lists, and a power operator that C takes for exclusive or.
void reject_foreign(const std::string& text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '^') refuse(text, i, "'^' is not an operator, use pow(x, y)");
        if (c == '(') ++depth;
        if (c == ')') --depth;
        if (c == ',' && depth == 0) refuse(text, i, "more than one value");
        if (c == '"') refuse(text, i, "a string");
        if (c != '=') continue;
        if (i + 1 < text.size() && text[i + 1] == '=') {
            ++i;
            continue;
        }
        if (i > 0 && (text[i - 1] == '<' || text[i - 1] == '>' || text[i - 1] == '!')) continue;
        refuse(text, i, "an assignment");
    }
}

}  // namespace

struct Formula::State {
    mu::Parser parser;
    std::vector<double> a, next, q, x;
    double start = 0;

    void compile(const std::string& text) {
        reject_foreign(text);
        try {
            parser.ClearFun();
            parser.ClearConst();
            parser.DefineFun("abs", absolute);
            parser.DefineFun("fabs", absolute);
            parser.DefineFun("sqrt", root);
            parser.DefineFun("exp", exponential);
            parser.DefineFun("log", logarithm);
            parser.DefineFun("pow", power);
            parser.DefineFun("min", smaller);
            parser.DefineFun("max", larger);
            parser.DefineFun("fmin", smaller);
            parser.DefineFun("fmax", larger);
            reserve(1);
            parser.SetExpr(text);
            // Parses: muParser does so at the first evaluation.
            parser.Eval(next.data(), 1);
        } catch (const mu::Parser::exception_type& e) {
            const int at = e.GetPos();
            refuse(text, at < 0 ? 0 : static_cast<std::size_t>(at), e.GetMsg());
        }
    }

    void reserve(std::int64_t count) {
        if (static_cast<std::int64_t>(a.size()) >= count) return;
        for (auto* array : {&a, &next, &q, &x}) array->assign(static_cast<std::size_t>(count), 0.0);
        parser.DefineVar("a", a.data());
        parser.DefineVar("q", q.data());
        parser.DefineVar("x", x.data());
    }
};

void check_formula(const std::string& text) {
    const Formula formula(text, 0.0);
}

Formula::Formula(const std::string& text, double start) : state_(std::make_unique<State>()) {
    state_->start = start;
    state_->compile(text);
}

Formula::~Formula() = default;

void Formula::distances(const double* q, const double* points, std::int64_t stride, std::int64_t count, std::int64_t d,
                        double* out) {
    State& s = *state_;
    s.reserve(count);
    std::fill(s.a.begin(), s.a.begin() + count, s.start);
    for (std::int64_t j = 0; j < d; ++j) {
        std::fill(s.q.begin(), s.q.begin() + count, q[j]);
        for (std::int64_t i = 0; i < count; ++i) s.x[static_cast<std::size_t>(i)] = points[i * stride + j];
        s.parser.Eval(s.next.data(), static_cast<int>(count));
        // The variable is bound to the array `a`.
        std::copy(s.next.begin(), s.next.begin() + count, s.a.begin());
    }
    std::copy(s.a.begin(), s.a.begin() + count, out);
}

}  // namespace kith::cpu
