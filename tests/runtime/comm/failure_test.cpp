// What happens when ranks do not come, do not agree, leave, or are told to stop.
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <iterator>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/comm/processes/exchange.hpp"
#include "tests/runtime/comm/world.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;

void sum_ones(Communicator& group, std::int64_t count = 1000, at::ScalarType dtype = at::kFloat) {
  at::Tensor tensor = at::ones({count}, dtype);
  group.all_reduce(tensor, ReduceOp::sum).wait();
}

class Failing : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Failing, testing::Values("shared_memory", "sockets", "tls"),
                         [](const auto& info) { return info.param; });

TEST_P(Failing, NameTheRankThatDoesNotCome) {
  CommWorld world({GetParam(), 3, milliseconds(500)});

  const auto errors = world.run_and_collect([](Communicator& group) {
    if (group.rank() != 1) sum_ones(group);
  });

  EXPECT_THAT(errors[0],
              AllOf(HasSubstr("environment: all_reduce of group test[all]"), HasSubstr("rank 101")));
  EXPECT_NE(errors[2], "");
}

TEST_P(Failing, WakeEverybodyWhenARankAborts) {
  CommWorld world({GetParam(), 2, milliseconds(60'000)});
  std::thread supervisor([&] { world.communicator(0).abort("node 1 is gone"); });

  const auto errors = world.run_and_collect([](Communicator& group) {
    if (group.rank() == 0) {
      while (true) sum_ones(group);  // rank 1 never comes
    }
  });
  supervisor.join();

  EXPECT_THAT(errors[0], AllOf(HasSubstr("environment"), HasSubstr("node 1 is gone")));
}

TEST_P(Failing, WakeAReceiverOnAbort) {
  CommWorld world({GetParam(), 2, milliseconds(60'000)});
  std::thread supervisor([&] { world.communicator(1).abort("enough"); });

  const auto errors = world.run_and_collect([](Communicator& group) {
    at::Tensor tensor = at::ones({3});
    if (group.rank() == 1) group.receive(tensor, 0).wait();
  });
  supervisor.join();

  EXPECT_THAT(errors[1], AllOf(HasSubstr("receive of group"), HasSubstr("enough")));
}

TEST_P(Failing, DoNotWaitForAMessageLongerThanTheTimeout) {
  CommWorld world({GetParam(), 2, milliseconds(50)});

  const auto errors = world.run_and_collect([](Communicator& group) {
    at::Tensor tensor = at::ones({3});
    if (group.rank() == 1) group.receive(tensor, 0, 5).wait();
  });

  EXPECT_THAT(errors[1], AllOf(HasSubstr("environment: receive of group"), HasSubstr("rank 100")));
}

// Links that know of a loss before anything begins.
struct LinksWithoutPeers final : comm::PeerLinks {
  std::unique_ptr<comm::Transfer> send(int, const void*, std::size_t, int) override {
    throw std::runtime_error("Connection closed by peer");
  }
  std::unique_ptr<comm::Transfer> receive(int, void*, std::size_t, int) override {
    throw std::runtime_error("Connection closed by peer");
  }
  void set_timeout(milliseconds) override {}
};

TEST(Exchange, NamesTheRankThatTheLinksLostBeforeTheCall) {
  comm::ExchangeCommunicator group(std::make_unique<LinksWithoutPeers>(), {"pair", {4, 7}, 0, false},
                                   "sockets", milliseconds(100));
  at::Tensor tensor = at::ones({3});
  const std::string reason = " of group pair (sockets): rank 7: Connection closed by peer";

  EXPECT_THAT(test::error_of([&] { group.barrier(); }), HasSubstr("barrier" + reason));
  EXPECT_THAT(test::error_of([&] { group.send(tensor, 1, 0); }), HasSubstr("send" + reason));
}

class Mismatch : public testing::TestWithParam<CommWorldOptions> {
 protected:
  std::string error_of(const std::function<void(Communicator&)>& work) {
    CommWorld world(GetParam());
    const auto errors = world.run_and_collect(work);
    EXPECT_THAT(errors[1], HasSubstr("bug: "));
    return errors[0];
  }
};
INSTANTIATE_TEST_SUITE_P(Backends, Mismatch,
                         testing::Values(CommWorldOptions{"shared_memory", 2},
                                         CommWorldOptions{"sockets", 2, milliseconds(10'000), true}),
                         [](const auto& info) { return info.param.backend; });

TEST_P(Mismatch, OfOperationsIsNamed) {
  const std::string error = error_of([](Communicator& group) {
    group.barrier();
    if (group.rank() == 0) return sum_ones(group);
    group.barrier();
  });

  EXPECT_THAT(error, AllOf(HasSubstr("all_reduce(Float, 1000 elements"), HasSubstr("barrier"),
                           HasSubstr("number 1")));
}

TEST_P(Mismatch, OfShapesIsNamed) {
  const std::string error = error_of([](Communicator& group) { sum_ones(group, group.rank() + 5); });

  EXPECT_THAT(error, AllOf(HasSubstr("5 elements"), HasSubstr("6 elements")));
}

TEST_P(Mismatch, OfTypesIsNamed) {
  const std::string error = error_of(
      [](Communicator& group) { sum_ones(group, 10, group.rank() == 0 ? at::kFloat : at::kBFloat16); });

  EXPECT_THAT(error, AllOf(HasSubstr("Float"), HasSubstr("BFloat16")));
}

TEST_P(Mismatch, OfRowsInAnExchangeIsNamed) {
  const std::string error = error_of([](Communicator& group) {
    const std::vector<std::int64_t> splits{2 + group.rank(), 2};
    at::Tensor output = at::ones({4 + group.rank()});
    group.all_to_all(output, at::ones({4 + group.rank()}), splits, splits).wait();
  });

  EXPECT_THAT(error, AllOf(HasSubstr("rows"), HasSubstr("number 0")));
}

// Every rank's buffer dies with its call: whoever goes on after another gave up would read freed memory,
// which the address sanitizer sees. Sums stay right until the abort.
TEST(SharedMemory, NeverReadsABufferWhoseOwnerGaveUp) {
  for (int round = 0; round < 50; ++round) {
    CommWorld world({"shared_memory", 3, milliseconds(60'000)});
    std::thread supervisor([&] { world.communicator(round % 3).abort("round is over"); });
    const auto errors = world.run_and_collect([](Communicator& group) {
      while (true) {
        at::Tensor tensor = at::ones({100'000});
        group.all_reduce(tensor, ReduceOp::sum).wait();
        EXPECT_EQ(tensor[99'999].item<float>(), 3.0F);
      }
    });
    supervisor.join();
    for (const std::string& error : errors) EXPECT_THAT(error, HasSubstr("round is over"));
  }
}

TEST(SharedMemory, TellsThatAPeerHasLeft) {
  SharedMemoryHub hub;
  Group group{"pair", {4, 7}, 0, true};
  const auto first = hub.open(group, milliseconds(10'000));
  group.index = 1;
  hub.open(group, milliseconds(10'000)).reset();

  EXPECT_THAT(test::error_of([&] { first->barrier(); }), HasSubstr("rank 7 has closed its communicator"));
}

TEST(SharedMemory, DeliversWhatWasSentBeforeAPeerLeft) {
  SharedMemoryHub hub;
  const auto receiver = hub.open({"pair", {4, 7}, 0, true}, milliseconds(10'000));
  auto sender = hub.open({"pair", {4, 7}, 1, true}, milliseconds(10'000));
  sender->send(at::ones({3}), 0, 0);
  sender.reset();
  at::Tensor got = at::zeros({3});

  receiver->receive(got, 1, 0).wait();

  EXPECT_EQ(got[2].item<float>(), 1.0F);
  EXPECT_THROW(receiver->receive(got, 1, 0).wait(), Error);
}

TEST(SharedMemory, BeginsAGroupAnewAfterItFailed) {
  SharedMemoryHub hub;
  auto broken = hub.open({"pair", {0, 1}, 0, true}, milliseconds(10'000));
  hub.abort_all("epoch 2");
  EXPECT_THROW(broken->barrier(), Error);

  const auto first = hub.open({"pair", {0, 1}, 0, true}, milliseconds(10'000));
  const auto second = hub.open({"pair", {0, 1}, 1, true}, milliseconds(10'000));
  std::thread peer([&] { second->barrier(); });
  EXPECT_NO_THROW(first->barrier());
  peer.join();
}

TEST(SharedMemory, RefusesASecondCommunicatorOfTheSameRank) {
  SharedMemoryHub hub;
  const auto first = hub.open({"pair", {0, 1}, 0, true}, milliseconds(10));

  EXPECT_THROW(hub.open({"pair", {0, 1}, 0, true}, milliseconds(10)), Error);
}

// Nodes 0 and 1 of three, rank 3 on node 0, rank 5 on node 1, rank 9 on node 2.
class OpeningAGroup : public testing::Test {
 protected:
  OpeningAGroup() {
    for (net::Gate* gate : {&first_, &second_})
      addresses_.push_back({"127.0.0.1", gate->listen("127.0.0.1", 0)});
    addresses_.push_back({"127.0.0.1", 1});
    other_ = transport(first_, 0, "job");
    transport_ = transport(second_, 1, "job");
  }
  std::unique_ptr<SocketTransport> transport(net::Gate& gate, int node, const std::string& job) const {
    SocketTransportOptions options{.node = node, .nodes = addresses_, .node_of = {}, .job = job};
    options.node_of = [](int rank) { return rank / 4; };
    return std::make_unique<SocketTransport>(gate, std::move(options));
  }
  std::string error_of(const Group& group, milliseconds timeout) {
    return test::error_of([&] { transport_->open(group, timeout); }, ErrorKind::environment);
  }
  net::Gate first_, second_;
  std::vector<HostPort> addresses_;
  std::unique_ptr<SocketTransport> transport_, other_;
};

TEST_F(OpeningAGroup, NamesTheRanksThatDoNotCome) {
  EXPECT_EQ(error_of({"trio", {3, 5, 9}, 1, false}, milliseconds(50)),
            "open of group trio (sockets): ranks 3 9 did not come within 50 ms");
}

TEST_F(OpeningAGroup, NamesTheNodeThatCannotBeReached) {
  EXPECT_THAT(error_of({"pair", {9, 5}, 1, false}, milliseconds(50)),
              AllOf(HasSubstr("cannot reach rank 9, node 2 at 127.0.0.1:1: "), HasSubstr("refused")));
}

TEST_F(OpeningAGroup, RefusesAConnectionOfAnotherStartOfTheJob) {
  other_ = transport(first_, 0, "another start");

  EXPECT_THAT(error_of({"pair", {3, 5}, 1, false}, milliseconds(50)),
              AllOf(HasSubstr("cannot reach rank 3"), HasSubstr("another start of this one")));
}

TEST_F(OpeningAGroup, EndsAtOnceWhenTheJobDoes) {
  std::thread ends([&] { transport_->abort("the job stops"); });

  EXPECT_THAT(error_of({"pair", {5, 9}, 0, false}, milliseconds(60'000)),
              AllOf(HasSubstr("open of group pair"), HasSubstr("the job stops")));
  ends.join();
}

std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                                                std::filesystem::directory_iterator()));
}

TEST_F(OpeningAGroup, LateHasNoConnectionsBeforeItsFirstCall) {
  const std::size_t before = open_descriptors();

  const auto group = transport_->open_late({"pair", {3, 5}, 1, false}, milliseconds(20'000));
  const auto peer = other_->open_late({"pair", {3, 5}, 0, false}, milliseconds(20'000));
  const std::size_t opened = open_descriptors();
  std::thread calls([&] { peer->barrier(); });
  group->barrier();
  calls.join();

  EXPECT_EQ(opened, before);
  EXPECT_GT(open_descriptors(), before);
}

TEST_F(OpeningAGroup, LateNamesTheRanksThatDoNotComeToAFirstCallWithinItsTimeout) {
  const auto group = transport_->open_late({"trio", {3, 5, 9}, 1, false}, milliseconds(60'000));
  group->set_timeout(milliseconds(50));

  for (int call = 0; call < 2; ++call)
    EXPECT_THAT(test::error_of([&] { group->barrier(); }, ErrorKind::environment),
                AllOf(HasSubstr("barrier of group trio (sockets)"),
                      HasSubstr("ranks 3 9 did not come within 50 ms")));
}

TEST_F(OpeningAGroup, LateEndsAtOnceWhenTheGroupOrTheJobDoes) {
  for (const bool job : {false, true}) {
    const auto group = transport_->open_late({"pair", {5, 9}, 0, false}, milliseconds(60'000));
    std::thread ends([&] { job ? transport_->abort("it is over") : group->abort("it is over"); });

    EXPECT_THAT(test::error_of([&] { group->barrier(); }, ErrorKind::environment),
                AllOf(HasSubstr("barrier of group pair"), HasSubstr("it is over")));
    ends.join();
  }
}

TEST_F(OpeningAGroup, LateAndNeverCalledMayOutliveTheTransport) {
  const auto group = transport_->open_late({"pair", {5, 9}, 0, false}, milliseconds(60'000));
  transport_ = nullptr;

  EXPECT_THAT(test::error_of([&] { group->barrier(); }, ErrorKind::environment), HasSubstr("aborted"));
  group->abort("the end");
}

}  // namespace
}  // namespace d9d
