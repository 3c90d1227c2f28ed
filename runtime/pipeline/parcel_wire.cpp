#include "runtime/pipeline/parcel_wire.hpp"

#include <ATen/ops/empty.h>

#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

constexpr std::size_t wire_dims_max = 16;

[[noreturn]] void refuse(const TransferTensor& tensor, const std::string& why) {
  throw Error(
      ErrorKind::environment,
      fmt::format("a peer announced the tensor \"{}\" {}; it runs another build, or its messages are damaged",
                  tensor.name, why));
}

// Bytes of an announced tensor, at most `limit`; refuses everything that is no plain dense tensor.
std::int64_t checked_bytes(const TransferTensor& tensor, std::int64_t limit) {
  if (tensor.dtype >= static_cast<std::uint8_t>(c10::ScalarType::NumOptions)) {
    refuse(tensor, fmt::format("with the unknown dtype {}", tensor.dtype));
  }
  const auto dtype = static_cast<c10::ScalarType>(tensor.dtype);
  if (c10::isQIntType(dtype) || dtype == c10::ScalarType::Undefined)
    refuse(tensor, "with a dtype that does not travel");
  if (tensor.requires_grad && !c10::isFloatingType(dtype))
    refuse(tensor, "of integers that wants a gradient");
  if (tensor.shape.size() > wire_dims_max)
    refuse(tensor, fmt::format("with {} dimensions", tensor.shape.size()));
  std::int64_t bytes = static_cast<std::int64_t>(c10::elementSize(dtype));
  for (const std::int64_t size : tensor.shape) {
    if (size < 0 || (size > 0 && bytes > limit / size))
      refuse(tensor, fmt::format("larger than {} bytes", limit));
    bytes *= size;
  }
  if (bytes > limit) refuse(tensor, fmt::format("larger than {} bytes", limit));
  return bytes;
}

class CommunicatorWire final : public ParcelWire {
 public:
  CommunicatorWire(ParcelWireOptions options, TensorTable& table)
      : options_(std::move(options)), table_(table) {}

  std::vector<TransferTensor> open(Ticket ticket) override {
    D9D_CHECK(!opened_, "a parcel is opened on a wire that has not sent the one before");
    opened_ = table_.take_as<TensorParcel>(ticket);
    std::vector<TransferTensor> announced;
    for (const auto& [name, tensor] : opened_->tensors) {
      announced.push_back({name, static_cast<std::uint8_t>(tensor.scalar_type()), tensor.sizes().vec(),
                           tensor.requires_grad()});
    }
    return announced;
  }

  void send_opened() override {
    D9D_CHECK(opened_, "no parcel is open on this wire");
    const auto parcel = std::exchange(opened_, nullptr);
    for (const auto& [name, tensor] : parcel->tensors) {
      if (tensor.numel() > 0)
        options_.communicator->send(tensor.detach().contiguous(), options_.peer, options_.tag);
    }
  }

  Ticket receive(const std::vector<TransferTensor>& announced) override {
    std::int64_t room = options_.bytes_max;
    for (const TransferTensor& tensor : announced) room -= checked_bytes(tensor, room);
    TensorMap tensors;
    for (const TransferTensor& tensor : announced) {
      at::Tensor received =
          at::empty(tensor.shape, c10::TensorOptions(static_cast<c10::ScalarType>(tensor.dtype)));
      if (received.numel() > 0) options_.communicator->receive(received, options_.peer, options_.tag).wait();
      if (!tensors.emplace(tensor.name, received.requires_grad_(tensor.requires_grad)).second) {
        refuse(tensor, "twice");
      }
    }
    return table_.put(std::make_unique<TensorParcel>(std::move(tensors)));
  }

 private:
  const ParcelWireOptions options_;
  TensorTable& table_;
  std::unique_ptr<TensorParcel> opened_;
};

}  // namespace

std::unique_ptr<ParcelWire> make_parcel_wire(ParcelWireOptions options, TensorTable& table) {
  D9D_CHECK(options.communicator, "a wire without a communicator");
  return std::make_unique<CommunicatorWire>(std::move(options), table);
}

}  // namespace d9d
