// When a query's list is full, its threshold falls to the k-th smallest upper value. At the end the
// distance keys of the candidates decide. A list that no threshold empties (ties, hostile data) is
// rescored in place, so no query fails.
#include "cpu/search/shortlist.h"

#include <algorithm>
#include <cmath>

namespace kith::cpu {

namespace {

// This many appends always fit into a list.
constexpr std::int64_t room = 2 * panel_points;
// A list grows by max(least_behind, k / behind_share) candidates before its threshold is updated.
constexpr std::int64_t least_behind = 8, behind_share = 2;

// Thresholds are guessed from the first points: these shares of all, one after the other.
constexpr double guessed_parts[] = {1.0 / 64, 1.0 / 16, 1.0 / 4};

// If m neighbours are expected among some of the points, hardly ever are there more than this: with
// a Poisson distribution about one time in 100,000.
std::int64_t most_expected(double m) {
    return static_cast<std::int64_t>(std::ceil(m + 4 * std::sqrt(m) + 4));
}

// The order statistic of the first points, a share of all, that a threshold is guessed from.
// Returns k where it is not below k / 2: a guess would gain little.
std::int64_t guessed_rank(std::int64_t k, double share) {
    const std::int64_t rank = most_expected(static_cast<double>(k) * share);
    return 2 * rank < k ? rank : k;
}

}  // namespace

Shortlist::Shortlist(const Search& search, const std::int64_t* numbers, std::int64_t count)
    : search_(search),
      numbers_(numbers),
      count_(count),
      distance_keys_(search.points.metric, search.isa),
      rows_(count, search.points.rows.cols),
      scattered_keys_(search.points.rows, distance_keys_),
      refined_(static_cast<std::size_t>(count), 0),
      ties_(refined_.size(), 0),
      causes_(refined_.size(), exact::Cause::none),
      guesses_(refined_.size(), 0) {
    distance_keys_.load_numbered(search.queries, numbers, count, rows_);
    terms_.reserve(static_cast<std::size_t>(count));
    candidates_.reserve(static_cast<std::size_t>(count));
    best_.reserve(static_cast<std::size_t>(count));
}

void Shortlist::add_query(const QueryTerms& terms) {
    terms_.push_back(terms);
    terms_.back().usable &= !terms.alike;
    const std::int64_t behind = std::max(least_behind, search_.k / behind_share);
    candidates_.emplace_back(search_.k, terms, room, behind, kth_smallest(search_.isa));
    best_.emplace_back(search_.k);
    // Only a NaN passes the threshold of a query that is not filtered.
    const auto i = static_cast<std::int64_t>(terms_.size()) - 1;
    const bool takes_part = filtered(i);
    if (!takes_part && !has_nan(i) && !alike(i))
        causes_[static_cast<std::size_t>(i)] = exact::Cause::out_of_range;
    if (terms.ends_finite) candidates_.back().lower(std::numeric_limits<float>::max());
    thresholds_.push_back(takes_part ? candidates_.back().threshold()
                                     : -std::numeric_limits<float>::infinity());
    const std::int64_t rank = guessed_rank(search_.k, guessed_parts[0]);
    if (!takes_part || !search_.guesses || rank == search_.k || !search_.guesses->next(i)) return;
    guesses_[static_cast<std::size_t>(i)] = 1;
    candidates_.back().set_rank(rank);
}

bool Shortlist::advance(std::int64_t seen, std::int64_t all) {
    const std::size_t parts = std::size(guessed_parts);
    const double share = static_cast<double>(seen) / static_cast<double>(all);
    if (part_ == parts || share < guessed_parts[part_]) return false;
    while (part_ < parts && share >= guessed_parts[part_]) ++part_;
    const std::int64_t rank =
        part_ == parts ? search_.k : guessed_rank(search_.k, guessed_parts[part_]);
    bool changed = false;
    for (std::int64_t i = 0; i < count_; ++i) {
        if (!guesses_[static_cast<std::size_t>(i)] || !filtered(i)) continue;
        make_room(i);
        candidates_[static_cast<std::size_t>(i)].set_rank(rank);
        changed = true;
    }
    return changed;
}

void Shortlist::give_up(std::int64_t i, exact::Cause cause) {
    const auto at = static_cast<std::size_t>(i);
    // From here on only a NaN passes.
    terms_[at].usable = false;
    causes_[at] = cause;
    candidates_[at].lower(-std::numeric_limits<float>::infinity());
    thresholds_[at] = candidates_[at].threshold();
}

void Shortlist::make_room(std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    Candidates& list = candidates_[at];
    if (!filtered(i)) {
        list.list().clear();
        return;
    }
    if (!list.tighten(upper_)) {
        refined_[at] += static_cast<double>(list.list().size());
        causes_[at] = exact::Cause::full_list;
        refine(i);
        list.lower(terms_[at].threshold_from_rank(best(i).threshold()));
        if (refined_[at] > search_.max_candidates)
            give_up(i, 2 * ties_[at] > refined_[at] ? exact::Cause::ties : exact::Cause::alike);
    }
    thresholds_[at] = list.threshold();
}

// Computes the distance keys of a query's candidates, and empties the list.
void Shortlist::refine(std::int64_t i) {
    std::vector<Candidate>& list = candidates_[static_cast<std::size_t>(i)].list();
    TopK& top = best(i);
    std::int64_t ties = 0;
    evaluated_ += static_cast<double>(list.size());
    const std::int64_t count = std::ssize(list);
    const auto id_of = [&](std::int64_t j) { return list[static_cast<std::size_t>(j)].id; };
    const auto use = [&](std::int64_t j, double rank) {
        ties += rank == top.threshold();
        top.push(rank, id_of(j));
    };
    // Integer rows have no NaN. A query with equal distance to all points takes points unfiltered,
    // so its keys need the check for NaN.
    if (whole_ && !alike(i))
        whole_->each(whole_queries_ + i * whole_->query_bytes(), count, id_of, use);
    else scattered_keys_.each(rows_, i, count, id_of, use);
    list.clear();
    top.settle();
    ties_[static_cast<std::size_t>(i)] += static_cast<double>(ties);
}

void Shortlist::take_some(std::int64_t i, std::int64_t first, std::int64_t last,
                          const std::vector<std::int64_t>& but) {
    std::vector<Candidate>& list = candidates_[static_cast<std::size_t>(i)].list();
    list.clear();  // of points that are not covered, which pass every threshold
    for (std::int64_t id = first; id < last; ++id)
        if ((!search_.graph || id != numbers_[i]) &&
            !std::binary_search(but.begin(), but.end(), id))
            list.push_back({0, 0, id});
    refine(i);
}

void Shortlist::finish_query(std::int64_t i) {
    if (!filtered(i)) return;
    const auto at = static_cast<std::size_t>(i);
    candidates_[at].set_rank(search_.k);
    candidates_[at].tighten(upper_);
    refine(i);
    if (!guesses_[at]) return;
    // Every point of the answer has a value up to this threshold. No point with a value up to the
    // guess has been dropped.
    const bool right =
        terms_[at].threshold_from_rank(best(i).threshold()) <= candidates_[at].guess();
    search_.guesses->note(numbers_[i], right);
    if (!right) give_up(i, exact::Cause::full_list);
}

}  // namespace kith::cpu
