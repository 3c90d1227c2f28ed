#include "runtime/pipeline/parcel_wire.hpp"

#include <ATen/ops/empty.h>

#include <array>
#include <deque>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/host_stretches.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/tensor/tensor_parcel.hpp"

namespace d9d {
namespace {

constexpr std::size_t wire_dims_max = 16;
constexpr std::size_t stretches_max = 8;  // the most parcels on their way at once

[[noreturn]] void refuse(const TransferTensor& tensor, const std::string& why) {
  throw Error(
      ErrorKind::environment,
      fmt::format("a peer announced the tensor \"{}\" {}; it runs another build, or its messages are damaged",
                  tensor.name, why));
}

// Returns the bytes of an announced tensor, at most `limit`. Refuses everything but a plain dense tensor.
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
      : options_(std::move(options)),
        device_(options_.device ? options_.device : cpu_device()),
        table_(table),
        memory_(device_, stretches_max, "tensors between processes") {}

  std::vector<TransferTensor> open(Ticket ticket) override {
    D9D_CHECK(!opened_, "a parcel is opened on a wire that has not sent the one before");
    opened_ = table_.take_as<TensorParcel>(ticket);
    std::vector<TransferTensor> announced;
    for (const auto& [name, tensor] : opened_->tensors) {
      announced.push_back({name, static_cast<std::uint8_t>(tensor.scalar_type()), tensor.sizes().vec(),
                           tensor.requires_grad(), tensor.is_cpu()});
    }
    return announced;
  }

  void send_opened() override {
    D9D_CHECK(opened_, "no parcel is open on this wire");
    const auto parcel = std::exchange(opened_, nullptr);
    for (const auto& [name, tensor] : on_host(*parcel)) {
      if (tensor.numel() > 0)
        options_.communicator->send(tensor.detach().contiguous(), options_.peer, options_.tag);
    }
  }

  Ticket receive(const std::vector<TransferTensor>& announced) override {
    std::int64_t room = options_.bytes_max;
    for (const TransferTensor& tensor : announced) room -= checked_bytes(tensor, room);
    TensorMap tensors;
    std::vector<at::Tensor> places = places_for(announced);
    for (std::size_t i = 0; i < announced.size(); ++i) {
      const TransferTensor& tensor = announced[i];
      at::Tensor& received = places[i];
      if (received.numel() > 0) options_.communicator->receive(received, options_.peer, options_.tag).wait();
      if (!tensors.emplace(tensor.name, received).second) refuse(tensor, "twice");
    }
    const Event filled = device_->is_cpu() ? Event() : put_on_device(announced, tensors);
    for (const TransferTensor& tensor : announced)
      tensors.at(tensor.name).requires_grad_(tensor.requires_grad);
    return table_.put(std::make_unique<TensorParcel>(std::move(tensors), filled));
  }

 private:
  // Whether the tensor is received into pinned memory that is used again. Integers are not: the host
  // remembers their values (kernels/memory/host_values.hpp), which needs memory of their own.
  bool goes_through(const TransferTensor& tensor) const {
    return !device_->is_cpu() && !tensor.on_host &&
           c10::isFloatingType(static_cast<c10::ScalarType>(tensor.dtype));
  }

  std::vector<at::Tensor> places_for(const std::vector<TransferTensor>& announced) {
    while (!uploads_.empty() && uploads_.front().done.done()) uploads_.pop_front();
    std::vector<HostStretches::Wanted> wanted;
    for (const TransferTensor& tensor : announced)
      if (goes_through(tensor)) wanted.push_back({static_cast<c10::ScalarType>(tensor.dtype), tensor.shape});
    const std::vector<at::Tensor> through = wanted.empty() ? std::vector<at::Tensor>() : memory_.take(wanted);
    std::vector<at::Tensor> places;
    auto next = through.begin();
    for (const TransferTensor& tensor : announced)
      places.push_back(goes_through(tensor)
                           ? *next++
                           : at::empty(tensor.shape, static_cast<c10::ScalarType>(tensor.dtype)));
    return places;
  }

  // Copies the tensors to the host. This thread waits for the copies; the
  // rank's thread and its stream do not.
  TensorMap on_host(const TensorParcel& parcel) {
    if (device_->is_cpu()) return parcel.tensors;
    const StreamScope scope(*device_, StreamRole::copy_out);
    device_->wait(parcel.filled);
    std::vector<HostStretches::Wanted> wanted;
    for (const auto& [name, tensor] : parcel.tensors)
      if (!tensor.is_cpu()) wanted.push_back({tensor.scalar_type(), tensor.sizes()});
    const std::vector<at::Tensor> places = memory_.take(wanted);
    auto next = places.begin();
    TensorMap here;
    for (const auto& [name, tensor] : parcel.tensors) {
      here.emplace(name, tensor.is_cpu() ? tensor : next++->copy_(tensor.detach(), /*non_blocking=*/true));
      device_->use(tensor, StreamRole::copy_out);
    }
    device_->record().wait("tensors for another process");
    return here;
  }

  // Queues the copies to the device. Returns the event for which the stream of
  // the receiving stage has to wait.
  Event put_on_device(const std::vector<TransferTensor>& announced, TensorMap& tensors) {
    const StreamScope scope(*device_, StreamRole::copy_in);
    // The allocator may give this stream memory of earlier parcels that stages still read: wait for their work.
    for (const Event& computed : computed_) device_->wait(computed);
    std::vector<at::Tensor> sources;
    for (const TransferTensor& tensor : announced) {
      if (tensor.on_host) continue;
      at::Tensor& received = tensors.at(tensor.name);
      if (goes_through(tensor)) {
        sources.push_back(received);
        received = at::empty(tensor.shape, received.options().device(device_->place()))
                       .copy_(received, /*non_blocking=*/true);
      } else {
        received = upload(received, *device_);
      }
      device_->use(received, StreamRole::compute);  // and who takes it on another stream says so
    }
    computed_ = {device_->record(StreamRole::compute), device_->record(StreamRole::compute_beside)};
    uploads_.push_back({std::move(sources), device_->record()});
    return uploads_.back().done;
  }

  const ParcelWireOptions options_;
  const std::shared_ptr<Device> device_;
  TensorTable& table_;
  std::unique_ptr<TensorParcel> opened_;
  struct Upload {
    std::vector<at::Tensor> sources;  // on the host
    Event done;
  };
  std::deque<Upload> uploads_;
  HostStretches memory_;
  // The work that was queued on the compute streams when the previous parcel came.
  std::array<Event, 2> computed_;
};

}  // namespace

std::uint64_t bytes_of(const std::vector<TransferTensor>& tensors) {
  std::uint64_t total = 0;
  for (const TransferTensor& tensor : tensors) {
    const auto dtype = static_cast<c10::ScalarType>(tensor.dtype);
    const bool known = tensor.dtype < static_cast<std::uint8_t>(c10::ScalarType::Undefined);
    std::uint64_t bytes = known ? c10::elementSize(dtype) : 1;
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
    total += bytes;
  }
  return total;
}

std::unique_ptr<ParcelWire> make_parcel_wire(ParcelWireOptions options, TensorTable& table) {
  D9D_CHECK(options.communicator, "a wire without a communicator");
  return std::make_unique<CommunicatorWire>(std::move(options), table);
}

}  // namespace d9d
