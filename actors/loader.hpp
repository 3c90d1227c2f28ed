#pragma once
// Loader: makes the microbatches of one rank ahead of its Trainer: it reads samples and calls the task's
// build_forward_inputs. Own thread: it reads files and runs users' code. One per rank. Parent: Node.
// hears LoadBatches    says Ready BatchReady DataEnded

#include <functional>
#include <memory>

#include "actors/core/actor.hpp"
#include "messages/data.capnp.h"
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

 private:
  bool load_next();  // false: the data has ended

  MakeFeed make_feed_;
  std::unique_ptr<MicrobatchFeed> feed_;
  std::uint64_t next_step_ = 0;  // 0: nothing was asked for yet
};

}  // namespace d9d
