#pragma once
// A value for the trackers in its message.

#include "messages/metrics.capnp.h"
#include "runtime/task/task_records.hpp"

namespace d9d {

inline void fill(wire::RecordValue::Builder message, const TaskRecord& record) {
  message.setStep(record.step);
  message.setName(record.name);
  auto context = message.initContext(static_cast<unsigned>(record.context.size()));
  unsigned index = 0;
  for (const auto& [key, text] : record.context) {
    context[index].setKey(key);
    context[index].setValue(text);
    ++index;
  }
  if (const auto* number = std::get_if<double>(&record.value)) message.setNumber(*number);
  if (const auto* text = std::get_if<TextRecord>(&record.value)) message.setText(text->text);
  if (const auto* picture = std::get_if<Picture>(&record.value)) {
    const auto* const bytes = reinterpret_cast<const kj::byte*>(picture->png.data());
    message.setPicture(kj::arrayPtr(bytes, picture->png.size()));
  }
}

inline PointContext context_of(wire::RecordValue::Reader value) {
  PointContext context;
  for (const auto entry : value.getContext()) context[entry.getKey()] = entry.getValue();
  return context;
}

}  // namespace d9d
