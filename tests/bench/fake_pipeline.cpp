#include "tests/bench/fake_pipeline.hpp"

#include <sys/prctl.h>
#include <time.h>

#include <cerrno>
#include <map>
#include <string>

#include "runtime/base/clock.hpp"
#include "runtime/base/error.hpp"
#include "tests/support/idle_rank_worker.hpp"

namespace d9d {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

struct EmptyParcel final : Parcel {};

// A sleeper is woken 50 to 100 us late, which would be charged to the actors: it sleeps to shortly before the
// end and then watches the clock, as compute would keep its core busy to the end.
constexpr std::int64_t watched_ns = 100'000;  // ns

void sleep_until(std::int64_t until_ns, const Clock& clock) {
  const std::int64_t wake_ns = until_ns - watched_ns;
  const timespec wake{.tv_sec = wake_ns / second_ns, .tv_nsec = wake_ns % second_ns};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) == EINTR) {
  }
  while (clock.now_ns() < until_ns) {
  }
}

class SleepStage final : public test::IdleRankWorker {
 public:
  explicit SleepStage(SleepStageOptions options)
      : IdleRankWorker(make_cursor(options.order, options.rank, options.extra_activations), options.program),
        options_(std::move(options)) {}

  // The kernel may wake a sleeper 50 us late to save power; that is not what is measured here.
  PreparedRank prepare() override {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    return {};
  }

  void begin(const PassRequest& request) override {
    for (const Ticket ticket : request.microbatches) options_.table->take(ticket);
    step_ = request.step;
    activations_.clear();
    gradients_.clear();
    IdleRankWorker::begin(request);
  }
  void put(const StageTensor& tensor) override {
    options_.table->take(tensor.ticket);
    (tensor.gradient ? gradients_ : activations_)[{tensor.stage, tensor.microbatch}] = true;
  }
  std::vector<StageTensor> run(const Instruction& instruction) override;
  PassResult finish() override { return {{.loss_sum = 1, .weight_sum = 1, .norm_share = 1}}; }

 private:
  using Place = std::pair<int, int>;  // stage, microbatch
  const Topology& topology() const { return program().topology; }
  bool ready(const Action& action) const override {
    const Place place{action.stage, action.microbatch};
    if (action.kind == ActionKind::forward)
      return topology().is_first(action.stage) || activations_.contains(place);
    if (action.kind == ActionKind::backward_weight) return true;
    return topology().is_last(action.stage) || gradients_.contains(place);
  }
  void pass_on(const Action& action, std::vector<StageTensor>& outputs);

  const SleepStageOptions options_;
  const SystemClock clock_;
  std::uint64_t step_ = 0;
  std::map<Place, bool> activations_, gradients_;
};

std::vector<StageTensor> SleepStage::run(const Instruction& instruction) {
  const std::int64_t begin = clock_.now_ns();
  double seconds = 0;
  for (const Action& action : instruction.parts) seconds += options_.duration(action);
  const auto asked = static_cast<std::int64_t>(seconds * second_ns);
  sleep_until(begin + asked, clock_);
  const std::int64_t end = clock_.now_ns();
  options_.log->add(step_, options_.rank, {instruction, begin, end, end - begin - asked});
  std::vector<StageTensor> outputs;
  for (const Action& action : instruction.parts) pass_on(action, outputs);
  return outputs;
}

void SleepStage::pass_on(const Action& action, std::vector<StageTensor>& outputs) {
  const bool forward = action.kind == ActionKind::forward;
  if (action.kind == ActionKind::backward_weight) return;
  if (forward ? topology().is_last(action.stage) : topology().is_first(action.stage)) return;
  const int receiver = action.stage + (forward ? 1 : -1);
  if (topology().rank_of(receiver) == options_.rank) {
    (forward ? activations_ : gradients_)[{receiver, action.microbatch}] = true;
    return;
  }
  const Ticket ticket = options_.table->put(std::make_unique<EmptyParcel>());
  outputs.push_back({!forward, receiver, action.microbatch, ticket});
}

class MeetingWorker final : public CollectiveWorker {
 public:
  explicit MeetingWorker(MeetingPlace& place) : place_(place) {}
  void prepare() override {}
  void close() override {}
  const std::string& name() const override { return name_; }
  const char* reduction() const override { return "all_reduce"; }
  double reduce_bucket(int bucket) override {
    D9D_CHECK(false, "a sleeping stage has no bucket {}", bucket);
    return 0;
  }
  std::uint64_t bucket_bytes(int /*bucket*/) const override { return 0; }
  void reduce_values(std::vector<double>& values, ReduceOp /*operation*/) override { place_.sum(values); }

 private:
  const std::string name_ = "meeting";
  MeetingPlace& place_;
};

class EmptyFeed final : public MicrobatchFeed {
 public:
  EmptyFeed(int microbatches, TensorTable& table) : microbatches_(microbatches), table_(table) {}
  std::optional<StepInputs> load(std::uint64_t step) override {
    StepInputs inputs{.next_sample = step};
    for (int i = 0; i < microbatches_; ++i) {
      inputs.microbatches.push_back(table_.put(std::make_unique<EmptyParcel>()));
    }
    return inputs;
  }

 private:
  const int microbatches_;
  TensorTable& table_;
};

}  // namespace

void SleepLog::add(std::uint64_t step, int rank, SleptAction action) {
  const std::lock_guard lock(mutex_);
  if (steps_.size() < step) steps_.resize(step);
  steps_[step - 1][rank].push_back(std::move(action));
}

std::vector<SleepLog::Step> SleepLog::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

void MeetingPlace::sum(std::vector<double>& values) {
  std::unique_lock lock(mutex_);
  if (arrived_ == 0) sum_.assign(values.size(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) sum_[i] += values[i];
  if (++arrived_ == ranks_) {
    arrived_ = 0;
    result_ = sum_;
    ++round_;
    met_.notify_all();
  } else {
    met_.wait(lock, [this, round = round_] { return round_ != round; });
  }
  values = result_;
}

std::unique_ptr<RankWorker> make_sleep_stage(SleepStageOptions options) {
  return std::make_unique<SleepStage>(std::move(options));
}
std::shared_ptr<CollectiveWorker> make_meeting_worker(MeetingPlace& place) {
  return std::make_shared<MeetingWorker>(place);
}
std::unique_ptr<MicrobatchFeed> make_empty_feed(int microbatches, TensorTable& table) {
  return std::make_unique<EmptyFeed>(microbatches, table);
}

}  // namespace d9d
