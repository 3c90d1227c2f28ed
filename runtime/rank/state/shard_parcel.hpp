#pragma once
// A snapshot of one rank's part of a checkpoint, on the host. Training continues while a device
// copies it and while it is written.

#include <utility>
#include <vector>

#include "runtime/device/event.hpp"
#include "runtime/state/checkpoint/checkpoint_writer_core.hpp"
#include "runtime/tensor/tensor_table.hpp"

namespace d9d {

struct ShardParcel final : Parcel {
  explicit ShardParcel(std::vector<NamedSlice> copies, Event when = {})
      : slices(std::move(copies)), copied(std::move(when)) {}
  std::vector<NamedSlice> slices;
  Event copied;  // recorded when the slices have their values
};

}  // namespace d9d
