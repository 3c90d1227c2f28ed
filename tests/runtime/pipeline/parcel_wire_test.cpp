#include "runtime/pipeline/parcel_wire.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/shared_memory/shared_memory.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

// Two ranks of one process with a wire from the first to the second.
struct TwoEnds {
  std::unique_ptr<ParcelWire> end(int rank, TensorTable& table) {
    Group group{"lane[0,1]", {0, 1}, rank, true};
    ParcelWireOptions options;
    options.communicator = hub.open(group, std::chrono::seconds(20));
    options.peer = 1 - rank;
    options.bytes_max = 1 << 20;
    return make_parcel_wire(std::move(options), table);
  }
  Ticket put(TensorMap tensors) { return sent.put(std::make_unique<TensorParcel>(std::move(tensors))); }
  TensorMap take(Ticket ticket) { return received.take_as<TensorParcel>(ticket)->tensors; }

  SharedMemoryHub hub;
  TensorTable sent{8}, received{8};
  std::unique_ptr<ParcelWire> sender = end(0, sent);
  std::unique_ptr<ParcelWire> receiver = end(1, received);
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
    try {
      ends.receiver->receive(announced);
      ADD_FAILURE() << "accepted dtype " << int(announced[0].dtype);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
    }
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
