// Claims with leases: which worker is at which unit. They avoid duplicate work; correctness does
// not depend on them.
//
// A claim is a file that only one worker can create. While it works, the worker rewrites the file,
// which renews the file's modification time by the clock of the file system. A claim that was not
// written to for its lease is stale, and any worker may take it over. Each of three signs makes it
// stale; none trusts the clock of a machine:
//   - the worker ran on this machine, and is gone;
//   - the file is older than the lease, both times by the file system;
//   - it has not changed while this worker has watched it for a lease, whatever its time says.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/process.h"

namespace kith::groundtruth {

// A worker's progress, as written in its claim.
struct Standing {
    double share = 0;    // of the unit
    double pairs = 0;    // of its whole run so far
    double seconds = 0;  // that these pairs took
};

// A unit that this worker holds. A thread renews the lease until the claim is destroyed, which
// removes the file.
class Claim {
public:
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    // Cheap; may be called at any time. Others see it after the next renewal of the lease.
    void report(const Standing& standing);
    // True if the file still belongs to this worker; false if the worker was taken for dead.
    bool is_held() const;
    bool was_taken_over() const;  // from a worker that was taken for dead

private:
    friend class Claims;
    struct State;
    explicit Claim(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Another worker's claim, as found.
struct Seen {
    std::string name;
    std::optional<Process> process;  // none if the file is empty, torn, unreadable or not a claim
    Standing standing;
    double age = 0;  // seconds since it was written to
    bool stale = false;
};

// The content of a claim.
struct ClaimText {
    Standing standing;
    Process process;
    double lease = 0;  // seconds
};
// Throws bad_file if anything is missing or out of bounds.
ClaimText parse_claim(std::string_view text);

// Allowed leases in seconds.
inline constexpr double shortest_lease = 0.5, longest_lease = 86400;

class Claims {
public:
    // `lease`: of the claims made by this object, in seconds.
    Claims(std::string folder, double lease);

    // Claims a unit that no worker holds, or that has a stale claim. Null if another worker holds
    // it. Throws bad_file if files cannot be created.
    std::unique_ptr<Claim> take(const std::string& name);
    // All claims, in no order. Anything but a regular file counts as a stale claim.
    std::vector<Seen> list();
    // Removes a claim of a finished unit.
    void remove(const std::string& name);

private:
    struct Watched {
        std::int64_t changed;  // nanoseconds
        double since;          // seconds of this machine's steady clock
    };
    // `time`: seconds since 1970, by the file system's clock.
    std::optional<Seen> look(const std::string& name, double time);
    double time_now() const;
    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    std::string folder_;
    double lease_;
    std::map<std::string, Watched> watched_;
};

}  // namespace kith::groundtruth
