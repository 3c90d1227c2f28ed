#pragma once
// Loader: reads the batches of one data rank ahead of its trainer, as far as credits go. Own thread: it reads
// files. One per rank. Parent: Node. hears LoadBatches    says Ready BatchReady DataEnded

#include <functional>
#include <memory>

#include "actors/core/actor.hpp"
#include "messages/data.capnp.h"
#include "runtime/rank/batch_feed.hpp"

namespace d9d {

class Loader final : public Actor {
 public:
  // `make_feed` runs on the loader's own thread: it may open and index files.
  Loader(World& world, std::function<std::unique_ptr<BatchFeed>()> make_feed);
  void behavior(Handlers& handlers) override;
  void started() override;

  void load_batches(wire::LoadBatches::Reader message);

 private:
  std::function<std::unique_ptr<BatchFeed>()> make_feed_;
  std::unique_ptr<BatchFeed> feed_;
  std::uint64_t next_step_ = 0;
};

}  // namespace d9d
