// The queries of a block as a filter's tiles take them, and their comparison with panels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/filter/tile.h"
#include "cpu/primitives/buffer.h"

namespace kith::cpu {

class QueryTiles {
public:
    // `count` queries, nothing but 0 before they are set, against panels of so many words, a
    // multiple of tiles.run.
    QueryTiles(const Tiles& tiles, std::int64_t count, std::int64_t panel_words)
        : tiles_(tiles),
          count_(count),
          words_(tiles.header + panel_words),
          panel_words_(panel_words),
          packed_(offset(count / tiles.queries * tiles.queries) +
                  words_ * tiles.room(count % tiles.queries)) {
        std::fill_n(packed_.data(), packed_.size(), 0.0f);
    }

    // The first `made` words of query i, those of the header among them; the others stay as they
    // are.
    void set(std::int64_t i, const float* made_words, std::int64_t made) {
        const std::int64_t first = i / tiles_.queries * tiles_.queries,
                           room = tiles_.room(size(first));
        const std::int64_t run = tiles_.run, header = std::min(made, tiles_.header);
        float* to = packed_.data() + offset(first) + (i - first);
        for (std::int64_t j = 0; j < header; ++j) to[j * room] = made_words[j];
        to = packed_.data() + offset(first) + tiles_.header * room + (i - first) * run;
        for (std::int64_t j = header; j < made; j += run, to += run * room)
            for (std::int64_t word = 0; word < run && j + word < made; ++word)
                to[word] = made_words[j + word];
    }

    // Calls of_tile(first, here, hits, values) for queries [first, first + here) of each tile that
    // has a hit with the panel, hits and values as Tile leaves them. of_tile must not call
    // compare(), of these or of other tiles: a thread has one set of matrix registers.
    template <class OfTile>
    void compare(const float* panel, const float* thresholds, float exponent,
                 const OfTile& of_tile) const {
        std::uint32_t hits[max_tile_queries];
        alignas(64) float values[max_tile_queries * panel_points];
        const Entered entered(tiles_);
        for (std::int64_t first = 0; first < count_; first += tiles_.queries) {
            const std::int64_t here = size(first);
            if (tiles_.tile[here](panel, panel_words_, packed_.data() + offset(first),
                                  thresholds + first, exponent, hits, values))
                of_tile(first, here, hits, values);
        }
    }

private:
    struct Entered {
        explicit Entered(const Tiles& tiles) : leave(tiles.leave) {
            if (tiles.enter) tiles.enter();
        }
        ~Entered() {
            if (leave) leave();
        }
        Entered(const Entered&) = delete;
        Entered& operator=(const Entered&) = delete;
        void (*leave)();
    };
    // Queries of the tile that begins with query `first`, and where its words begin.
    std::int64_t size(std::int64_t first) const {
        return std::min<std::int64_t>(tiles_.queries, count_ - first);
    }
    std::int64_t offset(std::int64_t first) const { return first * words_; }

    const Tiles& tiles_;
    std::int64_t count_, words_, panel_words_;
    Buffer<float> packed_;
};

}  // namespace kith::cpu
