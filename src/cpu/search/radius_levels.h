// The levels of a search by radius: each is one way of answering queries, and leaves to the next what it serves badly.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cpu/search/radius_block.h"
#include "exact/progress.h"
#include "kith/plan.h"

namespace kith::cpu {

struct RadiusSchedule {
    std::int64_t block, blocks;  // queries per block, blocks
    std::int64_t tiles, ranges;  // of the points; ranges of tiles, for few blocks
};

// One way of answering queries, over all waves.
class RadiusLevel {
public:
    explicit RadiusLevel(std::int64_t grain) : grain_(grain) {}
    virtual ~RadiusLevel() = default;
    virtual RadiusSchedule schedule(std::int64_t q, int threads) const = 0;
    // Offers tiles [begin, end) to a block; go_on(pairs) after some of them, and after `grain` neighbours were listed.
    virtual void evaluate(RadiusBlock& block, std::int64_t count, std::int64_t begin, std::int64_t end,
                          const std::function<bool(double)>& go_on) const = 0;
    // Whether it has given up most of enough queries.
    bool hopeless() const { return tried >= min_tried && 2 * given_up > tried; }
    std::int64_t tried = 0, given_up = 0;

protected:
    static constexpr std::int64_t min_tried = 64;
    std::int64_t grain_;
};

// In the order in which queries pass them: a tree, filters from coarse to fine, at last what answers every query. Each
// is made when those before have left a query.
class RadiusLevels {
public:
    // A level asks whether to go on after it has listed `grain` neighbours, at the latest.
    RadiusLevels(const Points& points, const Plan& plan, std::int64_t grain, ProgressMeter& progress);

    // Null beyond the last. Throws where the call is cancelled.
    RadiusLevel* at(std::size_t i);
    // That which comes after them.
    RadiusLevel& last();
    // Whether the last is a scan of all points, not their tree; why queries come to it for which no level had a reason.
    bool scans() const { return tree_ == nullptr; }
    exact::Cause no_reason() const { return any_filter_ ? exact::Cause::none : exact::Cause::no_filter; }
    bool begin_with_a_tree() const { return plan_.path == Path::tree; }

private:
    enum class Stage { tree, filter, finer, end };
    void add_stage();
    void add_filter(Rounding rounding);

    const Points& points_;
    const Plan& plan_;
    std::int64_t grain_;
    ProgressMeter& progress_;
    Isa isa_;
    int threads_;
    metric::Traits traits_;
    Rounding own_ = Rounding::f32;
    bool products_ = false, any_filter_ = false;
    Stage stage_ = Stage::tree;
    const Tree* tree_ = nullptr;
    std::vector<std::unique_ptr<RadiusLevel>> levels_;
    std::unique_ptr<RadiusLevel> last_;
};

}  // namespace kith::cpu
