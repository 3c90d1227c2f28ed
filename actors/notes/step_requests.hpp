#pragma once
// What actors ask of the job: to go back to an earlier checkpoint, to make texts, to end, to change the
// learning rate. Rank 0 gets the requests and adds them to the wishes that a step sums over all ranks, so
// all ranks read the same requests at the same step. The Trainer's bookkeeping.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/notes/rank_wishes.hpp"
#include "messages/actor_id.hpp"
#include "runtime/text/text_request.hpp"

namespace d9d {

// A checkpoint that a rank has taken part in.
struct TakenCheckpoint {
  std::uint64_t step = 0;
  std::vector<std::uint64_t> skipped = {0};  // how often each update of its steps was not made
};

struct RequestedTexts {
  std::uint64_t number = 0;  // from 1
  ActorId asker;
  TextRequest request;
};

// Texts that the Loader of this rank waits for.
struct WantedRollouts {
  std::uint64_t step = 0;   // that trains on them
  std::uint64_t after = 0;  // steps done when they are written
  TextRequest request;
};

struct RollBackLimits {
  std::uint64_t count_max = 0;  // in the whole job
  std::uint64_t before = 0;     // how many of them came before the resumed checkpoint
  std::uint64_t kept = 0;       // how many newest checkpoints stay on disk; 0: all
};

class StepRequests {
 public:
  // `lr_factor`: from the resumed checkpoint.
  explicit StepRequests(RollBackLimits limits, double lr_factor = 1)
      : limits_(limits), roll_backs_(limits.before), lr_factor_(lr_factor) {}

  // Called on every rank when it copies its state or resumes, in the order of the steps.
  void taken(TakenCheckpoint checkpoint);
  // Called on rank 0 when a checkpoint is on disk.
  void committed(std::uint64_t step);

  // Asks rank 0 to go back to the newest checkpoint that is older than `step`. Has no effect for a
  // step that was undone already. Environment errors: there is no such checkpoint, or the job has
  // gone back too often.
  void roll_back(std::uint64_t step);
  // Rank 0 takes a number for a request for texts.
  std::uint64_t next_number() { return ++numbered_; }
  void add(RequestedTexts texts) { texts_[texts.number] = std::move(texts); }
  // Called on every rank at a start: requests that the run before has not served. All ranks had agreed on the first
  // `due` of them.
  void take_over(std::vector<RequestedTexts> texts, std::uint64_t due, bool is_rank_0);
  // Asks rank 0 to end the job; the first reason counts. Its bytes that are no UTF-8 become U+FFFD.
  void end(const std::string& reason);
  void scale_learning_rate(double factor) { wanted_lr_factor_ = asked_lr_factor_ = factor; }

  // Called on every rank: adds requests to the wishes; only rank 0 has any.
  void add_to(RankWishes& wishes);
  // Called on every rank: reads the requests from the summed wishes.
  void agree(const RankWishes& wishes);

  // The checkpoint that all ranks agreed to restore and have not restored yet.
  std::optional<TakenCheckpoint> restore() const { return restore_; }
  void restored(std::uint64_t step);
  bool texts_due() const { return made_ < agreed_; }
  // The next request to serve; null: it has not reached this rank yet.
  const RequestedTexts* next_texts() const;
  void texts_made();
  // What is not served, in order, and on how many of them all ranks have agreed; rank 0.
  std::vector<RequestedTexts> unserved() const;
  std::uint64_t num_due() const { return agreed_ - made_; }

  std::uint64_t roll_backs() const { return roll_backs_; }
  bool ends() const { return ends_; }
  const std::string& why_it_ends() const { return why_it_ends_; }  // rank 0
  double lr_factor() const { return lr_factor_; }                  // for the next step
  // The factor that was asked for last; all ranks may not have agreed on it yet.
  double asked_lr_factor() const { return asked_lr_factor_.value_or(lr_factor_); }

 private:
  const RollBackLimits limits_;
  std::map<std::uint64_t, TakenCheckpoint> taken_;  // by step
  std::deque<std::uint64_t> committed_;             // steps, ascending; rank 0
  std::optional<std::uint64_t> wanted_;             // step of the checkpoint to go back to; rank 0
  std::optional<TakenCheckpoint> restore_;
  std::uint64_t gone_ = 0;  // steps up to this one were undone, or are older
  std::uint64_t roll_backs_;
  std::uint64_t numbered_ = 0, agreed_ = 0, made_ = 0;
  std::map<std::uint64_t, RequestedTexts> texts_;  // by number
  std::string why_it_ends_;
  bool ends_ = false;
  std::optional<double> wanted_lr_factor_, asked_lr_factor_;  // rank 0: in no totals yet; asked for last
  double lr_factor_;
};

}  // namespace d9d
