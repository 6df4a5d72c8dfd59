// Claims with leases, stored as files.
#include "jobs/files/claims.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>

#include "io/files/regular_file.h"
#include "jobs/files/fields.h"
#include "jobs/files/job_files.h"
#include "kith/error.h"
#include "machine/float_state.h"

namespace kith::groundtruth {
namespace {

// Number of renewals of a lease before it would end.
constexpr double renewals = 5;
// A claim is one line; a longer file is not a claim.
constexpr std::int64_t longest_claim = 4096, most_claim_values = 64;
// A worker has not been at more, whoever wrote its claim.
constexpr double most_pairs = 1e27, most_seconds = 1e10;
// Names of other files in the folder contain this.
constexpr const char* beside = ".of-";

// An owned file descriptor.
class File {
public:
    explicit File(int descriptor) : descriptor_(descriptor) {}
    ~File() {
        if (descriptor_ >= 0) ::close(descriptor_);
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int get() const { return descriptor_; }
    bool is_open() const { return descriptor_ >= 0; }

private:
    int descriptor_;
};

std::int64_t changed_at(const struct stat& status) {
    return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

double steady_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int create(const std::string& path) {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

constinit std::atomic<int> beside_counter{0};

// Creates a file of this process next to `path`; returns its descriptor or -1, and its path in
// `name`.
int create_beside(const std::string& path, std::string& name) {
    const Process own = this_process();  // computed each time: a fork changes it
    for (;;) {
        name = fmt::format("{}{}{}-{}-{}", path, beside, own.host, own.pid, beside_counter++);
        // A file of an earlier process with the same number may remain.
        if (const int descriptor = create(name); descriptor >= 0 || errno != EEXIST)
            return descriptor;
    }
}

// True if `path` names the open file.
bool is_same(int descriptor, const std::string& path) {
    struct stat own {
    }, named{};
    return ::fstat(descriptor, &own) == 0 && ::stat(path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

[[noreturn]] void refuse(const std::string& path) {
    throw Error(ErrorCode::bad_file,
                fmt::format("{}: cannot claim the unit: {}", path, std::strerror(errno)));
}

// Gives the open file at `own` the additional name `file`, or renames it; false if that name is
// taken.
bool name_first(int descriptor, const std::string& own, const std::string& file) {
    if (::link(own.c_str(), file.c_str()) == 0) return true;
    // A file server that retries a link may report its own link as already existing.
    if (errno == EEXIST) return is_same(descriptor, file);
    // A file system without links: an empty file reserves the name.
    if (const File empty(create(file)); !empty.is_open()) {
        if (errno == EEXIST) return false;
        refuse(file);
    }
    if (::rename(own.c_str(), file.c_str()) != 0) refuse(file);
    return true;
}

std::string claim_text(const Standing& standing, double lease) {
    Json json = to_json(this_process());
    json["lease"] = lease;
    json["share"] = standing.share;
    json["pairs"] = standing.pairs;
    json["seconds"] = standing.seconds;
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

ClaimText parse_claim(std::string_view text) {
    const Json json = parse_json(text, "the claim", most_claim_values);
    const Fields fields(json, "the claim");
    ClaimText claim;
    claim.standing = {fields.real("share", 0, 1), fields.real("pairs", 0, most_pairs),
                      fields.real("seconds", 0, most_seconds)};
    claim.lease = fields.real("lease", shortest_lease, longest_lease);
    claim.process = process_from(fields);
    return claim;
}

// ---------------------------------------------------------------- an own claim

struct Claim::State {
    std::string path;
    File file;
    double lease;
    bool taken_over = false;
    Standing standing;
    bool ending = false;
    std::mutex mutex;
    std::condition_variable end;
    std::thread renewing;  // none if the system has no more threads: then report() renews
    double renewed = steady_seconds();

    State(std::string path_, int descriptor, double lease_)
        : path(std::move(path_)), file(descriptor), lease(lease_) {}

    // If writing fails, as on a full disk, only the message is lost; the time is set separately.
    bool renew(const Standing& now) const {
        const std::string text = claim_text(now, lease);
        const ssize_t put = ::pwrite(file.get(), text.data(), text.size(), 0);
        const bool written =
            put == static_cast<ssize_t>(text.size()) && ::ftruncate(file.get(), put) == 0;
        (void)::futimens(file.get(), nullptr);
        return written;
    }

    void renew_until_the_end() {
        const machine::FloatState state;
        std::unique_lock<std::mutex> lock(mutex);
        const std::chrono::duration<double> pause(lease / renewals);
        while (!end.wait_for(lock, pause, [&] { return ending; })) {
            const Standing now = standing;
            lock.unlock();
            renew(now);
            lock.lock();
        }
    }
};

Claim::Claim(std::unique_ptr<State> state) : state_(std::move(state)) {
    try {
        state_->renewing = std::thread([s = state_.get()] { s->renew_until_the_end(); });
    } catch (const std::system_error&) {
        return;
    }
}

Claim::~Claim() {
    {
        const std::lock_guard<std::mutex> lock(state_->mutex);
        state_->ending = true;
    }
    state_->end.notify_one();
    if (state_->renewing.joinable()) state_->renewing.join();
    if (is_held()) ::unlink(state_->path.c_str());
}

void Claim::report(const Standing& standing) {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->standing = standing;
    if (state_->renewing.joinable() ||
        steady_seconds() - state_->renewed < state_->lease / renewals)
        return;
    state_->renew(standing);
    state_->renewed = steady_seconds();
}

bool Claim::is_held() const {
    struct stat own {
    }, named{};
    return ::fstat(state_->file.get(), &own) == 0 && ::stat(state_->path.c_str(), &named) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

bool Claim::was_taken_over() const {
    return state_->taken_over;
}

// ---------------------------------------------------------------- all claims

Claims::Claims(std::string folder, double lease) : folder_(std::move(folder)), lease_(lease) {}

// The time of a newly created file; this machine's clock if none can be created.
double Claims::time_now() const {
    const auto own_time = [] { return static_cast<double>(std::time(nullptr)); };
    std::string name;
    const File file(create_beside(path("time"), name));
    if (!file.is_open()) return own_time();
    struct stat status {};
    const bool known = ::fstat(file.get(), &status) == 0;
    ::unlink(name.c_str());
    if (!known) return own_time();
    return static_cast<double>(changed_at(status)) * 1e-9;
}

std::optional<Seen> Claims::look(const std::string& name, double time) {
    const std::string file = path(name);
    struct stat status {};
    if (::lstat(file.c_str(), &status) != 0) return std::nullopt;
    Seen seen;
    seen.name = name;
    if (!S_ISREG(status.st_mode)) {  // not a claim: a worker that takes the unit replaces it
        seen.stale = true;
        return seen;
    }
    std::int64_t changed = changed_at(status);
    double lease = lease_;
    try {
        // Opening a file queries a file server; attributes by name may come from a cache.
        const io::RegularFile open(file, file);
        if (!open.is_open() && open.error() == ENOENT) return std::nullopt;
        if (open.is_open()) {
            changed = open.changed();
            std::array<char, longest_claim> text{};
            const std::int64_t got = open.read(text.data(), longest_claim, file);
            const ClaimText claim = parse_claim({text.data(), static_cast<std::size_t>(got)});
            seen.standing = claim.standing;
            seen.process = claim.process;
            lease = claim.lease;
        }
    } catch (const Error&) {
        // It is being written, or its worker died while writing.
    }
    const double now = steady_seconds();
    Watched& watched = watched_.try_emplace(name, Watched{changed, now}).first->second;
    if (watched.changed != changed) watched = {changed, now};
    seen.age = time - static_cast<double>(changed) * 1e-9;
    seen.stale =
        (seen.process && is_gone(*seen.process)) || seen.age > lease || now - watched.since > lease;
    return seen;
}

std::unique_ptr<Claim> Claims::take(const std::string& name) {
    // Written before it gets its name, so that a reader always finds its owner.
    const std::string file = path(name);
    std::string own;
    const int descriptor = create_beside(file, own);
    if (descriptor < 0) refuse(file);
    auto state = std::make_unique<Claim::State>(file, descriptor, lease_);
    struct Remove {
        const std::string& path;
        ~Remove() { ::unlink(path.c_str()); }
    } const remove{own};
    if (!state->renew({})) refuse(file);
    if (!name_first(descriptor, own, file)) {
        const std::optional<Seen> seen = look(name, time_now());
        if (!seen || !seen->stale) return nullptr;
        state->taken_over = true;
        // If several workers take it over at once, the last to rename holds it.
        if (::rename(own.c_str(), file.c_str()) != 0) refuse(file);
    }
    watched_.erase(name);
    std::unique_ptr<Claim> claim(new Claim(std::move(state)));
    return claim->is_held() ? std::move(claim) : nullptr;
}

void Claims::remove(const std::string& name) {
    ::unlink(path(name).c_str());
    watched_.erase(name);
}

std::vector<Seen> Claims::list() {
    std::vector<Seen> all;
    std::optional<double> time;
    for (const std::string& name : names_in(folder_)) {
        if (name.find(beside) != std::string::npos) continue;
        if (!time) time = time_now();
        if (std::optional<Seen> seen = look(name, *time)) all.push_back(std::move(*seen));
    }
    return all;
}

}  // namespace kith::groundtruth
