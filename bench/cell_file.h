// A document of cells that is written as they are measured, and that a later run goes on from.
#pragma once

#include <functional>
#include <string>

#include "deadline.h"
#include "document.h"

namespace kith::bench {

class CellFile {
public:
    // `document`: what all its cells share; they stand in its field `cells`. `name`: the file; "": none. With `resume`
    // the cells of such a file count. Throws bad_file where it differs in another field than date, version and build.
    CellFile(Json document, std::string cells, std::string name, bool resume, Deadline deadline = {});

    // The cell whose fields begin with those of `key`; where there is none, `measure` adds to `key` what it finds, and
    // the file is written. Throws TimeIsUp where it is too late to measure.
    Json cell(const Json& key, const std::function<void(Json&)>& measure);

private:
    Json document_;
    std::string cells_, name_;
    Deadline deadline_;
};

}  // namespace kith::bench
