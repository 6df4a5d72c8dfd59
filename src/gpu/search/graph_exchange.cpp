// Meetings of the devices that share a graph; see graph_exchange.h.
#include "gpu/search/graph_exchange.h"

#include <chrono>

namespace kith::gpu {

namespace {
// How often one that waits looks after a cancellation.
constexpr std::chrono::milliseconds between_looks{10};
}  // namespace

void GraphExchange::meet(ProgressMeter& progress) {
    std::unique_lock lock(mutex_);
    const std::int64_t meeting = meetings_;
    if (++waiting_ == parts()) {
        waiting_ = 0;
        ++meetings_;
        changed_.notify_all();
    }
    while (meetings_ == meeting && !abandoned_) {
        if (changed_.wait_for(lock, between_looks) == std::cv_status::no_timeout) continue;
        lock.unlock();
        progress.poll("search");
        progress.throw_if_cancelled();
        lock.lock();
    }
    if (meetings_ == meeting) throw GraphAbandoned();
}

void GraphExchange::abandon() {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    changed_.notify_all();
}

GraphExchange::Reading::Reading(GraphExchange& exchange) : exchange_(exchange) {
    const std::lock_guard lock(exchange.mutex_);
    if (exchange.abandoned_) throw GraphAbandoned();
    ++exchange.reading_;
}

GraphExchange::Reading::~Reading() {
    const std::lock_guard lock(exchange_.mutex_);
    --exchange_.reading_;
    exchange_.changed_.notify_all();
}

GraphExchange::Stay::~Stay() {
    if (!exchange_) return;
    std::unique_lock lock(exchange_->mutex_);
    exchange_->abandoned_ = true;
    exchange_->changed_.notify_all();
    exchange_->changed_.wait(lock, [&] { return exchange_->reading_ == 0; });
}

std::shared_ptr<GraphExchange> make_graph_exchange(int parts) {
    return std::make_shared<GraphExchange>(parts);
}

void abandon(GraphExchange& exchange) {
    exchange.abandon();
}

}  // namespace kith::gpu
