#pragma once
// The tensor table of a process. An actor puts tensors into it and sends the ticket in a message; the
// receiver takes them with the ticket, exactly once. Do not write to the tensors after put(). Thread-safe.
// No torch in this header.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace d9d {

// The content of a slot. The message that carries the ticket determines the concrete type.
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
  // `slots_max` limits the parcels in flight. put() on a full table is a bug error, because the credits of
  // the actors must stay below this limit.
  explicit TensorTable(std::size_t slots_max);

  Ticket put(std::unique_ptr<Parcel> parcel);
  // Bug error for a stale or unknown ticket: one that was taken before, or that belongs to an
  // epoch that has ended.
  std::unique_ptr<Parcel> take(Ticket ticket);
  // Returns the parcel as T. Bug error if it is of another type.
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
