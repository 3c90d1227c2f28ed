#include "runtime/pipeline/parcel_wire.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/device/host_waits.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/delayed_device.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/pipeline/stage/handed_tensors.hpp"
#include "runtime/tensor/tensor_parcel.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

// Two ranks of one process with a wire from the first to the second.
struct TwoEnds {
  explicit TwoEnds(std::shared_ptr<Device> from = {}, std::shared_ptr<Device> to = {})
      : sender(end(0, sent, std::move(from))), receiver(end(1, received, std::move(to))) {}
  std::unique_ptr<ParcelWire> end(int rank, TensorTable& table, std::shared_ptr<Device> device) {
    Group group{"lane[0,1]", {0, 1}, rank, true};
    ParcelWireOptions options;
    options.communicator = hub.open(group, std::chrono::seconds(20));
    options.peer = 1 - rank;
    options.bytes_max = 1 << 20;
    options.device = std::move(device);
    return make_parcel_wire(std::move(options), table);
  }
  Ticket put(TensorMap tensors) { return sent.put(std::make_unique<TensorParcel>(std::move(tensors))); }
  TensorMap take(Ticket ticket) { return received.take_as<TensorParcel>(ticket)->tensors; }

  SharedMemoryHub hub;
  TensorTable sent{8}, received{8};
  std::unique_ptr<ParcelWire> sender, receiver;
};

TEST(ParcelWire, CarriesParcelsOfAnyShapeAndDtypeInOrder) {
  TwoEnds ends;
  const at::Tensor hidden = at::arange(6, at::kFloat).view({2, 3}).t();  // not contiguous
  const at::Tensor half = at::arange(4, at::kBFloat16);
  const Ticket first =
      ends.put({{"hidden", hidden.detach().requires_grad_(true)}, {"nothing", at::empty({0, 4})}});
  const Ticket second = ends.put({{"count", at::arange(3, at::kLong)}, {"half", half}});

  const auto announced_first = ends.sender->open(first);
  ends.sender->send_opened();
  const auto announced_second = ends.sender->open(second);
  ends.sender->send_opened();
  const TensorMap got_first = ends.take(ends.receiver->receive(announced_first));
  const TensorMap got_second = ends.take(ends.receiver->receive(announced_second));

  EXPECT_TRUE(got_first.at("hidden").equal(hidden));
  EXPECT_TRUE(got_first.at("hidden").requires_grad());
  EXPECT_EQ(got_first.at("nothing").sizes(), at::IntArrayRef({0, 4}));
  EXPECT_TRUE(got_second.at("count").equal(at::arange(3, at::kLong)));
  EXPECT_TRUE(got_second.at("half").equal(half));
  EXPECT_FALSE(got_second.at("half").requires_grad());
  EXPECT_EQ(ends.sent.in_use(), 0U);
}

// In every order of work, with the sender's memory used again at once. The receiving rank does not wait.
TEST(ParcelWire, BringsTensorsFromDeviceToDevice) {
  const auto from = delayed_device(0), to = delayed_device(1);
  TwoEnds ends(from, to);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    delayed::machine(0).reseed(seed);
    delayed::machine(1).reseed(seed + 100);
    const WorkName action(
        "1F0");  // memory that goes back too early in an action is an error of the next work
    Ticket ticket;
    {
      const at::Tensor x = at::full({32, 4}, 1.0).to(from->place()).add(2);
      ticket = hand_over(ends.sent,
                         {{"x", x.t().requires_grad_(true)},
                          {"ids", upload(at::arange(6), *from)},
                          {"here", at::arange(3)},
                          {"nothing", at::empty({0, 4}).to(from->place())}},
                         *from);
    }
    const auto announced = ends.sender->open(ticket);
    ends.sender->send_opened();
    const at::Tensor next = at::full({32, 4}, 9.0).to(from->place());  // where x was
    const Ticket got = ends.receiver->receive(announced);
    HostWaits::take();
    TensorMap taken = take_over(ends.received, got, *to);
    const at::Tensor y = taken.at("x").detach().mul(2);

    EXPECT_TRUE(HostWaits::take().empty());
    EXPECT_EQ(y.device(), to->place());
    EXPECT_TRUE(taken.at("x").requires_grad());
    EXPECT_TRUE(kernels::host_values(taken.at("ids")).equal(at::arange(6)));
    EXPECT_TRUE(taken.at("here").is_cpu());
    EXPECT_EQ(taken.at("nothing").sizes(), at::IntArrayRef({0, 4}));
    taken.clear();  // before the host knows that it was used
    EXPECT_TRUE(y.cpu().eq(6).all().item<bool>()) << "seed " << seed;
    EXPECT_TRUE(next.cpu().eq(9).all().item<bool>()) << "seed " << seed;
  }
}

TEST(ParcelWire, CountsBytesByDtype) {
  TwoEnds ends;
  const Ticket parcel = ends.put({{"half", at::empty({3, 2}, at::kBFloat16)}, {"ids", at::arange(4)}});

  const auto announced = ends.sender->open(parcel);

  EXPECT_EQ(bytes_of(announced), 3U * 2 * 2 + 4 * 8);
  EXPECT_EQ(bytes_of({{"x", 255, {3}, false}}), 3U) << "told by a stranger";
}

TEST(ParcelWire, CarriesAParcelOfNothing) {
  TwoEnds ends;

  const auto announced = ends.sender->open(ends.put({}));
  ends.sender->send_opened();

  EXPECT_TRUE(announced.empty());
  EXPECT_TRUE(ends.take(ends.receiver->receive(announced)).empty());
}

TEST(ParcelWire, RefusesAnnouncementsThatNoSenderMakes) {
  TwoEnds ends;
  const auto f32 = static_cast<std::uint8_t>(c10::ScalarType::Float);
  const auto i64 = static_cast<std::uint8_t>(c10::ScalarType::Long);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::vector<TransferTensor>> absurd = {
      {{"x", 255, {1}, false}},
      {{"x", f32, {-1}, false}},
      {{"x", f32, {huge, huge}, false}},
      {{"x", f32, {1 << 18, 2}, false}},
      {{"x", f32, {1 << 18}, false}, {"y", f32, {1}, false}},  // together too large
      {{"x", f32, std::vector<std::int64_t>(17, 1), false}},
      {{"x", i64, {1}, true}},
      {{"x", f32, {0}, false}, {"x", f32, {0}, false}},
  };
  for (const auto& announced : absurd) {
    EXPECT_NE(test::error_of([&] { ends.receiver->receive(announced); }, ErrorKind::environment), "no error")
        << "dtype " << int(announced[0].dtype);
  }
  EXPECT_EQ(ends.received.in_use(), 0U);
}

TEST(ParcelWire, SendsWhatItOpenedAndNothingElse) {
  TwoEnds ends;

  EXPECT_THROW(ends.sender->send_opened(), Error);
  ends.sender->open(ends.put({}));
  EXPECT_THROW(ends.sender->open(ends.put({})), Error);
}

}  // namespace
}  // namespace d9d
