// A document of cells: reading what a run before has left, writing after each cell.
#include "cell_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "kith/error.h"

namespace kith::bench {

CellFile::CellFile(Json document, std::string cells, std::string name, bool resume, Deadline deadline)
    : document_(std::move(document)), cells_(std::move(cells)), name_(std::move(name)), deadline_(deadline) {
    Json known = Json::array();
    if (resume && !name_.empty() && std::filesystem::exists(name_)) {
        const Json before = read(name_);
        if (!before.is_object()) throw Error(ErrorCode::bad_file, name_ + ": is no document of results");
        for (const auto& [field, value] : document_.items())
            if (!is_of_run(field) && before.value(field, Json()) != value)
                throw Error(ErrorCode::bad_file, fmt::format("{}: of {} {}; this is {}", name_, field,
                                                             before.value(field, Json()).dump(), value.dump()));
        known = before.value(cells_, known);
        if (!known.is_array() || !std::ranges::all_of(known, [](const Json& each) { return each.is_object(); }))
            throw Error(ErrorCode::bad_file, fmt::format("{}: {} is no list of cells", name_, cells_));
    }
    document_[cells_] = std::move(known);
}

Json CellFile::cell(const Json& key, const std::function<void(Json&)>& measure) {
    const auto same = [&](const Json& each) {
        return std::ranges::all_of(key.items(),
                                   [&](const auto& field) { return each.value(field.key(), Json()) == field.value(); });
    };
    Json& all = document_[cells_];
    if (const auto found = std::ranges::find_if(all, same); found != all.end()) return *found;
    deadline_.check();
    Json cell = key;
    measure(cell);
    all.push_back(cell);
    if (!name_.empty()) write(document_, name_);
    return cell;
}

}  // namespace kith::bench
