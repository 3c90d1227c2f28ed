#include "runtime/tensor/tensor_table.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/error.hpp"

namespace d9d {

TensorTable::TensorTable(std::size_t slots_max) : slots_max_(slots_max) {}

Ticket TensorTable::put(std::unique_ptr<Parcel> parcel) {
  D9D_CHECK(parcel != nullptr, "an empty parcel was put into the tensor table");
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    D9D_CHECK(slots_.size() < slots_max_,
              "the tensor table is full ({} parcels in flight); a sender has no credit", slots_max_);
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.parcel = std::move(parcel);
  ++slot.generation;  // makes tickets of earlier parcels of this slot stale
  peak_ = std::max(peak_, ++in_use_);
  return {index, slot.generation};
}

std::unique_ptr<Parcel> TensorTable::take(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  const bool alive = ticket && ticket.slot < slots_.size() &&
                     slots_[ticket.slot].generation == ticket.generation &&
                     slots_[ticket.slot].parcel != nullptr;
  D9D_CHECK(alive, "stale ticket (slot {}, generation {}): taken before, or of an epoch that ended",
            ticket.slot, ticket.generation);
  free_.push_back(ticket.slot);
  --in_use_;
  return std::move(slots_[ticket.slot].parcel);
}

std::size_t TensorTable::clear() {
  std::vector<std::unique_ptr<Parcel>>
      dropped;  // destroyed after the lock is released: tensors free large memory
  const std::lock_guard lock(mutex_);
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].parcel) continue;
    dropped.push_back(std::move(slots_[i].parcel));
    free_.push_back(i);
  }
  in_use_ = 0;
  return dropped.size();
}

std::size_t TensorTable::in_use() const {
  const std::lock_guard lock(mutex_);
  return in_use_;
}

std::size_t TensorTable::peak() const {
  const std::lock_guard lock(mutex_);
  return peak_;
}

void TensorTable::wrong_type(Ticket ticket) {
  throw Error(ErrorKind::bug,
              fmt::format("the parcel of ticket (slot {}, generation {}) is of another type than its "
                          "receiver expects",
                          ticket.slot, ticket.generation));
}

}  // namespace d9d
