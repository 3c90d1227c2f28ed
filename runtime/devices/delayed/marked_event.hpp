#pragma once
// A mark of a delayed device as an Event.

#include <memory>

#include "runtime/device/event.hpp"
#include "runtime/devices/delayed/mark.hpp"

namespace d9d::delayed {

Event event_of(std::shared_ptr<const Mark> mark);

}  // namespace d9d::delayed
