#include "runtime/devices/delayed/guard.hpp"

#include <memory>
#include <utility>

#include "runtime/device/host_waits.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

c10::Device device_of(int index) {
  return {c10::kPrivateUse1, static_cast<c10::DeviceIndex>(index)};
}

int index_of(c10::Device device) {
  return device.has_index() ? device.index() : current().device;
}

c10::Stream stream_of(int device, int stream) {
  return c10::Stream(c10::Stream::UNSAFE, device_of(device), stream);
}

int number_of(const c10::Stream& stream) {
  return static_cast<int>(stream.id());
}

using SharedMark = std::shared_ptr<const Mark>;

const SharedMark& mark_of(void* event) {
  return *static_cast<const SharedMark*>(event);
}

}  // namespace

c10::Device Guard::exchangeDevice(c10::Device device) const {
  return device_of(std::exchange(current().device, index_of(device)));
}
c10::Device Guard::getDevice() const {
  return device_of(current().device);
}
void Guard::setDevice(c10::Device device) const {
  current().device = index_of(device);
}
void Guard::uncheckedSetDevice(c10::Device device) const noexcept {
  current().device = index_of(device);
}
c10::DeviceIndex Guard::deviceCount() const noexcept {
  return max_devices;
}

c10::Stream Guard::getStream(c10::Device device) const {
  const int index = index_of(device);
  return stream_of(index, current().streams[index]);
}
c10::Stream Guard::getDefaultStream(c10::Device device) const {
  return stream_of(index_of(device), 0);
}
c10::Stream Guard::exchangeStream(c10::Stream stream) const {
  const int index = stream.device_index();
  return stream_of(index, std::exchange(current().streams[index], number_of(stream)));
}
bool Guard::queryStream(const c10::Stream& stream) const {
  return machine(stream.device_index()).idle(number_of(stream));
}
void Guard::synchronizeStream(const c10::Stream& stream) const {
  HostWaits::count("a stream");
  Machine& own = machine(stream.device_index());
  own.reach(*own.record(number_of(stream)));
}
void Guard::recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const {
  machine(stream.device_index()).use(data, number_of(stream));
}

void Guard::destroyEvent(void* event, c10::DeviceIndex /*device*/) const noexcept {
  delete static_cast<SharedMark*>(event);
}
void Guard::record(void** event, const c10::Stream& stream, c10::DeviceIndex /*device*/,
                   c10::EventFlag /*flag*/) const {
  if (*event == nullptr) *event = new SharedMark;
  *static_cast<SharedMark*>(*event) = machine(stream.device_index()).record(number_of(stream));
}
void Guard::block(void* event, const c10::Stream& stream) const {
  if (event != nullptr) machine(stream.device_index()).wait_for(number_of(stream), mark_of(event));
}
bool Guard::queryEvent(void* event) const {
  return event == nullptr || Machine::sees(*mark_of(event));
}
void Guard::synchronizeEvent(void* event) const {
  if (event == nullptr) return;
  HostWaits::count("an event");
  mark_of(event)->machine().reach(*mark_of(event));
}

bool Hooks::hasPrimaryContext(c10::DeviceIndex device) const {
  return device == current().device;
}
c10::DeviceIndex Hooks::deviceCount() const {
  return max_devices;
}
c10::DeviceIndex Hooks::getCurrentDevice() const {
  return static_cast<c10::DeviceIndex>(current().device);
}

}  // namespace d9d::delayed
