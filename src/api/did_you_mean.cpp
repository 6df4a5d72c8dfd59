// Nearest names, by the edits that lead from a word to them.
#include "kith/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <climits>

namespace kith {
namespace {

constexpr std::size_t longest_word = 64, shortest_start = 2, shortest_mistyped = 4;

std::string folded(std::string_view word) {
    std::string letters;
    for (const char c : word) {
        if (c != '-' && c != '_' && c != ' ')
            letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return letters;
}

// The fewest letters to change, insert, leave out or exchange with the next (optimal string
// alignment).
int edits(const std::string& a, const std::string& b) {
    std::vector<int> before, last, row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before = std::move(last);
        last = row;
        row[0] = static_cast<int>(i);
        for (std::size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

// Slips to forgive: one in three letters, one more behind a good beginning.
int forgiven(const std::string& a, const std::string& b) {
    const std::size_t most = std::max(a.size(), b.size());
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return static_cast<int>(most / 3) +
           (differ - a.begin() >= static_cast<std::ptrdiff_t>(shortest_mistyped));
}

// 0: the same; INT_MAX: not near.
int remoteness(const std::string& word, const std::string& name) {
    if (word == name) return 0;
    if (word.size() >= shortest_start && name.starts_with(word)) return 1;
    if (word.size() < shortest_mistyped || name.size() < shortest_mistyped) return INT_MAX;
    const int slips = edits(word, name);
    return slips <= forgiven(word, name) ? 1 + slips : INT_MAX;
}

}  // namespace

std::string did_you_mean(std::string_view word, const std::vector<std::string>& names) {
    if (word.empty() || word.size() > longest_word) return "";
    const std::string meant = folded(word);
    const std::string* nearest = nullptr;
    int least = INT_MAX;
    for (const std::string& name : names) {
        const int away = remoteness(meant, folded(name));
        if (away >= least) continue;
        least = away;
        nearest = &name;
    }
    return nearest ? " (did you mean " + *nearest + "?)" : "";
}

}  // namespace kith
