#pragma once
// Loader: makes the microbatches of one rank ahead of its Trainer: it reads samples and calls the task's
// build_forward_inputs. Own thread: it reads files and runs users' code. One per rank. Parent: Node.
// Where the samples are made of texts of the model, it asks the Trainer for those of a step, and waits for them between
// messages, never inside of one: so it hears when the job ends.
// hears LoadBatches RolloutsWritten    says Ready BatchReady DataEnded WriteRollouts

#include <functional>
#include <memory>
#include <optional>

#include "actors/core/actor.hpp"
#include "messages/data.capnp.h"
#include "messages/texts.capnp.h"
#include "runtime/rank/feed/microbatch_feed.hpp"

namespace d9d {

class Loader final : public Actor {
 public:
  using MakeFeed = std::function<std::unique_ptr<MicrobatchFeed>()>;
  // `make_feed` runs on the Loader's thread: it may open and index files.
  Loader(World& world, MakeFeed make_feed);
  void behavior(Handlers& handlers) override;
  void started() override;

  void load_batches(wire::LoadBatches::Reader message);
  void rollouts_written(wire::RolloutsWritten::Reader message);

 private:
  void advance();
  bool load_next();               // false: the data has ended
  bool load_next(RolloutNeeds&);  // false: texts are missing
  void ask_for_texts(RolloutNeeds& needs);
  void tell_batch(const StepInputs& inputs);
  void tell_end();

  MakeFeed make_feed_;
  std::unique_ptr<MicrobatchFeed> feed_;
  ActorId trainer_;
  std::uint64_t next_step_ = 0;     // 0: nothing was asked for yet
  std::uint64_t first_step_ = 0;    // of this start
  std::uint32_t credits_ = 0;       // for steps from next_step_ on
  std::optional<StepInputs> made_;  // of next_step_, while texts of later steps are missing
  Texts texts_;                     // of a step, while further ones of it come
  bool cancelled_ = false;          // no texts come any more
};

}  // namespace d9d
