// The parser of formulas: recursive descent, with a table of binary operators by precedence.
#include "formula/tree.h"

#include <charconv>
#include <cstdio>
#include <string_view>

#include "kith/error.h"

namespace kith::formula {

namespace {

struct Function {
    std::string_view name;
    Op op;
};
constexpr Function functions[] = {
    {"abs", Op::absolute},  {"fabs", Op::absolute}, {"sqrt", Op::root},   {"exp", Op::exponential},
    {"log", Op::logarithm}, {"pow", Op::power},     {"min", Op::minimum}, {"max", Op::maximum},
    {"fmin", Op::minimum},  {"fmax", Op::maximum},
};

struct Operator {
    std::string_view text;
    int precedence;  // a larger one binds tighter
    Op op;
    bool swapped = false;
};
// A text comes before its own beginnings.
constexpr Operator operators[] = {
    {"||", 1, Op::logical_or}, {"&&", 2, Op::logical_and}, {"==", 3, Op::equal},
    {"!=", 3, Op::unequal},    {"<=", 4, Op::less_equal},  {">=", 4, Op::less_equal, true},
    {"<", 4, Op::less},        {">", 4, Op::less, true},   {"+", 5, Op::add},
    {"-", 5, Op::subtract},    {"*", 6, Op::multiply},     {"/", 6, Op::divide},
};

constexpr const char* expected_value = "expected a, q, x, a number, a function or '('";
constexpr const char* expected_operator = "expected an operator or the end";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

// Text for a message: control characters by their code.
std::string shown(std::string_view text) {
    std::string out;
    for (const char c : text) {
        char code[8] = {c};
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) std::snprintf(code, sizeof code, "\\x%02x", byte);
        out += code;
    }
    return out;
}

class Parser {
public:
    explicit Parser(const std::string& text) : text_(text) {}

    Tree parse() {
        if (text_.size() > max_length)
            refuse(max_length, std::to_string(text_.size()) + " characters",
                   "expected at most " + std::to_string(max_length));
        expression();
        if (at_ < text_.size()) refuse_here(expected_operator);
        return std::move(tree_);
    }

private:
    [[noreturn]] void refuse(std::size_t position, const std::string& reason,
                             const std::string& expected) const {
        // Of a long text, what surrounds the position.
        constexpr std::size_t margin = 60;
        const std::size_t begin = position > margin ? position - margin : 0;
        const std::string_view part = std::string_view(text_).substr(begin, 2 * margin);
        throw Error(ErrorCode::invalid_argument,
                    "formula: '" + std::string(begin ? "..." : "") + shown(part) +
                        (begin + part.size() < text_.size() ? "..." : "") + "' at position " +
                        std::to_string(position + 1) + ": " + reason + "; " + expected);
    }

    // Refuses what stands at the current position.
    [[noreturn]] void refuse_here(const char* expected) {
        skip_blanks();
        if (at_ >= text_.size())
            refuse(at_, tree_.nodes.empty() && depth_ == 1 ? "it is empty" : "it ends there",
                   expected);
        const char c = text_[at_];
        if (c == '^') refuse(at_, "'^' is not an operator", "expected pow(x, y) for a power");
        if (c == '=') refuse(at_, "'=' assigns", "expected == for a comparison");
        std::size_t end = at_ + 1;
        if (is_letter(c) || is_digit(c)) {
            while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
        } else {
            while (end < text_.size() && (text_[end] & 0xc0) == 0x80)
                ++end;  // the rest of one character in UTF-8
        }
        refuse(at_, "unexpected '" + shown(std::string_view(text_).substr(at_, end - at_)) + "'",
               expected);
    }

    void skip_blanks() {
        while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
    }

    bool accept(std::string_view token) {
        skip_blanks();
        if (text_.compare(at_, token.size(), token) != 0) return false;
        at_ += token.size();
        return true;
    }

    void expect(std::string_view token, const char* expected) {
        if (!accept(token)) refuse_here(expected);
    }

    std::int32_t add(const Node& node) {
        tree_.nodes.push_back(node);
        return static_cast<std::int32_t>(tree_.nodes.size()) - 1;
    }

    // Counts what is open; every recursion passes here.
    class Level {
    public:
        explicit Level(Parser& parser) : parser_(parser) {
            if (++parser_.depth_ > max_depth)
                parser_.refuse(parser_.at_,
                               "nested more than " + std::to_string(max_depth) + " deep",
                               "expected a flatter formula");
        }
        ~Level() { --parser_.depth_; }
        Level(const Level&) = delete;
        Level& operator=(const Level&) = delete;

    private:
        Parser& parser_;
    };

    // condition ? value : value, or what binds tighter.
    std::int32_t expression() {
        const Level level(*this);
        const std::int32_t condition = binary(1);
        if (!accept("?")) return condition;
        const std::int32_t yes = expression();
        expect(":", "expected ':' or an operator");
        const std::int32_t no = expression();
        return add({.op = Op::select, .args = {condition, yes, no}});
    }

    const Operator* accept_operator(int precedence) {
        skip_blanks();
        for (const Operator& o : operators) {
            if (text_.compare(at_, o.text.size(), o.text) != 0) continue;
            if (o.precedence < precedence) return nullptr;
            at_ += o.text.size();
            return &o;
        }
        return nullptr;
    }

    // Operators of at least this precedence, from left to right.
    std::int32_t binary(int precedence) {
        std::int32_t left = unary();
        while (const Operator* o = accept_operator(precedence)) {
            const std::int32_t right = binary(o->precedence + 1);
            left =
                add({.op = o->op, .args = {o->swapped ? right : left, o->swapped ? left : right}});
        }
        return left;
    }

    std::int32_t unary() {
        skip_blanks();
        const char c = at_ < text_.size() ? text_[at_] : '\0';
        if (c != '+' && c != '-' && c != '!') return primary();
        const Level level(*this);
        ++at_;
        const std::int32_t inner = unary();
        if (c == '+') return inner;
        return add({.op = c == '-' ? Op::negative : Op::logical_not, .args = {inner}});
    }

    std::int32_t primary() {
        if (accept("(")) {
            const std::int32_t inner = expression();
            expect(")", "expected ')' or an operator");
            return inner;
        }
        if (at_ < text_.size()) {
            const char c = text_[at_];
            if (is_letter(c)) return name();
            if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))
                return number();
        }
        refuse_here(expected_value);
    }

    std::int32_t number() {
        double value = 0;
        const char* const begin = text_.data() + at_;
        const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
        const std::string_view digits(begin, static_cast<std::size_t>(end - begin));
        if (error != std::errc())
            refuse(at_, shown(digits) + " is beyond the range of a double",
                   "expected 5e-324 to 1.8e308");
        at_ += digits.size();
        if (at_ < text_.size() &&
            (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.'))
            refuse_here("expected a decimal number such as 10, 0.5 or 1e-3");
        return add({.value = value});
    }

    std::int32_t name() {
        const std::size_t begin = at_;
        std::size_t end = at_;
        while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
        const std::string_view word = std::string_view(text_).substr(begin, end - begin);
        at_ = end;
        if (word == "a") return add({.op = Op::running});
        if (word == "q") return add({.op = Op::query});
        if (word == "x") return add({.op = Op::point});
        for (const Function& f : functions) {
            if (word == f.name) return call(f);
        }
        std::string known = "expected a, q, x";
        for (const Function& f : functions) known += ", " + std::string(f.name);
        refuse(begin, "unknown name '" + std::string(word) + "'", known);
    }

    std::int32_t call(const Function& f) {
        expect("(", "expected '(' after the name of a function");
        const bool two = arity(f.op) == 2;
        Node node{.op = f.op};
        node.args[0] = expression();
        if (two) {
            expect(",", "expected ',' and a second argument");
            node.args[1] = expression();
        }
        expect(")", two ? "expected ')' after two arguments" : "expected ')' after one argument");
        return add(node);
    }

    const std::string& text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    Tree tree_;
};

}  // namespace

Tree parse(const std::string& text) {
    return Parser(text).parse();
}

}  // namespace kith::formula
