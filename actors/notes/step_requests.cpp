#include "actors/notes/step_requests.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"

namespace d9d {

void StepRequests::taken(TakenCheckpoint checkpoint) {
  taken_[checkpoint.step] = checkpoint;
}

// If the job went back past this step while the checkpoint was written, the checkpoint is of
// undone steps: ignore it.
void StepRequests::committed(std::uint64_t step) {
  if (!taken_.contains(step)) return;
  committed_.push_back(step);
  if (limits_.kept > 0 && committed_.size() > limits_.kept) committed_.pop_front();
}

void StepRequests::roll_back(std::uint64_t step) {
  if (step <= gone_) return;
  const auto newest =
      std::find_if(committed_.rbegin(), committed_.rend(), [&](std::uint64_t saved) { return saved < step; });
  if (newest == committed_.rend()) {
    throw Error(
        ErrorKind::environment,
        fmt::format("an actor asks for the state of before step {}, and no checkpoint of then is there; "
                    "lower trainer.checkpointing.period_steps, or raise num_to_keep",
                    step));
  }
  if (roll_backs_ >= limits_.count_max) {
    throw Error(
        ErrorKind::environment,
        fmt::format("an actor asks for the state of before step {}, and the job has gone back {} already "
                    "(trainer.checkpointing.roll_backs_max): lower the learning rate, or look at the data",
                    step, counted(roll_backs_, "time")));
  }
  wanted_ = std::min(*newest, wanted_.value_or(*newest));
}

// The reason goes into checkpoints and run.jsonl, which hold UTF-8 alone.
void StepRequests::end(const std::string& reason) {
  if (!why_it_ends_.empty()) return;
  why_it_ends_ = parse_json<nlohmann::json>(shown_json(nlohmann::json(reason))).get<std::string>();
}

void StepRequests::add_to(RankWishes& wishes) {
  if (!why_it_ends_.empty()) wishes.ends = 1;
  if (const auto factor = std::exchange(wanted_lr_factor_, std::nullopt)) {
    wishes.lr_changes = 1;
    wishes.lr_factor = *factor;
  }
  if (wanted_) wishes.roll_back = static_cast<double>(*wanted_ + 1);
  wishes.texts = static_cast<double>(numbered_);
}

void StepRequests::agree(const RankWishes& wishes) {
  agreed_ = static_cast<std::uint64_t>(wishes.texts);
  ends_ = wishes.ends > 0;
  if (wishes.lr_changes > 0) lr_factor_ = wishes.lr_factor;
  if (wishes.roll_back == 0) return;
  const auto found = taken_.find(static_cast<std::uint64_t>(wishes.roll_back) - 1);
  D9D_CHECK(found != taken_.end(), "the job goes back to step {}, but this rank has no copy of that step",
            wishes.roll_back - 1);
  restore_ = found->second;
}

// Forgets checkpoints that are newer than the restored one, because they hold the steps that went wrong.
void StepRequests::restored(std::uint64_t step) {
  ++roll_backs_;
  gone_ = step;
  std::erase_if(committed_, [&](std::uint64_t saved) { return saved > restore_->step; });
  std::erase_if(taken_, [&](const auto& each) { return each.first > restore_->step; });
  restore_.reset();
  wanted_.reset();
}

const RequestedTexts* StepRequests::next_texts() const {
  const auto found = texts_.find(made_ + 1);
  return found == texts_.end() ? nullptr : &found->second;
}

void StepRequests::texts_made() {
  texts_.erase(++made_);
}

// Only rank 0 counts, because ranks sum their counts.
void StepRequests::take_over(std::vector<RequestedTexts> texts, std::uint64_t due, bool is_rank_0) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i].number = i + 1;
    texts_[i + 1] = std::move(texts[i]);
  }
  if (is_rank_0) numbered_ = texts.size();
  agreed_ = due;
}

std::vector<RequestedTexts> StepRequests::unserved() const {
  std::vector<RequestedTexts> texts;
  for (const auto& [number, each] : texts_) texts.push_back(each);
  return texts;
}

}  // namespace d9d
