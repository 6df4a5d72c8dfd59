// Finds out what a table in text is.
#include "io/table.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "io/errors.h"
#include "io/text_numbers.h"

namespace kith::io {
namespace {

// Fewer rows count from 0 or 1 by chance.
constexpr std::int64_t least_counted = 3;

// Digits alone, as the names of columns and the numbers of rows are written.
std::optional<std::int64_t> whole_number(std::string_view cell) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (cell.empty() || cell[0] == '-' || end != cell.data() + cell.size() || error != std::errc{})
        return {};
    return value;
}

enum class Kind { empty, number, word, neither };

Kind kind_of(std::string_view cell, bool decimal_comma) {
    if (cell.empty()) return Kind::empty;
    double value = 0;
    if (parse_number(cell, decimal_comma, value) != Parsed::other) return Kind::number;
    if (stands_for_nothing(cell)) return Kind::neither;
    return std::string_view("0123456789+-.").find(cell[0]) == std::string_view::npos
               ? Kind::word
               : Kind::neither;
}

// The first cells of lines one below the other.
class FirstColumn {
public:
    void add(std::string_view cell, bool quoted, bool decimal_comma) {
        const std::optional<std::int64_t> whole = whole_number(cell);
        if (rows_ == 0) {
            top_ = cell;
            start_ = whole.value_or(-1);
        }
        all_quoted_ &= quoted;
        all_whole_ &= whole.has_value();
        counts_ &= whole && *whole - rows_ == start_;
        if (all_names_) {
            const Kind kind = kind_of(cell, decimal_comma);
            all_names_ = kind == Kind::word || (kind == Kind::neither && quoted);
        }
        ++rows_;
    }
    const std::string& top() const { return top_; }
    bool all_quoted() const { return all_quoted_; }
    bool all_whole() const { return all_whole_; }
    bool all_names() const { return all_names_; }
    bool counts_from(std::int64_t start) const { return counts_ && start_ == start; }
    // By one, from 0 or from 1.
    bool counts() const { return counts_from(0) || counts_from(1); }
    bool counts_rows() const { return counts() && rows_ >= least_counted; }

private:
    std::string top_;
    std::int64_t rows_ = 0, start_ = -1;
    bool all_quoted_ = true, all_whole_ = true, all_names_ = true, counts_ = true;
};

// What is known of lines that are rows, once all of them have been added.
class Rows {
public:
    // `look_for_whole`: whether whole numbers anywhere in the line matter.
    void add(std::string_view line, Separator separator, bool decimal_comma, bool look_for_whole) {
        Cells cells(line, separator);
        std::string_view cell;
        cells.next(cell);
        first_.add(cell, cells.quoted(), decimal_comma);
        whole_in_first_ |= whole_number(cell).has_value();
        const bool look_for_quotes = !quoted_beyond_ && line.find('"') != std::string_view::npos;
        // From 2 on, where the line above these is a row, too.
        look_for_whole =
            !whole_beyond_ && (look_for_whole || first_.counts() || first_.counts_from(2));
        while ((look_for_quotes || look_for_whole) && cells.next(cell)) {
            quoted_beyond_ |= cells.quoted();
            whole_beyond_ |= whole_number(cell).has_value();
        }
        const std::int64_t empty = empty_at_end(line, separator);
        empty_ = count_ == 0 ? empty : std::min(empty_, empty);
        ++count_;
    }
    std::int64_t count() const { return count_; }
    const FirstColumn& first() const { return first_; }
    std::int64_t empty_at_end_of_each() const { return empty_; }
    bool quoted_beyond_first() const { return quoted_beyond_; }
    bool whole_beyond_first() const { return whole_beyond_; }
    bool whole() const { return whole_in_first_ || whole_beyond_; }

private:
    FirstColumn first_;
    std::int64_t count_ = 0, empty_ = 0;
    bool quoted_beyond_ = false, whole_in_first_ = false, whole_beyond_ = false;
};

// Reads a table once, then decides.
class Examination {
public:
    Examination(ByteInput& input, const TableOptions& options) : input_(input), options_(options) {
        table_.decimal_comma = options.decimal_comma;
    }

    Table run() {
        Lines lines(input_);
        std::string_view line;
        for (std::int64_t i = 0; i < options_.skip; ++i) {
            if (!lines.next(line)) {
                bad_file(input_.path(),
                         fmt::format("expected more than the {} lines that are skipped, found {}",
                                     options_.skip, i));
            }
        }
        while (lines.next(line)) {
            const LineKind kind = line_kind(line, first_ ? table_.separator : Separator::tab);
            if (kind == LineKind::row) {
                if (!first_) begin(line, lines.number());
                else add(line, lines.number());
                take_waiting();
                count({lines.offset(), lines.number()});
            } else if (first_) {
                ++(kind == LineKind::empty ? empty_ : comments_);
                // Of one column what is missing is an empty line; whether it has one, the line
                // below the first says.
                if (kind == LineKind::empty && is_one_column())
                    wait({lines.offset(), lines.number()});
            }
        }
        if (!first_) refuse_empty();
        decide_header();
        table_.rows = number_ - (table_.header ? 1 : 0);
        if (table_.rows == 0) refuse_empty();
        decide_columns();
        if (table_.empty_rows > 0)
            say(fmt::format("{} without a number",
                            table_.empty_rows == 1
                                ? "an empty line is a row"
                                : fmt::format("{} empty lines are rows", table_.empty_rows)));
        if (is_one_column() && empty_ > 0)
            say(fmt::format("{} left out", empty_ == 1 ? "an empty line at the end is"
                                                       : "empty lines at the end are"));
        if (passed_over_ > 0)
            say(passed_over_ == 1
                    ? "a line between the rows that begins with # is left out"
                    : fmt::format("{} lines between the rows that begin with # are left out",
                                  passed_over_));
        for (const ColumnRange& range : table_.columns) table_.cols += range.count;
        return std::move(table_);
    }

private:
    bool is_one_column() const { return table_.separator == Separator::blanks && cells_ == 1; }

    // The next of the lines that are rows or names.
    void count(const LineMark& line) {
        if (number_++ % lines_per_mark == 0) table_.marks.push_back(line);
    }

    // An empty line, which is a row if another follows.
    void wait(const LineMark& line) {
        if ((number_ + waiting_++) % lines_per_mark == 0) waiting_marks_.push_back(line);
    }

    // A row has followed.
    void take_waiting() {
        if (is_one_column()) {
            number_ += waiting_;
            table_.empty_rows += waiting_;
            table_.marks.insert(table_.marks.end(), waiting_marks_.begin(), waiting_marks_.end());
        }
        passed_over_ += std::exchange(comments_, 0);
        empty_ = waiting_ = 0;
        waiting_marks_.clear();
    }

    [[noreturn]] void refuse_empty() const {
        bad_file(input_.path(), "expected at least one row of numbers, found none");
    }

    // May be read in two ways.
    [[noreturn]] void refuse_first_line(std::string_view why) const {
        bad_file(input_.path(),
                 fmt::format(
                     "line {}: {}, {}: names of the columns or a row? --header yes or --header no "
                     "says which",
                     first_number_, shown(trimmed(first_text_)), why));
    }

    void begin(std::string_view line, std::int64_t number) {
        table_.separator = separator_of(line, options_.decimal_comma);
        first_.emplace(line, table_.separator, options_.decimal_comma);
        first_text_ = line;
        first_number_ = cells_number_ = number;
        cells_ = count_cells(line, table_.separator);
    }

    void add(std::string_view line, std::int64_t number) {
        const std::int64_t cells = count_cells(line, table_.separator);
        // R's write.table: no name above the names of the rows.
        if (below_.count() == 0 && cells == cells_ + 1 && options_.header.value_or(is_of_words())) {
            ++cells_;
            cells_number_ = number;
            is_short_ = true;
        }
        if (cells != cells_) {
            bad_file(input_.path(),
                     fmt::format("line {}: expected {} cells as in line {}, found {}", number,
                                 cells_, cells_number_, cells));
        }
        below_.add(line, table_.separator, options_.decimal_comma,
                   first_->ascending && !below_.whole());
    }

    bool is_of_words() const { return first_->words && !first_->numbers; }

    void decide_header() {
        table_.header = options_.header ? *options_.header : finds_header();
        if (table_.header && !options_.header)
            say(fmt::format("line {} names the columns", first_number_));
    }

    bool finds_header() const {
        const FirstLine& first = *first_;
        const FirstColumn& column = below_.first();
        if (is_of_words()) return true;
        if (below_.count() == 0 || first.cells == 0) return false;
        const bool index_below = column.all_names() || column.all_quoted() || column.counts();
        if (first.begins_with_word && first.rest_counts && index_below) return true;
        if (first.begins_empty && first.rest_numbers) {
            if (first.rest_ascending && index_below) return true;
            if (first.rest_counts && first.cells > 2 && column.all_whole()) return true;
            refuse_first_line("an empty cell before numbers");
        }
        if (first.words) return false;
        if (first.empty_before > 1 && first.numbers)
            refuse_first_line("empty cells before numbers");
        const bool quotes_below =
            below_.quoted_beyond_first() || (first.cells == 1 && column.all_quoted());
        if (first.all_quoted && !quotes_below) return true;
        if (first.counts && first.cells > 1) refuse_first_line("which counts from 0");
        if (first.counts && !below_.whole()) refuse_first_line("the only whole number");
        if (first.ascending && !below_.whole())
            refuse_first_line("whole numbers in order above others");
        return false;
    }

    void decide_columns() {
        std::int64_t empty = below_.count() > 0 ? below_.empty_at_end_of_each() : INT64_MAX;
        // Where the first line names fewer, that is what it says as well.
        if (!is_short_) empty = std::min(empty, empty_at_end(first_text_, table_.separator));
        if (is_short_ && empty > 0 &&
            (below_.first().all_names() || below_.first().counts_rows())) {
            bad_file(input_.path(), fmt::format("line {} names {} columns, and the lines below "
                                                "have one cell more, the first of which "
                                                "may be names and the last of which is empty; "
                                                "--columns 1-{} or --columns 2- says "
                                                "which are the columns",
                                                first_number_, cells_ - 1, cells_ - 1));
        }
        const bool has_names = is_short_ && empty == 0;
        cells_ -= empty;
        if (cells_ == 0) refuse_empty();
        if (!options_.columns.empty()) {
            table_.columns =
                parse_columns(input_.path(), options_.columns, cells_, names(has_names));
            return;
        }
        if (empty > 0)
            say(fmt::format("{} at the end of each line {} left out",
                            empty == 1 ? "an empty cell" : "empty cells",
                            empty == 1 ? "is" : "are"));
        if (table_.header) refuse_names_in_several();
        const std::int64_t index = cells_ > 1 && finds_index(has_names) ? 1 : 0;
        table_.columns = {{index, cells_ - index, 0}};
        if (cells_ == 1 && first_->counts && !table_.header && !options_.header && below_.whole())
            say(fmt::format("line {}, which is 0, is a row", first_number_));
    }

    // Whether the first column holds names or numbers of the rows, and is no coordinate.
    bool finds_index(bool has_names) {
        if (!table_.header) return finds_index_without_header();
        const FirstColumn& column = below_.first();
        const bool unnamed = has_names || (first_->begins_empty && !is_short_);
        if (column.all_names()) {
            say(fmt::format("column 1, of names such as {}, is left out", shown(column.top())));
            return true;
        }
        if (unnamed && (has_names || column.all_whole() || column.all_quoted())) {
            say("column 1, without a name, is left out");
            return true;
        }
        if (unnamed) refuse_index("has no name");
        if (column.counts_rows()) refuse_index("counts the rows");
        return false;
    }

    // Rows whose names are in several columns have as many cells without a name before those that
    // have one.
    void refuse_names_in_several() const {
        const std::int64_t unnamed = first_->empty_before;
        if (is_short_ || unnamed < 2 || unnamed >= cells_) return;
        bad_file(input_.path(),
                 fmt::format(
                     "columns 1 to {} have no names: names of the rows or coordinates? --columns "
                     "{}- leaves them out, --columns 1- reads them",
                     unnamed, unnamed + 1));
    }

    bool finds_index_without_header() {
        // The first line is a row as the others.
        Rows all;
        all.add(first_text_, table_.separator, options_.decimal_comma, true);
        const FirstColumn& top = all.first();
        const FirstColumn& rest = below_.first();
        if (top.all_names() && rest.all_names()) {
            say(fmt::format("column 1, of names such as {}, is left out", shown(top.top())));
            return true;
        }
        if (below_.count() == 0) return false;
        const bool quoted_beyond = all.quoted_beyond_first() || below_.quoted_beyond_first();
        if (top.all_quoted() && rest.all_quoted() && !quoted_beyond) {
            say("column 1, the only one in quotes, is left out");
            return true;
        }
        const std::optional<std::int64_t> start = whole_number(top.top());
        if (!start || *start > 1 || below_.count() + 1 < least_counted ||
            !rest.counts_from(*start + 1))
            return false;
        if (!all.whole_beyond_first() && !below_.whole_beyond_first())
            refuse_index("counts the rows");
        say("column 1 counts the rows and is read as the others");
        return false;
    }

    [[noreturn]] void refuse_index(std::string_view why) const {
        bad_file(
            input_.path(),
            fmt::format("column 1 {}: names of the rows or coordinates? --columns 2- leaves it "
                        "out, --columns 1- reads it",
                        why));
    }

    // Of the columns, where the first line has them.
    std::vector<std::string> names(bool has_names) const {
        std::vector<std::string> names(has_names ? 1 : 0);
        if (!table_.header) return {};
        Cells cells(first_text_, table_.separator);
        for (std::string_view cell; cells.next(cell);) names.emplace_back(cell);
        return names;
    }

    void say(const std::string& remark) {
        table_.remark += (table_.remark.empty() ? "" : "; ") + remark;
    }

    ByteInput& input_;
    const TableOptions& options_;
    Table table_;
    std::optional<FirstLine> first_;
    std::string first_text_;
    std::int64_t first_number_ = 0;  // of the line
    std::int64_t cells_ = 0;         // of each line below
    std::int64_t cells_number_ = 0;  // of the line that has as many
    bool is_short_ = false;          // the first line has one cell less
    std::int64_t number_ = 0;        // of lines that are rows or names
    // Since the last row: empty lines, those of them that may be rows, and comments; and comments
    // before it.
    std::int64_t empty_ = 0, waiting_ = 0, comments_ = 0, passed_over_ = 0;
    std::vector<LineMark> waiting_marks_;
    Rows below_;
};

}  // namespace

FirstLine::FirstLine(std::string_view line, Separator separator, bool decimal_comma) {
    const std::int64_t last = count_cells(line, separator) - empty_at_end(line, separator);
    Cells cells_of(line, separator);
    std::int64_t before = -1;
    for (std::string_view cell; cells < last && cells_of.next(cell); ++cells) {
        const Kind kind = kind_of(cell, decimal_comma);
        const std::int64_t whole = whole_number(cell).value_or(-1);
        if (kind == Kind::empty && empty_before == cells) ++empty_before;
        if (cells == 0) {
            begins_empty = kind == Kind::empty;
            begins_with_word = kind == Kind::word;
            begins_to_count = whole == 0 || whole == 1;
        } else {
            if (cells == 1) rest_numbers = rest_counts = rest_ascending = true;
            rest_numbers &= kind == Kind::number;
            rest_counts &= whole == cells - 1;
            rest_ascending &= whole > before;
        }
        words |= kind == Kind::word;
        numbers |= kind == Kind::number || kind == Kind::neither;
        all_quoted &= cells_of.quoted();
        counts &= whole == cells;
        ascending &= whole > before;
        before = whole;
    }
    ascending &= cells > 1;
}

bool FirstLine::may_be_names(bool whole) const {
    if (cells == 1) return counts && !whole;
    return counts || (!whole && (ascending || begins_to_count));
}

LineKind line_kind(std::string_view line, Separator separator) {
    const std::string_view text = trimmed(line);
    if (!text.empty()) return text[0] == '#' ? LineKind::comment : LineKind::row;
    const bool cells = separator == Separator::tab && line.find('\t') != std::string_view::npos;
    return cells ? LineKind::row : LineKind::empty;
}

bool Table::passes_over(std::string_view line) const {
    const LineKind kind = line_kind(line, separator);
    return kind == LineKind::comment || (kind == LineKind::empty && empty_rows == 0);
}

Table examine_table(ByteInput& input, const TableOptions& options) {
    return Examination(input, options).run();
}

}  // namespace kith::io
