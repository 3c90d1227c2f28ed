// The Device over a machine.
#include "runtime/devices/delayed/delayed_device.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>

#include <cstdlib>
#include <mutex>

#include "runtime/base/error.hpp"
#include "runtime/devices/delayed/aliases.hpp"
#include "runtime/devices/delayed/backend.hpp"
#include "runtime/devices/delayed/current.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/machine.hpp"
#include "runtime/devices/delayed/marked_event.hpp"

namespace d9d {
namespace {

// Nobody's ops go to the last stream.
static_assert(stream_roles.size() == delayed::collective_stream);

class MarkedPlace final : public Event::State {
 public:
  explicit MarkedPlace(std::shared_ptr<const delayed::Mark> mark) : mark_(std::move(mark)) {}
  bool reached() const override { return delayed::Machine::sees(*mark_); }
  void wait() const override { mark_->machine().reach(*mark_); }
  std::int64_t reached_ns() const override { return mark_->reached_ns(); }
  const std::shared_ptr<const delayed::Mark>& mark() const { return mark_; }

 private:
  const std::shared_ptr<const delayed::Mark> mark_;
};

class DelayedDevice final : public Device {
 public:
  explicit DelayedDevice(int index) : index_(index), machine_(delayed::machine(index)) {}

  c10::Device place() const override { return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(index_)}; }
  Event record(StreamRole role) override {
    return delayed::event_of(machine_.record(static_cast<int>(role)));
  }
  void wait(StreamRole role, const Event& event) override {
    if (event.state()) machine_.wait_for(static_cast<int>(role), mark_of(event));
  }
  void use(const at::Tensor& tensor, StreamRole role) override {
    if (tensor.device() == this->place()) machine_.use(tensor.storage().data_ptr(), static_cast<int>(role));
  }
  void use_until(const at::Tensor& tensor, const Event& event) override {
    if (tensor.device() == this->place() && event.state())
      machine_.use_until(tensor.storage().data_ptr(), mark_of(event));
  }
  StreamRole exchange_stream(StreamRole role) override {
    const int before = std::exchange(delayed::current().streams[index_], static_cast<int>(role));
    return stream_roles[static_cast<std::size_t>(before)];
  }
  StreamRole current_stream() const override {
    return stream_roles[static_cast<std::size_t>(delayed::current().streams[index_])];
  }
  void copy(const at::Tensor& into, const at::Tensor& from) override {
    if (from.numel() == 0) return;
    delayed::Aliases aliases("copy");
    delayed::Machine& other = delayed::machine(from.device().index());
    const auto work = [&other, into = aliases.into(into), from = aliases.of(from)] {
      const delayed::OpenMemory open(other.memory());
      into.copy_(from);
    };
    machine_.enqueue(static_cast<int>(current_stream()), aliases.touched(), work);
  }
  // Poisoned as memory of the device is, for those who read before their copy is made.
  at::Tensor pinned(std::int64_t bytes) override { return at::full({bytes}, 0xFF, at::kByte); }
  void finish() override { machine_.finish(); }
  void trim() override { machine_.trim(); }
  DeviceMemory memory() const override { return machine_.memory().pools(); }
  std::string note_kernels(bool on) override {
    machine_.ran().note(on);
    return "";
  }
  std::vector<KernelRun> take_kernels() override {
    std::vector<KernelRun> kernels;
    for (const delayed::RanPiece& ran : machine_.ran().take()) {
      const bool is_role = ran.stream < delayed::collective_stream;
      kernels.push_back(
          {ran.op, is_role ? stream_roles[static_cast<std::size_t>(ran.stream)] : StreamRole::communicate,
           ran.begin_ns, ran.end_ns});
    }
    return kernels;
  }

 private:
  static const std::shared_ptr<const delayed::Mark>& mark_of(const Event& event) {
    const auto* const place = dynamic_cast<const MarkedPlace*>(event.state().get());
    D9D_CHECK(place != nullptr, "a delayed device cannot wait for an event of another kind of device");
    return place->mark();
  }

  const int index_;
  delayed::Machine& machine_;
};

}  // namespace

Event delayed::event_of(std::shared_ptr<const Mark> mark) {
  return Event(std::make_shared<MarkedPlace>(std::move(mark)));
}

std::shared_ptr<Device> delayed_device(int index) {
  static constinit std::once_flag known;
  std::call_once(known, [] {
    const char* const costs = std::getenv("D9D_DELAYED_COSTS");
    if (costs != nullptr && *costs != '\0') delayed::plant({.cost = delayed::costs_of(costs)});
    delayed::install();
    for (int each = 0; each < delayed::max_devices; ++each)
      keep_device(std::make_shared<DelayedDevice>(each));
  });
  return std::make_shared<DelayedDevice>(index);
}

}  // namespace d9d
