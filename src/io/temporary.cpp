// A list of temporary names without locks: what a signal handler may walk at any moment.
#include "io/temporary.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "kith/output.h"

namespace kith {
namespace io {

// A place for one name. Places are never freed, only used again. Who takes the name out of a place
// owns it: its writer, or a signal handler, which may free nothing.
struct TemporaryName::Slot {
    std::atomic<char*> path{nullptr};
    Slot* next = nullptr;
};

namespace {

std::atomic<TemporaryName::Slot*> first{nullptr};
// Names that a signal handler took, each beginning with the address of the next, until there is
// another writer.
std::atomic<char*> taken{nullptr};
static_assert(std::atomic<char*>::is_always_lock_free, "a signal handler may touch these");

}  // namespace

TemporaryName::TemporaryName(const std::string& path) {
    for (char* name = taken.exchange(nullptr); name;) {
        char* next = nullptr;
        std::memcpy(&next, name, sizeof(next));
        delete[] name;
        name = next;
    }
    name_ = new char[std::max(path.size() + 1, sizeof(name_))];
    std::memcpy(name_, path.c_str(), path.size() + 1);
    for (Slot* slot = first.load(); slot; slot = slot->next) {
        char* empty = nullptr;
        if (slot->path.compare_exchange_strong(empty, name_)) {
            slot_ = slot;
            return;
        }
    }
    slot_ = new Slot;
    slot_->path = name_;
    slot_->next = first.load();
    while (!first.compare_exchange_weak(slot_->next, slot_)) {
    }
}

TemporaryName::~TemporaryName() {
    // Otherwise a signal handler has it, and the place may be another writer's.
    char* own = name_;
    if (slot_->path.compare_exchange_strong(own, nullptr)) delete[] name_;
}

}  // namespace io

void remove_temporary_files() noexcept {
    for (io::TemporaryName::Slot* slot = io::first.load(); slot; slot = slot->next) {
        char* path = slot->path.exchange(nullptr);
        if (!path) continue;
        ::unlink(path);
        char* next = io::taken.load();
        do std::memcpy(path, &next, sizeof(next));
        while (!io::taken.compare_exchange_weak(next, path));
    }
}

}  // namespace kith
