// When a query's list is full its threshold falls to the k-th smallest upper value. At the end the candidates'
// distance keys decide. A list that no threshold empties (ties, hostile data) is refined in place, so that no query
// ever fails.
#include "cpu/search/shortlist.h"

#include <algorithm>

namespace kith::cpu {

namespace {

// Appends that always fit into a list.
constexpr std::int64_t room = 2 * panel_points;

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
      causes_(refined_.size(), exact::Cause::none) {
    distance_keys_.load_numbered(search.queries, numbers, count, rows_);
    terms_.reserve(static_cast<std::size_t>(count));
    candidates_.reserve(static_cast<std::size_t>(count));
    best_.reserve(static_cast<std::size_t>(count));
}

void Shortlist::add_query(const QueryTerms& terms, std::int64_t behind) {
    terms_.push_back(terms);
    terms_.back().usable &= !terms.alike;
    candidates_.emplace_back(search_.k, terms, room, behind);
    best_.emplace_back(search_.k);
    // Nothing but NaN passes the threshold of a query that is not filtered.
    const auto i = static_cast<std::int64_t>(terms_.size()) - 1;
    const bool takes_part = filtered(i);
    if (!takes_part && !has_nan(i) && !alike(i)) causes_[static_cast<std::size_t>(i)] = exact::Cause::out_of_range;
    thresholds_.push_back((takes_part ? 1.0f : -1.0f) * std::numeric_limits<float>::infinity());
}

void Shortlist::give_up(std::int64_t i, exact::Cause cause) {
    const auto at = static_cast<std::size_t>(i);
    // From here on only NaN passes.
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
    if (!list.tighten()) {
        refined_[at] += static_cast<double>(list.list().size());
        causes_[at] = exact::Cause::full_list;
        refine(i);
        list.lower(terms_[at].threshold_from_rank(best(i).threshold()));
        if (refined_[at] > search_.max_candidates)
            give_up(i, 2 * ties_[at] > refined_[at] ? exact::Cause::ties : exact::Cause::alike);
    }
    thresholds_[at] = list.threshold();
}

// Distance keys of a query's candidates, which leave the list.
void Shortlist::refine(std::int64_t i) {
    std::vector<Candidate>& list = candidates_[static_cast<std::size_t>(i)].list();
    TopK& top = best(i);
    std::int64_t ties = 0;
    evaluated_ += static_cast<double>(list.size());
    scattered_keys_.each(
        rows_, i, static_cast<std::int64_t>(list.size()),
        [&](std::int64_t j) { return list[static_cast<std::size_t>(j)].id; },
        [&](std::int64_t j, double rank) {
            ties += rank == top.threshold();
            top.push(rank, list[static_cast<std::size_t>(j)].id);
        });
    list.clear();
    top.settle();
    ties_[static_cast<std::size_t>(i)] += static_cast<double>(ties);
}

void Shortlist::take_some(std::int64_t i, std::int64_t first, std::int64_t last) {
    std::vector<Candidate>& list = candidates_[static_cast<std::size_t>(i)].list();
    list.clear();  // of points that are not covered, which pass every threshold
    for (std::int64_t id = first; id < last; ++id)
        if (!search_.graph || id != numbers_[i]) list.push_back({0, 0, id});
    refine(i);
}

void Shortlist::finish_query(std::int64_t i) {
    if (!filtered(i)) return;
    candidates_[static_cast<std::size_t>(i)].tighten();
    refine(i);
}

}  // namespace kith::cpu
