#include "runtime/device/host_stretches.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"

#include <gtest/gtest.h>

namespace d9d {
namespace {

using Wanted = HostStretches::Wanted;

const void* begin_of(const std::vector<at::Tensor>& places) {
  return places.front().storage().data();
}

TEST(HostStretches, HaveTheTensorsOneBehindTheOther) {
  HostStretches stretches(delayed_device(4), 2, "a test");
  const std::vector<std::int64_t> half{3, 5}, none{0, 4}, one{};

  const auto places = stretches.take(
      {{c10::ScalarType::BFloat16, half}, {c10::ScalarType::Float, none}, {c10::ScalarType::Double, one}});

  ASSERT_EQ(places.size(), 3U);
  EXPECT_EQ(places[0].sizes(), half);
  EXPECT_EQ(places[0].scalar_type(), c10::ScalarType::BFloat16);
  EXPECT_EQ(places[1].sizes(), none);
  EXPECT_EQ(places[2].sizes(), one);
  EXPECT_EQ(places[2].storage_offset() * 8, 64);
  EXPECT_TRUE(places[0].is_contiguous());
}

TEST(HostStretches, TakeMemoryAgainThatNobodyHolds) {
  HostStretches stretches(delayed_device(4), 2, "a test");
  const std::vector<std::int64_t> small{16}, large{64};
  const auto take = [&](const std::vector<std::int64_t>& shape) {
    return stretches.take({{c10::ScalarType::Float, shape}});
  };

  auto first = take(large);
  const void* const there = begin_of(first);
  auto second = take(small);
  EXPECT_NE(begin_of(second), there) << "the first is held";
  first.clear();
  EXPECT_EQ(begin_of(take(small)), there);
  second.clear();
  auto third = take(large), fourth = take(large);
  EXPECT_EQ(begin_of(third), there);
  EXPECT_NE(begin_of(fourth), there);

  third.front().fill_(1);
  auto fifth = take(large);  // a third one, so the oldest is not kept
  fifth.front().fill_(2);
  EXPECT_EQ(third.front()[0].item<float>(), 1) << "but lives while it is held";
}

}  // namespace
}  // namespace d9d
