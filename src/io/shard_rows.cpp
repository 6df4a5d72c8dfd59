// Rows from one shard of the points after the other: one nameless file, in which those of a shard
// follow each other.
#include <algorithm>
#include <cstring>
#include <vector>

#include "io/errors.h"
#include "io/spool.h"
#include "kith/csr.h"
#include "kith/shards.h"
#include "machine/float_state.h"

namespace kith {

namespace {

using io::Spool;

constexpr std::int64_t word = 8;  // bytes of a length, an id and a key
// What a shard's reader reads ahead.
constexpr std::int64_t least_ahead = 1 << 12;
// A neighbour that is merged: as it was found, as it is handed on, and in the row that is sorted.
constexpr std::int64_t merged_bytes = 3 * 2 * word;

// A part of the file from its beginning to its end.
class SpoolReader {
public:
    SpoolReader(const Spool& spool, std::int64_t begin, std::int64_t end, std::int64_t ahead)
        : spool_(&spool), at_(begin), end_(end), ahead_(ahead) {}

    // The next `count` values of 8 bytes.
    template <class T>
    void take(T* to, std::int64_t count) {
        static_assert(sizeof(T) == word);
        auto* bytes = reinterpret_cast<char*>(to);
        for (std::int64_t left = count * word; left > 0;) {
            if (used_ == static_cast<std::int64_t>(block_.size())) fill();
            const std::int64_t some =
                std::min(left, static_cast<std::int64_t>(block_.size()) - used_);
            std::memcpy(bytes, block_.data() + used_, static_cast<std::size_t>(some));
            bytes += some;
            left -= some;
            used_ += some;
        }
    }

private:
    void fill() {
        block_.resize(static_cast<std::size_t>(std::min(ahead_, end_ - at_)));
        spool_->read(at_, block_.data(), static_cast<std::int64_t>(block_.size()));
        at_ += static_cast<std::int64_t>(block_.size());
        used_ = 0;
    }

    const Spool* spool_;
    std::int64_t at_, end_, ahead_;
    std::vector<char> block_;
    std::int64_t used_ = 0;  // of the block
};

// Rows of one shard that are to be merged.
struct Part {
    std::vector<std::int64_t> offsets{0}, ids;
    std::vector<double> keys;
};

}  // namespace

struct ShardRows::State {
    explicit State(const std::string& beside) : path(beside), spool(beside) {}

    std::string path;
    Spool spool;
    std::vector<std::int64_t> begins;  // of each shard, in the file
    std::int64_t rows = 0, last = 0;   // of the first shard; of the last
    std::vector<char> block;           // that is not in the file yet

    void put(const void* from, std::int64_t values) {
        const auto* bytes = static_cast<const char*>(from);
        block.insert(block.end(), bytes, bytes + values * word);
        if (static_cast<std::int64_t>(block.size()) >= Spool::block_bytes) flush();
    }
    void end_shard() {
        if (begins.size() == 1) rows = last;
        if (last != rows)
            io::bad_argument(fmt::format("{}: {} rows of shard {}; expected the {} of the first",
                                         path, last, begins.size() - 1, rows));
        flush();
    }
    void flush() {
        spool.write(block.data(), static_cast<std::int64_t>(block.size()));
        block.clear();
    }
};

ShardRows::ShardRows(const std::string& beside) {
    const machine::FloatState state;
    state_ = std::make_unique<State>(beside);
}
ShardRows::~ShardRows() {
    const machine::FloatState state;
    state_.reset();
}

void ShardRows::append(const RadiusRows& rows) {
    const machine::FloatState state;
    State& s = *state_;
    if (rows.first == 0) {
        if (!s.begins.empty()) s.end_shard();
        s.begins.push_back(s.spool.size());
        s.last = 0;
    }
    if (rows.first != s.last || s.begins.empty())
        io::bad_argument(
            fmt::format("{}: rows from {}; expected those from {}, or from 0, of a next shard",
                        s.path, rows.first, s.last));
    if (rows.offsets[rows.count] > 0 && !rows.distances64)
        io::bad_argument(
            fmt::format("{}: expected keys of f64, as radius_shard() has them", s.path));
    s.last += rows.count;
    for (std::int64_t i = 0; i < rows.count; ++i) {
        const std::int64_t begin = rows.offsets[i], count = rows.offsets[i + 1] - begin;
        s.put(&count, 1);
        if (count == 0) continue;
        s.put(rows.ids + begin, count);
        s.put(rows.distances64 + begin, count);
    }
}

void ShardRows::hand_on(std::int64_t first, std::int64_t dimensions, const Options& options,
                        std::int64_t bytes, const TakeRadiusRows& take) {
    const machine::FloatState state;
    State& s = *state_;
    if (s.begins.empty())
        io::bad_argument(fmt::format("{}: no rows; expected those of one shard at least", s.path));
    s.end_shard();
    const auto shards = static_cast<std::int64_t>(s.begins.size());
    const std::int64_t ahead = std::clamp(bytes / 2 / shards, least_ahead, Spool::block_bytes);
    const std::int64_t most = std::max<std::int64_t>(1, bytes / 2 / merged_bytes);
    std::vector<SpoolReader> readers;
    for (std::size_t i = 0; i < s.begins.size(); ++i)
        readers.emplace_back(s.spool, s.begins[i],
                             i + 1 < s.begins.size() ? s.begins[i + 1] : s.spool.size(), ahead);
    std::vector<std::int64_t> next(readers.size());  // of each shard, the length of the row
    const auto lengths = [&] {
        std::int64_t all = 0;
        for (std::size_t i = 0; i < readers.size(); ++i) {
            readers[i].take(&next[i], 1);
            all += next[i];
        }
        return all;
    };
    std::int64_t row = 0, length = s.rows > 0 ? lengths() : 0;
    while (row < s.rows) {
        std::vector<Part> parts(readers.size());
        std::int64_t count = 0, entries = 0;
        do {
            entries += length;
            for (std::size_t i = 0; i < readers.size(); ++i) {
                Part& part = parts[i];
                const std::int64_t begin = part.offsets.back(), end = begin + next[i];
                part.ids.resize(static_cast<std::size_t>(end));
                part.keys.resize(static_cast<std::size_t>(end));
                readers[i].take(part.ids.data() + begin, next[i]);
                readers[i].take(part.keys.data() + begin, next[i]);
                part.offsets.push_back(end);
            }
            ++count;
            length = row + count < s.rows ? lengths() : 0;
        } while (row + count < s.rows && entries + length <= most && count < most);
        std::vector<RadiusRows> views;
        for (const Part& part : parts)
            views.push_back(
                {0, count, part.offsets.data(), part.ids.data(), nullptr, part.keys.data()});
        const RadiusNeighbors all = merge_radius(views, dimensions, options);
        parts.clear();
        machine::for_caller(take)(RadiusRows{first + row, count, all.offsets.data(), all.ids.data(),
                                             options.f64 ? nullptr : all.distances.data(),
                                             options.f64 ? all.distances64.data() : nullptr});
        row += count;
    }
}

}  // namespace kith
