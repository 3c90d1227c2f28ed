#include "runtime/device/delayed/machine.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "runtime/base/error.hpp"
#include "runtime/device/delayed/stream_waits.hpp"

namespace d9d::delayed {
namespace {

constexpr int poison = 0xFF;  // of every floating type a NaN, of integers -1
constexpr std::size_t pending_max = 4096;
constexpr double early_share = 1.0 / 16;  // of calls that run a piece of work at once
constexpr std::chrono::microseconds pause_min{50}, pause_max{2000};

bool& runs_work() {
  thread_local bool of_thread = false;
  return of_thread;
}

std::uint64_t seed_of_process() {
  const char* const given = std::getenv("D9D_DELAYED_SEED");
  if (given == nullptr || *given == '\0') return 1;
  char* end = nullptr;
  const std::uint64_t seed = std::strtoull(given, &end, 10);
  D9D_REQUIRE(*end == '\0', "D9D_DELAYED_SEED is \"{}\", expected a number", given);
  return seed;
}

}  // namespace

// While this thread runs work: nobody else does, and the memory is open.
class Machine::Session {
 public:
  explicit Session(Machine& machine) : memory_(machine.memory_), lock_(machine.running_) {
    memory_.open();
    runs_work() = true;
  }
  ~Session() {
    runs_work() = false;
    if (at::get_num_threads() != threads_) at::set_num_threads(threads_);
    memory_.close();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  Memory& memory_;
  const std::lock_guard<std::mutex> lock_;
  const int threads_ = at::get_num_threads();
  const c10::NoGradGuard no_grad_;
  const at::AutoDispatchBelowADInplaceOrView below_autograd_;
};

Machine::Machine(int index, std::uint64_t seed)
    : index_(index), order_(seed, "delayed:" + std::to_string(index)) {}

void Machine::reseed(std::uint64_t seed) {
  const std::lock_guard running(running_);
  const std::lock_guard lock(queues_mutex_);
  order_ = RandomStream(seed, "delayed:" + std::to_string(index_));
  drawn_ = 0;
}

void Machine::push(int stream, Piece piece) {
  const std::lock_guard lock(queues_mutex_);
  queues_[stream].push_back(std::move(piece));
  ++pending_;
}

void Machine::enqueue(int stream, Work work) {
  Piece piece;
  piece.work = std::move(work);
  piece.threads = at::get_num_threads();
  push(stream, std::move(piece));
  run_early();
}

std::shared_ptr<const Mark> Machine::record(int stream) {
  auto mark = std::make_shared<Mark>(*this, stream);
  Piece piece;
  piece.mark = mark;
  push(stream, std::move(piece));
  return mark;
}

// What is reached, or behind it on the same stream, is no wait.
void Machine::wait_for(int stream, std::shared_ptr<const Mark> mark) {
  if (mark->reached() || (&mark->machine() == this && mark->stream_ == stream)) return;
  if (StreamWaits::skips_next()) return;
  Piece piece;
  piece.behind = std::move(mark);
  push(stream, std::move(piece));
}

void Machine::hold(int stream, std::shared_ptr<const Mark> mark, Ended ended) {
  Piece piece;
  piece.behind = std::move(mark);
  piece.ended = std::move(ended);
  push(stream, std::move(piece));
}

bool Machine::idle(int stream) {
  const std::lock_guard lock(queues_mutex_);
  return queues_[stream].empty() && running_stream_ != stream;
}

// So that not all work is late. A queue that is full makes its host run it, as a GPU's does.
void Machine::run_early() {
  std::size_t most = pending_max;
  {
    const std::lock_guard lock(queues_mutex_);
    const bool now = order_.uniform(drawn_++) < early_share;
    if (!now && pending_ <= pending_max) return;
    most = now ? pending_ - 1 : pending_max / 2;
  }
  if (runs_work()) return;
  const Session session(*this);
  std::shared_ptr<const Mark> missing;
  while (pending_ > most && run_one(-1, missing)) {
  }
}

// From device to device, as long as a stream waits for another one's mark. Ranks whose collectives wait for each other
// would lead round in a circle.
bool Machine::work_towards(const Mark& mark, bool throws) {
  bool ran = false;
  std::shared_ptr<const Mark> missing;
  const Mark* wanted = &mark;
  for (int hops = 0; hops < max_devices; ++hops) {
    std::shared_ptr<const Mark> next;
    {
      const Session session(wanted->machine_);
      while (!wanted->reached() && wanted->machine_.run_one(wanted->stream_, next)) ran = true;
    }
    if (throws && wanted != &mark && wanted->reached()) wanted->machine_.throw_error();
    if (wanted->reached() || !next) break;
    missing = std::move(next);
    wanted = missing.get();
  }
  return ran;
}

bool Machine::work_towards(const Mark& mark) {
  return work_towards(mark, /*throws=*/false);
}

void Machine::reach(const Mark& mark) {
  D9D_CHECK(!runs_work(), "work of a delayed device waits for a device");
  for (auto pause = pause_min; !mark.reached();) {
    if (work_towards(mark, /*throws=*/true)) pause = pause_min;
    if (mark.reached()) break;
    // A rank that has not called its collective yet: nothing tells when it will.
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, pause_max);
  }
  throw_error();
}

void Machine::run_behind(int stream, const Work& work) {
  reach(*record(stream));
  const Session session(*this);
  work();
}

// False if all streams wait for other devices; `missing` is then a mark that the stream waits for.
bool Machine::run_one(int wanted, std::shared_ptr<const Mark>& missing) {
  Piece piece;
  {
    const std::lock_guard lock(queues_mutex_);
    const int stream = choose(wanted, missing);
    if (stream < 0) return false;
    piece = std::move(queues_[stream].front());
    queues_[stream].pop_front();
    --pending_;
    running_stream_ = stream;
  }
  run(piece);
  const std::lock_guard lock(queues_mutex_);
  running_stream_ = -1;
  return true;
}

// The stream whose turn it is: any that can run, or the one that the wanted stream's first piece needs.
int Machine::choose(int wanted, std::shared_ptr<const Mark>& missing) {
  std::array<int, num_streams> ready{};
  std::size_t count = 0;
  for (int stream = 0; stream < num_streams; ++stream) {
    if (!queues_[stream].empty() && !queues_[stream].front().waits()) ready[count++] = stream;
  }
  const auto any = [&] { return count == 0 ? -1 : ready[order_.below(drawn_++, count)]; };
  // By turns of 64 choices the other streams run never, sometimes, or as often as it.
  const auto turn = order_.below(drawn_ / 64, 3);
  if (wanted < 0 || order_.uniform(drawn_++) < 0.5 * static_cast<double>(turn)) return any();
  int needed = wanted;
  for (int hops = 0; hops < num_streams && !queues_[needed].empty(); ++hops) {
    const Piece& first = queues_[needed].front();
    if (!first.waits()) return needed;
    if (&first.behind->machine() != this) {
      missing = first.behind;
      return any();
    }
    needed = first.behind->stream_;
  }
  return any();
}

void Machine::run(Piece& piece) {
  bool failed = false;
  {
    const std::lock_guard lock(queues_mutex_);
    failed = error_ != nullptr;
  }
  if (piece.work && !failed) {
    if (at::get_num_threads() != piece.threads) at::set_num_threads(piece.threads);
    try {
      piece.work();
    } catch (...) {
      const std::lock_guard lock(queues_mutex_);
      error_ = std::current_exception();
    }
  }
  if (piece.mark) piece.mark->set();
}

void Machine::throw_error() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(queues_mutex_);
    error = std::exchange(error_, nullptr);
  }
  if (error) std::rethrow_exception(error);
}

c10::DataPtr Machine::allocate(std::size_t bytes, int stream) {
  const c10::Device device(c10::kPrivateUse1, static_cast<c10::DeviceIndex>(index_));
  if (bytes == 0) return {nullptr, nullptr, [](void*) {}, device};
  bool fresh = false;
  Block* const block = memory_.take(*this, bytes, stream, fresh);
  if (fresh) poison_block(*block);
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
  if (block == nullptr || mark->reached()) return;
  const std::lock_guard lock(queues_mutex_);
  std::erase_if(block->used_until, [](const auto& other) { return other->reached(); });
  block->used_until.push_back(std::move(mark));
}

// Nothing runs early here: memory is freed in places that must not be held up.
void Machine::poison_block(const Block& block) {
  Piece piece;
  piece.work = [data = block.data, size = block.size] { std::memset(data, poison, size); };
  piece.threads = at::get_num_threads();
  push(block.stream, std::move(piece));
}

// In the order of the stream that it was made on, and behind those that said that they use it.
void Machine::release(void* context) {
  auto* const block = static_cast<Block*>(context);
  Machine& machine = *block->machine;
  std::uint32_t users = 0;
  std::vector<std::shared_ptr<const Mark>> used_until;
  {
    const std::lock_guard lock(machine.queues_mutex_);  // as those who use it have it
    users = std::exchange(block->users, 0);
    used_until = std::exchange(block->used_until, {});
  }
  for (int stream = 0; stream < num_streams; ++stream) {
    if ((users >> stream & 1U) != 0) machine.wait_for(block->stream, machine.record(stream));
  }
  for (std::shared_ptr<const Mark>& mark : used_until) machine.wait_for(block->stream, std::move(mark));
  machine.poison_block(*block);
  machine.memory_.give_back(block);
}

Machine& machine(int index) {
  D9D_CHECK(index >= 0 && index < max_devices, "there is no delayed device {}; a process has at most {}",
            index, max_devices);
  // Tensors may be freed after all else, so nothing is destroyed.
  static constinit std::array<std::atomic<Machine*>, max_devices> machines{};
  static constinit std::mutex mutex;
  auto& place = machines[static_cast<std::size_t>(index)];
  if (Machine* const made = place.load(std::memory_order_acquire)) return *made;
  const std::lock_guard lock(mutex);
  if (place.load() == nullptr) place.store(new Machine(index, seed_of_process()), std::memory_order_release);
  return *place.load();
}

Current& current() {
  thread_local Current of_thread;
  return of_thread;
}

}  // namespace d9d::delayed
