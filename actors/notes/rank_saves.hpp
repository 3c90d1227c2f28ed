#pragma once
// The checkpoints of a rank. One is asked for or not, then due, then in flight; at most one is in flight, and while
// another one is due the rank begins no step. The Trainer's bookkeeping.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace d9d {

// A checkpoint as it was when its step ended.
struct DueSave {
  std::uint64_t step = 0, next_sample = 0, tokens_total = 0;
  std::vector<std::uint64_t> skipped{};  // how often each update of a step was not made
  std::string stream_state{};            // JSON; empty: none
};

class RankSaves {
 public:
  // `on`: the job writes checkpoints.
  explicit RankSaves(bool on) : on_(on) {}

  // One follows the step in work, whatever the period says. Has no effect if they are off.
  void ask() { asked_ = on_; }
  // Whether one was asked for since the last call.
  bool take_asked() { return std::exchange(asked_, false); }
  void add(DueSave save) { due_ = std::move(save); }
  // Returns the due one, which is then in flight. Null: none is due, or the one before is still in flight.
  const DueSave* begin() {
    if (!due_ || in_flight_) return nullptr;
    in_flight_ = std::exchange(due_, std::nullopt);
    return &*in_flight_;
  }
  // The one in flight. Null if there is none, or if it is not that of this step.
  const DueSave* in_flight() const { return in_flight_ ? &*in_flight_ : nullptr; }
  const DueSave* in_flight(std::uint64_t step) const {
    return in_flight_ && in_flight_->step == step ? &*in_flight_ : nullptr;
  }
  void conclude() { in_flight_.reset(); }

  bool is_due() const { return due_.has_value(); }
  bool is_saving() const { return is_due() || in_flight(); }

 private:
  const bool on_;
  bool asked_ = false;
  std::optional<DueSave> due_, in_flight_;
};

}  // namespace d9d
