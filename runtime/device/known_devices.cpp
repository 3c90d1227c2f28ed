// Which device tensors of a place are on: the host, and those that a plugin brought.
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/device/device.hpp"

namespace d9d {
namespace {

using Place = std::pair<c10::DeviceType, int>;

Place key_of(c10::Device place) {
  return {place.type(), place.index()};
}

class KnownDevices {
 public:
  std::shared_ptr<Device> keep(std::shared_ptr<Device> device) {
    const std::lock_guard lock(mutex_);
    const Place place = key_of(device->place());
    return by_place_.emplace(place, std::move(device)).first->second;
  }
  Device& at(c10::Device place) {
    const std::lock_guard lock(mutex_);
    const auto found = by_place_.find(key_of(place));
    D9D_CHECK(found != by_place_.end(), "no device knows tensors of {}", place.str());
    return *found->second;
  }

 private:
  std::mutex mutex_;
  std::map<Place, std::shared_ptr<Device>> by_place_;
};

KnownDevices& known_devices() {
  static const auto known = std::make_unique<KnownDevices>();
  return *known;
}

}  // namespace

std::shared_ptr<Device> keep_device(std::shared_ptr<Device> device) {
  return known_devices().keep(std::move(device));
}

Device& device_of(c10::Device place) {
  static const auto cpu = cpu_device();
  return place.is_cpu() ? *cpu : known_devices().at(place);
}

}  // namespace d9d
