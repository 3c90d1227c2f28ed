#pragma once
// One delayed device: queues of work, one for each stream, that run as late as they can. Nothing runs until a
// thread waits for it (or a queue is long); then that thread runs pieces of work one by one, always the first of some
// stream, chosen by a generator with a seed. So every order that the events allow happens sooner or later, a
// given seed repeats it, and what the host reads without a wait has not been computed. Any thread.
#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

#include "runtime/base/rng.hpp"
#include "runtime/device/delayed/current.hpp"
#include "runtime/device/delayed/memory.hpp"

namespace d9d::delayed {

class Mark {
 public:
  Mark(Machine& machine, int stream) : machine_(machine), stream_(stream) {}
  bool reached() const { return reached_.load(std::memory_order_acquire); }
  Machine& machine() const { return machine_; }
  // Of one that no stream was given: by work that runs.
  void set() { reached_.store(true, std::memory_order_release); }

 private:
  friend class Machine;
  Machine& machine_;
  const int stream_;
  std::atomic<bool> reached_ = false;
};

class Machine {
 public:
  Machine(int index, std::uint64_t seed);

  using Work = std::function<void()>;
  // `work` touches the device's memory by host pointers, else nothing that may change before it runs.
  void enqueue(int stream, Work work);
  std::shared_ptr<const Mark> record(int stream);
  void wait_for(int stream, std::shared_ptr<const Mark> mark);
  // The stream stands still until the mark is reached, which another device's work may set, or `ended` is true.
  using Ended = std::shared_ptr<const std::atomic<bool>>;
  void hold(int stream, std::shared_ptr<const Mark> mark, Ended ended);

  bool idle(int stream);  // the stream has done all that it was given
  // The calling thread runs work until the mark is reached. If any work since the last call threw an exception, it
  // is thrown again here, and the pieces behind that work are skipped.
  void reach(const Mark& mark);
  static bool work_towards(const Mark& mark);  // as far as it goes now, on all devices; whether any ran
  // Waits for the stream; then the calling thread does `work`, which may touch the memory.
  void run_behind(int stream, const Work& work);
  void reseed(std::uint64_t seed);  // a new order from here on

  c10::DataPtr allocate(std::size_t bytes, int stream);
  void use(const c10::DataPtr& data, int stream);
  void use_until(const c10::DataPtr& data, std::shared_ptr<const Mark> mark);
  Memory& memory() { return memory_; }

 private:
  struct Piece {
    Work work;
    int threads = 1;                     // of torch's ops: their sums depend on it
    std::shared_ptr<Mark> mark;          // reached here
    std::shared_ptr<const Mark> behind;  // waits for it
    Ended ended;                         // or for this
    bool waits() const { return behind && !behind->reached() && !(ended && *ended); }
  };
  class Session;

  static bool work_towards(const Mark& mark, bool throws);
  void push(int stream, Piece piece);
  void run_early();
  bool run_one(int wanted, std::shared_ptr<const Mark>& missing);
  int choose(int wanted, std::shared_ptr<const Mark>& missing);
  void run(Piece& piece);
  void throw_error();
  void poison_block(const Block& block);
  static void release(void* block);

  const int index_;
  Memory memory_;
  std::mutex running_;  // by the thread that runs work
  std::mutex queues_mutex_;
  std::deque<Piece> queues_[num_streams];
  int running_stream_ = -1;  // of the piece that runs
  std::atomic<std::size_t> pending_ = 0;
  std::exception_ptr error_;
  RandomStream order_;
  std::uint64_t drawn_ = 0;
};

// The device of the process with this index; made when it is asked for, and never destroyed.
Machine& machine(int index);

}  // namespace d9d::delayed
