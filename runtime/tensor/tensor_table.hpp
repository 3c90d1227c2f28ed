#pragma once
// The tensor table of a process: how tensors change hands between actors without being in a message.
// put -> Ticket -> take, exactly once; after put() the tensors must not be written. No torch in this header.
// Thread-safe: any actor may put, any actor may take.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace d9d {

// What a slot holds. The sender and the receiver agree on
// the concrete type by the message that names the ticket.
struct Parcel {
  virtual ~Parcel() = default;
};

struct Ticket {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // 0 = no ticket

  explicit operator bool() const { return generation != 0; }
  bool operator==(const Ticket&) const = default;
  std::uint64_t packed() const { return std::uint64_t{generation} << 32 | slot; }
  static Ticket from_packed(std::uint64_t packed) {
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32)};
  }
};

class TensorTable {
 public:
  // `slots_max` bounds the parcels in flight; the caller's arithmetic gives the bound. put on a full table is
  // a bug: credits of the actors keep below it.
  explicit TensorTable(std::size_t slots_max);

  Ticket put(std::unique_ptr<Parcel> parcel);
  // A stale or unknown ticket is a bug: it was taken before, or belongs to an epoch that ended.
  std::unique_ptr<Parcel> take(Ticket ticket);
  // The parcel as T; a bug when it is of another type.
  template <class T>
  std::unique_ptr<T> take_as(Ticket ticket);

  // Ends an epoch: drops every parcel and makes all tickets stale. Returns how many were dropped.
  std::size_t clear();
  std::size_t in_use() const;
  std::size_t peak() const;

 private:
  struct Slot {
    std::unique_ptr<Parcel> parcel;
    std::uint32_t generation = 0;
  };

  [[noreturn]] static void wrong_type(Ticket ticket);

  const std::size_t slots_max_;
  mutable std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
};

template <class T>
std::unique_ptr<T> TensorTable::take_as(Ticket ticket) {
  std::unique_ptr<Parcel> parcel = take(ticket);
  if (dynamic_cast<T*>(parcel.get()) != nullptr) return std::unique_ptr<T>(static_cast<T*>(parcel.release()));
  wrong_type(ticket);
}

}  // namespace d9d
