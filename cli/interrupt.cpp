// Signals: a flag that the work polls.
#include "interrupt.h"

#include <unistd.h>

#include <atomic>
#include <csignal>

#include "kith/error.h"
#include "kith/output.h"

namespace kith::cli {
namespace {

std::atomic<int> signal_seen{0};
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may touch these");

void on_signal(int number) {
    if (signal_seen.exchange(number) == 0) return;
    remove_temporary_files();
    _exit(128 + number);
}

}  // namespace

void catch_signals() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction before {};
        // Signals that the shell told us to ignore (nohup, background jobs) stay ignored.
        if (sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
        sigaction(number, &action, nullptr);
    }
    for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
}

bool interrupted() {
    return signal_seen.load() != 0;
}

int interrupt_exit_code() {
    return 128 + (interrupted() ? signal_seen.load() : SIGINT);
}

void stop_if_interrupted() {
    if (interrupted()) throw Error(ErrorCode::cancelled, "cancelled");
}

}  // namespace kith::cli
