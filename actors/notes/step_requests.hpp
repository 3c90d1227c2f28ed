#pragma once
// What actors ask of the job: to go back to an earlier checkpoint, to make texts, to end, and another learning rate. Rank 0 is told and adds what
// is due to the wishes that a step sums over all ranks, so that all of them read the same answer at the same
// step. It is the Trainer's bookkeeping.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "messages/actor_id.hpp"
#include "runtime/text/text_request.hpp"
#include "actors/notes/rank_wishes.hpp"

namespace d9d {

// A checkpoint that a rank has taken part in.
struct TakenCheckpoint {
  std::uint64_t step = 0;
  std::uint64_t skipped = 0;  // of its steps: those that made no update
};

struct RequestedTexts {
  std::uint64_t number = 0;  // from 1
  ActorId asker;
  TextRequest request;
};

struct RollBackLimits {
  std::uint64_t count_max = 0;  // of the job
  std::uint64_t before = 0;     // of which so many were made before the checkpoint that is resumed
  std::uint64_t kept = 0;       // so many newest checkpoints stay on disk; 0: all
};

class StepRequests {
 public:
  // `lr_factor`: of the checkpoint that is resumed.
  explicit StepRequests(RollBackLimits limits, double lr_factor = 1)
      : limits_(limits), roll_backs_(limits.before), lr_factor_(lr_factor) {}

  // On every rank when it copies its state, or resumes; in the order of the steps.
  void taken(TakenCheckpoint checkpoint);
  // On rank 0, when a checkpoint is on disk.
  void committed(std::uint64_t step);

  // Rank 0 is asked to go back to the newest checkpoint of before `step`. What is asked again about steps that are
  // gone by then has no effect. Environment errors: none of them is there, or the job has gone back too often.
  void roll_back(std::uint64_t step);
  // Rank 0 numbers it.
  std::uint64_t next_number() { return ++numbered_; }
  void add(RequestedTexts texts) { texts_[texts.number] = std::move(texts); }
  // Rank 0 is asked to end the job; the first reason counts.
  void end(const std::string& reason);
  void scale_learning_rate(double factor) { wanted_lr_factor_ = asked_lr_factor_ = factor; }

  // Rank 0 adds what is due.
  void add_to(RankWishes& wishes);
  // On every rank, of the sums.
  void agree(const RankWishes& wishes);

  // Agreed on, and still to be done. `done` at the end of `step`.
  std::optional<TakenCheckpoint> restore() const { return restore_; }
  void restored(std::uint64_t step);
  bool texts_due() const { return made_ < agreed_; }
  // The next ones due; nothing: they are on their way to this rank.
  const RequestedTexts* next_texts() const;
  void texts_made();

  std::uint64_t roll_backs() const { return roll_backs_; }
  bool ends() const { return ends_; }
  const std::string& why_it_ends() const { return why_it_ends_; }  // rank 0
  double lr_factor() const { return lr_factor_; }                  // of the next step's learning rate
  // Asked for last, and perhaps not agreed on yet.
  double asked_lr_factor() const { return asked_lr_factor_.value_or(lr_factor_); }

 private:
  const RollBackLimits limits_;
  std::map<std::uint64_t, TakenCheckpoint> taken_;  // by step
  std::deque<std::uint64_t> committed_;             // steps, ascending; rank 0
  std::optional<std::uint64_t> wanted_;             // checkpoint to go back to; rank 0
  std::optional<TakenCheckpoint> restore_;
  std::uint64_t gone_ = 0;  // steps up to here were undone, or are older than that
  std::uint64_t roll_backs_;
  std::uint64_t numbered_ = 0, agreed_ = 0, made_ = 0;
  std::map<std::uint64_t, RequestedTexts> texts_;  // by number
  std::string why_it_ends_;
  bool ends_ = false;
  std::optional<double> wanted_lr_factor_, asked_lr_factor_;  // rank 0: still to be said to all; the last one
  double lr_factor_;
};

}  // namespace d9d
