// Claims with leases: which worker is at which unit. They keep workers from doing the same; that
// two do is no harm.
//
// A claim is a file that only one worker can create. While it works it writes into the file, which
// keeps its time of change young by the clock of the file system. A claim that has not been written
// to for its lease is stale: whoever finds it takes it over. Three signs make it so, none of which
// trusts the clock of a machine:
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

// What a worker says of itself in its claim.
struct Standing {
    double share = 0;    // of the unit
    double pairs = 0;    // of its whole run so far
    double seconds = 0;  // that those took
};

// A unit that this worker is at. A thread renews the lease until the claim is destroyed, which
// removes the file.
class Claim {
public:
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    // Any time, cheap: told to others when the lease is next renewed.
    void report(const Standing& standing);
    // Whether the file is still this worker's; not where it was taken for dead.
    bool is_held() const;
    bool was_taken_over() const;  // from a worker that was taken for dead

private:
    friend class Claims;
    struct State;
    explicit Claim(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// Another worker's claim, as it is found.
struct Seen {
    std::string name;
    std::optional<Process> process;  // none where the file is empty, torn, unreadable or none
    Standing standing;
    double age = 0;  // seconds since it was written to
    bool stale = false;
};

// What a claim says of its worker.
struct ClaimText {
    Standing standing;
    Process process;
    double lease = 0;  // seconds
};
// Throws bad_file where that is not all there, or not within its bounds.
ClaimText parse_claim(std::string_view text);

// Seconds that a lease may have.
inline constexpr double shortest_lease = 0.5, longest_lease = 86400;

class Claims {
public:
    // `lease`: seconds, of the claims that are made here.
    Claims(std::string folder, double lease);

    // Claims a unit that nobody is at, or that has a stale claim. Throws bad_file where files
    // cannot be made.
    std::unique_ptr<Claim> take(const std::string& name);
    // All that there are, in no order. What is no regular file is a stale claim.
    std::vector<Seen> list();
    // Removes one that serves nothing any more: its unit is done.
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
