// A slot for a form that is made once: readers do not wait, and a failure is not remembered.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gpu/points/late/form_slot.h"
#include "gpu/runtime/with_room.h"

namespace {

using kith::Error;
using kith::ErrorCode;
using kith::gpu::FormSlot;
using kith::gpu::with_room;

constexpr auto four = [](int) { return std::int64_t{4}; };  // bytes

TEST(FormSlot, IsMadeOnce) {
    FormSlot<int> slot;
    std::atomic<int> made{0};
    EXPECT_EQ(nullptr, slot.known());
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back([&] { EXPECT_EQ(7, slot.get([&] { return ++made, 7; }, four)); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(1, made);
    ASSERT_NE(nullptr, slot.known());
    EXPECT_EQ(7, *slot.known());
}

TEST(FormSlot, ForgetsThatThereWasNoMemory) {
    FormSlot<int> slot;
    const auto fail = []() -> int { throw Error(ErrorCode::out_of_memory, "none"); };
    EXPECT_FALSE(with_room([&] { slot.get(fail, four); }));
    EXPECT_EQ(nullptr, slot.known());
    EXPECT_TRUE(with_room([&] { slot.get([] { return 3; }, four); }));
    EXPECT_EQ(3, *slot.known());
}

TEST(FormSlot, IsReadWhileItIsMade) {
    FormSlot<int> slot;
    std::atomic<bool> begun{false}, read{false};
    std::thread maker([&] {
        slot.get(
            [&] {
                begun = true;
                while (!read) std::this_thread::yield();
                return 5;
            },
            four);
    });
    while (!begun) std::this_thread::yield();
    EXPECT_EQ(nullptr, slot.known());  // hangs if it waits for the maker
    read = true;
    maker.join();
    EXPECT_EQ(5, *slot.known());
}

TEST(FormSlot, ForgetsWhatSearchesHaveMade) {
    FormSlot<int> late, own;
    late.get([] { return 3; }, four);
    own.put(5);
    EXPECT_EQ(4, late.bytes());
    EXPECT_EQ(0, own.bytes());
    late.forget();
    own.forget();
    EXPECT_EQ(nullptr, late.known());
    EXPECT_EQ(0, late.bytes());
    EXPECT_EQ(6, late.get([] { return 6; }, four));
    EXPECT_EQ(5, *own.known());
}

TEST(WithRoom, PassesOtherErrors) {
    EXPECT_THROW(with_room([] { throw Error(ErrorCode::device, "lost"); }), Error);
}

}  // namespace
