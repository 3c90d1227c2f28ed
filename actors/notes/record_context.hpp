#pragma once
// The context of a recorded value in its message.

#include "messages/metrics.capnp.h"
#include "runtime/metric/sink/tracker.hpp"

namespace d9d {

inline void fill_context(wire::RecordValue::Builder value, const PointContext& context) {
  auto entries = value.initContext(static_cast<unsigned>(context.size()));
  unsigned index = 0;
  for (const auto& [key, text] : context) {
    entries[index].setKey(key);
    entries[index].setValue(text);
    ++index;
  }
}

inline PointContext context_of(wire::RecordValue::Reader value) {
  PointContext context;
  for (const auto entry : value.getContext()) context[entry.getKey()] = entry.getValue();
  return context;
}

}  // namespace d9d
