// A list of temporary names without locks: what a signal handler may walk at any moment.
#include "io/temporary.h"

#include <unistd.h>

#include <atomic>
#include <cstring>

#include "kith/output.h"

namespace kith {
namespace io {

// A place for one name. Places are never freed, only used again. Who takes the name out of a place owns it.
struct TemporaryName::Slot {
    std::atomic<char*> path{nullptr};
    Slot* next = nullptr;
};

namespace {

std::atomic<TemporaryName::Slot*> first{nullptr};
static_assert(std::atomic<char*>::is_always_lock_free, "a signal handler may touch these");

}  // namespace

TemporaryName::TemporaryName(const std::string& path) {
    char* copy = new char[path.size() + 1];
    std::memcpy(copy, path.c_str(), path.size() + 1);
    for (Slot* slot = first.load(); slot; slot = slot->next) {
        char* empty = nullptr;
        if (slot->path.compare_exchange_strong(empty, copy)) {
            slot_ = slot;
            return;
        }
    }
    slot_ = new Slot;
    slot_->path = copy;
    slot_->next = first.load();
    while (!first.compare_exchange_weak(slot_->next, slot_)) {
    }
}

TemporaryName::~TemporaryName() {
    delete[] slot_->path.exchange(nullptr);
}

}  // namespace io

void remove_temporary_files() noexcept {
    for (io::TemporaryName::Slot* slot = io::first.load(); slot; slot = slot->next) {
        char* path = slot->path.exchange(nullptr);
        if (!path) continue;
        ::unlink(path);
        // Back to its owner, who may have gone, then it stays there; or, if the place has been taken since, to any that
        // is empty, as nothing may be freed here.
        const auto put = [path](io::TemporaryName::Slot* to) {
            char* empty = nullptr;
            return to->path.compare_exchange_strong(empty, path);
        };
        io::TemporaryName::Slot* to = put(slot) ? nullptr : io::first.load();
        while (to && !put(to)) to = to->next;
    }
}

}  // namespace kith
