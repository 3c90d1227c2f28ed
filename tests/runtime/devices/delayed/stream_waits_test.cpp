#include "runtime/devices/delayed/stream_waits.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

using testing::ElementsAre;

// Another stream multiplies what the first one fills.
float twice_of_one() {
  const auto device = delayed_device(0);
  const at::Tensor x = at::zeros({8}, at::TensorOptions(device->place()));
  x.add_(1);
  {
    const WorkName work("a test");
    const StreamScope scope(*device, StreamRole::communicate);
    device->wait(device->record(StreamRole::compute));
    x.mul_(2);
  }
  device->wait(device->record(StreamRole::communicate));
  return x.cpu()[0].item<float>();
}

class StreamWaitsTest : public testing::Test {
 protected:
  ~StreamWaitsTest() override { StreamWaits::restart(); }
};

constexpr const char* first = "delayed:0 communicate waits for delayed:0 compute in a test, 1";
constexpr const char* second = "delayed:0 compute waits for delayed:0 communicate in , 1";

TEST_F(StreamWaitsTest, HaveTheSameNamesInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    machine(0).reseed(seed);
    StreamWaits::restart();
    EXPECT_EQ(twice_of_one(), 2);
    EXPECT_THAT(StreamWaits::names(), ElementsAre(first, second));
    EXPECT_EQ(StreamWaits::count(), 2U);
  }
}

TEST_F(StreamWaitsTest, ThatAreLeftOutShow) {
  for (const char* skipped : {first, second, "1", "2"}) {
    StreamWaits::restart(skipped);
    EXPECT_THROW(twice_of_one(), Error) << skipped;
    EXPECT_TRUE(StreamWaits::left_out()) << skipped;
    machine(0).reseed(1);
  }
  StreamWaits::restart("of another name");
  EXPECT_EQ(twice_of_one(), 2);
  EXPECT_FALSE(StreamWaits::left_out());
}

TEST_F(StreamWaitsTest, OfAPlaceAreLeftOutTogether) {
  const auto device = delayed_device(0);
  StreamWaits::restart();
  const auto waits = [&] {
    for (const char* name : {"0F1, gather of dp[0,1]/x", "2F13, gather of dp[2,3]/x"}) {
      const WorkName work(name);
      const at::Tensor x = at::zeros({8}, at::TensorOptions(device->place()));
      device->wait(StreamRole::copy_in, device->record(StreamRole::compute));
    }
  };

  waits();

  const std::vector<std::string> places = StreamWaits::places();
  EXPECT_THAT(places, ElementsAre("delayed: copy_in waits for delayed: compute in F, gather of dp/x"));
  StreamWaits::restart(places.front());
  waits();
  const at::Tensor x = at::zeros({8}, at::TensorOptions(device->place()));
  {
    const StreamScope there(*device, StreamRole::copy_in);
    EXPECT_THROW(x.mul_(2), Error);
  }
  device->wait(StreamRole::compute, device->record(StreamRole::copy_in));
}

// Behind the same stream, twice for one thing, and for what the host has waited for.
TEST_F(StreamWaitsTest, ThatAddNoOrderAreNone) {
  const auto device = delayed_device(0);
  at::zeros({8}, at::TensorOptions(device->place()));
  const Event filled = device->record(StreamRole::compute);
  StreamWaits::restart();

  device->wait(StreamRole::compute, filled);
  device->wait(StreamRole::communicate, filled);
  device->wait(StreamRole::communicate, device->record(StreamRole::compute));
  filled.wait("a test");
  device->wait(StreamRole::copy_out, filled);

  EXPECT_EQ(StreamWaits::count(), 1U);
}

}  // namespace
}  // namespace d9d::delayed
