#include "actors/tensor_lane.hpp"

#include <gtest/gtest.h>

#include "tests/support/actor_world.hpp"

namespace d9d {
namespace {

using test::ActorWorld;

const ActorId sender_id = lane_id(0, 1, LaneEnd::sender);
const ActorId receiver_id = lane_id(0, 1, LaneEnd::receiver);
constexpr ActorId executor_id{Role::rank_executor, 1};

// A wire that keeps what was put on it.
class Wire final : public ParcelWire {
 public:
  Wire(std::vector<std::string>& calls, int& open_wires) : calls_(calls), open_wires_(open_wires) {
    ++open_wires_;
  }
  ~Wire() override { --open_wires_; }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  std::vector<TransferTensor> open(Ticket ticket) override {
    calls_.push_back("open " + std::to_string(ticket.slot));
    return {{"hidden_states", 6, {2, 3}, true}};
  }
  void send_opened() override { calls_.push_back("send"); }
  Ticket receive(const std::vector<TransferTensor>& announced) override {
    calls_.push_back("receive " + announced.at(0).name);
    received = announced;
    return {42, 1};
  }
  std::vector<TransferTensor> received;

 private:
  std::vector<std::string>& calls_;
  int& open_wires_;
};

class TensorLaneTest : public ::testing::Test {
 protected:
  TensorLaneTest() {
    for (const ActorId id : {sender_id, receiver_id}) {
      world.play<TensorLane>(id, TensorLaneOptions{0, 1, [this] {
                                                     auto wire = std::make_unique<Wire>(calls, open_wires);
                                                     last = wire.get();
                                                     return wire;
                                                   }});
    }
  }
  void send(bool gradient) {
    world.say<wire::SendTensors>(sender_id, [&](wire::SendTensors::Builder message) {
      message.setStep(3);
      message.setStage(1);
      message.setMicrobatch(2);
      message.setTicket(Ticket{7, 1}.packed());
      message.setGradient(gradient);
    });
  }
  std::vector<std::string> calls;
  int open_wires = 0;
  Wire* last = nullptr;  // the receiver's
  ActorWorld world;
};

TEST_F(TensorLaneTest, WhatIsSentHereIsAnnouncedAndReceivedThere) {
  send(false);

  EXPECT_EQ(calls, (std::vector<std::string>{"open 7", "send", "receive hidden_states"}));
  EXPECT_EQ(last->received, (std::vector<TransferTensor>{{"hidden_states", 6, {2, 3}, true}}));
  const auto ready = world.last<wire::ActivationReady>(executor_id);
  EXPECT_EQ(ready->getStep(), 3U);
  EXPECT_EQ(ready->getStage(), 1U);
  EXPECT_EQ(ready->getMicrobatch(), 2U);
  EXPECT_EQ(ready->getTicket(), (Ticket{42, 1}.packed()));
}

TEST_F(TensorLaneTest, GradientsArriveAsGradients) {
  send(true);

  EXPECT_EQ(world.heard<wire::GradientReady>(executor_id).size(), 1U);
  EXPECT_TRUE(world.heard<wire::ActivationReady>().empty());
}

TEST_F(TensorLaneTest, HasNoWireWhileTheRankSleeps) {
  constexpr ActorId trainer_id{Role::trainer, 0};
  for (const ActorId id : {sender_id, receiver_id})
    world.say<wire::Sleep>(
        id, [](wire::Sleep::Builder sleep) { sleep.setStep(4); }, trainer_id);
  EXPECT_EQ(world.heard<wire::Slept>(trainer_id).size(), 2U);
  EXPECT_EQ(open_wires, 0);

  for (const ActorId id : {sender_id, receiver_id})
    world.say<wire::Wake>(
        id, [](wire::Wake::Builder wake) { wake.setStep(4); }, trainer_id);
  send(false);

  EXPECT_EQ(world.heard<wire::Awake>(trainer_id).size(), 2U);
  EXPECT_EQ(open_wires, 2);
  EXPECT_EQ(calls, (std::vector<std::string>{"open 7", "send", "receive hidden_states"}));
}

TEST_F(TensorLaneTest, BothEndsSayReadyForTheirOwnRank) {
  const auto ready = world.heard<wire::Ready>();
  ASSERT_EQ(ready.size(), 2U);
  EXPECT_EQ(ready[0]->getRank(), 0);
  EXPECT_EQ(ready[1]->getRank(), 1);
}

}  // namespace
}  // namespace d9d
