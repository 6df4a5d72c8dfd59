// npz: NumPy's archive of npy arrays, stored (savez) or deflated (savez_compressed). Read only
// here.
#include <algorithm>

#include "io/errors.h"
#include "io/npy.h"
#include "io/unzip.h"

namespace kith::io {
namespace {

constexpr std::string_view suffix = ".npy";

std::string array_name(const ZipMember& member) {
    return member.name.substr(0, member.name.size() - suffix.size());
}

// The members that are arrays.
std::vector<ZipMember> arrays_in(ByteInput& archive) {
    std::vector<ZipMember> members = zip_members(archive);
    members.erase(
        std::remove_if(members.begin(), members.end(),
                       [](const ZipMember& member) { return !member.name.ends_with(suffix); }),
        members.end());
    return members;
}

std::vector<std::string> names_of(const std::vector<ZipMember>& members) {
    std::vector<std::string> names;
    names.reserve(members.size());
    for (const ZipMember& member : members) names.push_back(array_name(member));
    return names;
}

}  // namespace

std::vector<std::string> names_npz(const Location& location) {
    return names_of(arrays_in(*open_bytes(location)));
}

SourcePtr open_npz(const Location& location) {
    std::unique_ptr<ByteInput> archive = open_bytes(location);
    const std::vector<ZipMember> members = arrays_in(*archive);
    const std::vector<std::string> names = names_of(members);
    const std::string name =
        location.dataset.empty() ? only_name(location, names) : location.dataset;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
        bad_file(archive->path(),
                 fmt::format("no array {}; expected one of: {}", name, in_words(names)));
    }
    Location within = location;
    within.file = archive->path() + "/" + name;
    return open_array(open_member(std::move(archive),
                                  members[static_cast<std::size_t>(found - names.begin())], within),
                      "npz");
}

SinkPtr create_npz(const Target& target, const FileInfo&) {
    bad_argument(fmt::format(
        "{}: npz files are only read; expected a format that is written, as npy", target.file));
}

}  // namespace kith::io
