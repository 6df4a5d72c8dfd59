// The threads of blocks.h and what they share.
#include "scale/blocks.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "machine/float_state.h"

namespace kith::scale {

namespace {

// How often the calling thread looks after progress.
constexpr std::chrono::milliseconds between_looks{10};

class Dispatch {
public:
    Dispatch(int devices, std::int64_t blocks, Sharing sharing, ProgressMeter& progress,
             const BlockWork& work)
        : sharing_(sharing), progress_(progress), work_(work) {
        queues_.resize(sharing == Sharing::own ? static_cast<std::size_t>(devices) : 1);
        for (std::int64_t b = 0; b < blocks; ++b)
            queues_[static_cast<std::size_t>(b) % queues_.size()].push_back(b);
    }

    // On the thread of a device.
    void serve(int device) {
        const machine::FloatState state;
        for (std::int64_t block = take(device); block >= 0; block = take(device)) {
            std::exception_ptr error;
            try {
                do_block(device, block);
            } catch (...) {
                error = std::current_exception();
            }
            if (!end(device, block, error)) break;
        }
        const std::lock_guard lock(mutex_);
        --running_;
        changed_.notify_all();
    }

    // On the calling thread: starts the threads and waits for them.
    Outcome run(int devices, const char* stage) {
        std::vector<std::thread> threads;
        threads.reserve(static_cast<std::size_t>(devices));
        for (int device = 0; device < devices; ++device) {
            const std::lock_guard lock(mutex_);
            try {
                threads.emplace_back([this, device] { serve(device); });
                ++running_;
            } catch (...) {  // the system has no more threads, or no memory for one
                outcome_.failures.push_back({device, -1, std::current_exception()});
            }
        }
        {
            std::unique_lock lock(mutex_);
            while (running_ > 0) {
                changed_.wait_for(lock, between_looks);
                lock.unlock();
                progress_.poll(stage);
                lock.lock();
                if (progress_.cancelled() && !stopped_) stop();
            }
        }
        for (std::thread& thread : threads) thread.join();
        progress_.poll(stage);
        progress_.throw_if_cancelled();
        if (fatal_) std::rethrow_exception(fatal_);
        for (const std::deque<std::int64_t>& queue : queues_)
            outcome_.left.insert(outcome_.left.end(), queue.begin(), queue.end());
        std::sort(outcome_.left.begin(), outcome_.left.end());
        return std::move(outcome_);
    }

private:
    // The next block of a device; -1 where there is none. Waits while another device is at one that
    // it may leave.
    std::int64_t take(int device) {
        std::unique_lock lock(mutex_);
        std::deque<std::int64_t>& queue =
            queues_[sharing_ == Sharing::own ? static_cast<std::size_t>(device) : 0];
        if (sharing_ == Sharing::any)
            changed_.wait(lock, [&] { return stopped_ || !queue.empty() || at_work_ == 0; });
        if (stopped_ || queue.empty()) return -1;
        const std::int64_t block = queue.front();
        queue.pop_front();
        ++at_work_;
        return block;
    }

    void do_block(int device, std::int64_t block) {
        double counted = 0;
        const auto count = [&](double done) {
            progress_.add(done - counted);
            counted = done;
        };
        const std::function<bool(const Progress&)> watch = [&](const Progress& progress) {
            const machine::FloatState state;
            count(progress.done);
            const std::lock_guard lock(mutex_);
            return !stopped_;
        };
        ProgressMeter own(watch, 0);
        try {
            work_(device, block, own);
            own.throw_if_cancelled();
        } catch (...) {
            count(0);
            throw;
        }
        count(own.done());
    }

    // A device is through with a block; whether it goes on.
    bool end(int device, std::int64_t block, const std::exception_ptr& error) {
        const std::lock_guard lock(mutex_);
        --at_work_;
        changed_.notify_all();
        if (!error) return true;
        queues_[sharing_ == Sharing::own ? static_cast<std::size_t>(device) : 0].push_front(block);
        if (stopped_) return false;
        if (ends_all(error)) {
            fatal_ = error;
            stop();
        } else {
            outcome_.failures.push_back({device, block, error});
        }
        return false;
    }

    static bool ends_all(const std::exception_ptr& error) {
        try {
            std::rethrow_exception(error);
        } catch (const Error& thrown) {
            return thrown.code() == ErrorCode::invalid_argument ||
                   thrown.code() == ErrorCode::cancelled;
        } catch (...) {
            return false;
        }
    }

    void stop() {
        stopped_ = true;
        changed_.notify_all();
    }

    Sharing sharing_;
    ProgressMeter& progress_;
    const BlockWork& work_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::vector<std::deque<std::int64_t>> queues_;
    std::int64_t at_work_ = 0;
    int running_ = 0;
    bool stopped_ = false;
    std::exception_ptr fatal_;
    Outcome outcome_;
};

}  // namespace

Outcome run_blocks(int devices, std::int64_t blocks, Sharing sharing, const char* stage,
                   ProgressMeter& progress, const BlockWork& work) {
    return Dispatch(devices, blocks, sharing, progress, work).run(devices, stage);
}

}  // namespace kith::scale
