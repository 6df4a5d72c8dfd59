// See chain.h.
#include "strategy/chain.h"

#include <array>
#include <numeric>

namespace kith::strategy {

void replace(Numbers& all, const Numbers& some, const Numbers& rest) {
    std::erase_if(all,
                  [&](std::int64_t q) { return std::binary_search(some.begin(), some.end(), q); });
    all.insert(all.end(), rest.begin(), rest.end());
    std::sort(all.begin(), all.end());
}

void raise(std::atomic<exact::Cause>& to, exact::Cause cause) {
    exact::Cause known = to;
    while (known < cause && !to.compare_exchange_weak(known, cause)) {
    }
}

void Chain::begin(std::int64_t first, std::int64_t count) {
    in_parts_ = true;
    first_ = first;
    count_ = count;
    whole_ = true;
    left_.clear();
    ran_.clear();
}

void Chain::commit(std::int64_t count) {
    const std::int64_t end = first_ + count;
    for (const Ran& part : ran_) add(part, end);
    ran_.clear();
    for (std::int64_t i = end; i < first_ + count_ && !causes_.empty(); ++i)
        causes_[static_cast<std::size_t>(i)] = exact::Cause::none;
}

// Adds the results of an attempt for the queries before `end` to the entry of its place.
void Chain::add(const Ran& part, std::int64_t end) {
    const auto before = [end](const Numbers& numbers) {
        return std::lower_bound(numbers.begin(), numbers.end(), end) - numbers.begin();
    };
    const std::int64_t took = before(part.took), left = before(part.left);
    const auto place = std::lower_bound(places_.begin(), places_.end(), part.place);
    const auto entry = report_.trace.begin() + (place - places_.begin());
    const bool known = place != places_.end() && *place == part.place;
    if (!known) {
        if (took == 0 && !part.took.empty()) return;
        report_.trace.insert(entry,
                             {part.facts->name, 0, 0, 0, part.took.empty() ? part.why : "", 0});
        places_.insert(place, part.place);
        add(part, end);
        return;
    }
    if (left > 0) entry->cause = part.why;
    entry->queries += took;
    entry->certified += took - left;
    entry->left += left;
    entry->seconds += part.seconds;
    if (took > 0) won(*part.facts, entry->certified);
}

const Numbers& Chain::left() {
    if (whole_) {
        left_.resize(static_cast<std::size_t>(count_));
        std::iota(left_.begin(), left_.end(), first_);
        whole_ = false;
    }
    return left_;
}

Causes& Chain::causes() {
    if (causes_.empty()) causes_ = Causes(static_cast<std::size_t>(queries_));
    return causes_;
}

Numbers Chain::taken(CauseSet takes) {
    Numbers out;
    const Causes& causes = this->causes();
    for (const std::int64_t query : left())
        if (takes.has(causes[static_cast<std::size_t>(query)])) out.push_back(query);
    return out;
}

double Chain::lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
}

const char* Chain::cause_of(const Numbers& left) const {
    if (left.empty() || causes_.empty()) return "";
    std::array<std::int64_t, exact::cause_count> of{};
    for (const std::int64_t query : left)
        ++of[static_cast<std::size_t>(causes_[static_cast<std::size_t>(query)].load())];
    return exact::name(
        static_cast<exact::Cause>(std::max_element(of.begin(), of.end()) - of.begin()));
}

void Chain::ran(const Facts& facts, bool all, const Numbers& some, Numbers& after) {
    if (in_parts_) {
        ran_.push_back({&facts, place_, all ? left() : some, after, cause_of(after), lap()});
    } else {
        const std::int64_t took = (all ? count() : std::ssize(some)) - spared_,
                           left = std::ssize(after) - spared_;
        spared_ = 0;
        report_.trace.push_back({facts.name, took, took - left, left, cause_of(after), lap()});
        won(facts, took - left);
    }
    if (all) {
        left_ = std::move(after);
        whole_ = false;
    } else {
        left();
        replace(left_, some, after);
    }
}

void Chain::won(const Facts& facts, std::int64_t certified) {
    if (winner_ && certified <= most_certified_) return;
    winner_ = &facts;
    most_certified_ = certified;
}

void Chain::decline(const Facts& facts, const char* why) {
    if (in_parts_) ran_.push_back({&facts, place_, {}, {}, why, lap()});
    else report_.trace.push_back({facts.name, 0, 0, 0, why, lap()});
}

exact::Cause Chain::most() const {
    std::array<std::int64_t, exact::cause_count> given_up{};
    for (const std::atomic<exact::Cause>& cause : causes_)
        if (cause > exact::Cause::not_tried) ++given_up[static_cast<std::size_t>(cause.load())];
    return static_cast<exact::Cause>(std::max_element(given_up.begin(), given_up.end()) -
                                     given_up.begin());
}

void Chain::tally(std::int64_t count, const Numbers& last, bool scans, exact::Cause no_reason,
                  exact::Cause not_tried, exact::Fallbacks& fallbacks) {
    if (last.empty() && causes_.empty()) {
        report_.certified += count;
        return;
    }
    auto next = last.begin();
    for (std::int64_t query = first_; query < first_ + count; ++query) {
        const bool is_last = next != last.end() && *next == query, is_scanned = is_last && scans;
        if (is_last) ++next;
        exact::Cause cause =
            causes_.empty() ? exact::Cause::none : causes_[static_cast<std::size_t>(query)].load();
        if (cause == exact::Cause::not_tried) cause = not_tried;
        if (is_last) cause = std::max(cause, no_reason);
        ++(is_scanned                    ? report_.scanned
           : cause != exact::Cause::none ? report_.retried
                                         : report_.certified);
        fallbacks.add(cause, is_scanned);
    }
}

}  // namespace kith::strategy
