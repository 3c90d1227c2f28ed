#pragma once
// One delayed device: queues of work, one for each stream, that run as late as they can. Nothing runs until a thread
// waits for it (or a queue is long); then that thread runs pieces of work one by one, always the first of some stream,
// chosen by a generator with a seed, which repeats an order. What the host reads without a wait has not been computed.
// Work that touches memory beside other work is refused when it is given (order_check.hpp). Any thread.
#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/rng.hpp"
#include "runtime/devices/delayed/mark.hpp"
#include "runtime/devices/delayed/memory.hpp"
#include "runtime/devices/delayed/order_check.hpp"

namespace d9d::delayed {

// What a machine ran, piece by piece, while somebody wants to know. Any thread.
struct RanPiece {
  const char* op = "";
  int stream = 0;
  std::int64_t begin_ns = 0, end_ns = 0;  // device_time.hpp
};

class RanPieces {
 public:
  void note(bool on) { on_ = on; }
  void add(const RanPiece& piece) {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    ran_.push_back(piece);
  }
  std::vector<RanPiece> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ran_, {});
  }

 private:
  std::atomic<bool> on_ = false;
  std::mutex mutex_;
  std::vector<RanPiece> ran_;
};

class Machine {
 public:
  Machine(int index, std::uint64_t seed, std::size_t memory_limit = 0);  // 0: none
  ~Machine();
  using Work = std::function<void()>;
  // `work` touches the device's memory by host pointers, and nothing else that may change before it runs. Error (bug)
  // that names both if it touches memory beside other work, which no event orders. From then on no device of the
  // process runs what may take an index from there, until it is seeded anew: it would read and write anywhere.
  void enqueue(int stream, Touched touched, Work work);
  void enqueue(int stream, Work work) { enqueue(stream, {}, std::move(work)); }
  std::shared_ptr<const Mark> record(int stream);
  void wait_for(int stream, std::shared_ptr<const Mark> mark);
  // The stream stands still until the mark is reached, which another device's work may set, or `ended` is true.
  void hold(int stream, std::shared_ptr<const Mark> mark, Ended ended);

  bool idle(int stream);               // it has done all that it was given; if so, the caller knows it
  static bool sees(const Mark& mark);  // it is reached; if so, the caller knows it
  // The calling thread runs work until the mark is reached. An exception of work before the mark is thrown here, with
  // the names of device, stream and op, to one host of each device that waited for that work. Until then the device
  // skips what comes after that work, and no other work.
  void reach(const Mark& mark);
  static bool work_towards(const Mark& mark);  // as far as it goes now, on all devices; whether any ran
  void run_behind(int stream, const Touched& touched, const Work& work);  // and waits for it
  void run_behind(int stream, const Work& work) { run_behind(stream, {}, work); }
  // Runs what is left, whose errors are dropped, and begins another order and other peaks of memory.
  void reseed(std::uint64_t seed);

  c10::DataPtr allocate(std::size_t bytes, int stream);
  void use(const c10::DataPtr& data, int stream);
  void use_until(const c10::DataPtr& data, std::shared_ptr<const Mark> mark);
  void finish();  // runs all that it was given
  void trim();    // the same, then the memory of freed blocks goes back to the system
  Memory& memory() { return memory_; }
  RanPieces& ran() { return ran_; }

 private:
  struct Piece {
    Work work;
    const char* op = "";
    const std::string* work_name = nullptr;
    bool exchanges = false;
    int threads = 1;  // of torch's ops: their sums depend on it
    std::int64_t given_ns = 0;
    std::shared_ptr<Mark> mark;          // reached here
    std::shared_ptr<const Mark> behind;  // waits for it
    Ended ended;                         // or for this
    bool waits() const { return behind && !behind->reached() && !(ended && *ended); }
  };
  class Session;
  Clock& known(int stream);  // with the lock, as all of these
  std::string touch(int stream, const Touched& touched, const Clock& also_known = {});
  bool is_stopped() const;
  static void stop_all();
  std::shared_ptr<const Mark> mark_here(int stream);
  void push(int stream, Piece piece);
  void run_early();
  static void run_until(const Mark& mark);
  bool run_one(int wanted, std::shared_ptr<const Mark>& missing);
  int choose(int wanted, std::shared_ptr<const Mark>& missing);
  void run(Piece& piece, int stream);
  static std::exception_ptr named(std::exception_ptr error, const Given& given);
  void poison_block(const Block& block);
  static void release(void* block);
  void take_back();

  const int index_;
  Memory memory_;
  std::mutex running_, queues_mutex_;  // the former by the thread that runs work
  std::deque<Piece> queues_[num_streams];
  int running_stream_ = -1;  // of the piece that runs
  std::atomic<std::size_t> pending_ = 0;
  Clock known_[num_streams];                        // what the next piece of each comes behind
  std::shared_ptr<Failure> failures_[num_streams];  // that the next piece of each comes behind
  std::vector<Block*> freed_;                       // that other streams may still use
  std::int64_t times_ns_[num_streams] = {};         // device_time.hpp; of the thread that runs work
  RanPieces ran_;
  std::string freed_too_early_;  // an error that the next call of enqueue() tells
  RandomStream order_;
  std::uint64_t drawn_ = 0;
};

// The device of the process with this index; made when it is asked for, and never destroyed.
Machine& machine(int index);

}  // namespace d9d::delayed
