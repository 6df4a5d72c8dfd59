// What takes the place of parquet.cpp in a build without Apache Arrow.
#include "io/errors.h"
#include "io/format.h"
#include "io/input.h"

namespace kith::io {
namespace {

[[noreturn]] void refuse(const std::string& file) {
    bad_argument(
        fmt::format("{}: this kith was built without Parquet; expected another format, or {}", file,
                    parquet_remedy));
}

}  // namespace

bool has_parquet() {
    return false;
}
SourcePtr open_parquet(const Location& location) {
    refuse(name_in_messages(location.file));
}
SinkPtr create_parquet(const Target& target, const FileInfo&) {
    refuse(target.file);
}
std::vector<std::string> names_parquet(const Location& location) {
    refuse(name_in_messages(location.file));
}

}  // namespace kith::io
