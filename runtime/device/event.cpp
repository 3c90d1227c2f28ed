#include "runtime/device/event.hpp"

#include "runtime/device/host_waits.hpp"

namespace d9d {

void Event::wait(const char* reason) const {
  if (done()) return;
  HostWaits::count(reason);
  state_->wait();
}

}  // namespace d9d
