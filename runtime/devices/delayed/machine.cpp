#include "runtime/devices/delayed/machine.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/device/work_name.hpp"
#include "runtime/devices/delayed/device_time.hpp"
#include "runtime/devices/delayed/stream_waits.hpp"

namespace d9d::delayed {
namespace {

constexpr std::size_t pending_max = 4096;
constexpr double early_share = 1.0 / 16;  // of calls that run a piece of work at once
constexpr std::chrono::microseconds pause_min{50}, pause_max{2000};

bool& runs_work() {
  thread_local bool of_thread = false;
  return of_thread;
}

std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  if (given == nullptr || *given == '\0') return otherwise;
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(given, &end, 10);
  D9D_REQUIRE(*end == '\0', "{} is \"{}\", expected a number", name, given);
  return number;
}

Machine* machine_of_process(int index) {
  return new Machine(index, number_in_environment("D9D_DELAYED_SEED", 1),
                     number_in_environment("D9D_DELAYED_MEMORY", 0) << 20);
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

namespace {

// Of the process, a bit for each device: work of none may go on behind an access that no event orders.
constinit std::atomic<std::uint32_t> stopped = 0;

}  // namespace

Machine::Machine(int index, std::uint64_t seed, std::size_t memory_limit)
    : index_(index), memory_(memory_limit), order_(seed, "delayed:" + std::to_string(index)) {
  stopped &= ~(1U << index);
}

Machine::~Machine() {
  const auto [begin, end] = memory_.addresses();
  OrderCheck::of_process().forget(begin, end);
}

void Machine::reseed(std::uint64_t seed) {
  for (int stream = 0; stream < num_streams; ++stream) {
    try {
      reach(*record(stream));
    } catch (const std::exception&) {  // of those who are gone
    }
  }
  const std::lock_guard running(running_);
  const std::lock_guard lock(queues_mutex_);
  order_ = RandomStream(seed, "delayed:" + std::to_string(index_));
  drawn_ = 0;
  memory_.forget_peaks();
  freed_too_early_.clear();
  stopped &= ~(1U << index_);
}

void Machine::finish() {
  for (int stream = 0; stream < num_streams; ++stream) reach(*record(stream));
}

// What the stream's next piece comes behind; what the calling thread knows has run already.
Clock& Machine::known(int stream) {
  known_[stream].join(clock_of_host());
  return known_[stream];
}

std::string Machine::touch(int stream, const Touched& touched, const Clock& also_known) {
  static constinit std::atomic<std::uint64_t> last =
      0;  // of the process: a machine may take another one's index
  const Given given{stream_place(index_, stream), ++last, touched.op, &WorkName::current()};
  Clock& known = this->known(stream);
  known.at(given.place) = given.number;
  Clock behind = known;
  behind.join(also_known);
  return OrderCheck::of_process().touch(given, behind, touched.memory);
}

void Machine::stop_all() {
  stopped = ~0U;
}

bool Machine::is_stopped() const {
  return (stopped >> index_ & 1U) != 0;
}

void Machine::push(int stream, Piece piece) {
  piece.given_ns = host_time_ns();
  queues_[stream].push_back(std::move(piece));
  ++pending_;
}

void Machine::enqueue(int stream, Touched touched, Work work) {
  Piece piece;
  piece.work = std::move(work);
  piece.op = touched.op;
  piece.exchanges = touched.exchanges;
  piece.work_name = &WorkName::current();
  piece.threads = at::get_num_threads();
  {
    const std::lock_guard lock(queues_mutex_);
    std::string error = std::exchange(freed_too_early_, {});
    if (error.empty()) error = touch(stream, touched);
    if (!error.empty()) stop_all();
    D9D_CHECK(error.empty(), "{}", error);
    push(stream, std::move(piece));
  }
  run_early();
}

std::shared_ptr<const Mark> Machine::record(int stream) {
  const std::lock_guard lock(queues_mutex_);
  return mark_here(stream);
}

std::shared_ptr<const Mark> Machine::mark_here(int stream) {
  auto mark = std::make_shared<Mark>(*this, stream, known(stream));
  Piece piece;
  piece.mark = mark;
  push(stream, std::move(piece));
  return mark;
}

// What the stream or the caller knows to come before is no wait: it adds no order.
void Machine::wait_for(int stream, std::shared_ptr<const Mark> mark) {
  const std::lock_guard lock(queues_mutex_);
  Clock& known = this->known(stream);
  if (known.covers(mark->known_)) return;
  const int waits = stream_place(index_, stream),
            for_place = stream_place(mark->machine_.index_, mark->stream_);
  if (StreamWaits::skips_next(waits, for_place)) return;
  known.join(mark->known_);
  Piece piece;
  piece.behind = std::move(mark);
  push(stream, std::move(piece));
}

// Adds no order to what is known: each rank's part of a collective touches its own memory only.
void Machine::hold(int stream, std::shared_ptr<const Mark> mark, Ended ended) {
  const std::lock_guard lock(queues_mutex_);
  static_cast<void>(touch(stream, {.op = "a hold"}));  // a wait for what comes behind it is one
  Piece piece;
  piece.behind = std::move(mark);
  piece.ended = std::move(ended);
  push(stream, std::move(piece));
}

bool Machine::idle(int stream) {
  const std::lock_guard lock(queues_mutex_);
  const bool idle = queues_[stream].empty() && running_stream_ != stream;
  if (idle) clock_of_host().join(known_[stream]);
  return idle;
}

bool Machine::sees(const Mark& mark) {
  if (!mark.reached() || is_yet_to_come(mark.reached_ns())) return false;
  clock_of_host().join(mark.known_);
  return true;
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
bool Machine::work_towards(const Mark& mark) {
  bool ran = false;
  std::shared_ptr<const Mark> missing;
  const Mark* wanted = &mark;
  for (int hops = 0; hops < max_devices; ++hops) {
    std::shared_ptr<const Mark> next;
    {
      const Session session(wanted->machine_);
      while (!wanted->reached() && wanted->machine_.run_one(wanted->stream_, next)) ran = true;
    }
    if (wanted->reached() || !next) break;
    missing = std::move(next);
    wanted = missing.get();
  }
  return ran;
}

void Machine::run_until(const Mark& mark) {
  D9D_CHECK(!runs_work(), "work of a delayed device waits for a device");
  for (auto pause = pause_min; !mark.reached();) {
    if (work_towards(mark)) pause = pause_min;
    if (mark.reached()) break;
    // A rank that has not called its collective yet: nothing tells when it will.
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, pause_max);
  }
}

void Machine::reach(const Mark& mark) {
  run_until(mark);
  wait_for_planted(mark.reached_ns());
  clock_of_host().join(mark.known_);
  const std::uint32_t own = 1U << mark.machine_.index_;
  if (mark.failure_ && (mark.failure_->told.fetch_or(own) & own) == 0)
    std::rethrow_exception(mark.failure_->error);
}

void Machine::run_behind(int stream, const Touched& touched, const Work& work) {
  enqueue(stream, touched, std::cref(work));
  reach(*record(stream));
}

// False if all streams wait for other devices; `missing` is then a mark that the stream waits for.
bool Machine::run_one(int wanted, std::shared_ptr<const Mark>& missing) {
  Piece piece;
  int stream = -1;
  {
    const std::lock_guard lock(queues_mutex_);
    stream = choose(wanted, missing);
    if (stream < 0) return false;
    piece = std::move(queues_[stream].front());
    queues_[stream].pop_front();
    --pending_;
    running_stream_ = stream;
  }
  run(piece, stream);
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

void Machine::run(Piece& piece, int stream) {
  std::shared_ptr<Failure>& failure = failures_[stream];  // of the thread that runs work
  const auto is_open = [&](const auto& other) { return other && (other->told >> index_ & 1U) == 0; };
  if (!is_open(failure)) failure = nullptr;
  if (!failure && piece.behind && is_open(piece.behind->failure_)) failure = piece.behind->failure_;
  std::int64_t& time = times_ns_[stream];
  time = std::max({time, piece.given_ns, piece.behind ? piece.behind->reached_ns() : 0});
  const bool left_out = is_stopped() && *piece.op != '\0' && !piece.exchanges;
  if (piece.work && !failure && !left_out) {
    const Given given{stream_place(index_, stream), 0, piece.op, piece.work_name};
    const TimedPiece timed(time, given);
    if (at::get_num_threads() != piece.threads) at::set_num_threads(piece.threads);
    try {
      piece.work();
    } catch (...) {
      failure = std::make_shared<Failure>();
      failure->error = named(std::current_exception(), given);
    }
    const std::int64_t begin = std::exchange(time, timed.end_ns());
    if (piece.work_name != nullptr && *piece.op != '\0') ran_.add({piece.op, stream, begin, time});
  }
  if (!piece.mark) return;
  piece.mark->failure_ = failure;
  piece.mark->set(time);
}

// With the op's place in front, or behind for errors of torch, which keep their type.
std::exception_ptr Machine::named(std::exception_ptr error, const Given& given) {
  try {
    std::rethrow_exception(error);
  } catch (c10::Error& of_torch) {
    of_torch.add_context(text_of(given));
    return error;
  } catch (...) {
    const Caught caught = describe_current_exception();
    return std::make_exception_ptr(Error(caught.kind, text_of(given) + ": " + caught.what));
  }
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
  if (place.load() == nullptr) place.store(machine_of_process(index), std::memory_order_release);
  return *place.load();
}

Current& current() {
  thread_local Current of_thread;
  return of_thread;
}

}  // namespace d9d::delayed
