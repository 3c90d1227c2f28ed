// A machine's memory: made, used by other streams, freed and used again.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "runtime/device/memory_report.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/machine.hpp"

namespace d9d::delayed {
namespace {

constexpr int poison = 0xFF;  // of every floating type a NaN, of integers -1
constexpr std::size_t freed_max = 4096;

Touched whole(const Block& block, const char* op) {
  const auto begin = reinterpret_cast<std::uintptr_t>(block.data);
  return {op, {{begin, begin + block.size, true}}};
}

}  // namespace

c10::DataPtr Machine::allocate(std::size_t bytes, int stream) {
  const c10::Device device(c10::kPrivateUse1, static_cast<c10::DeviceIndex>(index_));
  if (bytes == 0) return {nullptr, nullptr, [](void*) {}, device};
  const std::lock_guard lock(queues_mutex_);
  take_back();
  bool fresh = false;
  Block* const block = memory_.take(*this, bytes, stream, fresh);
  TORCH_CHECK_WITH(OutOfMemoryError, block != nullptr, out_of_device_memory(device, bytes, memory_.pools()));
  if (fresh) poison_block(*block);
  touch(stream, whole(*block, begin_of_life));
  return {block->data, block, &Machine::release, device};
}

void Machine::use(const c10::DataPtr& data, int stream) {
  auto* const block = static_cast<Block*>(data.get_context());
  if (block == nullptr || block->stream == stream) return;
  const std::lock_guard lock(queues_mutex_);
  block->users |= 1U << stream;
}

void Machine::use_until(const c10::DataPtr& data, std::shared_ptr<const Mark> mark) {
  auto* const block = static_cast<Block*>(data.get_context());
  if (block == nullptr) return;
  const std::lock_guard lock(queues_mutex_);
  block->used_until.push_back(std::move(mark));
}

// With the lock, as all below. In the order of the stream that the memory was made on.
void Machine::poison_block(const Block& block) {
  Piece piece;
  piece.work = [data = block.data, size = block.size] { std::memset(data, poison, size); };
  piece.op = "poison";
  piece.threads = at::get_num_threads();
  push(block.stream, std::move(piece));
}

// Memory that other streams use goes back when its own stream comes behind them: a wait for them here would hide that
// the program forgot one. Nothing runs early here, and nothing is thrown: memory is freed in any place.
void Machine::release(void* context) {
  auto* const block = static_cast<Block*>(context);
  Machine& machine = *block->machine;
  const std::lock_guard lock(machine.queues_mutex_);
  const std::uint32_t users = std::exchange(block->users, 0);
  for (int stream = 0; stream < num_streams; ++stream) {
    if ((users >> stream & 1U) != 0) block->used_until.push_back(machine.mark_here(stream));
  }
  Clock by_users;
  for (const auto& mark : block->used_until) by_users.join(mark->known_);
  std::string error = machine.touch(block->stream, whole(*block, end_of_life), by_users);
  // What an exception leaves behind, and a rank that ends, may be freed in any state.
  const bool works = !WorkName::current().empty() && std::uncaught_exceptions() == 0;
  if (works && !error.empty() && machine.freed_too_early_.empty()) {
    stop_all();
    machine.freed_too_early_ = std::move(error);
  }
  machine.freed_.push_back(block);
  machine.take_back();
}

// Those of the freed blocks whose streams come behind all that used them; if they are very many, those that nobody
// uses any more, as a GPU's allocator does.
void Machine::take_back() {
  const bool many = freed_.size() > freed_max;
  std::erase_if(freed_, [&](Block* block) {
    Clock& known = known_[block->stream];  // what this thread knows is no order of the stream's work
    for (const auto& mark : block->used_until) {
      if (known.covers(mark->known_)) continue;
      if (!many || !mark->reached()) return false;
      known.join(mark->known_);
    }
    block->used_until.clear();
    poison_block(*block);
    memory_.give_back(block);
    return true;
  });
}

// Poison that was queued for freed blocks would take their pages again.
void Machine::trim() {
  {
    const std::lock_guard lock(queues_mutex_);
    take_back();
  }
  while (true) {
    finish();
    const std::lock_guard running(running_);
    const std::lock_guard lock(queues_mutex_);
    if (pending_ > 0) continue;  // of a rank that shares the device
    return memory_.trim();
  }
}

}  // namespace d9d::delayed
